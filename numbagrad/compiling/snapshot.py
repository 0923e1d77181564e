"""The tensors that a call can reach, as they are before it, and the memory that belongs to them.

``call_capture.py`` takes the snapshot; what the call did to tensors (``effects_of_call.py``) and
whether the program does the same (``verification.py``) is found by comparing with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..executor.plan.operations import Array, Memory, Range, View
from ..program.trace import Trace
from ..program.traced_values import root_of
from ..tensor import Tensor
from .effects import Place
from .reachable_state import ReachableState


class State:
    """A tensor as it was before the call."""

    __slots__ = ("tensor", "array", "gradient", "grad_fn", "requires_grad", "version")

    def __init__(self, tensor: Tensor):
        self.tensor = tensor
        self.array = tensor._array
        self.gradient = tensor._accumulated
        self.grad_fn = tensor._producer
        self.requires_grad = tensor._requires_grad
        cell = tensor._version_cell
        self.version = 0 if cell is None else cell[0]


class Snapshot:
    """All tensors and gradients that a call can reach.

    Attributes:
        places: the ways to them.
        arrays: for each place the array that was there.
        copies: copies of the memory of these arrays, by the id of its owner.
    """

    def __init__(self, reachable: ReachableState, leaves: list[Any]):
        self.leaves = leaves
        self.places = _places(reachable, leaves)
        self._states: dict[int, State] = {}
        for place in self.places:
            tensor = place.find(leaves)
            self._states[id(tensor)] = State(tensor)
        self.arrays = [self.state(place).array for place in self.places]
        self.roots = [root_of(state.array) for state in self._states.values()]
        self.copies = {id(root): root.copy("K") for root in self.roots}

    def forget(self, tensors: Sequence[Tensor]) -> None:
        """Leave out tensors that the call could reach, and put others in their place."""
        gone = {id(tensor) for tensor in tensors}
        kept = [k for k, place in enumerate(self.places) if id(place.tensor) not in gone]
        self.places = [self.places[k] for k in kept]
        self.arrays = [self.arrays[k] for k in kept]

    def tensor(self, place: Place) -> Any:
        """The tensor at a place when the call began."""
        if not place.of_gradient:
            return place.find(self.leaves)
        owner = place.tensor if place.argument is None else self.leaves[place.argument]
        return self._states[id(owner)].gradient

    def state(self, place: Place) -> State:
        """The tensor at a place as it was when the call began."""
        return self._states[id(self.tensor(place))]


def _places(reachable: ReachableState, leaves: list[Any]) -> list[Place]:
    # A tensor that the function reaches by itself is that tensor, also as an argument.
    arguments = {
        id(leaf): k
        for k, leaf in reversed([*enumerate(leaves)])
        if isinstance(leaf, Tensor) and id(leaf) not in reachable.known
    }
    fixed = [tensor for tensor in reachable.tensors if id(tensor) not in arguments]
    places = [Place(tensor, None) for tensor in fixed]
    places += [Place(x, None, of_gradient=True) for x in fixed if x._accumulated is not None]
    for k in arguments.values():
        places.append(Place(None, k))
        if leaves[k]._accumulated is not None:
            places.append(Place(None, k, of_gradient=True))
    return places


class Owners(dict[Memory, tuple[Place, View]]):
    """Memory that was there before the call: which place leads to it, and to which part of it."""

    def find(self, trace: Trace, places: Sequence[Place], arrays: Sequence[Array]) -> None:
        """For the memory that was given, the tensor that leads to most of it."""
        for place, array in zip(places, arrays, strict=True):
            memory = trace.memories.get(id(root_of(array)))
            if memory is None or memory.made:
                continue
            view = trace.view(array)
            if memory not in self or _length(view) > _length(self[memory][1]):
                self[memory] = place, view


class Elements:
    """The bytes of memory that tensors lie in: a run finds these where they were, and no others."""

    def __init__(self, trace: Trace, arrays: Sequence[Array]):
        self._ranges: dict[Memory, list[Range]] = {}
        found: dict[Memory, list[Range]] = {}
        for array in arrays:
            memory = trace.memories.get(id(root_of(array)))
            if memory is not None and array.size:
                found.setdefault(memory, []).append(trace.view(array).bytes)
        for memory, ranges in found.items():
            merged = self._ranges[memory] = [min(ranges)]
            for low, high in sorted(ranges):
                if low > merged[-1][1]:
                    merged.append((low, high))
                else:
                    merged[-1] = merged[-1][0], max(high, merged[-1][1])

    def __contains__(self, view: View) -> bool:
        """Whether all bytes that a view spans belong to tensors."""
        low, high = view.bytes
        return any([a <= low and high <= b for a, b in self._ranges.get(view.memory, ())])


def _length(view: View) -> int:
    low, high = view.bytes
    return high - low


__all__ = ["Owners", "Snapshot", "State"]
