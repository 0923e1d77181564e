"""The backward of a compiled function whose results are differentiated later.

While the function is captured its graph is walked once, with made-up gradients, and that walk
becomes a second program. Each run of the first program keeps what the second one reads, in a node
that the engine treats like any other.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import half_precision as half
from ..autograd.engine.backward import run_backward
from ..autograd.function.node import BackwardCFunction
from ..autograd.grad_mode import state as grad_mode
from ..autograd.node import Node, edge_of, wanted_edge
from ..autograd.saved import FREED
from ..backend import foreign
from ..executor.memory.arrays import assign, filled
from ..executor.plan.operations import Array, may_raise
from ..executor.plan.views import Memory, View
from ..ops.operators.program_call import ProgramCall
from ..ops.operators.tensor_operator import share_memory
from ..program import timing
from ..program.backend_program import (
    BackendProgram,
    MixedDevicesError,
    backend_of_all,
    empty_like,
    program_of,
)
from ..program.fusion import CPU_PASSES, optimise
from ..program.program import Program, as_view
from ..program.trace import Trace
from ..tensor import Tensor, new_tensor
from . import direct_backward
from .direct_backward import DirectBackward, is_long


class CannotDifferentiate(Exception):  # noqa: N818 - a signal to the caller
    """Raised for a graph whose walk cannot become a program; the text says why."""


#: Outputs of a function up to which the gradients of each are captured alone as well.
MOST_SINGLE = 8


@dataclasses.dataclass
class Walk:
    """A captured walk of a graph from some of its roots, as a program once it is needed.

    Attributes:
        roots: the gradients of the roots, as views.
        traced: what the walk does, as it was captured.
        passes: those that its operations go through.
        operations: what its program does.
        kept: memory that it reads, of the forward or from outside.
        results: for every input the view that holds its gradient, or None. It may be a view of
            the gradient of a root, as where a sum or a change of shape leads to the input.
        reads: of what nodes keep, the numbers of what is ``kept`` for this walk.
    """

    roots: list[View]
    traced: list[Any]
    passes: Sequence[str]
    operations: list[Any]
    kept: list[Memory]
    results: list[View | None]
    sources: Sequence[Any]
    reads: Sequence[int] = ()
    _direct: DirectBackward | None = None

    @functools.cached_property
    def program(self) -> Program:
        """The program of the walk; its results are the memory of the gradients, each once."""
        given = self._given
        wanted = [v.memory for v in self.results if v is not None and v.memory not in given]
        return program_of(
            self.operations,
            [*self.roots, *map(whole, self.kept)],
            list(dict.fromkeys(wanted)),
            self.sources,
        )

    def narrowed(self, wanted: Sequence[bool]) -> Walk:
        """This walk without what leads to other inputs alone."""
        results = [view if want else None for view, want in zip(self.results, wanted, strict=True)]
        alive = [view.memory for view in results if view is not None]
        operations = optimise(self.traced, alive, self.passes)
        known = {*[view.memory for view in self.roots], *self.kept}
        known.update([view.memory for operation in operations for view in operation.writes])
        if any([view.memory not in known for each in operations for view in each.reads]):
            return self  # the passes found another way to compute something, of what is not kept
        return dataclasses.replace(self, operations=operations, results=results, _direct=None)

    def run(
        self, gradients: Sequence[Tensor], kept: Sequence[Array], numbers: Sequence[float]
    ) -> list[Tensor | None]:
        """The gradients of the inputs; ``kept`` are the arrays of memory that was kept."""
        laid = [
            gradient
            if gradient._array.strides == view.strides
            else new_tensor(_laid(gradient._array, view))
            for gradient, view in zip(gradients, self.roots, strict=True)
        ]
        read = [kept[position] for position in self.reads]
        call = self._call
        made: Sequence[Array]
        if not self.operations:
            made = ()  # all gradients are those of the roots
        elif call is None:
            made = self.program.run([*[x._array for x in laid], *read], numbers=numbers)
        else:
            made = call(*laid, *map(new_tensor, read))
        results: list[Tensor | None] = []
        for position, view in self._positions:
            if position is None:
                results.append(None)
            elif position < 0:
                results.append(gradients[position] if view is None else _part(laid[position], view))
            else:
                array = made[position]
                results.append(new_tensor(array if view is None else as_view(array, view)))
        return results

    @functools.cached_property
    def _given(self) -> dict[Memory, int]:
        """The memory of the gradients of the roots, with their numbers from the end."""
        count = len(self.roots)
        return {view.memory: number - count for number, view in enumerate(self.roots)}

    @functools.cached_property
    def _call(self) -> ProgramCall | None:
        """The program in one call of compiled code, where nothing in it needs more than that."""
        program = self.program
        if isinstance(program, BackendProgram) or program.sources or program.native is None:
            return None
        return None if any(map(may_raise, program.operations)) else ProgramCall(program)

    @property
    def direct(self) -> DirectBackward | None:
        """The walk from a node in one call; None if there is none, or not yet."""
        if self._direct is None and self._may_be_direct and direct_backward.is_ready():
            positions = [position for position, _ in self._positions]
            self._direct = DirectBackward(
                CompiledFunctionBackward, self.program, self.roots, self.reads, positions
            )
        return self._direct

    @functools.cached_property
    def _may_be_direct(self) -> bool:
        made = all([part is None and (k is None or k >= 0) for k, part in self._positions])
        return made and self._call is not None and not is_long(self.program)

    @functools.cached_property
    def _positions(self) -> list[tuple[int | None, View | None]]:
        """For the gradient of each input the number of the result, and the view if it is a part.

        Numbers below zero count the gradients of the roots from the end.
        """
        made = self.program.results if self.operations else ()
        positions = {**self._given, **{memory: k for k, memory in enumerate(made)}}
        return [
            (None, None)
            if view is None
            else (positions[view.memory], None if view == whole(view.memory) else view)
            for view in self.results
        ]


@dataclasses.dataclass
class Backward:
    """The programs of a backward, and where their arrays come from and go to.

    Attributes:
        together: the walk from all outputs.
        single: the walks from each of them, if there are several, but not many.
        reached: for every output whether it depends on each of the inputs.
        linear: whether gradients of several outputs are sums of those of each.
        saved: memory made by the forward that the programs read.
        given: memory from outside that they read.
        pair: the recorded call that it is the backward of, as long as that is kept.
    """

    together: Walk
    single: list[Walk]
    reached: list[list[bool]]
    linear: bool
    saved: list[Memory]
    given: list[Memory]
    pair: Callable[[], Any] = lambda: None
    #: ``direct(node, *gradients)``, :meth:`run` in compiled code; None for what is left to Python.
    direct: Callable[..., Any] | None = None
    _narrowed: dict[tuple[bool, ...], Backward | None] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        positions = {memory: k for k, memory in enumerate([*self.saved, *self.given])}
        for walk in (self.together, *self.single):
            walk.reads = [positions[memory] for memory in walk.kept]

    def narrowed(self, wanted: tuple[bool, ...]) -> Backward:
        """The same without what computes the gradients of other inputs than those wanted.

        It is made when it is asked for the second time.
        """
        found = self._narrowed.get(wanted, self)
        if found is None:
            together, *single = [walk.narrowed(wanted) for walk in (self.together, *self.single)]
            found = dataclasses.replace(
                self, together=together, single=single, direct=None, _narrowed={}
            )
            self._narrowed[wanted] = found
        elif found is self and wanted not in self._narrowed:
            self._narrowed[wanted] = None
        return found

    @property
    def gradients(self) -> list[View]:
        """The gradients of the outputs."""
        return self.together.roots

    @property
    def program(self) -> Program:
        """The program of the walk from all outputs."""
        return self.together.program

    def run(
        self, gradients: Sequence[Tensor | None], kept: Sequence[Array], numbers: Sequence[float]
    ) -> list[Tensor | None]:
        """The gradients of the inputs; None for those on which no output with a gradient depends.

        ``kept`` holds arrays for ``saved`` and ``given``, ``numbers`` what the forward was given.
        """
        if all([gradient is not None for gradient in gradients]):
            if self.direct is None and (found := self.together.direct) is not None:
                self.direct = found.launch
            return self.together.run(gradients, kept, numbers)  # type: ignore[arg-type]
        chosen = [k for k, gradient in enumerate(gradients) if gradient is not None]
        if self.single and (self.linear or len(chosen) < 2):
            # Zeros are not the same: they become NaN where a derivative is infinite.
            parts = [self.single[k].run([gradients[k]], kept, numbers) for k in chosen]  # type: ignore[list-item]
            return [_sum(each) for each in zip(*parts, strict=True)] or [None] * self._inputs
        given = [
            new_tensor(filled(view.shape, view.dtype, 0, view.memory.where))
            if gradient is None
            else gradient
            for gradient, view in zip(gradients, self.gradients, strict=True)
        ]
        made = self.together.run(given, kept, numbers)
        return [
            gradient if any([self.reached[k][position] for k in chosen]) else None
            for position, gradient in enumerate(made)
        ]

    @property
    def _inputs(self) -> int:
        return len(self.together.results)


def _sum(gradients: Sequence[Tensor | None]) -> Tensor | None:
    """The sum of those that are there; None if there is none."""
    there = [gradient for gradient in gradients if gradient is not None]
    return functools.reduce(operator.add, there) if there else None


def _part(gradient: Tensor, view: View) -> Tensor:
    """A view of the gradient of a root."""
    made = new_tensor(as_view(gradient._array, view))
    share_memory(made, gradient)
    return made


def _laid(array: Array, view: View) -> Array:
    """A copy of an array that lies in memory as a view does."""
    laid = empty_like(view.memory)
    assign(laid, array)
    return laid


def _placed_as(array: Array, numbers: Array) -> Array:
    """Numbers in the dtype of an array, where that is."""
    made = half.converted(numbers, array.dtype)
    where = foreign(array)
    return made if where is None else where.from_host(made)


def capture_backward(
    trace: Trace, roots: list[Tensor], inputs: list[Tensor], kept: list[Memory]
) -> tuple[Backward, int]:
    """Walk the graph of ``roots`` and capture it; also returns how many operations came before.

    The graph stays as it is: the caller of the function may walk it as well. ``kept`` is memory
    that the forward hands out anyway.
    """
    nodes = nodes_behind(roots)
    if any([node._hooks is not None for node in nodes]):
        raise CannotDifferentiate("a graph with hooks that outlives the function")
    _check_independent(inputs)
    trace.when_walked = lambda tensors: None  # these walks end at the inputs
    start = len(trace.operations)
    random = np.random.default_rng(0)
    given = [
        new_tensor(_placed_as(root._array, random.standard_normal(root._array.shape)))
        for root in roots
    ]
    made_before = {v.memory for operation in trace.operations for v in operation.writes}
    together = _walk(trace, roots, given, inputs, made_before)
    several = 1 < len(roots) <= MOST_SINGLE
    single = [
        _walk(trace, [root], [gradient], inputs, made_before)
        for root, gradient in zip(roots if several else (), given if several else (), strict=True)
    ]
    kept = list(dict.fromkeys([memory for walk in (together, *single) for memory in walk.kept]))
    saved = [memory for memory in kept if memory in made_before]
    return Backward(
        together, single, [_reached(root, inputs) for root in roots],
        not any([isinstance(node, BackwardCFunction) for node in nodes]),
        saved, [memory for memory in kept if memory not in made_before],
    ), start  # fmt: skip


def _gradients(
    trace: Trace, roots: list[Tensor], given: list[Tensor], inputs: list[Tensor]
) -> tuple[list[View], list[Any]]:
    """The captured walk itself: where the gradients of the roots lie, and those of the inputs."""
    with trace.capturing():
        views = [trace.view(gradient._array) for gradient in given]
        edges = [wanted_edge(tensor) for tensor in inputs]
        try:
            return views, run_backward(roots, given, True, False, edges, accumulate=False)  # type: ignore[arg-type]
        except Exception as error:  # the caller of the function may never walk there
            raise CannotDifferentiate(f"a graph whose walk raises {error!r}") from error


def _walk(
    trace: Trace,
    roots: list[Tensor],
    given: list[Tensor],
    inputs: list[Tensor],
    made_before: set[Memory],
) -> Walk:
    """Walk the graph from ``roots``, whose gradients are ``given``, and capture it."""
    start = len(trace.operations)
    views, found = _gradients(trace, roots, given, inputs)
    if trace.failure is not None:
        raise CannotDifferentiate(trace.failure)
    results = [None if tensor is None else trace.view(tensor._array) for tensor in found]
    operations = trace.operations[start:]
    _check_new(operations, results, [view.memory for view in views], made_before)
    try:
        where = backend_of_all(trace.operations)
    except MixedDevicesError as error:
        raise CannotDifferentiate(str(error)) from None
    passes = CPU_PASSES if where is None else where.passes
    alive = [view.memory for view in results if view is not None]
    traced, operations = operations, optimise(operations, alive, passes)
    read = list(dict.fromkeys([v.memory for operation in operations for v in operation.reads]))
    outside = {view.memory for view in views}
    kept = [m for m in read if m not in outside and (m in made_before or not m.made)]
    written = {v.memory for operation in operations for v in operation.writes}
    if written & {*kept, *outside}:
        raise CannotDifferentiate("a backward that writes what it was given")
    return Walk(views, traced, passes, operations, kept, results, trace.number_sources)


def _reached(root: Tensor, inputs: list[Tensor]) -> list[bool]:
    """For each of the inputs whether it is in the graph of an output."""
    edges = [wanted_edge(tensor) for tensor in inputs]
    behind = nodes_behind([root])
    ends = {id(edge[0]) for node in behind for edge in node.next_edges if edge is not None}
    ends.update(map(id, behind))
    return [edge is not None and id(edge[0]) in ends for edge in edges]


def _check_independent(inputs: list[Tensor]) -> None:
    """The walk ends at the inputs: none may be part of the graph of another."""
    ends = {id(edge[0]) for tensor in inputs if (edge := edge_of(tensor)) is not None}
    inner = [x for x in inputs if x._producer is not None]
    for node in nodes_behind(inner):
        for edge in node.next_edges:
            if edge is not None and id(edge[0]) in ends:
                raise CannotDifferentiate("an input that was computed from another one")


def _check_new(
    operations: list[Any],
    results: list[View | None],
    given: list[Memory],
    made_before: set[Memory],
) -> None:
    """The results are memory that the walk made, and nobody else has, or that of its roots."""
    known = {view.memory for operation in operations for view in operation.writes} - made_before
    known.update(given)
    if any([view is not None and view.memory not in known for view in results]):
        raise CannotDifferentiate("a gradient that is a saved tensor")


def whole(memory: Memory) -> View:
    """All of a block of memory, as its owner sees it."""
    array = memory.array
    return View(memory, 0, array.shape, array.strides, array.dtype)


def nodes_behind(tensors: Iterable[Tensor]) -> list[Node]:
    """All nodes of the graph of some tensors."""
    pending: list[Any] = [tensor._producer for tensor in tensors]
    seen: dict[int, Node] = {}
    while pending:
        node = pending.pop()
        if isinstance(node, Node) and id(node) not in seen:
            seen[id(node)] = node
            pending += [edge[0] for edge in node.next_edges if edge is not None]
    return list(seen.values())


class CompiledFunctionBackward(Node):
    """The node of a compiled function."""

    __slots__ = ("_output_count", "numbers", "plan", "shapes", "versions")

    _computes_wanted = True

    def __init__(
        self,
        plan: Backward,
        edges: tuple[Any, ...],
        kept: tuple[Array, ...],
        watched: list[tuple[Array, list[Any], int]],
        outputs: int,
        numbers: Sequence[float],
    ):
        self.plan = plan
        self._output_count = outputs
        self.numbers = numbers
        #: Memory that must not be written: an array, the count of its writes, and its value then.
        self.versions = watched
        super().__init__(edges, kept)

    def unpack(self) -> tuple[Any, ...]:
        """The arrays that were kept; raises if they were freed or written since."""
        if self.saved is None:
            raise RuntimeError(FREED)
        for array, cell, version in self.versions:
            if cell[0] != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an "
                    f"inplace operation: a tensor of shape {list(array.shape)} that a compiled "
                    f"function read or returned is at version {cell[0]}; expected version "
                    f"{version} instead"
                )
        return self.saved

    def release(self) -> None:
        """Free what was kept; a graph that keeps nothing may be walked again, as in torch."""
        if self.saved:
            self.saved = None
            self.versions = []

    def backward(self, *grads: Any, wanted: tuple[bool, ...] | None = None) -> tuple[Any, ...]:
        """The gradients of the inputs, by the second program."""
        plan = self.plan if wanted is None else self.plan.narrowed(wanted)
        direct = plan.direct
        if direct is not None and timing.active is None:
            found: tuple[Any, ...] | None = direct(self, *grads)
            if found is not None:
                return found
        if grad_mode.enabled:
            raise RuntimeError(
                "compile: the gradient of a compiled function cannot be differentiated again; "
                "compile a function that computes both gradients inside, with "
                "autograd.grad(create_graph=True)"
            )
        kept = self.unpack()
        return tuple(plan.run(grads, kept, self.numbers))
