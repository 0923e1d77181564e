"""Groups: small launches of one kind that depend on one another in no way, side by side in one.

``fusion.optimise`` calls ``grouped`` last, for the updates of many small parameters as for products
that share a factor. Threads share out the work of all members at once; by itself each is too
little for that. ``cost.py`` says what is small, and how many are worth a group.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import cost
from .bundles import Group
from .graph import Operation, Pointwise, Product, RowLoop, may_raise, moved
from .places import Touched
from .work import flops


def grouped(operations: Sequence[Operation]) -> list[Operation]:
    """The operations with groups, each at the place of its first member."""
    places: list[_Place] = []
    open_: dict[object, _Place] = {}
    for operation in operations:
        if may_raise(operation):
            open_.clear()
        kind = _kind(operation)
        found = open_.get(kind) if kind is not None else None
        if found is not None and found.takes(operation):
            found.add(operation)
        else:
            found = _Place(operation)
            places.append(found)
            if kind is not None:
                open_[kind] = found
        for each in open_.values():
            if each is not found:
                each.pass_by(operation)
    return [x for place in places for x in place.made()]


class _Place:
    """An operation and those that may run beside it."""

    def __init__(self, operation: Operation):
        self._members = [operation]
        self._mine, self._between = Touched(), Touched()
        self._mine.add(operation.reads, operation.writes)

    def takes(self, operation: Operation) -> bool:
        """Whether an operation depends neither on the members nor on what runs after them."""
        reads, writes = list(operation.reads), list(operation.writes)
        return not any([x.conflicts(reads, writes) for x in (self._mine, self._between)])

    def add(self, operation: Operation) -> None:
        self._members.append(operation)
        self._mine.add(operation.reads, operation.writes)

    def pass_by(self, operation: Operation) -> None:
        """Note an operation that runs after the members."""
        self._between.add(operation.reads, operation.writes)

    def made(self) -> list[Operation]:
        """The group, if it is worth it."""
        if len(self._members) == 1:
            return self._members
        if isinstance(self._members[0], Product):
            worth = sum([flops(x) or 0 for x in self._members]) >= cost.model.group_flops
        else:
            worth = sum([moved(x) for x in self._members]) >= cost.model.group_bytes
        if not worth:
            return self._members
        made = Group(f"group_of_{len(self._members)}", tuple(self._members))
        made.parts = tuple([part for x in self._members for part in (x.parts or (x.name,))])
        return [made]


def _kind(operation: Operation) -> object:
    """What the members of a group have in common, or None for what is in no group."""
    if isinstance(operation, Product):
        if (flops(operation) or 0) > cost.model.small_product:
            return None
        return Product, operation.a, operation.a.shape, operation.b.shape, operation.b.strides
    if isinstance(operation, (Pointwise, RowLoop)) and moved(operation) <= cost.model.small:
        shape = operation.shape if isinstance(operation, Pointwise) else operation.space
        return type(operation), operation.name, operation.compute, len(shape)
    return None


__all__ = ["grouped"]
