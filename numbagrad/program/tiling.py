"""Chains: operations on the rows of a batch, run one after another for a few rows at a time.

``fusion.optimise`` calls ``chained`` last. What operations on equal rows hand on to each other then
has the size of a tile: it stays in the first-level cache, the arena holds so much less, and threads
share out the rows once, instead of once for each operation. What sums over rows leaves a partial
result for each unit of work, or each tile; both follow from sizes alone, so that the bits do not
depend on threads. ``executor/plan/cost.py`` says how large a tile is, and what is worth a chain.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from ..executor.plan import cost
from ..executor.plan.forms import with_sizes
from ..executor.plan.operations import (
    Operation,
    Pointwise,
    Product,
    Reduce,
    RowLoop,
    Total,
    may_raise,
    with_views,
)
from ..executor.plan.views import Memory, View, bytes_of, overlap
from ..formula import Formula, symbol
from .bundles import Chain, Tile
from .index import Touched
from .ordering import scheduled
from .planning import plan
from .rows import as_rows, is_flat, joining


def chained(operations: Sequence[Operation], kept: Collection[Memory]) -> list[Operation]:
    """The operations with chains of those on the rows of a batch; ``kept`` is read afterwards."""
    found: list[Operation] = []
    segment: list[Operation] = []
    used = _uses(operations)
    for operation in operations:
        if may_raise(operation):
            found += [*_in_chain(segment, used, kept), operation]
            segment = []
        else:
            segment.append(operation)
    return found + _in_chain(segment, used, kept)


def _uses(operations: Iterable[Operation]) -> Counter[Memory]:
    """How many operations touch a block."""
    return Counter(
        [
            memory
            for operation in operations
            for memory in {view.memory for view in (*operation.reads, *operation.writes)}
        ]
    )


def _in_chain(
    operations: list[Operation], used: Counter[Memory], kept: Collection[Memory]
) -> list[Operation]:
    """The operations with the best chain there is, if one is worth it."""
    best, most = operations, float("-inf")
    for rows in _batches(operations):
        tiles = cost.model.tiles(rows)
        if tiles is None:
            continue
        builder = _Builder(rows, tiles)
        before, after = builder.sort(operations)
        chain, saved = builder.chain(used, kept)
        if chain is not None and saved > most:
            best, most = [*before, chain, *after], saved
    return best


def _batches(operations: list[Operation]) -> list[int]:
    """Numbers of rows that there could be tiles of, those of most elements first."""
    sizes: Counter[int] = Counter()
    for operation in operations:
        for view in operation.writes:
            if len(view.shape) >= 2:
                sizes[view.shape[0]] += view.size
    return [rows for rows, _ in sizes.most_common(2)]


@dataclasses.dataclass(frozen=True)
class _Use:
    """A view that a chain uses.

    Attributes:
        dim: the dimension that the rows are along, or None for what is the same for all rows.
        written: whether it is written.
    """

    view: View
    dim: int | None
    written: bool = False

    @property
    def step(self) -> int:
        """Bytes from row to row."""
        return 0 if self.dim is None else self.view.strides[self.dim]

    @property
    def aligned(self) -> bool:
        """Whether all of row k lies in the k-th piece of so many bytes."""
        view, end = self.view, self.view.offset + self.view.dtype.itemsize
        if self.step <= 0 or any([stride < 0 for stride in view.strides]):
            return False
        for d, (size, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
            end += (size - 1) * stride if d != self.dim else 0
        return end <= self.step

    def agrees(self, other: _Use) -> bool:
        """Whether tiles of both may be used one after another as the whole would be."""
        if not (self.written or other.written) or not overlap(self.view, other.view):
            return True
        return self.step == other.step and self.aligned and other.aligned


@dataclasses.dataclass
class _Member:
    """An operation of a chain.

    Attributes:
        tiled: makes the operation on the first tile, for so many rows.
        uses: what the whole operation uses; written first, if it does not read that.
        parts: the operators that the operation consists of.
        rest: what has to be done behind the chain.
        partials: new blocks with a result for each unit, or each tile.
        renamed: partial results that others read, and where they are now.
        fresh: whether it is a product that begins to add up anew in each unit.
    """

    tiled: Callable[[int], Operation]
    uses: list[_Use]
    parts: tuple[str, ...] = ()
    rest: list[Operation] = dataclasses.field(default_factory=list)
    partials: list[View] = dataclasses.field(default_factory=list)
    renamed: dict[View, View] = dataclasses.field(default_factory=dict)
    fresh: bool = False

    def made(self, rows: int) -> Operation:
        """The operation on the first tile, for so many rows."""
        operation = self.tiled(rows)
        operation.parts = self.parts
        return operation

    @property
    def reads(self) -> list[View]:
        """The blocks that it reads whole."""
        return [use.view for use in self.uses if not use.written]

    @property
    def writes(self) -> list[View]:
        """The views that it writes."""
        written = [use.view for use in self.uses if use.written]
        return [*written, *self.partials, *self.renamed]


class _Builder:
    """Sorts operations into those of a chain, those before it, and those behind it."""

    def __init__(self, rows: int, tiles: cost.Tiles):
        self.rows, self.tile, self.units, self.tiles = rows, tiles.rows, tiles.units, tiles.tiles
        self.last = rows - self.tile * (self.tiles * self.units - 1)
        self.members: list[_Member] = []
        self._uses: dict[Memory, list[_Use]] = {}
        self._renamed: dict[View, View] = {}
        self._roles: dict[tuple[Memory, int], Tile] = {}

    def sort(self, operations: list[Operation]) -> tuple[list[Operation], list[Operation]]:
        """Take in what can be; returns what has to run before, and behind."""
        before: list[Operation] = []
        after: list[Operation] = []
        inside, behind = Touched(), Touched()
        for operation in operations:
            member = self._member(operation)
            if member is not None and not behind.conflicts(member.reads, member.writes):
                self._take(member)
                inside.add(member.reads, member.writes)
                rest = member.rest
            else:
                reads, writes = list(operation.reads), list(operation.writes)
                if not any([x.conflicts(reads, writes) for x in (inside, behind)]):
                    before.append(operation)
                    continue
                rest = [self._on_partials(operation)]
            for each in rest:
                behind.add(each.reads, each.writes)
            after += rest
        return before, after

    def _on_partials(self, operation: Operation) -> Operation:
        if isinstance(operation, Reduce) and operation.source in self._renamed:
            return dataclasses.replace(operation, source=self._renamed[operation.source])
        return operation

    def _take(self, member: _Member) -> None:
        self.members.append(member)
        self._renamed.update(member.renamed)
        for use in member.uses:
            self._uses.setdefault(use.view.memory, []).append(use)

    # --- members ----------------------------------------------------------------------------------

    def _member(self, operation: Operation) -> _Member | None:
        """An operation as one of the chain, or None if it cannot be."""
        found: list[_Member | None] = []
        if isinstance(operation, Pointwise):
            dims = [d for d, size in enumerate(operation.shape) if size == self.rows]
            found += [self._pointwise(operation, dim) for dim in dims]
        elif isinstance(operation, Product) and len(operation.c.shape) == 2:
            dims = [d for d, size in enumerate(operation.c.shape) if size == self.rows]
            found += [self._product(operation, dim) for dim in dims]
            if operation.a.shape[1] == self.rows:
                found.append(self._summing_product(operation))
        elif isinstance(operation, RowLoop):
            if operation.space[:-1] == (self.rows,):
                found.append(self._row_loop(operation, operation.space[-1]))
            elif is_flat(operation) and operation.elements % self.rows == 0:
                found.append(self._row_loop(operation, operation.elements // self.rows))
        for member in found:
            if member is not None and self._agrees(member):
                member.parts = operation.parts or (operation.name,)
                return member
        return None

    def _agrees(self, member: _Member) -> bool:
        """Whether tiles of an operation may follow those of the others."""
        for k, use in enumerate(member.uses):
            if use.written and not use.aligned:
                return False
            others = (*member.uses[:k], *self._uses.get(use.view.memory, ()))
            if not all([use.agrees(other) for other in others]):
                return False
        return True

    def _cut(self, view: View, dim: int, rows: int) -> View:
        """The first tile, of so many rows, of a view that has the rows along a dimension."""
        shape = with_sizes(view.shape, dim, rows)
        step, memory = view.strides[dim] * self.tile, view.memory
        if step:
            role = Tile(memory, step, step * self.tiles)
            memory = self._roles.setdefault((memory, step), role)
        return dataclasses.replace(view, memory=memory, shape=shape)

    def _pointwise(self, operation: Pointwise, dim: int) -> _Member:
        uses = [_Use(view.expanded(operation.shape), dim) for view in operation.reads]
        uses += [_Use(view, dim, True) for view in operation.outputs]
        return _Member(lambda rows: self._tile_of(operation, dim, rows), uses)

    def _tile_of(self, operation: Pointwise, dim: int, rows: int) -> Pointwise:
        """A loop over the first tile, of so many rows."""
        operands = [
            self._cut(x.expanded(operation.shape), dim, rows) if isinstance(x, View) else x
            for x in operation.operands
        ]
        outputs = [self._cut(view, dim, rows) for view in operation.outputs]
        return dataclasses.replace(operation, operands=tuple(operands), outputs=tuple(outputs))

    def _product(self, operation: Product, dim: int) -> _Member:
        """A product that makes some rows of C, or some columns, of as many of A, or of B."""
        uses = [_Use(operation.c, dim, True)]
        for a, b in operation.terms:
            uses += [_Use(a, 0), _Use(b, None)] if dim == 0 else [_Use(a, None), _Use(b, 1)]
        epilogue = operation.epilogue
        if epilogue is not None:
            uses += self._pointwise(epilogue, dim).uses
        if operation.accumulates:
            uses.insert(0, _Use(operation.c, dim))

        def tiled(rows: int) -> Operation:
            first, *further = [
                (self._cut(a, 0, rows), b) if dim == 0 else (a, self._cut(b, 1, rows))
                for a, b in operation.terms
            ]
            return dataclasses.replace(
                operation, a=first[0], b=first[1], c=self._cut(operation.c, dim, rows),
                further=tuple(further),
                epilogue=None if epilogue is None else self._tile_of(epilogue, dim, rows),
            )  # fmt: skip

        return _Member(tiled, uses)

    def _summing_product(self, operation: Product) -> _Member | None:
        """A product that sums over rows, as the gradient of a weight does."""
        c, item = operation.c, operation.c.dtype.itemsize
        size = c.size * item
        if self.units * size > cost.model.partial_bytes:
            return None
        strides = (c.shape[1] * item, item)
        block = Memory.scratch(self.units * size)
        partials = [View(block, k * size, c.shape, strides, c.dtype) for k in range(self.units)]
        join = _joined(operation, partials)
        if join is None:
            return None
        uses = [use for a, b in operation.terms for use in (_Use(a, 1), _Use(b, 0))]
        result = dataclasses.replace(partials[0], memory=Tile(block, 0, size))
        several = self.tiles > 1

        def tiled(rows: int) -> Operation:
            first, *further = [
                (self._cut(a, 1, rows), self._cut(b, 0, rows)) for a, b in operation.terms
            ]
            return dataclasses.replace(
                operation, a=first[0], b=first[1], c=result, further=tuple(further),
                epilogue=None, accumulates=several,
            )  # fmt: skip

        return _Member(tiled, uses, rest=[join], partials=partials, fresh=several)

    def _row_loop(self, operation: RowLoop, columns: int) -> _Member:
        """A loop over rows of so many columns, or over the run of elements that they are."""
        flat = operation.space[:-1] != (self.rows,)

        def whole(view: View) -> View:
            return as_rows(view, (self.rows, columns)) if flat else view

        def tiled(rows: int) -> Operation:
            elements, space = rows * columns, (rows, columns)
            if flat:
                width = min(operation.space[-1], elements)
                space = -(-elements // width), width

            def cut(view: View) -> View:
                first = self._cut(whole(view), 0, rows)
                return as_rows(first, space) if flat else first

            inputs = [
                dataclasses.replace(x, operand=cut(x.operand)) if isinstance(x.operand, View) else x
                for x in operation.inputs
            ]
            return dataclasses.replace(
                operation, space=space, inputs=tuple(inputs),
                outputs=tuple([(cut(view), value) for view, value in operation.outputs]),
                totals=totals, chunk=space[0], elements=elements,
            )  # fmt: skip

        uses = [_Use(whole(view), 0) for view in operation.reads]
        uses += [_Use(whole(view), 0, True) for view, _ in operation.outputs]
        member = _Member(tiled, uses)
        totals = tuple([self._total(total, member) for total in operation.totals])
        return member

    def _total(self, total: Total, member: _Member) -> Total:
        """A total over the rows of a tile; what joins it with the others is noted in ``member``."""
        old, count = total.partials, self.tiles * self.units
        shape, strides = old.shape[1:], old.strides[1:]
        size = old.dtype.itemsize * (shape[0] if shape else 1)
        block = Memory.scratch(count * size)
        made = View(block, 0, (count, *shape), (size, *strides), old.dtype)
        member.partials.append(made)
        if old.shape[0] > 1:  # somebody joins them already
            member.renamed[old] = made
        else:
            result = View(old.memory, old.offset, shape, strides, old.dtype)
            member.rest.append(Reduce(joining(total.combine), made, 1, False, None, result))
        first = View(Tile(block, size, self.tiles * size), 0, (1, *shape), made.strides, old.dtype)
        return dataclasses.replace(total, partials=first)

    # --- the chain --------------------------------------------------------------------------------

    def chain(self, used: Counter[Memory], kept: Collection[Memory]) -> tuple[Chain | None, int]:
        """The chain of the operations that were taken in, if it is worth it, and bytes saved."""
        local = self._local(used, kept)
        blocks = {memory: Memory.scratch(step * self.tile) for memory, step in local.items()}
        self._reorder(local)
        lifetimes: dict[Memory, tuple[int, int]] = {}
        for at, member in enumerate(self.members):
            for memory in {use.view.memory for use in member.uses} & local.keys():
                first, _ = lifetimes.get(blocks[memory], (at, at))
                lifetimes[blocks[memory]] = first, at
        positions, size = plan(lifetimes, {})
        partial_bytes = sum([x.size * x.dtype.itemsize for m in self.members for x in m.partials])
        saved = sum([memory.nbytes for memory in local]) - size * self.units - partial_bytes
        shared = [
            max([bytes_of(x.view) for x in uses if not x.step], default=0)
            for uses in self._uses.values()
        ]
        if not cost.model.is_worth_a_chain(len(self.members), saved, shared):
            return None, 0
        space = Tile(Memory.scratch(size * self.units), 0, size)

        def placed(view: View) -> View:
            memory = view.memory
            if not isinstance(memory, Tile) or memory.block not in local:
                return view
            offset = view.offset + positions[blocks[memory.block]].offset
            return dataclasses.replace(view, memory=space, offset=offset)

        seen = [
            (use.view, use.written)
            for member in self.members
            for use in (*member.uses, *[_Use(view, None, True) for view in member.partials])
            if use.view.memory not in local
        ]

        def members(rows: int) -> tuple[Operation, ...]:
            return tuple([with_views(member.made(rows), placed) for member in self.members])

        made = Chain(
            f"chain_of_{len(self.members)}",
            members(self.tile), members(self.last) if self.last < self.tile else (),
            self.units, self.tiles, self.tile,
            frozenset([k for k, member in enumerate(self.members) if member.fresh]),
            tuple(dict.fromkeys([view for view, written in seen if not written])),
            tuple(dict.fromkeys([view for view, written in seen if written])),
        )  # fmt: skip
        made.parts = tuple([x for member in self.members for x in member.parts])
        return made, saved

    def _reorder(self, local: dict[Memory, int]) -> None:
        """Have operations run earlier that free blocks, so that fewer are kept at a time."""
        uses = [{use.view.memory for use in x.uses} & local.keys() for x in self.members]
        needs: list[set[int]] = []
        before: dict[Memory, list[int]] = {}
        for k, member in enumerate(self.members):
            touched, memories = Touched(), {use.view.memory for use in member.uses}
            touched.add(member.reads, member.writes)
            near = {j for memory in memories for j in before.get(memory, ())}
            needs.append({
                j for j in near
                if touched.conflicts(self.members[j].reads, self.members[j].writes)
            })  # fmt: skip
            for memory in memories:
                before.setdefault(memory, []).append(k)
        order = scheduled(needs, uses, local)
        self.members = [self.members[k] for k in order]

    def _local(self, used: Counter[Memory], kept: Collection[Memory]) -> dict[Memory, int]:
        """Blocks that only the chain uses, row by row, and bytes from row to row in them."""
        mine = Counter(
            [memory for x in self.members for memory in {use.view.memory for use in x.uses}]
        )
        local = {}
        for memory, (first, *others) in self._uses.items():
            own = memory.made and memory not in kept and mine[memory] == used[memory]
            same = all([use.aligned and use.step == first.step for use in (first, *others)])
            if own and same and first.written and first.step:
                local[memory] = first.step
        return local


def _joined(product: Product, partials: list[View]) -> Pointwise | None:
    """The sum of partial results of a product, with its epilogue; None if that is no loop."""
    c, epilogue = product.c, product.epilogue
    names = [f"partial{k}" for k in range(len(partials))]
    total = symbol(names[0])
    for name in names[1:]:
        total = total + symbol(name)
    operands: list[View] = list(partials)
    if product.accumulates:
        total = total + symbol("before")
        names.append("before")
        operands.append(c)
    compute, numbers = c.dtype.name, [None] * len(operands)
    if epilogue is None:
        return Pointwise(
            "sum", Formula(names, [total]), tuple(operands), (c,), compute, tuple(numbers)
        )
    formula = epilogue.formula
    mine = [
        name for name, x in zip(formula.inputs, epilogue.operands, strict=True) if x == c
    ]  # fmt: skip
    taken = set(names) & {*formula.inputs} or set(mine) & formula.booleans
    if taken or epilogue.compute != compute:
        return None
    left = [k for k, name in enumerate(formula.inputs) if name not in mine]
    inputs = [*names, *[formula.inputs[k] for k in left]]
    joined = formula.substitute(dict.fromkeys(mine, total), inputs)
    outputs = epilogue.outputs
    if c not in outputs:
        joined, outputs = Formula(inputs, [*joined.outputs, total]), (*outputs, c)
    made = Pointwise(
        epilogue.name, joined,
        (*operands, *[epilogue.operands[k] for k in left]), outputs, compute,
        (*numbers, *[epilogue.numbers[k] for k in left]),
    )  # fmt: skip
    made.parts = product.parts
    return made


__all__ = ["chained"]
