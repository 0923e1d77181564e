"""Blocks written over blocks that are read for the last time: less memory, fewer lines of cache.

``fusion.py`` calls ``written_in_place`` with the operations as they will run. A pointwise
operation, or the epilogue of a product, may write an element to where it has just read the one
element that it needs from there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..pointwise import is_guarded
from .graph import Call, Memory, Operation, Pointwise, Product, View, covers, renamed


def written_in_place(operations: Sequence[Operation], kept: Collection[Memory]) -> list[Operation]:
    """The operations, with outputs of pointwise ones in blocks that these read for the last time.

    ``kept`` is memory that somebody reads afterwards.
    """
    blocks = _Blocks(operations, kept)
    for at, operation in enumerate(operations):
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
            source = blocks.to_overwrite(elements, output, at, before)
            if source is not None:
                blocks.join(source, output.memory)
    if not blocks.names:
        return list(operations)
    return [renamed(operation, blocks.name) for operation in operations]


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
        self._own = {
            memory for memory in self._first
            if memory.made and memory not in kept and memory not in made_by_python | given
        }  # fmt: skip

    def name(self, memory: Memory) -> Memory:
        """The block that a block has become."""
        while memory in self.names:
            memory = self.names[memory]
        return memory

    def join(self, source: Memory, output: Memory) -> None:
        """Let what is written to ``output`` go to where ``source`` was."""
        self.names[output] = source
        self._last[source] = self._last[output]

    def to_overwrite(
        self, operation: Pointwise, output: View, at: int, others: Collection[Memory]
    ) -> Memory | None:
        """A block that the operation reads last, element for element as it writes ``output``.

        ``others`` is memory that is not used by elements alone.
        """
        made = output.memory
        if made in others:
            return None
        others = {self.name(memory) for memory in others}
        written = [view for view in operation.outputs if view.memory is made]
        if made not in self._own or self._first[made] < at or len(written) > 1:
            return None
        if not covers(output):
            return None
        read: dict[Memory, set[View]] = {}
        for view in operation.reads:
            place = self.name(view.memory)
            read.setdefault(place, set()).add(view.expanded(operation.shape))
        taken = {self.name(view.memory) for view in operation.outputs}
        for source, views in read.items():
            usable = source in self._own and source not in taken and source not in others
            usable = usable and self._last[source] == at
            if usable and len(views) == 1 and _lie_alike(next(iter(views)), output):
                return source
        return None


def _lie_alike(view: View, other: View) -> bool:
    """Whether two views have their elements at the same places of blocks of one size."""
    return (
        (view.offset, view.shape, view.strides, view.dtype)
        == (other.offset, other.shape, other.strides, other.dtype)
    ) and view.memory.nbytes == other.memory.nbytes


__all__ = ["written_in_place"]
