"""Blocks written over blocks that are read for the last time: less memory, fewer lines of cache.

``fusion.py`` calls ``written_in_place`` with the operations as they will run. A pointwise
operation, or the epilogue of a product, may write an element to where it has just read the one
element that it needs from there; a function of a user's where its source says so
(``executor/user_kernels/overwriting.py``). What is overwritten may lie in a result that is first
written here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..executor.plan.formula_kernels import is_guarded
from ..executor.plan.operations import Call, Opaque, Operation, Pointwise, Product, renamed
from ..executor.plan.views import Memory, View, covers
from ..executor.user_kernels.overwriting import may_overwrite


def written_in_place(operations: Sequence[Operation], kept: Collection[Memory]) -> list[Operation]:
    """The operations, with outputs in the blocks that these read for the last time.

    ``kept`` is memory that somebody reads afterwards.
    """
    blocks = _Blocks(operations, kept)
    for at, operation in enumerate(operations):
        if isinstance(operation, Opaque):
            for output in operation.outputs:
                blocks.overwrite(operation, output, at, _of_function(operation, output))
            continue
        elements = operation.epilogue if isinstance(operation, Product) else operation
        if not isinstance(elements, Pointwise):
            continue
        if is_guarded(elements.formula, elements.compute):  # it may read operands again
            continue
        # A product is written, and its factors are read, while the epilogue has yet to begin.
        before = set()
        if isinstance(operation, Product):
            before = {operation.c.memory, *[x.memory for term in operation.terms for x in term]}
        for output in elements.outputs:
            if output.memory not in before:
                read = [x.expanded(elements.shape) for x in elements.reads]
                fits = [x for x in read if x.memory not in before]
                blocks.overwrite(operation, output, at, fits)
    if not blocks.names:
        return list(operations)
    return [renamed(operation, blocks.name) for operation in operations]


def _of_function(operation: Opaque, output: View) -> list[View]:
    """The arrays that a user's function has finished reading where it writes an output."""
    position, rank = operation.arguments.index(output), len(output.shape)
    return [
        x
        for k, x in enumerate(operation.arguments)
        if isinstance(x, View) and x not in operation.outputs and len(x.shape) == rank
        and may_overwrite(operation.function, k, position, rank)
    ]  # fmt: skip


class _Blocks:
    """Blocks that programs lay into their arena, and those that became one.

    Attributes:
        names: the block that stands for one that was joined to it.
    """

    def __init__(self, operations: Sequence[Operation], kept: Collection[Memory]):
        self.names: dict[Memory, Memory] = {}
        self._first: dict[Memory, int] = {}
        self._last: dict[Memory, int] = {}
        made_by_python: set[Memory] = set()
        given: set[Memory] = set()  # read before it is written: a forward made it, for a backward
        for at, operation in enumerate(operations):
            given.update([x.memory for x in operation.reads if x.memory not in self._first])
            for view in (*operation.reads, *operation.writes):
                self._first.setdefault(view.memory, at)
                self._last[view.memory] = at
            if isinstance(operation, Call):
                made_by_python.update([view.memory for view in operation.outputs])
        #: Memory that operations of the program write first, and the part not read afterwards.
        self._new = {
            memory for memory in self._first
            if memory.made and memory not in made_by_python | given
        }  # fmt: skip
        self._own = self._new - set(kept)

    def name(self, memory: Memory) -> Memory:
        """The block that a block has become."""
        while memory in self.names:
            memory = self.names[memory]
        return memory

    def overwrite(self, operation: Operation, output: View, at: int, fits: Sequence[View]) -> None:
        """Lay an output over a block that is read last by the operation at a place, if one fits.

        ``fits`` are views of which an element may be gone when the output's is written.
        """
        made = output.memory
        written = [view for view in operation.writes if view.memory is made]
        if made not in self._new or self._first[made] < at or len(written) > 1:
            return
        if not covers(output) or made in self.names:
            return
        taken = {self.name(view.memory) for view in operation.writes}
        for view in fits:
            source = self.name(view.memory)
            usable = source in self._own and source not in taken and self._last[source] == at
            if usable and _lie_alike(view, output) and self._is_all(operation, view, fits):
                self._join(source, made)
                return

    def _is_all(self, operation: Operation, view: View, fits: Sequence[View]) -> bool:
        """Whether an operation uses nothing else of the block of a view."""
        block = self.name(view.memory)
        mine = [x for x in fits if self.name(x.memory) is block]
        uses = [x for x in operation.reads if self.name(x.memory) is block]
        return len(mine) == len(uses) and len(set(mine)) == 1

    def _join(self, source: Memory, output: Memory) -> None:
        """Let a block and what is written over it be one: the result, if that is one."""
        if output in self._own:
            self.names[output] = source
            self._last[source] = self._last[output]
        else:
            self.names[source] = output


def _lie_alike(view: View, other: View) -> bool:
    """Whether two views have their elements at the same places of blocks of one size."""
    return (
        (view.offset, view.shape, view.strides, view.dtype)
        == (other.offset, other.shape, other.strides, other.dtype)
    ) and view.memory.nbytes == other.memory.nbytes


__all__ = ["written_in_place"]
