"""Groups: small launches of one kind that depend on one another in no way, side by side in one.

``fusion.optimise`` calls ``grouped`` last, for the updates of many small parameters as for products
that share a factor. Threads share out the work of all members at once; by itself each is too
little for that. ``executor/plan/cost.py`` says what is small, and how many are worth a group.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..executor.plan import cost
from ..executor.plan.operations import Operation, Pointwise, Product, RowLoop, may_raise, moved
from ..executor.plan.views import Memory, View, overlap
from .bundles import Group
from .work import flops


def grouped(operations: Sequence[Operation]) -> list[Operation]:
    """The operations with groups, each at the place of its first member."""
    positions: list[_Position] = []
    latest: dict[object, _Position] = {}
    touched = _Times()
    for at, operation in enumerate(operations):
        if may_raise(operation):
            latest.clear()
        kind = _kind(operation)
        found = latest.get(kind) if kind is not None else None
        if found is not None and not touched.conflicts(operation, found.first):
            found.members.append(operation)
        else:
            found = _Position(at, operation)
            positions.append(found)
            if kind is not None:
                latest[kind] = found
        touched.add(operation, at)
    return [x for position in positions for x in position.made()]


class _Times:
    """When operations read and wrote what."""

    def __init__(self) -> None:
        self._uses: dict[Memory, list[tuple[int, View, bool]]] = {}

    def add(self, operation: Operation, at: int) -> None:
        for written, views in ((False, operation.reads), (True, operation.writes)):
            for view in views:
                self._uses.setdefault(view.memory, []).append((at, view, written))

    def conflicts(self, operation: Operation, since: int) -> bool:
        """Whether the order of an operation and of one from some place on matters."""
        for writes, views in ((False, operation.reads), (True, operation.writes)):
            for view in views:
                for at, other, written in reversed(self._uses.get(view.memory, ())):
                    if at < since:
                        break
                    if (writes or written) and overlap(view, other):
                        return True
        return False


class _Position:
    """An operation, those that may run beside it, and where the first is among all."""

    def __init__(self, first: int, operation: Operation):
        self.first, self.members = first, [operation]

    def made(self) -> list[Operation]:
        """The group, if it is worth it."""
        if len(self.members) == 1:
            return self.members
        if isinstance(self.members[0], Product):
            worth = sum([flops(x) or 0 for x in self.members]) >= cost.model.group_flops
        else:
            worth = sum([moved(x) for x in self.members]) >= cost.model.group_bytes
        if not worth:
            return self.members
        made = Group(f"group_of_{len(self.members)}", tuple(self.members))
        made.parts = tuple([part for x in self.members for part in (x.parts or (x.name,))])
        return [made]


def _kind(operation: Operation) -> object:
    """The key that members of a group share, or None for an operation that is in no group."""
    if isinstance(operation, Product):
        if (flops(operation) or 0) > cost.model.small_product:
            return None
        return Product, operation.a, operation.a.shape, operation.b.shape, operation.b.strides
    if isinstance(operation, (Pointwise, RowLoop)) and moved(operation) <= cost.model.small:
        shape = operation.shape if isinstance(operation, Pointwise) else operation.space
        return type(operation), operation.name, operation.compute, len(shape)
    return None


__all__ = ["grouped"]
