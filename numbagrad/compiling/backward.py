"""The backward of a compiled function whose results are differentiated later.

While the function is recorded its graph is walked once, with made-up gradients, and that walk
becomes a second program. Each run of the first program keeps what the second one reads, in a node
that the engine treats like any other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import half_precision as half
from ..autograd.engine import run_backward
from ..autograd.grad_mode import state as grad_mode
from ..autograd.node import Node, edge_of, wanted_edge
from ..autograd.saved import FREED
from ..executor.program.fusion import optimise
from ..executor.program.graph import Array, Memory, View
from ..executor.program.program import Program, as_view
from ..executor.program.recorder import Recorder
from ..tensor import Tensor, new_tensor


class CannotDifferentiate(Exception):  # noqa: N818 - a signal to the caller
    """Raised for a graph whose walk cannot become a program; the text says why."""


@dataclasses.dataclass
class Backward:
    """The program of a backward, and where its arrays come from and go to.

    Attributes:
        saved: memory made by the forward that it reads.
        given: memory from outside that it reads.
        results: for every input the view that holds its gradient, or None.
    """

    program: Program
    gradients: list[View]
    saved: list[Memory]
    given: list[Memory]
    results: list[View | None]

    def run(
        self, gradients: Sequence[Array], kept: Sequence[Array], numbers: Sequence[float]
    ) -> list[Tensor | None]:
        """The gradients of the inputs.

        ``kept`` holds arrays for ``saved`` and ``given``, ``numbers`` what the forward was given.
        """
        laid = [
            gradient if gradient.strides == view.strides else _laid(gradient, view)
            for gradient, view in zip(gradients, self.gradients, strict=True)
        ]
        made = self.program.run([*laid, *kept], numbers=numbers)
        places = {memory: k for k, memory in enumerate(self.program.results)}
        return [
            None if view is None else new_tensor(as_view(made[places[view.memory]], view))
            for view in self.results
        ]


def _laid(array: Array, view: View) -> Array:
    """A copy of an array that lies in memory as a view does."""
    laid = np.empty_like(view.memory.array)
    laid[...] = array
    return laid


def record_backward(
    recorder: Recorder, roots: list[Tensor], inputs: list[Tensor], kept: list[Memory]
) -> tuple[Backward, int]:
    """Walk the graph of ``roots`` and record it; also returns how many operations came before.

    The graph stays as it is: the caller of the function may walk it as well. ``kept`` is memory
    that the forward hands out anyway.
    """
    if any([node._hooks is not None for node in nodes_behind(roots)]):
        raise CannotDifferentiate("a graph with hooks that outlives the function")
    _check_independent(inputs)
    start = len(recorder.operations)
    random = np.random.default_rng(0)
    given = [
        new_tensor(half.converted(random.standard_normal(root._array.shape), root._array.dtype))
        for root in roots
    ]
    with recorder.recording():
        views = [recorder.view(gradient._array) for gradient in given]
        edges = [wanted_edge(tensor) for tensor in inputs]
        try:
            found = run_backward(roots, given, True, False, edges, accumulate=False)  # type: ignore[arg-type]
        except Exception as error:  # the caller of the function may never walk there
            raise CannotDifferentiate(f"a graph whose walk raises {error!r}") from error
    if recorder.failure is not None:
        raise CannotDifferentiate(recorder.failure)
    results = [None if tensor is None else recorder.view(tensor._array) for tensor in found]
    made_before = {v.memory for operation in recorder.operations[:start] for v in operation.writes}
    operations = recorder.operations[start:]
    copied = _copies(operations, results, made_before)
    wanted = [view.memory for view in copied if view is not None]
    operations = optimise(operations, wanted)
    read = list(dict.fromkeys([v.memory for operation in operations for v in operation.reads]))
    outside = {view.memory for view in views}
    saved = [memory for memory in read if memory in made_before]
    given_before = [m for m in read if not m.made and m not in outside]
    written = {v.memory for operation in operations for v in operation.writes}
    if written & {*saved, *given_before, *outside}:
        raise CannotDifferentiate("a backward that writes what it was given")
    program = Program(
        operations,
        [*views, *[whole(memory) for memory in (*saved, *given_before)]],
        list(dict.fromkeys(wanted)),
        recorder.number_sources,
    )
    return Backward(program, views, saved, given_before, copied), start


def _check_independent(inputs: list[Tensor]) -> None:
    """The walk ends at the inputs: none may be part of the graph of another."""
    ends = {id(edge[0]) for tensor in inputs if (edge := edge_of(tensor)) is not None}
    inner = [x for x in inputs if x._grad_fn is not None]
    for node in nodes_behind(inner):
        for edge in node.next_edges:
            if edge is not None and id(edge[0]) in ends:
                raise CannotDifferentiate("an input that was computed from another one")


def _copies(
    operations: list[Any], results: list[View | None], made_before: set[Memory]
) -> list[View | None]:
    """The results, with a copy in the place of those that are memory of somebody else."""
    made = {view.memory for operation in operations for view in operation.writes}
    for view in results:
        if view is not None and (view.memory not in made or view.memory in made_before):
            raise CannotDifferentiate("a gradient that is the incoming one, or a saved tensor")
    return results


def whole(memory: Memory) -> View:
    """All of a block of memory, as its owner sees it."""
    array = memory.array
    return View(memory, 0, array.shape, array.strides, array.dtype)


def nodes_behind(tensors: Iterable[Tensor]) -> list[Node]:
    """All nodes of the graph of some tensors."""
    pending: list[Any] = [tensor._grad_fn for tensor in tensors]
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

    def __init__(
        self,
        plan: Backward,
        inputs: list[Tensor],
        kept: list[Array],
        watched: list[Tensor],
        outputs: int,
        numbers: Sequence[float],
    ):
        self.plan = plan
        self._output_count = outputs
        self.numbers = numbers
        self.versions = [(tensor, tensor._version) for tensor in watched]
        super().__init__(tuple([edge_of(tensor) for tensor in inputs]), tuple(kept))

    def unpack(self) -> tuple[Any, ...]:
        """The arrays that were kept; raises if they were freed or written since."""
        if self.saved is None:
            raise RuntimeError(FREED)
        for tensor, version in self.versions:
            if tensor._version != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an "
                    f"inplace operation: a tensor of shape {list(tensor._array.shape)} that a "
                    f"compiled function read is at version {tensor._version}; expected version "
                    f"{version} instead"
                )
        return self.saved

    def release(self) -> None:
        """Free what was kept."""
        self.saved = None
        self.versions = []

    def backward(self, *grads: Any) -> tuple[Any, ...]:
        """The gradients of the inputs, by the second program."""
        if grad_mode.enabled:
            raise RuntimeError(
                "compile: the gradient of a compiled function cannot be differentiated again; "
                "compile a function that computes both gradients inside, with "
                "autograd.grad(create_graph=True)"
            )
        kept = self.unpack()
        gradients = [
            np.zeros(view.shape, view.dtype) if grad is None else grad._array
            for grad, view in zip(grads, self.plan.gradients, strict=True)
        ]
        return tuple(self.plan.run(gradients, kept, self.numbers))
