"""One recorded call: what it did to tensors, and how to do that again by running a program.

``Recording`` calls the function once as always while a recorder listens; ``Recorded`` is what later
calls use. Memory that the program is given comes from tensors that the call could reach; results,
gradients and counts of writes are put back where the call put them.
"""

from __future__ import annotations

import dataclasses
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd.node import Node, next_sequence_nr
from ..autograd.saved import FREED
from ..executor.program import timing
from ..executor.program.fusion import optimise
from ..executor.program.graph import (
    Array,
    Call,
    Kernel,
    Memory,
    Pointwise,
    Product,
    Reduce,
    RowLoop,
    Rowwise,
    View,
)
from ..executor.program.program import Program, as_view
from ..executor.program.recorder import DrawnNumber, Recorder, root_of
from ..kernels.replay_layout import OWNERS_OF_ARRAY, OWNERS_OF_GRADIENT
from ..tensor import Tensor, new_tensor
from .backward import (
    Backward,
    CannotDifferentiate,
    CompiledFunctionBackward,
    nodes_behind,
    record_backward,
    whole,
)
from .listening import listening
from .memory_layout import Layout, shared
from .replay import Found, Replay
from .structure import containers_in, flatten, rebuild
from .surroundings import Surroundings, Unreachable, extras_of, global_settings

#: Operations that no values make fail.
_SURE = (Kernel, Pointwise, Product, Reduce, Rowwise, RowLoop)


@dataclasses.dataclass
class _Place:
    """A tensor that the call can reach: an argument by its place, or the tensor itself."""

    tensor: Tensor | None
    argument: int | None
    of_gradient: bool = False

    def find(self, leaves: Sequence[Any]) -> Any:
        """The tensor (or its gradient) in a later call."""
        tensor: Any = self.tensor if self.argument is None else leaves[self.argument]
        return tensor._grad if self.of_gradient else tensor


class FreedNode(Node):
    """Stands for the graph of a result whose backward ran inside the program."""

    __slots__ = ("called",)

    called: str

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
        structure: Any,
    ):
        self.function = function
        self.leaves = leaves
        self.args = args
        self.kwargs = kwargs
        self.structure = structure
        self.recorder = Recorder()
        #: Whether another recording may do better.
        self.may_settle = False

    def run(self) -> tuple[Any, Recorded | None, str]:
        """The result of the call; what later calls can use, or None and why not."""
        recorder = self.recorder
        try:
            surroundings = Surroundings({"the function": self.function}, self.leaves)
        except Unreachable as reason:
            return self.function(*self.args, **self.kwargs), None, str(reason)
        places = self._places(surroundings)
        before = {
            id(place.find(self.leaves)): _State(place.find(self.leaves)) for place in places
        }
        copies = {id(root_of(s.array)): root_of(s.array).copy("K") for s in before.values()}
        recorder.outside = set(copies)
        settings = global_settings()
        self.begin = next_sequence_nr()
        with recorder.recording(), listening(recorder):
            result = self.function(*self.args, **self.kwargs)
        if recorder.failure is not None:
            return result, None, recorder.failure
        if global_settings() != settings:
            return result, None, "a setting of the whole process that the function changes"
        if not self._arguments_unchanged():
            return result, None, "a list, dict or dataclass among the arguments, which it changes"
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

    def _arguments_unchanged(self) -> bool:
        """Whether the containers among the arguments hold what they held before the call."""
        leaves, structure = flatten((self.args, self.kwargs))
        same = len(leaves) == len(self.leaves) and all(map(operator.is_, leaves, self.leaves))
        return same and structure == self.structure

    def difference(self, programs: list[Recorded]) -> str:
        """What told the recordings of one signature apart."""
        found = [each.surroundings.changed() for each in programs[:-1]]
        return ", ".join(sorted({text for text in found if text})) or "the shapes of arguments"

    def _places(self, surroundings: Surroundings) -> list[_Place]:
        # A tensor that the function reaches by itself is that tensor, also as an argument.
        arguments = {
            id(leaf): k
            for k, leaf in reversed([*enumerate(self.leaves)])
            if isinstance(leaf, Tensor) and id(leaf) not in surroundings.known
        }
        fixed = [tensor for tensor in surroundings.tensors if id(tensor) not in arguments]
        places = [_Place(tensor, None) for tensor in fixed]
        places += [_Place(x, None, of_gradient=True) for x in fixed if x._grad is not None]
        for k in arguments.values():
            places.append(_Place(None, k))
            if self.leaves[k]._grad is not None:
                places.append(_Place(None, k, of_gradient=True))
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
        if any([node.sequence_nr < self.begin for node in nodes_behind(recorder.walked)]):
            raise _Unusable("a graph that was made before the call, and is walked in it")
        arrays = [before[id(_before(place, before, self.leaves))].array for place in places]
        #: Memory that was there before: which tensor leads to it.
        owners: dict[Memory, tuple[_Place, View]] = {}
        self._find_owners(places, arrays, owners)
        effects, results, live = self._effects(
            places, before, result, owners, surroundings, arrays
        )
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
        self._find_owners(places, arrays, owners)
        for array in recorder.constants:
            owners[recorder.memory(array)] = _Place(new_tensor(array), None), recorder.view(array)
            copies[id(array)] = array
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
        layout = self._layout(arrays, owners)
        for memory in recorder.memories.values():  # what the call made is not kept with the program
            memory.release()
        return Recorded(
            surroundings, self.leaves, places, [place for place, _ in owners.values()], layout,
            program, effects, recorder.managed_arrays,
            [before[id(_before(place, before, self.leaves))].requires_grad for place in places
             if place.of_gradient and place.argument is None],
        )  # fmt: skip

    def _find_owners(
        self,
        places: list[_Place],
        arrays: list[Array],
        owners: dict[Memory, tuple[_Place, View]],
    ) -> None:
        """For the memory that was given, the tensor that leads to most of it."""
        for place, array in zip(places, arrays, strict=True):
            memory = self.recorder.memories.get(id(root_of(array)))
            if memory is None or memory.made:
                continue
            view = self.recorder.view(array)
            if memory not in owners or _length(view) > _length(owners[memory][1]):
                owners[memory] = place, view

    def _layout(
        self, arrays: list[Array], owners: dict[Memory, tuple[_Place, View]]
    ) -> Layout:
        """How the arrays have to lie that the program is given."""
        writes = False
        for operation in self.recorder.operations:
            for view in (*operation.reads, *operation.writes):
                if view.memory in owners:
                    low, high = owners[view.memory][1].bytes
                    if view.size and (view.bytes[0] < low or view.bytes[1] > high):
                        raise _Unusable("memory beyond the elements of the tensor it belongs to")
            writes = writes or any([view.memory in owners for view in operation.writes])
        if writes and shared([memory.array for memory in owners]):
            raise _Unusable("memory that two tensors share without knowing of each other")
        roots = {id(memory.array) for memory in owners}
        return Layout(arrays, [id(root_of(array)) in roots for array in arrays], writes)

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
        surroundings: Surroundings,
        arrays: list[Array],
    ) -> tuple[_Effects, list[Memory], list[Tensor]]:
        results: dict[Memory, int] = {}
        live: list[Tensor] = []
        known: dict[int, _Place] = {}
        cells: dict[int, _Place] = {}
        for place in places:
            tensor = _before(place, before, self.leaves)
            known.setdefault(id(tensor), place)
            if tensor._version_cell is not None:
                cells.setdefault(id(tensor._version_cell), place)
        made: dict[int, _Made] = {}

        def reference(tensor: Any) -> tuple[int, Any]:
            """How a later run finds, or makes, a value that the call left behind."""
            if not isinstance(tensor, Tensor):
                return _CONSTANT, tensor
            if id(tensor) in known:
                return _KNOWN, known[id(tensor)]
            if id(tensor) not in made:
                made[id(tensor)] = described(tensor)
            return _MADE, made[id(tensor)]

        def described(tensor: Tensor) -> _Made:
            """A tensor that the call made, as a view of a result or of given memory."""
            view = self.recorder.view(tensor._array)
            memory = view.memory
            if not memory.made and memory not in owners:  # nothing but views of it were made
                self._find_owners(places, arrays, owners)
            if memory.made:
                place: Any = results.setdefault(memory, len(results))
                owner = None
            elif memory in owners:
                place, owner = None, owners[memory]
            else:
                raise _Unusable("a result in memory that the program does not know")
            if type(tensor) is not Tensor:
                raise _Unusable(f"a result of the class {type(tensor).__name__}")
            if extras_of(tensor):
                raise _Unusable("a result with hooks, or with attributes of its own")
            if tensor._grad is not None:
                raise _Unusable("a result that has a gradient")
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
            cell = tensor._version_cell
            base = tensor._base
            return _Made(
                view, place, owner, tensor._requires_grad, name, output,
                None if cell is None else cells.get(id(cell), id(cell)),
                0 if cell is None else cell[0],
                None if base is None else known.get(id(base)),
            )  # fmt: skip

        gradients = []
        versions = []
        seen = set()
        for place in places:
            tensor = _before(place, before, self.leaves)
            state = before[id(tensor)]
            if tensor._array is not state.array:
                raise _Unusable("a tensor that was given other memory, as by .data = ...")
            if tensor._grad_fn is not state.grad_fn or (
                tensor._requires_grad != state.requires_grad
            ):
                raise _Unusable("a tensor that exists outside and got a history")
            if not place.of_gradient and tensor._grad is not state.gradient:
                gradients.append((place, reference(tensor._grad)))
                if live:
                    raise _Unusable("a gradient that has a graph")
            cell = tensor._version_cell
            if cell is not None and id(cell) not in seen:
                seen.add(id(cell))
                if cell[0] != state.version:
                    versions.append((place, cell[0] - state.version))
        leaves, structure = flatten(result)
        containers = {id(x) for x in containers_in((self.args, self.kwargs))}
        for container in containers_in(result):
            if id(container) in surroundings.reached or id(container) in containers:
                raise _Unusable("a list, dict or dataclass that outlives the call, returned")
        for leaf in leaves:
            if not isinstance(leaf, (Tensor, bool, int, float, str, bytes, type(None))):
                raise _Unusable(f"a result of type {type(leaf).__name__}")
            if isinstance(leaf, DrawnNumber):
                raise _Unusable("a number that changes from step to step, returned")
        returned = [reference(leaf) for leaf in leaves]
        return _Effects(gradients, versions, structure, returned), list(results), live


def _before(place: _Place, before: dict[int, _State], leaves: list[Any]) -> Any:
    """The tensor at a place when the call began."""
    if not place.of_gradient:
        return place.find(leaves)
    owner = place.tensor if place.argument is None else leaves[place.argument]
    return before[id(owner)].gradient


def _length(view: View) -> int:
    low, high = view.bytes
    return high - low


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

#: Returned in the place of a result by a program of which it is not sure that it holds.
CHANGED = object()


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
    #: The count of writes: that of a tensor known, or the number of one that results share.
    cell: _Place | int | None
    version: int
    base: _Place | None

    def make(self, run: _Run) -> Tensor:
        """The tensor of one run."""
        found = run.made.get(id(self))
        if found is None:
            found = run.made[id(self)] = self._make(run)
        return found

    def _make(self, run: _Run) -> Tensor:
        if self.result is not None:
            array = as_view(run.results[self.result], self.view)
        else:
            assert self.owner is not None
            place, view = self.owner
            array = as_view(place.find(run.leaves)._array, self.view, view.offset)
        if self.output is not None:
            tensor = new_tensor(array, True, run.graph, self.output)
        else:
            node = None
            if self.grad_fn is not None:
                node = FreedNode(())
                node.called = self.grad_fn
            tensor = new_tensor(array, self.requires_grad, node, 0)
        if isinstance(self.cell, _Place):
            tensor._version_cell = _cell_of(self.cell.find(run.leaves))
        elif self.cell is not None:
            tensor._version_cell = run.cells.setdefault(self.cell, [self.version])
        if self.base is not None:
            tensor._base = self.base.find(run.leaves)
        return tensor


@dataclasses.dataclass
class _Run:
    """What one run of a program made so far."""

    results: Sequence[Array]
    leaves: Sequence[Any]
    graph: Node | None = None
    made: dict[int, Tensor] = dataclasses.field(default_factory=dict)
    cells: dict[int, list[int]] = dataclasses.field(default_factory=dict)


def _cell_of(tensor: Tensor) -> list[int]:
    """The count of writes of a tensor; there is one from now on."""
    if tensor._version_cell is None:
        tensor._version_cell = [0]
    return tensor._version_cell


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

    def node(self, results: Sequence[Array], leaves: Sequence[Any]) -> CompiledFunctionBackward:
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

    gradients: list[tuple[_Place, tuple[int, Any]]]
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


def _key(place: _Place) -> int:
    """What tells the tensors of places apart: numbers of arguments, and ids of the others."""
    return id(place.tensor) if place.argument is None else place.argument


_array_of = operator.attrgetter("_array")
_gradient_of = operator.attrgetter("_grad")
_flag_of = operator.attrgetter("_requires_grad")


class Recorded:
    """A program and what surrounds it: ready to stand for a call of the function.

    Args:
        surroundings: the Python values that it holds for.
        leaves: the arguments of the recorded call.
        places: all tensors and gradients that the call could reach, as they were before it.
        owners: for each block of memory that the program is given, the place that leads to it.
        layout: how the arrays at the places lie in memory.
        managed: arrays that the sources of the program's numbers write.
        gradient_flags: whether the gradients that were there, but for those of arguments, required
            one themselves.
    """

    def __init__(
        self,
        surroundings: Surroundings,
        leaves: list[Any],
        places: list[_Place],
        owners: list[_Place],
        layout: Layout,
        program: Program,
        effects: _Effects,
        managed: list[Array],
        gradient_flags: list[bool],
    ):
        self.surroundings = surroundings
        self.program = program
        self._effects = effects
        self._layout = layout
        numbers = {id(place): k for k, place in enumerate(places)}
        self._owners = [numbers[id(each)] for each in owners if id(each) in numbers]
        self._constants = [each.find([])._array for each in owners if id(each) not in numbers]
        #: The arrays that were found to lie as the layout says, so that they need no other look.
        self._found: list[Any] = [None] * len(places)
        self._given: list[Array] = []
        tensors = [place for place in places if not place.of_gradient]
        self._tensors = [place.tensor for place in tensors if place.tensor is not None]
        self._arguments = [place.argument for place in tensors if place.argument is not None]
        with_gradient = {_key(place) for place in places if place.of_gradient}
        self._had = [id(tensor) in with_gradient for tensor in self._tensors]
        self._argument_had = [argument in with_gradient for argument in self._arguments]
        self._with_gradient = [x for x, had in zip(self._tensors, self._had, strict=True) if had]
        self._flags = list(map(_flag_of, self._tensors))
        self._gradient_flags = gradient_flags
        self._known = surroundings.known
        self._same = [
            (k, leaf) for k, leaf in enumerate(leaves)
            if isinstance(leaf, Tensor) and id(leaf) in self._known
        ]  # fmt: skip
        # What users wrote, or is in Python, may raise: checks before anything is written.
        unsure = [each for each in program.operations if not isinstance(each, _SURE)]
        self._managed = managed if unsure else []
        sure = len(unsure) == len(program.checks)
        self._reused = _Reused(effects, possible=sure and any(self._had))
        self._replay = Replay(program)
        #: Nothing comes before or after the launches.
        self._is_simple = not (unsure or program.sources)
        #: How often Python had to look whether the program holds.
        self._looks = 0

    @property
    def programs(self) -> tuple[Program, Program | None]:
        """The program, and that of the backward of results that are differentiated later."""
        live = self._effects.backward
        return self.program, None if live is None else live.backward.program

    def holds(self, leaves: list[Any]) -> bool:
        """Whether the program does what a call with these arguments would do."""
        if not self.surroundings.hold():
            return False
        if list(map(_flag_of, self._tensors)) != self._flags:
            return False
        if [gradient is not None for gradient in map(_gradient_of, self._tensors)] != self._had:
            return False
        gradients = list(map(_gradient_of, self._with_gradient))
        if list(map(_flag_of, gradients)) != self._gradient_flags:
            return False
        for k, tensor in self._same:
            if leaves[k] is not tensor:
                return False
        arrays = [*map(_array_of, self._tensors), *map(_array_of, gradients)]
        for argument, had in zip(self._arguments, self._argument_had, strict=True):
            tensor = leaves[argument]
            if id(tensor) in self._known or (tensor._grad is not None) != had:
                return False
            arrays.append(tensor._array)
            if had:
                arrays.append(tensor._grad._array)
        if not all(map(operator.is_, arrays, self._found)):
            if not self._layout.holds(arrays):
                return False
            self._replay.forget()
            self._found = arrays
            self._given = [*[arrays[k] for k in self._owners], *self._constants]
        return True

    def run(self, leaves: Sequence[Any]) -> Any:
        """Run the program in place of a call for which it holds."""
        reused = self._reused.take()
        results = self._restoring(self.program.run, self._given, reused)
        for place, count in self._effects.versions:
            _cell_of(place.find(leaves))[0] += count
        result = self._leave(_Run(results, leaves), attach=reused is None)
        self._looks += 1
        if self._looks & (self._looks - 1) == 0:  # seldom, if it does not help
            self._learn(leaves)
        return result

    def replay(self, arguments: tuple[Any, ...]) -> Any:
        """What a call returns, if compiled code sees that nothing has changed; else CHANGED."""
        keep = self._replay.holds(*arguments)
        if keep is None or not self.surroundings.hold():
            return CHANGED
        if self._replay.run is None or timing.active is not None:
            self._given = self._given_with(arguments)
            return self.run(arguments)
        if self._is_simple:
            results = self._replay.run(keep, *arguments)
        else:
            results = self._restoring(self._run_natively, keep, arguments)
        return self._leave(_Run(results, arguments), attach=not keep)

    def _given_with(self, arguments: Sequence[Any]) -> list[Array]:
        """What the program is given if it is called with these arguments."""
        given = list(self._given)
        for place, argument in self._passed:
            given[place] = arguments[argument]._array
        return given

    def _run_natively(self, keep: bool, arguments: tuple[Any, ...]) -> Sequence[Array]:
        self.program.prepare(self._given_with(arguments) if self.program.checks else ())
        results = self._replay.run(keep, *arguments)  # type: ignore[misc]
        self.program.check_launches()
        return results

    def _restoring(self, run: Callable[..., Any], *arguments: Any) -> Any:
        """What ``run`` returns; if it raises, what the sources of numbers wrote is undone."""
        before = [array.copy() for array in self._managed]
        try:
            return run(*arguments)
        except BaseException:
            for array, value in zip(self._managed, before, strict=True):
                array[...] = value
            raise

    def _leave(self, run: _Run, attach: bool) -> Any:
        """Leave behind what the recorded call did, and return what it returned."""
        effects = self._effects
        if effects.backward is not None:
            run.graph = effects.backward.node(run.results, run.leaves)
        gradients = [
            (place.find(run.leaves), self._value(reference, run))
            for place, reference in effects.gradients
        ] if attach else []  # fmt: skip
        returned = [self._value(reference, run) for reference in effects.returned]
        if attach:
            for tensor, gradient in gradients:
                tensor._grad = gradient
            if self._reused.keep(run.results, gradients):
                self._replay.forget()
        return rebuild(effects.structure, iter(returned))

    def _learn(self, leaves: Sequence[Any]) -> None:
        """Let compiled code see from now on that the program holds for what it was found to."""
        same = [k for k, _ in self._same]
        fixed = [k for k, leaf in enumerate(leaves) if not isinstance(leaf, Tensor) or k in same]
        others = [leaf for k, leaf in enumerate(leaves) if k not in fixed]
        if any(self._argument_had) or len(others) != len(self._arguments):
            return
        if any([extras_of(tensor) for tensor in others]):
            return
        known = len(self._tensors) + len(self._with_gradient)
        for tensor, array in zip(
            self._with_gradient, self._found[len(self._tensors) : known], strict=True
        ):
            if tensor._grad is None or tensor._grad._array is not array:
                return  # the call left another gradient than it found
        tensors = list(zip(self._tensors, self._had, strict=True))
        numbers = [*[None] * known, *self._arguments]
        given = [*[numbers[k] for k in self._owners], *[None] * len(self._constants)]
        self._passed = [(k, number) for k, number in enumerate(given) if number is not None]
        versions: list[Any] = [
            (place.argument if place.tensor is None else place.tensor, place.of_gradient, count)
            for place, count in self._effects.versions
        ]
        self._replay.learn(
            Found(
                leaves, fixed, tensors,
                [x if n is None else n for x, n in zip(self._given, given, strict=True)],
                self._reused.kept(), versions,
            )
        )  # fmt: skip

    @staticmethod
    def _value(reference: tuple[int, Any], run: _Run) -> Any:
        """A value that the recorded call left behind, as this run leaves it."""
        kind, value = reference
        if kind == _MADE:
            return value.make(run)
        return value.find(run.leaves) if kind == _KNOWN else value


def _count_of(owners: int) -> int:
    """What ``map(sys.getrefcount, ...)`` says of an object that so many owners hold."""
    owned = [object()] * owners
    return next(map(sys.getrefcount, owned))


#: The owners of a gradient are its tensor and ``_Reused``; those of its memory, it and ``_Reused``,
#: and ``Recorded``, which found that it lies as it should.
_GRADIENT_COUNT = _count_of(OWNERS_OF_GRADIENT)
_ARRAY_COUNT = _count_of(OWNERS_OF_ARRAY)


class _Reused:
    """Gradients of the run before, whose memory the next run may write if nobody else has them."""

    def __init__(self, effects: _Effects, possible: bool):
        made = [value for kind, value in effects.returned if kind == _MADE]
        returned = {value.result for value in made}
        gradients = [value for _, (kind, value) in effects.gradients if kind == _MADE]
        counts = [made.result for made in gradients if made.result is not None]
        #: Results that are a gradient and nothing else.
        self._places = [x for x in counts if counts.count(x) == 1 and x not in returned]
        known = all([place.argument is None for place, _ in effects.gradients])
        self._possible = possible and known and len(self._places) == len(effects.gradients)
        self._tensors: list[Tensor] = []
        self._gradients: list[Tensor] = []
        self._arrays: list[Array] = []

    def kept(self) -> list[tuple[Tensor, Tensor, Array, int]]:
        """Tensors, their gradients, the arrays of these, and which results they were."""
        return list(
            zip(self._tensors, self._gradients, self._arrays, self._places, strict=True)
            if self._gradients
            else ()
        )

    def keep(self, results: Sequence[Array], attached: list[tuple[Tensor, Any]]) -> bool:
        """Remember what a run made, if it may be used again."""
        if not self._possible or not attached:
            return False
        self._tensors = [tensor for tensor, _ in attached]
        self._gradients = [gradient for _, gradient in attached]
        self._arrays = [results[place] for place in self._places]
        whole = map(operator.is_, map(_array_of, self._gradients), self._arrays)
        if not all(whole):
            self._possible = False
            self._gradients = []
        return True

    def take(self) -> dict[int, Array] | None:
        """The results of the run before that this one may overwrite, or None."""
        if not self._gradients:
            return None
        if not all(map(operator.is_, map(_gradient_of, self._tensors), self._gradients)):
            return None
        if any(map(_flag_of, self._gradients)):  # somebody gave one a graph
            return None
        if max(map(sys.getrefcount, self._gradients)) > _GRADIENT_COUNT:
            return None
        if max(map(sys.getrefcount, self._arrays)) > _ARRAY_COUNT:
            return None
        return dict(zip(self._places, self._arrays, strict=True))


__all__ = ["CHANGED", "Recorded", "Recording"]
