"""Register-blocked micro-kernels of the matrix product, built as LLVM IR for any vector width.

Used by ``matmul``, whose loops over cache blocks are ordinary Numba code; imported only to compile.
Each public builder takes a :class:`TileShape` and returns a primitive over addresses. All
strides are in elements, the columns of C are contiguous, no size is 0, and no element outside the
operands is ever read or written.

What is emitted is kept small on purpose: few heights of tiles, one masked width, one loop for whole
and for partial vectors where that costs nothing. Numba and LLVM take their time by the instruction,
and the first matrix product of a process waits for them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from ...codegen.addresses import fused_multiply_add, load_element, store_element
from ...codegen.vector_emitter import Emitter, TileShape, Values, as_primitive, emitted_function

#: Dot products beside each other in a tile of them.
DOT_COLUMNS = 4

#: Rows of B that pass over the sums of a row of C together.
COMBINED_ROWS = 8


def _write(emit: Emitter, rows: list[Values], masks: Values, c: Any, c_row: Any,
           accumulate: Any) -> None:  # fmt: skip
    """Write a tile of sums, a list of vectors for each row of C, or add them to what is there."""
    builder = emit.builder
    width = rows[0][0].type.count
    positions = [
        (emit.at(start, j * width), masks[j])
        for start in emit.steps(c, c_row, len(rows))
        for j in range(len(masks))
    ]
    sums = [value for row in rows for value in row]
    before = builder.block
    with builder.if_then(accumulate):
        added = [
            builder.fadd(emit.load(position, mask, width), value)
            for value, (position, mask) in zip(sums, positions, strict=True)
        ]
        adding = builder.block
    sums = emit.joined([(sums, before), (added, adding)])
    for value, (position, mask) in zip(sums, positions, strict=True):
        emit.store(value, position, mask)


# ------------------------------------------------------------------------------------------------
# Tiles of C: a column of A elements, each broadcast, times one or two vectors of B


def _tile(
    module: ir.Module, shape: TileShape, height: int, vectors: int, masked: bool = True
) -> Any:
    """The micro-kernel for ``height`` rows and so many vectors, the last of which may be masked."""

    def write(emit, columns, depth, a, a_row, a_step, b, b_step, c, c_row, accumulate):
        masks = [None] * vectors
        if masked:
            masks[-1] = emit.mask(columns, (vectors - 1) * shape.lanes)
        # One pointer for every third row and small multiples of the stride: few registers do.
        offsets = [0, a_row, emit.times(a_row, 2)][:height]
        bases = emit.steps(a, emit.times(a_row, 3), -(-height // 3))

        def step(index: Any, carried: Values) -> Values:
            *a_at, b_at = carried[: len(bases) + 1]
            sums = carried[len(bases) + 1 :]
            loaded = [emit.load(emit.at(b_at, j * shape.lanes), masks[j]) for j in range(vectors)]
            totals: Values = []
            for r in range(height):
                factor = emit.splat(emit.read(emit.at(a_at[r // 3], offsets[r % 3])))
                for vector in loaded:
                    totals.append(emit.multiply_add(factor, vector, sums[len(totals)]))
            following = [emit.apart(emit.at(base, a_step)) for base in a_at]
            return [*following, emit.at(b_at, b_step), *totals]

        zeros = [emit.zero()] * (height * vectors)
        sums = emit.loop(depth, 1, [*bases, b, *zeros], step, True)[len(bases) + 1 :]
        rows = [sums[r * vectors :][:vectors] for r in range(height)]
        _write(emit, rows, masks, c, c_row, accumulate)

    name = f"{'masked' if masked else 'whole'}_tile_{height}x{vectors}"
    return emitted_function(module, name, shape, "iipiipipib", write)


def _tiles(module: ir.Module, shape: TileShape) -> Any:
    """A block of C of any size: all its tiles, by rows of tiles."""
    width, tallest = 2 * shape.lanes, shape.heights[0]

    def write(emit, rows, columns, depth, a, a_row, a_step, a_tile, b, b_step, b_panel, c, c_row,
              accumulate):  # fmt: skip
        builder = emit.builder
        packed = builder.icmp_signed("!=", a_tile, emit.times(a_row, tallest))
        whole = emit.whole(columns, width)
        rest = builder.sub(columns, whole)
        several = builder.icmp_signed(">", rest, emit.word(shape.lanes))

        def row_of_tiles(height: int, index: Any, pointers: Values) -> Values:
            a, c = pointers

            def tile(vectors: int, left: Any, masked: bool, at: Values) -> None:
                b_at, c_at = at
                arguments = [left, depth, a, a_row, a_step, b_at, b_step, c_at, c_row, accumulate]
                builder.call(_tile(module, shape, height, vectors, masked), arguments)

            def pair(masked: bool, index: Any, at: Values) -> Values:
                tile(2, rest, masked, at)
                return emit.advance(at, (b_panel, width), 1)

            def single(index: Any, at: Values) -> Values:
                tile(1, builder.sub(rest, index), True, at)
                return emit.advance(at, (shape.lanes, shape.lanes), 1)

            at = emit.loop(whole, width, [b, c], functools.partial(pair, False))
            singles = rest
            if height in shape.heights[:2]:
                pairs = builder.select(several, emit.word(1), emit.word(0))
                at = emit.loop(pairs, 1, at, functools.partial(pair, True))
                singles = builder.select(several, emit.word(0), rest)
            emit.loop(singles, shape.lanes, at, single)
            if height == tallest:
                return [emit.at(a, a_tile), *emit.advance([c], [c_row], height)]
            return emit.advance(pointers, (a_row, c_row), height)

        pointers, total = [a, c], rows
        for k, height in enumerate(shape.heights[:-1]):
            covered = emit.rows_in_tiles(rows, shape.heights[k:])
            if height == tallest:  # a packed panel has the rows of one such tile
                covered = builder.select(packed, emit.whole(rows, tallest), covered)
                total = builder.select(packed, builder.sub(rows, covered), rows)
            pointers = emit.loop(covered, height, pointers, functools.partial(row_of_tiles, height))
            rows = builder.sub(rows, covered)
        # Single rows wait for their sums. A tile that computes some rows before them once more, to
        # the same bits, takes less time; where C is added to, each row may be computed only once.
        lowest = emit.word(shape.heights[-2])
        again = builder.and_(
            builder.icmp_signed(">=", total, lowest),
            builder.icmp_signed(">", rows, emit.word(0)),
        )
        again = builder.and_(again, builder.not_(accumulate))
        back = builder.select(again, builder.sub(rows, lowest), emit.word(0))
        pointers = [
            emit.at(pointer, builder.mul(back, stride))
            for pointer, stride in zip(pointers, (a_row, c_row), strict=True)
        ]
        for height, count in ((shape.heights[-2], lowest), (1, rows)):
            is_chosen = again if height > 1 else builder.not_(again)
            count = builder.select(is_chosen, count, emit.word(0))
            pointers = emit.loop(count, height, pointers, functools.partial(row_of_tiles, height))

    return emitted_function(module, "tiles", shape, "iiipiiipiipib", write)


# ------------------------------------------------------------------------------------------------
# Tiles of dot products: both operands contiguous along the depth


def _fold(emit: Emitter, vectors: Values, width: int) -> Any:
    """The sums of the lanes of up to ``lanes`` vectors, side by side in one vector, in order.

    Every level adds the upper half of each group of ``width`` lanes to its lower half, so that a
    dot product has the same bits whatever other products are in its tile.
    """
    if width == 1:
        return vectors[0]
    half, lanes = width // 2, emit.shape.lanes
    low = [group + i for group in range(0, lanes, width) for i in range(half)]
    low += [lanes + lane for lane in low]
    folded = []
    for first, second in zip(vectors[::2], vectors[1::2] + vectors[-1:], strict=False):
        lower = emit.shuffle(first, second, low)
        upper = emit.shuffle(first, second, [lane + half for lane in low])
        folded.append(emit.builder.fadd(lower, upper))
    return _fold(emit, folded, half)


def _dot_tile(module: ir.Module, shape: TileShape, height: int, columns: int) -> Any:
    """Dot products of ``height`` rows of A and ``columns`` columns of B."""

    def write(emit, depth, a, a_row, b, b_column, c, c_row, accumulate):
        a_rows, b_columns = emit.steps(a, a_row, height), emit.steps(b, b_column, columns)

        def step(index: Any, sums: Values, mask: Any = None) -> Values:
            b_vectors = [emit.load(emit.at(column, index), mask) for column in b_columns]
            totals: Values = []
            for row in a_rows:
                a_vector = emit.load(emit.at(row, index), mask)
                for vector in b_vectors:
                    totals.append(emit.multiply_add(a_vector, vector, sums[len(totals)]))
            return totals

        whole = emit.whole(depth, shape.lanes)
        rest = emit.builder.sub(depth, whole)
        mask = emit.mask(rest)
        sums = emit.loop(whole, shape.lanes, [emit.zero()] * (height * columns), step)
        sums = emit.loop(rest, shape.lanes, sums, lambda index, sums: step(whole, sums, mask))
        group = max(1, shape.lanes // columns)  # rows whose products fit in one vector
        rows = []
        for r in range(0, height, group):
            count = min(group, height - r)
            products = _fold(emit, sums[r * columns :][: count * columns], shape.lanes)
            for i in range(count):
                lanes = range(i * columns, (i + 1) * columns)
                rows.append([emit.shuffle(products, products, lanes)])
        _write(emit, rows, [None], c, c_row, accumulate)

    return emitted_function(module, f"dot_{height}x{columns}", shape, "ipipipib", write)


def _dots(module: ir.Module, shape: TileShape) -> Any:
    """A block of C of any size as tiles of dot products, by rows of tiles."""
    wide = min(DOT_COLUMNS, shape.lanes)

    def write(emit, rows, columns, depth, a, a_row, b, b_column, c, c_row, accumulate):
        builder = emit.builder
        whole = emit.whole(columns, wide)
        rest = builder.sub(columns, whole)

        def row_of_tiles(height: int, index: Any, pointers: Values) -> Values:
            a, c = pointers

            def tile(width: int, index: Any, at: Values) -> Values:
                b_at, c_at = at
                arguments = [depth, a, a_row, b_at, b_column, c_at, c_row, accumulate]
                builder.call(_dot_tile(module, shape, height, width), arguments)
                return emit.advance(at, (b_column, 1), width)

            at = emit.loop(whole, wide, [b, c], functools.partial(tile, wide))
            emit.loop(rest, 1, at, functools.partial(tile, 1))
            return emit.advance(pointers, (a_row, c_row), height)

        pointers = [a, c]
        for k, height in enumerate(shape.dot_heights):
            covered = emit.rows_in_tiles(rows, shape.dot_heights[k:])
            pointers = emit.loop(covered, height, pointers, functools.partial(row_of_tiles, height))
            rows = builder.sub(rows, covered)

    return emitted_function(module, "dots", shape, "iiipipipib", write)


# ------------------------------------------------------------------------------------------------
# A row times a matrix with contiguous rows


def _combine_rows(module: ir.Module, shape: TileShape) -> Any:
    """``c = a @ b`` for a row a: several rows of b at a time, added to all of c."""
    lanes = shape.lanes

    def write(emit, columns, depth, c, a, a_step, b, b_row):
        builder = emit.builder
        whole = emit.whole(columns, lanes)
        rest = builder.sub(columns, whole)
        tail = emit.mask(rest)

        def over_columns(vector: Callable[[Any, Any], None]) -> None:
            def at(position: Any, mask: Any, index: Any, _: Values) -> Values:
                vector(index if position is None else position, mask)
                return []

            emit.loop(whole, lanes, [], functools.partial(at, None, None))
            emit.loop(rest, lanes, [], functools.partial(at, whole, tail))

        def combine(count: int, index: Any, pointers: Values) -> Values:
            a_at, b_at = pointers
            factors = [
                emit.splat(emit.read(position)) for position in emit.steps(a_at, a_step, count)
            ]
            rows = emit.steps(b_at, b_row, count)

            def vector(index: Any, mask: Any) -> None:
                position = emit.at(c, index)
                total = emit.load(position, mask)
                for row, factor in zip(rows, factors, strict=True):
                    total = emit.multiply_add(factor, emit.load(emit.at(row, index), mask), total)
                emit.store(total, position, mask)

            over_columns(vector)
            return emit.advance(pointers, (a_step, b_row), count)

        over_columns(lambda index, mask: emit.store(emit.zero(), emit.at(c, index), mask))
        groups = emit.whole(depth, COMBINED_ROWS)
        several = functools.partial(combine, COMBINED_ROWS)
        at = emit.loop(groups, COMBINED_ROWS, [a, b], several)
        emit.loop(builder.sub(depth, groups), 1, at, functools.partial(combine, 1))

    return emitted_function(module, "combine", shape, "iippipi", write)


# ------------------------------------------------------------------------------------------------
# The functions above as primitives over addresses


def _dot(shape: TileShape, depth: int, a: int, a_step: int, b: int, b_step: int) -> Any:
    """The sum of products of two runs of elements, in order: what each element of C is."""
    total = np.dtype(shape.dtype).type(0)
    for k in range(depth):
        first = load_element(a, k * a_step, shape.dtype)
        second = load_element(b, k * b_step, shape.dtype)
        total = fused_multiply_add(first, second, total) if shape.fused else first * second + total
    return total


def _write_element(shape: TileShape, c: int, position: int, total: Any, accumulate: bool) -> None:
    if accumulate:
        total = load_element(c, position, shape.dtype) + total
    store_element(c, position, total, shape.dtype)


def multiply_tiles(shape: TileShape) -> Any:
    """``(rows, columns, depth, a, a_row, a_step, a_tile, b, b_step, b_panel, c, c_row,
    accumulate)``.

    ``c = a @ b``, or ``c += a @ b``. The columns of b are contiguous within a panel of
    ``shape.panel_b`` columns; ``b_panel`` is the distance of the panels. ``a_tile`` is the distance
    of the tallest tiles in a: that of as many rows, unless a lies in panels of that height.
    """

    def body(rows, columns, depth, a, a_row, a_step, a_tile, b, b_step, b_panel, c, c_row,
             accumulate):  # fmt: skip
        for row in range(rows):
            tile, below = divmod(row, shape.heights[0])
            first = a + (tile * a_tile + below * a_row) * shape.bytes
            for column in range(columns):
                panel, beside = divmod(column, shape.panel_b)
                second = b + (panel * b_panel + beside) * shape.bytes
                total = _dot(shape, depth, first, a_step, second, b_step)
                _write_element(shape, c, row * c_row + column, total, accumulate)

    return as_primitive("multiply_tiles", "iiipiiipiipib", lambda m: _tiles(m, shape), body)


def multiply_dots(shape: TileShape) -> Any:
    """``(rows, columns, depth, a, a_row, b, b_column, c, c_row, accumulate)``.

    As ``multiply_tiles``, where the columns of a and the rows of b are contiguous.
    """

    def body(rows, columns, depth, a, a_row, b, b_column, c, c_row, accumulate):
        for row in range(rows):
            for column in range(columns):
                first = a + row * a_row * shape.bytes
                total = _dot(shape, depth, first, 1, b + column * b_column * shape.bytes, 1)
                _write_element(shape, c, row * c_row + column, total, accumulate)

    return as_primitive("multiply_dots", "iiipipipib", lambda m: _dots(m, shape), body)


def combine_rows(shape: TileShape) -> Any:
    """``(columns, depth, c, a, a_step, b, b_row)``: ``c = a @ b`` for one row of a.

    The columns of b are contiguous.
    """

    def body(columns, depth, c, a, a_step, b, b_row):
        for column in range(columns):
            total = _dot(shape, depth, a, a_step, b + column * shape.bytes, b_row)
            store_element(c, column, total, shape.dtype)

    return as_primitive(
        "combine_rows", "iippipi", lambda module: _combine_rows(module, shape), body
    )
