"""Effects of a call beside its writes: how they are described, and made again by a run.

``effects_of_call.py`` describes it for a captured call; ``captured_call.py`` makes it after each
run of the program: tensors with their graph and count of writes, and gradients.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.hooks.watching import INFERENCE_CELL
from ..autograd.node import UNRECORDED, Node, edge_of
from ..autograd.saved import FREED
from ..autograd.writes.inplace import register_view
from ..executor.plan.operations import Array
from ..executor.plan.views import Memory, View
from ..program.program import as_view
from ..structure import LEAF, rebuild
from ..tensor import Tensor, new_tensor
from .backward import Backward, CompiledFunctionBackward, whole

#: In the place of the number of a count of writes: the result is an inference tensor, without one.
INFERENCE = -1

#: How a run finds a value that the call left behind: it is this one, a tensor known, a tensor made
#: anew, or a number that a function computes.
CONSTANT, KNOWN, MADE, COMPUTED = range(4)


class Unusable(Exception):  # noqa: N818 - a signal inside this package
    """Raised for a call that a program cannot repeat; ``may_settle`` if the next one may do."""

    def __init__(self, reason: str, may_settle: bool = False):
        super().__init__(reason)
        self.may_settle = may_settle


@dataclasses.dataclass
class Position:
    """A tensor that the call can reach: an argument by its place, or the tensor itself."""

    tensor: Tensor | None
    argument: int | None
    of_gradient: bool = False

    def find(self, leaves: Sequence[Any]) -> Any:
        """The tensor (or its gradient) in a later call."""
        tensor: Any = self.tensor if self.argument is None else leaves[self.argument]
        return tensor._accumulated if self.of_gradient else tensor


class FreedNode(Node):
    """Stands for the graph of a result whose backward ran inside the program."""

    __slots__ = ("called",)

    called: str

    def backward(self, *grads: Any) -> tuple[Any, ...]:
        """Raises, as the node would whose place this one takes."""
        raise RuntimeError(FREED)

    def name(self) -> str:
        """The name of the node that the captured call left."""
        return self.called


@dataclasses.dataclass
class Made:
    """A tensor to be made after each run: a view of a result, or of memory given to the program."""

    view: View
    result: int | None
    owner: tuple[Position, View] | None
    requires_grad: bool
    grad_fn: str | None
    output: int | None
    #: The count of writes: that of a tensor known, or the number of one that results share, or
    #: ``INFERENCE``.
    cell: Position | int | None
    version: int
    #: The tensor that a view is a view of, why it may not be written, and whether writes to the
    #: base have to find it.
    base: Position | Made | None
    origin: str | None = None
    is_registered: bool = False
    #: Whether it is a view that was made while nothing was captured, of what requires grad.
    is_unrecorded: bool = False
    #: Whether it was a view, or detached from one: it knows the whole memory.
    is_of_memory: bool = False

    @property
    def is_unshared(self) -> bool:
        """Whether it is a whole result, and shares nothing with other values of its run."""
        return self.output is None and self.is_whole

    @property
    def is_whole(self) -> bool:
        """Whether it is all of a result, and no view of another tensor."""
        if self.result is None or self.base is not None or self.is_unrecorded:
            return False
        view, array = self.view, self.view.memory.array
        whole = view.shape == array.shape and view.strides == array.strides and not view.offset
        return whole and view.dtype == array.dtype and not isinstance(self.cell, Position)

    def make_unshared(self, results: Sequence[Array], leaves: Sequence[Any]) -> Tensor:
        """:meth:`make` for an effect that :attr:`is_unshared`."""
        node = None
        if self.grad_fn is not None:
            node = FreedNode(())
            node.called = self.grad_fn
        tensor = new_tensor(results[self.result], self.requires_grad, node, 0)  # type: ignore[index]
        cell = self.cell
        tensor._version_cell = (
            None if cell is None else [self.version] if cell >= 0 else INFERENCE_CELL  # type: ignore[operator]
        )
        return tensor

    def make(self, run: Run) -> Tensor:
        """The tensor of one run."""
        found = run.made.get(id(self))
        if found is None:
            found = run.made[id(self)] = self._make(run)
        return found

    def _make(self, run: Run) -> Tensor:
        if self.result is not None:
            array = as_view(run.results[self.result], self.view)
        else:
            assert self.owner is not None
            position, view = self.owner
            array = as_view(position.find(run.leaves)._array, self.view, view.offset)
        if self.output is not None:
            tensor = new_tensor(array, True, run.graph, self.output)
        else:
            node: Node | None = UNRECORDED if self.is_unrecorded else None
            if self.grad_fn is not None:
                node = FreedNode(())
                node.called = self.grad_fn
            tensor = new_tensor(array, self.requires_grad, node, 0)
        if isinstance(self.cell, Position):
            tensor._version_cell = version_cell_of(self.cell.find(run.leaves))
        elif self.cell is None:
            tensor._version_cell = None
        elif self.cell == INFERENCE:
            tensor._version_cell = INFERENCE_CELL
        else:
            tensor._version_cell = run.cells.setdefault(self.cell, [self.version])
        if self.base is not None:
            base = self.base
            tensor._viewed = base.make(run) if isinstance(base, Made) else base.find(run.leaves)
            if self.origin is not None:
                tensor._view_origin = self.origin
            if self.is_registered:
                register_view(tensor, version_cell_of(tensor))
        elif self.is_of_memory:
            tensor._memory = self._memory(run)
        return tensor

    def _memory(self, run: Run) -> Array:
        """The whole memory that the tensor shows a part of."""
        if self.result is not None:
            return run.results[self.result]
        assert self.owner is not None
        owner = self.owner[0].find(run.leaves)
        base = owner if owner._viewed is None else owner._viewed
        return base._array if base._memory is None else base._memory


def finder(
    reference: tuple[int, Any],
) -> Callable[[Sequence[Array], Sequence[Any]], Any] | None:
    """A function of the results and arguments of a run that finds the only value it returns.

    None if that needs to know what else was made.
    """
    kind, value = reference
    if kind == MADE:
        return value.make_unshared if value.is_unshared else None
    if kind == COMPUTED:
        return lambda results, leaves: value()
    if kind == KNOWN:
        if value.argument is not None and not value.of_gradient:
            position = value.argument
            return lambda results, leaves: leaves[position]
        return lambda results, leaves: value.find(leaves)
    return lambda results, leaves: value


def finder_of_all(
    structure: Any, references: Sequence[tuple[int, Any]]
) -> Callable[[Sequence[Array], Sequence[Any]], Any] | None:
    """A function like that of :func:`finder` for all that a run returns, in its structure.

    None also where some of it shares memory, or a count of writes.
    """
    finders = [finder(reference) for reference in references]
    made = [value for kind, value in references if kind == MADE]
    memories = {value.result for value in made}
    cells = [value.cell for value in made if value.cell not in (None, INFERENCE)]
    if None in finders or len(memories) < len(made) or len(set(cells)) < len(cells):
        return None
    if structure is LEAF:
        return finders[0]
    if structure == (tuple, *[LEAF] * len(finders)):
        return lambda results, leaves: tuple([find(results, leaves) for find in finders])  # type: ignore[misc]
    return lambda results, leaves: rebuild(
        structure, iter([find(results, leaves) for find in finders])  # type: ignore[misc]
    )  # fmt: skip


class Run:
    """Results of one run of a program, as far as it has come."""

    __slots__ = ("results", "leaves", "graph", "made", "cells")  # half the time of a dataclass

    def __init__(self, results: Sequence[Array], leaves: Sequence[Any]):
        self.results = results
        self.leaves = leaves
        self.graph: Node | None = None
        self.made: dict[int, Tensor] = {}
        self.cells: dict[int, list[int]] = {}


def version_cell_of(tensor: Tensor) -> list[int]:
    """The count of writes of a tensor; there is one from now on."""
    if tensor._version_cell is None:
        tensor._version_cell = [0]
    return tensor._version_cell


def _cut(memory: Memory, view: View) -> tuple[View, int] | None:
    """How a block lies behind the first byte of a view of it; None if the view is all of it."""
    everything = whole(memory)
    return None if view == everything else (everything, view.offset)


class Live:
    """The backward of results with a live graph, and where a run finds what it needs.

    ``made`` are the tensors that the call leaves behind: some are in memory that is kept.

    Attributes:
        inputs: the tensors that have edges.
        outputs: how many tensors the node has made.
        saved: the results of the program that are kept.
        handed_out: the tensors in memory that is kept.
    """

    def __init__(
        self,
        backward: Backward,
        inputs: list[Position],
        outputs: int,
        results: list[Memory],
        owners: dict[Memory, tuple[Position, View]],
        made: Sequence[Made],
    ):
        self.backward = backward
        self.handed_out = [each for each in made if each.view.memory in backward.saved]
        self.inputs = inputs
        self.outputs = outputs
        self.saved = [results.index(memory) for memory in backward.saved]
        self._owners = owners

    @functools.cached_property
    def _given(self) -> list[tuple[Position, tuple[View, int] | None]]:
        """The tensor in memory that was given and is kept, and the part to cut out of its array.

        Asked for by the first run: some owners are found after the backward was captured.
        """
        return [(self._owners[m][0], _cut(m, self._owners[m][1])) for m in self.backward.given]

    @property
    def whole_given(self) -> list[Position] | None:
        """The tensors whose arrays are kept; None if a part of one is."""
        return (
            None
            if any([cut for _, cut in self._given])
            else [position for position, _ in self._given]
        )

    def node(
        self, results: Sequence[Array], leaves: Sequence[Any], numbers: Sequence[float]
    ) -> CompiledFunctionBackward:
        """The node of one run, which was given these numbers."""
        kept = [results[position] for position in self.saved]
        watched = []
        for position, cut in self._given:
            tensor = position.find(leaves)
            array = tensor._array
            cell = tensor._version_cell
            if cell is None:
                cell = tensor._version_cell = [0]
            watched.append((array, cell, cell[0]))
            kept.append(array if cut is None else as_view(array, *cut))
        edges = tuple([edge_of(position.find(leaves)) for position in self.inputs])
        return CompiledFunctionBackward(
            self.backward, edges, tuple(kept), watched, self.outputs, numbers
        )

    def finder(
        self, returned: tuple[int, Any]
    ) -> Callable[[Sequence[Array], Sequence[Any], Sequence[float]], Tensor] | None:
        """A function of the results, arguments and numbers of a run that finds all that it returns.

        None unless that is one tensor, and all that the run leaves behind.
        """
        kind, made = returned
        if kind != MADE or made.output is None or made.result is None or made.base is not None:
            return None
        if isinstance(made.cell, Position) or made.cell == INFERENCE or self.outputs > 1:
            return None
        if any([each is not made for each in self.handed_out]):
            return None
        position, output, version = made.result, made.output, made.version
        view = None if made.view == whole(made.view.memory) else made.view
        shared = made.cell is not None
        kept = bool(self.handed_out)

        def find(
            results: Sequence[Array], leaves: Sequence[Any], numbers: Sequence[float]
        ) -> Tensor:
            node = self.node(results, leaves, numbers)
            array = results[position] if view is None else as_view(results[position], view)
            tensor = new_tensor(array, True, node, output)
            tensor._version_cell = [version] if shared else None
            if kept:
                cell = version_cell_of(tensor)
                node.versions.append((array, cell, cell[0]))
            return tensor

        return find

    def watch_results(self, run: Run) -> None:
        """Have the node of a run notice if its caller writes a result that it keeps."""
        for made in self.handed_out:
            tensor = made.make(run)
            cell = tensor._version_cell
            if cell is None:
                cell = tensor._version_cell = [0]
            run.graph.versions.append((tensor._array, cell, cell[0]))  # type: ignore[union-attr]


@dataclasses.dataclass
class Effects:
    """Effects of a call beside its writes into given memory.

    ``flags`` are the leaves of which it changed whether they require gradients, and what to.
    ``attributes`` are entries of dictionaries where it put tensors that it made.
    """

    flags: list[tuple[Position, bool]]
    gradients: list[tuple[Position, tuple[int, Any]]]
    versions: list[tuple[Position, int]]
    structure: Any
    returned: list[tuple[int, Any]]
    attributes: list[tuple[dict[Any, Any], Any, tuple[int, Any]]]
    backward: Live | None = None


__all__ = [
    "COMPUTED", "CONSTANT", "INFERENCE", "KNOWN", "MADE", "Effects", "FreedNode", "Live",
    "Made", "Position", "Run", "Unusable", "finder_of_all", "version_cell_of",
]  # fmt: skip
