"""One recorded call: what it did to tensors, and how to do that again by running a program.

``Recording`` calls the function once as always while a recorder listens; ``Recorded`` is what later
calls use. Memory that the program is given comes from tensors that the call could reach; results,
gradients and counts of writes are put back where the call put them.
"""

from __future__ import annotations

import dataclasses
import operator
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.node import Node
from ..autograd.saved import FREED
from ..executor.program.fusion import optimise
from ..executor.program.graph import Array, Call, Memory, View
from ..executor.program.program import Program, as_view
from ..executor.program.recorder import Recorder, is_library, root_of
from ..tensor import Tensor, new_tensor
from .backward import (
    Backward,
    CannotDifferentiate,
    CompiledFunctionBackward,
    record_backward,
    whole,
)
from .structure import flatten, rebuild
from .surroundings import Surroundings, Unreachable

#: Functions in C that a program would leave out, by module; calling one ends the recording.
_IMPURE_MODULES = frozenset(
    ("time", "_random", "random", "posix", "os", "io", "_io", "numpy.random", "_socket", "select")
)
_STANDARD = os.path.dirname(os.__file__)
_IMPURE_FUNCTIONS = frozenset(("print", "input", "open", "next", "exec", "eval"))


@dataclasses.dataclass
class _Place:
    """A tensor that the call can reach: an argument by its place, or the tensor itself."""

    tensor: Tensor | None
    argument: int | None
    of_gradient: bool = False

    def find(self, leaves: list[Any]) -> Any:
        """The tensor (or its gradient) in a later call."""
        tensor = self.tensor if self.argument is None else leaves[self.argument]
        return tensor._grad if self.of_gradient else tensor


class FreedNode(Node):
    """Stands for the graph of a result whose backward ran inside the program."""

    __slots__ = ("called",)

    def backward(self, *grads: Any) -> tuple[Any, ...]:
        """Raises, as the node would whose place this one takes."""
        raise RuntimeError(FREED)

    def name(self) -> str:
        """The name of the node that the recorded call left."""
        return self.called


class Recording:
    """One call of a function that is listened to."""

    def __init__(
        self,
        function: Callable[..., Any],
        leaves: list[Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ):
        self.function = function
        self.leaves = leaves
        self.args = args
        self.kwargs = kwargs
        self.recorder = Recorder()
        #: Whether another recording may do better.
        self.may_settle = False

    def run(self) -> tuple[Any, Recorded | None, str]:
        """The result of the call; what later calls can use, or None and why not."""
        recorder = self.recorder
        try:
            surroundings = Surroundings({"the function": self.function, "arguments": self.leaves})
        except Unreachable as reason:
            return self.function(*self.args, **self.kwargs), None, str(reason)
        places = self._places(surroundings)
        before = {
            id(place.find(self.leaves)): _State(place.find(self.leaves)) for place in places
        }
        copies = {id(root_of(s.array)): root_of(s.array).copy("K") for s in before.values()}
        recorder.outside = set(copies)
        with recorder.recording(), _listening(recorder):
            result = self.function(*self.args, **self.kwargs)
        if recorder.failure is not None:
            return result, None, recorder.failure
        for dictionary, key in recorder.anew:
            surroundings.ignore(dictionary, key)
        changed = surroundings.changed()
        if changed is not None:
            self.may_settle = True
            return result, None, f"{changed} changed during the call"
        try:
            return result, self._recorded(surroundings, places, before, result, copies), ""
        except _Unusable as reason:
            return result, None, str(reason)

    def difference(self, programs: list[Recorded]) -> str:
        """What told the recordings of one signature apart."""
        found = [each.surroundings.changed() for each in programs[:-1]]
        return ", ".join(sorted({text for text in found if text})) or "the shapes of arguments"

    def _places(self, surroundings: Surroundings) -> list[_Place]:
        arguments = {
            id(leaf): k for k, leaf in enumerate(self.leaves) if isinstance(leaf, Tensor)
        }
        places = []
        for tensor in surroundings.tensors:
            argument = arguments.get(id(tensor))
            places.append(_Place(tensor if argument is None else None, argument))
            if tensor._grad is not None:
                places.append(_Place(places[-1].tensor, argument, of_gradient=True))
        return places

    def _recorded(
        self,
        surroundings: Surroundings,
        places: list[_Place],
        before: dict[int, _State],
        result: Any,
        copies: dict[int, Array],
    ) -> Recorded:
        recorder = self.recorder
        # Memory that was there before: which tensor leads to it.
        owners: dict[Memory, tuple[_Place, View]] = {}
        for place in places:
            state = before[id(_before(place, before, self.leaves))]
            memory = recorder.memories.get(id(root_of(state.array)))
            if memory is not None and not memory.made and memory not in owners:
                owners[memory] = place, recorder.view(state.array)
        effects, results, live = self._effects(places, before, result, owners)
        count, backward = len(recorder.operations), None
        if live:
            inputs = [place for place in places if self._is_input(place)]
            tensors = [place.find(self.leaves) for place in inputs]
            try:
                backward, count = record_backward(recorder, live, tensors, results)
            except CannotDifferentiate as reason:
                raise _Unusable(str(reason)) from None
            results += [memory for memory in backward.saved if memory not in results]
            own = {view.memory for view in backward.gradients}
            effects.backward = _Live(backward, inputs, len(live), results, owners)
        else:
            own = set()
        for place in places:
            state = before[id(_before(place, before, self.leaves))]
            memory = recorder.memories.get(id(root_of(state.array)))
            if memory is not None and not memory.made and memory not in owners:
                owners[memory] = place, recorder.view(state.array)
        for memory in recorder.memories.values():
            if not memory.made and memory not in owners and memory not in own:
                raise _Unusable(
                    f"memory of shape {memory.array.shape} that no tensor reachable from the "
                    "function or its arguments holds"
                )
        operations = optimise(recorder.operations[:count], results)
        given = [view for _, view in owners.values()]
        program = Program(operations, given, results, recorder.number_sources)
        self._verify(program, copies, [root_of(state.array) for state in before.values()])
        had_gradient = [
            (place, before[id(place.find(self.leaves))].gradient is not None)
            for place in places
            if not place.of_gradient
        ]
        return Recorded(
            surroundings, self.leaves, list(owners.values()), program, effects, had_gradient
        )

    def _is_input(self, place: _Place) -> bool:
        return not place.of_gradient and bool(place.find(self.leaves)._requires_grad)

    def _verify(
        self, program: Program, copies: dict[int, Array], reachable: list[Array]
    ) -> None:
        """Run the program on copies of what the call was given, and compare with what that did."""
        known = {id(view.memory.array) for view in program.given} | self.recorder.managed
        for root in reachable:
            if id(root) not in known and not np.array_equal(root, copies[id(root)], _nan(root)):
                raise _Unusable(f"a write to an array of shape {root.shape} that no kernel did")
        if any([isinstance(x, Call) and x.effect for x in program.operations]):
            return  # it draws random numbers: others than the call drew
        roots = [copies[id(view.memory.array)] for view in program.given]
        arrays = [
            as_view(root, view) for root, view in zip(roots, program.given, strict=True)
        ]
        results = program.run(arrays, numbers=self.recorder.drawn)
        pairs = [(view.memory.array, root) for view, root in zip(program.given, roots, strict=True)]
        pairs += [(m.array, made) for m, made in zip(program.results, results, strict=True)]
        for expected, found in pairs:
            if not _agree(expected, found):
                raise _Unusable(
                    "a difference between the program and the call it was recorded from: something "
                    f"that the program does not know of wrote an array of shape {expected.shape}"
                )

    def _effects(
        self,
        places: list[_Place],
        before: dict[int, _State],
        result: Any,
        owners: dict[Memory, tuple[_Place, View]],
    ) -> tuple[_Effects, list[Memory], list[Tensor]]:
        results: dict[Memory, int] = {}
        live: list[Tensor] = []

        def described(tensor: Tensor) -> _Made:
            """A tensor that the call made, as a view of a result or of given memory."""
            view = self.recorder.view(tensor._array)
            memory = view.memory
            if memory.made:
                place: Any = results.setdefault(memory, len(results))
                owner = None
            elif memory in owners:
                place, owner = None, owners[memory]
            else:
                raise _Unusable("a result in memory that the program does not know")
            if type(tensor) is not Tensor:
                raise _Unusable(f"a result of the class {type(tensor).__name__}")
            name = output = None
            if tensor._grad_fn is not None:
                node = tensor._grad_fn
                if id(tensor) in self.recorder.used_up or _is_freed(node):
                    name = node.name()
                elif owner is not None:
                    raise _Unusable("a view of an argument whose graph is still needed")
                else:
                    output = len(live)
                    live.append(tensor)
            return _Made(view, place, owner, tensor._requires_grad, name, output)

        gradients = []
        versions = []
        seen = set()
        for place in places:
            if place.of_gradient:
                continue
            tensor = place.find(self.leaves)
            state = before[id(tensor)]
            if tensor._array is not state.array:
                raise _Unusable("a tensor that was given other memory, as by .data = ...")
            if tensor._grad_fn is not state.grad_fn or (
                tensor._requires_grad != state.requires_grad
            ):
                raise _Unusable("a tensor that exists outside and got a history")
            gradient = tensor._grad
            if gradient is not state.gradient:
                made = None if gradient is None else described(gradient)
                if live:
                    raise _Unusable("a gradient that has a graph")
                gradients.append((place, made))
            cell = tensor._version_cell
            if cell is not None and id(cell) not in seen:
                seen.add(id(cell))
                if cell[0] != state.version:
                    versions.append((place, cell[0] - state.version))
        leaves, structure = flatten(result)
        returned: list[Any] = []
        known = {id(place.find(self.leaves)): place for place in places}
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                if not isinstance(leaf, (bool, int, float, str, bytes, type(None))):
                    raise _Unusable(f"a result of type {type(leaf).__name__}")
                returned.append((_CONSTANT, leaf))
            elif id(leaf) in known:
                returned.append((_KNOWN, known[id(leaf)]))
            else:
                returned.append((_MADE, described(leaf)))
        return _Effects(gradients, versions, structure, returned), list(results), live


def _before(place: _Place, before: dict[int, _State], leaves: list[Any]) -> Any:
    """The tensor at a place when the call began."""
    if not place.of_gradient:
        return place.find(leaves)
    owner = place.tensor if place.argument is None else leaves[place.argument]
    return before[id(owner)].gradient


def _nan(array: Array) -> bool:
    """Whether elements of an array may be NaN."""
    return array.dtype.kind == "f"


def _agree(expected: Array, found: Array) -> bool:
    """Whether two arrays are equal but for rounding, which a fused program does differently."""
    if expected.dtype.kind != "f":
        return bool(np.array_equal(expected, found))
    with np.errstate(all="ignore"):
        scale = np.nanmax(np.abs(expected[np.isfinite(expected)]), initial=0.0)
        near = np.isclose(found, expected, rtol=1e-2, atol=1e-3 * scale, equal_nan=True)
    return bool(near.all())


class _Unusable(Exception):  # noqa: N818 - a signal inside this file
    """Raised for a call that a program cannot repeat."""


_CONSTANT, _KNOWN, _MADE = range(3)


class _State:
    """A tensor as it was before the call."""

    __slots__ = ("tensor", "array", "gradient", "grad_fn", "requires_grad", "version")

    def __init__(self, tensor: Tensor):
        self.tensor = tensor
        self.array = tensor._array
        self.gradient = tensor._grad
        self.grad_fn = tensor._grad_fn
        self.requires_grad = tensor._requires_grad
        cell = tensor._version_cell
        self.version = 0 if cell is None else cell[0]


@dataclasses.dataclass
class _Made:
    """A tensor to be made after each run: a view of a result, or of memory given to the program."""

    view: View
    result: int | None
    owner: tuple[_Place, View] | None
    requires_grad: bool
    grad_fn: str | None
    output: int | None

    def make(self, results: list[Array], leaves: list[Any], graph: Node | None = None) -> Tensor:
        """The tensor of one run; ``graph`` is the node of the results with a live graph."""
        if self.result is not None:
            array = as_view(results[self.result], self.view)
        else:
            assert self.owner is not None
            place, view = self.owner
            array = as_view(place.find(leaves)._array, self.view, view.offset)
        if self.output is not None:
            return new_tensor(array, True, graph, self.output)
        node = None
        if self.grad_fn is not None:
            node = FreedNode(())
            node.called = self.grad_fn
        return new_tensor(array, self.requires_grad, node, 0)


class _Live:
    """The backward of results with a live graph, and where a run finds what it needs."""

    def __init__(
        self,
        backward: Backward,
        inputs: list[_Place],
        outputs: int,
        results: list[Memory],
        owners: dict[Memory, tuple[_Place, View]],
    ):
        self.backward = backward
        self.inputs = inputs
        self.outputs = outputs
        self._saved = [results.index(memory) for memory in backward.saved]
        self._owners = owners

    def node(self, results: list[Array], leaves: list[Any]) -> CompiledFunctionBackward:
        """The node of one run."""
        kept = [results[place] for place in self._saved]
        watched = []
        for memory in self.backward.given:
            place, view = self._owners[memory]
            tensor = place.find(leaves)
            watched.append(tensor)
            kept.append(as_view(tensor._array, whole(memory), view.offset))
        inputs = [place.find(leaves) for place in self.inputs]
        return CompiledFunctionBackward(self.backward, inputs, kept, watched, self.outputs)


@dataclasses.dataclass
class _Effects:
    """What a call leaves behind beside what it writes into given memory."""

    gradients: list[tuple[_Place, _Made | None]]
    versions: list[tuple[_Place, int]]
    structure: Any
    returned: list[tuple[int, Any]]
    backward: _Live | None = None


def _is_freed(node: Any) -> bool:
    """Whether backward freed a node, or one that it leads to, so that it cannot run again."""
    pending, seen = [node], set()
    while pending:
        node = pending.pop()
        if not isinstance(node, Node) or id(node) in seen:
            continue
        if node.saved is None or getattr(node, "_saved_variables", ()) is None:
            return True
        seen.add(id(node))
        pending += [edge[0] for edge in node.next_edges if edge is not None]
    return False


_array_of = operator.attrgetter("_array")
_gradient_of = operator.attrgetter("_grad")
_flag_of = operator.attrgetter("_requires_grad")


class Recorded:
    """A program and what surrounds it: ready to stand for a call of the function."""

    def __init__(
        self,
        surroundings: Surroundings,
        leaves: list[Any],
        owners: list[tuple[_Place, View]],
        program: Program,
        effects: _Effects,
        had_gradient: list[tuple[_Place, bool]],
    ):
        self.surroundings = surroundings
        self.program = program
        self._effects = effects
        self._views = [view for _, view in owners]
        self._owners = [place for place, _ in owners]
        #: The arrays that were found to lie as the views do, so that they need no other look.
        self._arrays: list[Any] = [None] * len(owners)
        self._tensors, self._arguments = _split([place for place, _ in had_gradient])
        self._had = [had for place, had in had_gradient if place.argument is None]
        self._argument_had = [had for place, had in had_gradient if place.argument is not None]
        self._flags = list(map(_flag_of, self._tensors))
        self._reused = _Reused(effects)

    def holds(self, leaves: list[Any]) -> bool:
        """Whether the program does what a call with these arguments would do."""
        if not self.surroundings.hold():
            return False
        if list(map(_flag_of, self._tensors)) != self._flags:
            return False
        if [gradient is not None for gradient in map(_gradient_of, self._tensors)] != self._had:
            return False
        for argument, had in zip(self._arguments, self._argument_had, strict=True):
            if (leaves[argument]._grad is not None) != had:
                return False
        arrays = [place.find(leaves)._array for place in self._owners]
        if all(map(operator.is_, arrays, self._arrays)):
            return True
        for array, view in zip(arrays, self._views, strict=True):
            if array.shape != view.shape or array.strides != view.strides:
                return False
            if array.dtype != view.dtype:
                return False
        self._arrays = arrays
        return True

    def run(self, leaves: list[Any]) -> Any:
        """Run the program in place of a call for which it holds."""
        reused = self._reused.take()
        results = self.program.run(self._arrays, reused)
        effects = self._effects
        if reused is None:
            attached = [
                self._attach(place, made, results, leaves) for place, made in effects.gradients
            ]
            self._reused.keep(results, attached)
        for place, count in effects.versions:
            tensor = place.find(leaves)
            if tensor._version_cell is None:
                tensor._version_cell = [count]
            else:
                tensor._version_cell[0] += count
        returned = []
        graph = None if effects.backward is None else effects.backward.node(results, leaves)
        for kind, value in effects.returned:
            if kind == _MADE:
                returned.append(value.make(results, leaves, graph))
            elif kind == _KNOWN:
                returned.append(value.find(leaves))
            else:
                returned.append(value)
        return rebuild(effects.structure, iter(returned))

    @staticmethod
    def _attach(
        place: _Place, made: _Made | None, results: list[Array], leaves: list[Any]
    ) -> tuple[Tensor, Tensor | None]:
        tensor = place.tensor if place.argument is None else leaves[place.argument]
        gradient = None if made is None else made.make(results, leaves)
        tensor._grad = gradient
        return tensor, gradient


def _count_of_two() -> int:
    """What ``map(sys.getrefcount, ...)`` says of an object that two owners hold."""
    owned = object()
    owners = [owned]
    return next(map(sys.getrefcount, owners))


#: The owners of a gradient are its tensor and ``_Reused``; those of its memory, it and ``_Reused``.
_OWNED_TWICE = _count_of_two()


class _Reused:
    """Gradients of the run before, whose memory the next run may write if nobody else has them."""

    def __init__(self, effects: _Effects):
        made = [value for kind, value in effects.returned if kind == _MADE]
        returned = {value.result for value in made}
        gradients = [made for _, made in effects.gradients if made is not None]
        counts = [made.result for made in gradients if made.result is not None]
        #: Results that are a gradient and nothing else.
        self._places = [x for x in counts if counts.count(x) == 1 and x not in returned]
        self._possible = len(self._places) == len(effects.gradients)
        self._tensors: list[Tensor] = []
        self._gradients: list[Tensor] = []
        self._arrays: list[Array] = []

    def keep(self, results: list[Array], attached: list[tuple[Tensor, Tensor | None]]) -> None:
        """Remember what a run made."""
        if not self._possible or not attached:
            return
        self._tensors = [tensor for tensor, _ in attached]
        self._gradients = [gradient for _, gradient in attached]  # type: ignore[misc]
        self._arrays = [results[place] for place in self._places]
        whole = map(operator.is_, map(_array_of, self._gradients), self._arrays)
        if not all(whole):
            self._possible = False
            self._gradients = []

    def take(self) -> dict[int, Array] | None:
        """The results of the run before that this one may overwrite, or None."""
        if not self._gradients:
            return None
        if not all(map(operator.is_, map(_gradient_of, self._tensors), self._gradients)):
            return None
        if max(map(sys.getrefcount, self._gradients)) > _OWNED_TWICE:
            return None
        if max(map(sys.getrefcount, self._arrays)) > _OWNED_TWICE:
            return None
        return dict(zip(self._places, self._arrays, strict=True))


def _split(places: list[_Place]) -> tuple[list[Tensor], list[int]]:
    """The tensors among places, and the numbers of the arguments among them."""
    tensors = [place.tensor for place in places if place.tensor is not None]
    return tensors, [place.argument for place in places if place.argument is not None]


class _listening:
    """End the recording when the function calls something in C that a program would leave out."""

    def __init__(self, recorder: Recorder):
        self._recorder = recorder

    def __enter__(self) -> None:
        self._before = sys.getprofile()
        sys.setprofile(self._event)

    def __exit__(self, *error: Any) -> None:
        sys.setprofile(self._before)

    def _event(self, frame: Any, event: str, argument: Any) -> None:
        if event != "c_call" or self._recorder.paused:  # paused: kernels are being compiled
            return
        if is_library(frame.f_code.co_filename):
            return
        owner = getattr(argument, "__self__", None)
        module = getattr(argument, "__module__", None) or type(owner).__module__
        name = argument.__name__
        impure = module in _IMPURE_MODULES
        if not impure and not (module == "builtins" and name in _IMPURE_FUNCTIONS):
            return
        caller = frame
        while caller.f_back is not None and _is_foreign(caller.f_code.co_filename):
            caller = caller.f_back
        if is_library(caller.f_code.co_filename) or (not impure and caller is not frame):
            return
        self._recorder.fail(f"{name}(), which a program cannot repeat")


def _is_foreign(filename: str) -> bool:
    """Whether code is neither the user's nor of this package."""
    if is_library(filename):
        return False
    return filename.startswith((_STANDARD, "<frozen")) or "site-packages" in filename


__all__ = ["Recorded", "Recording"]
