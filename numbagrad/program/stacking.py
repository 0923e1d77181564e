"""Products of a recurrence over all of its steps at once, where they need not wait for each other.

``fusion.optimise`` calls ``stacked`` late, on what no chain took in. What the inputs of all steps
contribute are products with one factor B in common: one product of all rows. The gradient of a
weight that every step uses is a sum of products: one product over the depth of all. What they have
in memory of its own for each step comes to lie in one block, step behind step.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..executor.plan import cost
from ..executor.plan.operations import Operation, Pointwise, Product, Reduce, RowLoop, with_views
from ..executor.plan.views import Memory, View, covers, overlap
from .index import OperationIndex
from .work import flops

#: Operations whose memory may lie elsewhere than it was captured.
_MOVABLE = (Pointwise, Product, Reduce, RowLoop)

#: Bytes of a block in which steps come to lie: it is there as long as any of them.
_MOST = 1 << 23


def stacked(operations: Sequence[Operation], kept: set[Memory]) -> list[Operation]:
    """The operations with one product instead of many of a recurrence."""
    found = _Stacks(operations, kept)
    found.add_sums()
    found.add_rows()
    return found.remaining()


class _Stacks:
    """The operations while products are stacked."""

    def __init__(self, operations: Sequence[Operation], kept: set[Memory]):
        self.index = OperationIndex(operations)
        self._kept = kept
        #: Where a block lies now, and from which byte on.
        self._positions: dict[Memory, tuple[Memory, int]] = {}

    def remaining(self) -> list[Operation]:
        """The operations, with all views of blocks that moved."""
        left = self.index.remaining()
        return [with_views(x, self._moved) for x in left] if self._positions else left

    def _moved(self, view: View) -> View:
        position = self._positions.get(view.memory)
        if position is None:
            return view
        return dataclasses.replace(view, memory=position[0], offset=position[1] + view.offset)

    # --- products of all rows ---------------------------------------------------------------------

    def add_rows(self) -> None:
        """Products with one B whose rows follow each other in memory, and whose C may."""
        alike: dict[object, list[int]] = {}
        for at, operation in enumerate(self.index.operations):
            if isinstance(operation, Product) and _is_plain(operation):
                kind = operation.b, operation.a.memory, operation.a.shape, operation.a.strides
                alike.setdefault(kind, []).append(at)
        for positions in alike.values():
            self._stack_rows(positions)

    def _stack_rows(self, positions: list[int]) -> None:
        products = [self._product(at) for at in positions]
        if not _is_worth(products):
            return
        order = sorted(range(len(positions)), key=lambda k: products[k].a.offset)
        ordered = [products[k] for k in order]
        a = _joined([x.a for x in ordered], 0)
        if a is None or not all([self._begins_at(products[k].c, positions[k]) for k in order]):
            return
        first = positions[0]
        for at, product in zip(positions, products, strict=True):
            if self.index.written([product.a, product.b], first, at):
                return
        c = self._side_by_side([x.c for x in ordered], 0)
        if c is None:
            return
        made = dataclasses.replace(ordered[0], a=a, c=c)
        self._replace(positions, first, made)

    def _begins_at(self, view: View, at: int) -> bool:
        """Whether an operation is the first that touches the block of a view."""
        memory = view.memory
        return min([*self.index.writers(memory), *self.index.readers(memory)]) == at

    # --- sums of products -------------------------------------------------------------------------

    def add_sums(self) -> None:
        """Sums of products that are written one after another to one place."""
        sums: dict[View, list[int]] = {}
        for at, operation in enumerate(self.index.operations):
            if isinstance(operation, Product):
                sums.setdefault(operation.c, []).append(at)
        for positions in sums.values():
            self._stack_sum(positions)

    def _stack_sum(self, positions: list[int]) -> None:
        products = [self._product(at) for at in positions]
        first, *others = products
        if not _is_worth(products) or not all([x.accumulates for x in others]):
            return
        if any([x.epilogue is not None for x in products[:-1]]):
            return
        terms = [(a, b, at) for x, at in zip(products, positions, strict=True) for a, b in x.terms]
        last, c = positions[-1], first.c
        if any([overlap(x, y) for x in products[-1].writes for a, b, _ in terms for y in (a, b)]):
            return
        if self.index.visible([c], positions[0], last) or self._is_touched_between(c, positions):
            return
        if any([self.index.written([a, b], at, last) for a, b, at in terms]):
            return
        if len({x.memory for x, _, _ in terms}) == 1:
            terms.sort(key=lambda term: term[0].offset)
        elif len({x.memory for _, x, _ in terms}) == 1:
            terms.sort(key=lambda term: term[1].offset)
        sides = [x for x, _, _ in terms], [x for _, x, _ in terms]
        known = _joined(sides[0], 1), _joined(sides[1], 0)
        wanted = [x for x, side in zip(known, sides, strict=True) if x is None for x in side]
        if len({x.memory for x in wanted}) != len(wanted):  # a block has one place
            return
        if not all([x is not None or self._may_move(s) for x, s in zip(known, sides, strict=True)]):
            return
        a = known[0] or self._side_by_side(sides[0], 1)
        b = known[1] or self._side_by_side(sides[1], 0)
        if a is None or b is None:
            return
        made = dataclasses.replace(
            products[-1], a=a, b=b, further=(), accumulates=first.accumulates
        )
        self._replace(positions, last, made)

    def _is_touched_between(self, c: View, positions: list[int]) -> bool:
        pairs = zip(positions, positions[1:], strict=False)
        return any([self.index.touched([c], one, two) for one, two in pairs])

    # --- blocks -----------------------------------------------------------------------------------

    def _product(self, at: int) -> Product:
        operation = self.index.operations[at]
        assert isinstance(operation, Product)
        return operation

    def _replace(self, positions: list[int], at: int, product: Product) -> None:
        products = [self._product(position) for position in positions]
        product.parts = tuple([part for x in products for part in (x.parts or (x.name,))])
        for position in positions:
            self.index.put(position, None)
        self.index.put(at, product)

    def _may_move(self, views: list[View]) -> bool:
        """Whether blocks that these views are all of may lie elsewhere."""
        memories = {view.memory for view in views}
        if len(memories) < len(views) or sum([x.nbytes for x in memories]) > _MOST:
            return False
        for view in views:
            memory = view.memory
            own = memory.made and memory not in self._kept and memory not in self._positions
            if not own or view.offset != 0 or not covers(view) or _bytes(view) != memory.nbytes:
                return False
            writers, readers = self.index.writers(memory), self.index.readers(memory)
            if not writers or not readers or readers[0] <= writers[0]:
                return False  # another program made it
            operations = [self.index.operations[at] for at in (*writers, *readers)]
            if not all([isinstance(x, _MOVABLE) for x in operations]):
                return False
        return True

    def _side_by_side(self, views: list[View], dimension: int) -> View | None:
        """One view of all, whose blocks are moved behind each other; None if they may not be."""
        first = views[0]
        step = first.shape[dimension] * first.strides[dimension]
        same = all([(x.shape, x.strides) == (first.shape, first.strides) for x in views])
        if not same or step != first.memory.nbytes or not self._may_move(views):
            return None
        memory = Memory.scratch(step * len(views))
        for number, view in enumerate(views):
            self._positions[view.memory] = memory, number * step
        shape = list(first.shape)
        shape[dimension] *= len(views)
        return View(memory, 0, tuple(shape), first.strides, first.dtype)


def _bytes(view: View) -> int:
    return view.size * view.dtype.itemsize


def _is_plain(product: Product) -> bool:
    plain = not (product.accumulates or product.further or product.epilogue)
    return plain and len(product.a.shape) == len(product.b.shape) == 2


def _is_worth(products: list[Product]) -> bool:
    """Whether there are several, each small, and together work for threads."""
    work = [flops(x) or 0 for x in products]
    small = max(work) <= cost.model.small_product and sum([len(x.terms) for x in products]) > 1
    matrices = all([len(view.shape) == 2 for x in products for t in x.terms for view in t])
    return small and matrices and sum(work) >= cost.model.group_flops


def _joined(views: list[View], dimension: int) -> View | None:
    """Views that follow each other along a dimension of one block, as one; None if they do not."""
    first = views[0]
    step = first.shape[dimension] * first.strides[dimension]
    for number, view in enumerate(views):
        position = view.memory, view.offset, view.shape, view.strides
        if position != (first.memory, first.offset + number * step, first.shape, first.strides):
            return None
    shape = list(first.shape)
    shape[dimension] *= len(views)
    return dataclasses.replace(first, shape=tuple(shape))


__all__ = ["stacked"]
