"""The operations of a program by their places, for passes that move them or replace them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..executor.plan.operations import Operation, may_raise, renamed
from ..executor.plan.views import Memory, View, overlap

_Touched = dict[Memory, dict[int, list[View]]]


class OperationIndex:
    """The operations of a program by their places, and which of them touch a block of memory."""

    def __init__(self, operations: Iterable[Operation]):
        self.operations: list[Operation | None] = []
        self._reads: _Touched = {}
        self._writes: _Touched = {}
        self._raising: list[int] = []
        for at, operation in enumerate(operations):
            self.operations.append(None)
            self.put(at, operation)
            if may_raise(operation):
                self._raising.append(at)

    def remaining(self) -> list[Operation]:
        """The operations that are left, in order."""
        return [x for x in self.operations if x is not None]

    def put(self, at: int, operation: Operation | None) -> None:
        """Have an operation, or none, in a place instead of the one that is there."""
        for touched, view in self._uses(self.operations[at]):
            touched[view.memory].pop(at, None)
        self.operations[at] = operation
        for touched, view in self._uses(operation):
            touched.setdefault(view.memory, {}).setdefault(at, []).append(view)

    def _uses(self, operation: Operation | None) -> Iterator[tuple[_Touched, View]]:
        if operation is not None:
            yield from [(self._reads, view) for view in operation.reads]
            yield from [(self._writes, view) for view in operation.writes]

    def rename(self, old: Memory, new: Memory) -> None:
        """Let all operations use one block instead of another."""
        for at in sorted({*self.readers(old), *self.writers(old)}):
            operation = self.operations[at]
            assert operation is not None
            self.put(at, renamed(operation, lambda memory: new if memory is old else memory))

    def readers(self, memory: Memory) -> list[int]:
        """The places of all that read a block, in order."""
        return sorted(self._reads.get(memory, ()))

    def writers(self, memory: Memory) -> list[int]:
        """The places of all that write a block, in order."""
        return sorted(self._writes.get(memory, ()))

    def written(self, views: Iterable[View], start: int, end: int) -> bool:
        """Whether an operation between two places writes what overlaps one of the views."""
        return _meet(self._writes, views, start, end)

    def touched(self, views: Sequence[View], start: int, end: int) -> bool:
        """Whether one reads or writes what overlaps one of the views."""
        return any([_meet(each, views, start, end) for each in (self._reads, self._writes)])

    def visible(self, views: Iterable[View], start: int, end: int) -> bool:
        """Whether one may raise, and then everybody sees if the views were written."""
        if all([view.memory.made for view in views]):
            return False
        return any([start < at < end for at in self._raising])


def _meet(touched: _Touched, views: Iterable[View], start: int, end: int) -> bool:
    return any(
        [
            start < at < end and any([overlap(view, other) for other in others])
            for view in views
            for at, others in touched.get(view.memory, {}).items()
        ]
    )


class Touched:
    """Reads and writes of operations, to see whether another may change places with them."""

    def __init__(self) -> None:
        self._read: dict[Memory, list[View]] = {}
        self._written: dict[Memory, list[View]] = {}

    def add(self, reads: Iterable[View], writes: Iterable[View]) -> None:
        for known, views in ((self._read, reads), (self._written, writes)):
            for view in views:
                known.setdefault(view.memory, []).append(view)

    def conflicts(self, reads: Sequence[View], writes: Sequence[View]) -> bool:
        """Whether the order of these operations and of another one matters."""
        return _overlap(self._written, (*reads, *writes)) or _overlap(self._read, writes)


def _overlap(known: dict[Memory, list[View]], views: Iterable[View]) -> bool:
    return any([overlap(view, other) for view in views for other in known.get(view.memory, ())])


__all__ = ["OperationIndex", "Touched"]
