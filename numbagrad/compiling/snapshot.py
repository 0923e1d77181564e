"""The tensors that a call can reach, as they are before it, and the memory that belongs to them.

``call_capture.py`` takes the snapshot; what the call did to tensors (``effects_of_call.py``) and
whether the program does the same (``verification.py``) is found by comparing with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.hooks.tensor_hooks import registered
from ..executor.plan.forms import Array
from ..executor.plan.sharing import Range
from ..executor.plan.views import Memory, View
from ..program.trace import Trace
from ..program.traced_values import root_of
from ..tensor import Tensor
from .effects import Position
from .reachable_state import ReachableState


class State:
    """A tensor as it was before the call."""

    __slots__ = ("tensor", "array", "gradient", "grad_fn", "requires_grad", "version",
                 "hooks")  # fmt: skip

    def __init__(self, tensor: Tensor):
        self.tensor = tensor
        self.array = tensor._array
        self.gradient = tensor._accumulated
        self.grad_fn = tensor._producer
        self.requires_grad = tensor._requires_grad
        self.hooks = registered(tensor)
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
        self.positions = _positions(reachable, leaves)
        self._states: dict[int, State] = {}
        for position in self.positions:
            tensor = position.find(leaves)
            self._states[id(tensor)] = State(tensor)
        self.arrays = [self.state(position).array for position in self.positions]
        self.roots = [root_of(state.array) for state in self._states.values()]
        self.copies = {id(root): root.copy("K") for root in self.roots}

    def forget(self, tensors: Sequence[Tensor]) -> None:
        """Leave out tensors that the call could reach, and put others in their place."""
        gone = {id(tensor) for tensor in tensors}
        kept = [k for k, position in enumerate(self.positions) if id(position.tensor) not in gone]
        self.positions = [self.positions[k] for k in kept]
        self.arrays = [self.arrays[k] for k in kept]

    def tensor(self, position: Position) -> Any:
        """The tensor at a place when the call began."""
        if not position.of_gradient:
            return position.find(self.leaves)
        owner = position.tensor if position.argument is None else self.leaves[position.argument]
        return self._states[id(owner)].gradient

    def state(self, position: Position) -> State:
        """The tensor at a place as it was when the call began."""
        return self._states[id(self.tensor(position))]


def _positions(reachable: ReachableState, leaves: list[Any]) -> list[Position]:
    # A tensor that the function reaches by itself is that tensor, also as an argument.
    arguments = {
        id(leaf): k
        for k, leaf in reversed([*enumerate(leaves)])
        if isinstance(leaf, Tensor) and id(leaf) not in reachable.known
    }
    fixed = [tensor for tensor in reachable.tensors if id(tensor) not in arguments]
    positions = [Position(tensor, None) for tensor in fixed]
    positions += [Position(x, None, of_gradient=True) for x in fixed if x._accumulated is not None]
    for k in arguments.values():
        positions.append(Position(None, k))
        if leaves[k]._accumulated is not None:
            positions.append(Position(None, k, of_gradient=True))
    return positions


class Owners(dict[Memory, tuple[Position, View]]):
    """Memory that was there before the call: which place leads to it, and to which part of it."""

    def find(self, trace: Trace, positions: Sequence[Position], arrays: Sequence[Array]) -> None:
        """For the memory that was given, the tensor that leads to most of it."""
        for position, array in zip(positions, arrays, strict=True):
            memory = trace.memories.get(id(root_of(array)))
            if memory is None or memory.made:
                continue
            view = trace.view(array)
            if memory not in self or _length(view) > _length(self[memory][1]):
                self[memory] = position, view


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
