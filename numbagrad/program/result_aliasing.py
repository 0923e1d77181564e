"""Room in the last result for what it is made of: its product cut in two.

Blocks lie in results that are not written yet (``planning.py``), which leaves the factor of the
product that is the last to write a large one. ``fusion.optimise`` calls ``cut_for_factors``: the
first piece of the product reads the factor from where the second piece will write, and the second
reads a copy of the few rows that it needs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from ..executor.plan import cost
from ..executor.plan.operations import Operation, Pointwise, Product
from ..executor.plan.views import Memory, View, covers
from ..executor.threads import pool
from ..kernels.matmul.layout import UNIT_ROWS, WIDE_FROM_ROWS
from .index import OperationIndex


def cut_for_factors(operations: Sequence[Operation], kept: Collection[Memory]) -> list[Operation]:
    """The operations, with products cut whose factor then fits into the result; see above."""
    index = OperationIndex(operations)
    found: list[Operation] = []
    for at, operation in enumerate(operations):
        rest = _rows_apart(index, at, operation, kept)
        found += [operation] if rest is None else _cut(operation, rest)
    return found


def _rows_apart(
    index: OperationIndex, at: int, product: Operation, kept: Collection[Memory]
) -> int | None:
    """How many rows of a product had better be a piece of its own, or None."""
    if not isinstance(product, Product) or len(product.c.shape) != 2 or len(product.terms) > 1:
        return None
    a, c = product.a, product.c
    result, block = c.memory, a.memory
    if not (result.made and result in kept and c.contiguous and covers(c)):
        return None
    fills = index.writers(result) == [at] and index.readers(result) in ([], [at])
    own = block.made and block not in kept and not block.is_scratch and covers(a)
    if not fills or not own or index.readers(block) != [at]:
        return None
    writers = index.writers(block)
    least = cost.model.least_factor(pool.get_num_threads())
    if not writers or writers[-1] >= at or block.nbytes < least:
        return None
    later = [x for x in kept if x.nbytes >= block.nbytes and (index.writers(x) or [at])[0] > at]
    if later:  # there is room already
        return None
    rows = -(-block.nbytes // c.strides[0]) + 1
    rows = max(-(-rows // UNIT_ROWS) * UNIT_ROWS, WIDE_FROM_ROWS)  # fewer rows are slower
    return rows if rows <= c.shape[0] * cost.model.factor_rows else None


def _cut(product: Operation, rest: int) -> list[Operation]:
    """A copy of what the last rows read of A, the other rows, and the last rows."""
    assert isinstance(product, Product)
    a, most = product.a, product.c.shape[0] - rest
    depth, item = a.shape[1], a.dtype.itemsize
    source = _rows(a, most, rest)
    few = View(Memory.scratch(rest * depth * item), 0, source.shape, (item, rest * item), a.dtype)
    copy = Pointwise.copy(source, few)
    last = _piece(product, most, rest)
    pieces = [_piece(product, 0, most), dataclasses.replace(last, a=few)]
    for piece in pieces:
        piece.parts = product.parts
    return [copy, *pieces]


def _piece(product: Product, start: int, count: int) -> Product:
    """Some rows of a product, with its epilogue."""
    epilogue = product.epilogue
    if epilogue is not None:
        shape = epilogue.shape
        epilogue = dataclasses.replace(
            epilogue,
            operands=tuple(
                [
                    _rows(x.expanded(shape), start, count) if isinstance(x, View) else x
                    for x in epilogue.operands
                ]
            ),
            outputs=tuple([_rows(view, start, count) for view in epilogue.outputs]),
        )
    return dataclasses.replace(
        product, a=_rows(product.a, start, count), c=_rows(product.c, start, count),
        epilogue=epilogue,
    )  # fmt: skip


def _rows(view: View, start: int, count: int) -> View:
    offset = view.offset + start * view.strides[0]
    return dataclasses.replace(view, offset=offset, shape=(count, *view.shape[1:]))


__all__ = ["cut_for_factors"]
