"""How the three methods of the matrix product compute rectangles of C: blocks, and what is packed.

``product.matmul`` is the kernel that cuts its units of work into rectangles; ``tile`` has the
micro-kernels that are called here, ``packing`` what packs their operands. Imported only to compile.

Every element of C goes through the same operations wherever its tile lies: the depth is cut into
blocks by its size alone, each block is summed in order, and blocks are added in order.

In programs C may be added to, be a sum of several products, and be read by an epilogue: a pointwise
kernel that is called for each tile of C when it is complete, and still in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import types

from ...codegen.intrinsics import address_of_stack, call_kernel, int64, load, store, subroutine
from ...codegen.vector_emitter import TileShape, tile_shape
from .joining import (
    WHOLE,
    block_length,
    first_row,
    hand_in_rows,
    result_at,
    result_row,
    rows_to_join,
)
from .layout import (
    A_COLUMN,
    A_ROW,
    ACCUMULATES,
    B_COLUMN,
    B_ROW,
    DOTS_DEPTH_BYTES,
    EPILOGUE,
    EPILOGUE_WORDS,
    PACKS,
    PACKS_A,
    PACKS_B,
    SHARED,
    TERMS,
    TILE_ARGUMENTS,
    TILE_BATCH,
    TILE_COLUMN,
    TILE_COLUMNS,
    TILE_WORDS,
    TILES_DEPTH_BYTES,
    WHOLE_TILES,
    WORDS,
    A,
    B,
    C,
    K,
)
from .packing import pack_panels, pack_rows
from .problem import matrix_at, quotient, smaller, word
from .tile import combine_rows, multiply_dots, multiply_tiles

#: Panels of A that are packed at a time.
_PANELS = 8

#: Last columns that are done as rows of the transpose at most, rows of C at a time, and the depth
#: for each column that makes up for a copy of the result, element by element.
_TURNED_COLUMNS, _TURNED_ROWS, _TURNED_DEPTH = 8, 128, 12
_TURNED_WORDS = _TURNED_COLUMNS * _TURNED_ROWS

#: Columns of C whose sums the row method keeps in the first-level cache at a time.
_ROW_COLUMNS = 1024


class Rectangles(NamedTuple):
    """How a method computes rectangles of C, for the kernel in ``product.py``.

    ``rectangle(args, piece, batch, row, row_end, column, column_end, scratch)``, for a piece of
    the depth or all of it; the scratch memory is there only where an operand is to be packed.
    """

    rectangle: Callable[..., None]
    scratch_bytes: int = 0


@subroutine
def _finish(args, batch, row, row_end, column, columns):
    """Call the epilogue, if there is one, for a tile of C that is complete."""
    if word(args, EPILOGUE) != 0:
        tile = address_of_stack(TILE_WORDS)
        store(tile, TILE_ARGUMENTS, args + 8 * word(args, EPILOGUE_WORDS), int64)
        store(tile, TILE_BATCH, batch, int64)
        store(tile, TILE_COLUMN, column, int64)
        store(tile, TILE_COLUMNS, columns, int64)
        call_kernel(word(args, EPILOGUE), tile, row, row_end)


@subroutine
def _further(args, operand, term):
    """How far from A (0) or B (1) of the first term that of another one lies."""
    if term == 0:
        return 0
    return word(args, WORDS + 2 * (term - 1) + operand) - word(args, operand)


class _Blocks(NamedTuple):
    """Sizes of the blocks that the kernel of tiles keeps in the caches, and its scratch memory.

    A panel of A (tallest tile × depth) stays in the first-level cache while it passes over a block
    of B (depth × columns), which comes from the second-level cache. The scratch memory holds such a
    block, then a few such panels, each with the room that packing wants.
    """

    depth: int
    columns: int
    packed_a: int  # where the panel of A begins, in bytes
    scratch_bytes: int

    @classmethod
    def of(cls, shape: TileShape) -> _Blocks:
        depth, columns = TILES_DEPTH_BYTES // shape.bytes, 32 * shape.lanes
        packed_a = (columns * depth + shape.slack * shape.panel_b) * shape.bytes
        panels = shape.panel_a * (_PANELS * depth + shape.slack) * shape.bytes
        return cls(depth, columns, packed_a, packed_a + panels)


def _rows_of_tiles(shape: TileShape) -> Any:
    """The subroutine for tiles from one block of the depth and one block of B."""
    size, tallest, panel_a = shape.bytes, shape.heights[0], shape.panel_a
    tiles, pack, hand_in = multiply_tiles(shape), pack_rows(shape), hand_in_rows(shape, _finish)
    width, element = shape.panel_b, types.float32 if size == 4 else types.float64

    @subroutine
    def rows_of_tiles(
        args, piece, batch, row, row_end, column, columns, depth, a, b, b_step, b_panel, c, c_row,
        accumulate, complete, packed,
    ):  # fmt: skip
        """A by a few panels, where it is packed; from the row on where a piece had better begin."""
        a_row, a_step = word(args, A_ROW), word(args, A_COLUMN)
        packs = word(args, PACKS) & PACKS_A
        # A few last columns, where the rows of A lie beside each other: their transpose, in vectors
        # of rows, since vectors of columns would be nearly empty.
        turned = 0
        if a_row == 1 and packs == 0:
            turned = columns - quotient(columns, width) * width
            if turned > _TURNED_COLUMNS or turned * _TURNED_DEPTH > depth:
                turned = 0
        columns -= turned
        turned_b = b + quotient(columns, width) * b_panel * size
        sums = address_of_stack(_TURNED_WORDS)
        left = step = row_end - row
        if complete:
            step = smaller(2 * tallest, step)
        if packs != 0:
            step = smaller(_PANELS * tallest, step)
        at = first_row(args, piece, row, row_end)
        while left > 0:
            height = smaller(smaller(step, left), row_end - at)
            if piece != WHOLE:
                height = smaller(height, rows_to_join(at))
            below = at - row
            source, source_row, source_step = a + below * a_row * size, a_row, a_step
            source_tile = tallest * a_row
            if packs != 0:
                pack(height, depth, packed, source, a_row, a_step)
                source, source_row, source_step = packed, 1, panel_a
                source_tile = panel_a * depth
            target = c + below * c_row * size
            if columns > 0:
                tiles(height, columns, depth, source, source_row, source_step, source_tile, b,
                      b_step, b_panel, target, c_row, accumulate)  # fmt: skip
            first = 0
            while turned > 0 and first < height:
                rows = smaller(_TURNED_ROWS, height - first)
                tiles(turned, rows, depth, turned_b, 1, b_step, tallest, source + first * size,
                      a_step, width, sums, _TURNED_ROWS, False)  # fmt: skip
                for i in range(rows):
                    position = target + ((first + i) * c_row + columns) * size
                    for j in range(turned):
                        value = load(sums, j * _TURNED_ROWS + i, element)
                        if accumulate:
                            value = load(position, j, element) + value
                        store(position, j, value, element)
                first += rows
            if piece != WHOLE:
                hand_in(args, at, at + height, columns + turned)
            elif complete:
                _finish(args, batch, at, at + height, column, columns + turned)
            left -= height
            at += height
            if at == row_end:
                at = row

    return rows_of_tiles


def _sums_of_products(shape: TileShape, packed_a: int) -> Any:
    """The subroutine for some rows and columns of C: all terms, each by blocks of the depth."""
    size, panel_b = shape.bytes, shape.panel_b
    rows_of_tiles, pack = _rows_of_tiles(shape), pack_panels(shape)

    @subroutine
    def sums_of_products(
        args, piece, batch, row, row_end, column, columns, largest, a, b, c, c_row, scratch
    ):  # fmt: skip
        """A block of the depth is at most ``largest``; a piece is one such block."""
        depth, b_row, b_column = word(args, K), word(args, B_ROW), word(args, B_COLUMN)
        packs, last = word(args, PACKS) & PACKS_B, word(args, TERMS)
        accumulate = piece <= 0 and word(args, ACCUMULATES) != 0
        term = 0
        while term <= last:
            a_at, b_at = a + _further(args, A, term), b + _further(args, B, term)
            k, end = 0, depth
            if piece != WHOLE:
                k = piece * largest
                end = smaller(depth, k + largest)
            while k < end:
                length = smaller(largest, end - k)
                source, b_step, b_panel = b_at + k * b_row * size, b_row, panel_b
                if packs != 0:
                    pack(columns, length, scratch, source, b_column, b_row, panel_b)
                    source, b_step, b_panel = scratch, panel_b, panel_b * length
                complete = term == last and k + length == depth
                rows_of_tiles(
                    args, piece, batch, row, row_end, column, columns, length,
                    a_at + k * word(args, A_COLUMN) * size, source, b_step, b_panel, c, c_row,
                    accumulate, complete and word(args, EPILOGUE) != 0, scratch + packed_a,
                )  # fmt: skip
                accumulate = True
                k += length
            term += 1

    return sums_of_products


def build_tiles(dtype: types.Float, vector_bits: int | None = None) -> Rectangles:
    """Tiles, for a dtype, and for narrower vectors than the host's if asked."""
    shape = tile_shape(dtype, vector_bits)
    size, tallest = shape.bytes, shape.heights[0]
    depth_block, block_columns, packed_a, scratch_bytes = _Blocks.of(shape)
    sums_of_products = _sums_of_products(shape, packed_a)

    @subroutine
    def rectangle(args, piece, batch, row, row_end, column, column_end, scratch):
        depth, a_row, c_row = word(args, K), word(args, A_ROW), result_row(args, piece)
        a = matrix_at(args, A, size, batch)
        b = matrix_at(args, B, size, batch)
        c = result_at(args, piece, size, batch)
        largest = block_length(depth, depth_block)
        packs = word(args, PACKS) & PACKS_B
        # All terms for some rows, which stay in the first-level cache, if B need not be packed.
        group = row_end - row
        if word(args, TERMS) != 0 and packs == 0:
            group = smaller(2 * tallest, group)
        # Wide blocks if B need not be packed: an epilogue runs over whole rows, if there is room.
        widest = block_columns
        if packs == 0 and quotient(SHARED, depth) > widest:
            widest = quotient(SHARED, depth) & -WHOLE_TILES
        while column < column_end:
            columns = smaller(widest, column_end - column)
            first = row
            while first < row_end:
                end = smaller(first + group, row_end)
                sums_of_products(
                    args, piece, batch, first, end, column, columns, largest,
                    a + first * a_row * size, b + column * word(args, B_COLUMN) * size,
                    c + (first * c_row + column) * size, c_row, scratch,
                )  # fmt: skip
                first = end
            column += columns

    return Rectangles(rectangle, scratch_bytes)


def build_dots(dtype: types.Float, vector_bits: int | None = None) -> Rectangles:
    """Tiles of dot products, for a dtype, and for narrower vectors than the host's if asked."""
    shape = tile_shape(dtype, vector_bits)
    size, depth_block = shape.bytes, DOTS_DEPTH_BYTES // shape.bytes
    dots, hand_in = multiply_dots(shape), hand_in_rows(shape, _finish)

    @subroutine
    def rectangle(args, piece, batch, row, row_end, column, column_end, scratch):
        depth, a_row, b_column = word(args, K), word(args, A_ROW), word(args, B_COLUMN)
        c_row = result_row(args, piece)
        a = matrix_at(args, A, size, batch) + row * a_row * size
        b = matrix_at(args, B, size, batch) + column * b_column * size
        c = result_at(args, piece, size, batch) + (row * c_row + column) * size
        largest = block_length(depth, depth_block)
        first, last = 0, depth
        if piece != WHOLE:
            first = piece * largest
            last = smaller(depth, first + largest)
        while row < row_end:
            height = row_end - row
            if piece != WHOLE:
                height = smaller(height, rows_to_join(row))
            term = 0
            accumulate = piece <= 0 and word(args, ACCUMULATES) != 0
            while term <= word(args, TERMS):
                k = first
                a_at, b_at = a + _further(args, A, term), b + _further(args, B, term)
                while k < last:
                    length = smaller(largest, last - k)
                    dots(height, column_end - column, length, a_at + k * size, a_row,
                         b_at + k * size, b_column, c, c_row, accumulate)  # fmt: skip
                    accumulate = True
                    k += length
                term += 1
            if piece != WHOLE:
                hand_in(args, row, row + height, column_end - column)
            else:
                _finish(args, batch, row, row + height, column, column_end - column)
            a += height * a_row * size
            c += height * c_row * size
            row += height

    return Rectangles(rectangle)


def build_row(dtype: types.Float, vector_bits: int | None = None) -> Rectangles:
    """Single rows, for a dtype, and for narrower vectors than the host's if asked."""
    shape = tile_shape(dtype, vector_bits)
    size = shape.bytes
    combine = combine_rows(shape)

    @subroutine
    def rectangle(args, piece, batch, row, row_end, column, column_end, scratch):
        a = matrix_at(args, A, size, batch)
        b = matrix_at(args, B, size, batch)
        c = matrix_at(args, C, size, batch)
        while column < column_end:
            columns = smaller(_ROW_COLUMNS, column_end - column)
            combine(columns, word(args, K), c + column * size, a, word(args, A_COLUMN),
                    b + column * size, word(args, B_ROW))  # fmt: skip
            _finish(args, batch, row, row_end, column, columns)
            column += columns

    return Rectangles(rectangle)
