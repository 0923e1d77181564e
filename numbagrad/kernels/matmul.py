"""The CPU matrix product: cache blocks, packing and the choice of a method, over micro-kernels.

``matmul_float32`` and ``matmul_float64`` are kernels with the uniform entry; the executor names
them by string, and this module is imported only to compile them. ``matmul_layout`` describes their
arguments and units of work, ``matmul_tile`` holds the micro-kernels.

Three methods, chosen from shapes and strides alone:

* *tiles*: a tile of C stays in registers while a column of A (broadcast straight from its strides)
  multiplies vectors of B. Operands are packed where their strides would cost more than the copy.
* *dots*: both operands are contiguous along the depth, so tiles of dot products need no packing.
* *row*: a single row times a matrix with contiguous rows, which memory bandwidth bounds.

Every element of C goes through the same operations wherever its tile lies: the depth is cut into
blocks by its size alone, each block is summed in order, and blocks are added in order.
"""

from __future__ import annotations

from collections.abc import Callable

from numba import types

from .intrinsics import address_of_stack, float32, float64, subroutine
from .matmul_layout import (
    A_COLUMN,
    A_ROW,
    ALPHA,
    B_COLUMN,
    B_ROW,
    BETA,
    C_COLUMN,
    C_ROW,
    I_COLUMN,
    INNER,
    UNIT_ROWS,
    WORDS,
    A,
    B,
    C,
    I,
    K,
    M,
    N,
    unit_columns,
)
from .matmul_problem import (
    column_stride,
    copy_problem,
    element_at,
    larger,
    row_stride,
    scalar,
    smaller,
    word,
)
from .matmul_scratch import acquire, aligned, release
from .matmul_tile import (
    combine_rows,
    multiply_dots,
    multiply_tiles,
    pack_panels,
    tile_shape,
    write_elements,
)

_TILES, _DOTS, _ROW = range(3)

_unit_columns = subroutine(unit_columns)

#: Rows this many bytes apart (or a multiple) fall on the same few lines of the first-level cache.
_CONFLICT = 4096

#: An operand of more bytes comes from memory each time, so that packing it costs least.
_CACHE = 1 << 23

#: Columns of C whose sums the row method keeps in the first-level cache at a time.
_ROW_COLUMNS = 1024


def build_matmul(dtype: types.Float, vector_bits: int | None = None) -> Callable[..., None]:
    """The kernel for ``dtype`` (float32 or float64), for narrower vectors than the host's if asked.

    Returns a plain function ``(args, lo, hi) -> None`` for the kernel compiler.
    """
    shape = tile_shape(dtype, vector_bits)
    element = float32 if dtype == types.float32 else float64
    size = shape.bytes
    tallest = shape.heights[0]
    panel_a, panel_b = shape.panel_a, shape.panel_b

    # A panel of A (tallest × depth_block) stays in the first-level cache while it passes over a
    # block of B (depth_block × block_columns), which comes from the second-level cache.
    depth_block = 2048 // size
    dot_depth = 16384 // size
    block_columns = 32 * shape.lanes

    # Scratch memory: a block of B, then a panel of A, each with the room that packing wants.
    slack = shape.lanes + 1
    scratch_a = (block_columns * depth_block + slack * panel_b) * size
    scratch_bytes = scratch_a + panel_a * (depth_block + slack) * size

    tiles, dots = multiply_tiles(shape), multiply_dots(shape)
    pack_a, pack_b = pack_panels(shape, panel_a), pack_panels(shape, panel_b)
    combine, write = combine_rows(shape), write_elements(shape)

    # Depth from which tiles of dot products cost less than packing B, if C is small.
    dots_from = 12 * shape.lanes

    @subroutine
    def block_of_rows(problem, outer, inner, row, row_end, column, columns, k, depth, scratch,
                      packs_a, b, b_step, b_panel):  # fmt: skip
        """Rows of tiles, from one block of the depth and one block of B."""
        initial, beta = (I, scalar(problem, BETA, element)) if k == 0 else (C, element(1))
        while row < row_end:
            rows = smaller(tallest, row_end - row)
            a = element_at(problem, A, size, outer, inner, row, k)
            a_row, a_step = word(problem, A_ROW), word(problem, A_COLUMN)
            if packs_a:
                pack_a(rows, depth, scratch + scratch_a, a, a_row, a_step)
                a, a_row, a_step = scratch + scratch_a, 1, panel_a
            tiles(
                rows, columns, depth, a, a_row, a_step, b, b_step, b_panel,
                element_at(problem, C, size, outer, inner, row, column),
                word(problem, C_ROW), word(problem, C_COLUMN),
                element_at(problem, initial, size, outer, inner, row, column),
                row_stride(problem, initial), column_stride(problem, initial),
                scalar(problem, ALPHA, element), beta,
            )  # fmt: skip
            row += rows

    @subroutine
    def by_tiles(problem, outer, inner, row, row_end, column, column_end, scratch, packs):
        depth = word(problem, K)
        blocks = larger(1, (depth + depth_block - 1) // depth_block)
        largest = (depth + blocks - 1) // blocks
        while column < column_end:
            columns = smaller(block_columns, column_end - column)
            for block in range(blocks):
                k = block * largest
                length = smaller(largest, depth - k)
                b = element_at(problem, B, size, outer, inner, k, column)
                b_step, b_panel = word(problem, B_ROW), panel_b
                if packs & 1:
                    pack_b(columns, length, scratch, b, word(problem, B_COLUMN), b_step)
                    b, b_step, b_panel = scratch, panel_b, panel_b * length
                block_of_rows(problem, outer, inner, row, row_end, column, columns, k, length,
                              scratch, packs & 2, b, b_step, b_panel)  # fmt: skip
            column += columns

    @subroutine
    def by_dots(problem, outer, inner, row, row_end, column, column_end):
        depth = word(problem, K)
        k = 0
        initial, beta = I, scalar(problem, BETA, element)
        while k == 0 or k < depth:
            dots(
                row_end - row, column_end - column, smaller(dot_depth, depth - k),
                element_at(problem, A, size, outer, inner, row, k), word(problem, A_ROW),
                element_at(problem, B, size, outer, inner, k, column), word(problem, B_COLUMN),
                element_at(problem, C, size, outer, inner, row, column),
                word(problem, C_ROW), word(problem, C_COLUMN),
                element_at(problem, initial, size, outer, inner, row, column),
                row_stride(problem, initial), column_stride(problem, initial),
                scalar(problem, ALPHA, element), beta,
            )  # fmt: skip
            k += dot_depth
            initial, beta = C, element(1)

    @subroutine
    def by_row(problem, outer, inner, column, column_end, sums):
        while column < column_end:
            columns = smaller(_ROW_COLUMNS, column_end - column)
            combine(
                columns, word(problem, K), sums,
                element_at(problem, A, size, outer, inner, 0, 0), word(problem, A_COLUMN),
                element_at(problem, B, size, outer, inner, 0, column), word(problem, B_ROW),
            )  # fmt: skip
            write(
                1, columns, sums, 0,
                element_at(problem, C, size, outer, inner, 0, column), 0, word(problem, C_COLUMN),
                element_at(problem, I, size, outer, inner, 0, column), 0, word(problem, I_COLUMN),
                scalar(problem, ALPHA, element), scalar(problem, BETA, element),
            )  # fmt: skip
            column += columns

    @subroutine
    def plan(problem):
        """The method, and what to pack: 1 for B, 2 for A."""
        rows, columns = word(problem, M), word(problem, N)
        a_row, a_column = word(problem, A_ROW), word(problem, A_COLUMN)
        b_row, b_column = word(problem, B_ROW), word(problem, B_COLUMN)
        if rows == 1 and b_column == 1:
            return _ROW, 0
        small = rows <= 128 and columns <= 128 and word(problem, K) >= dots_from
        if a_column == 1 and b_row == 1 and (rows == 1 or small):
            return _DOTS, 0
        packs = 0
        beyond_cache = word(problem, K) * columns * size > _CACHE
        if b_column != 1 or rows >= 512:
            packs = 1
        elif b_row * size % _CONFLICT == 0 and rows >= (8 if beyond_cache else 48):
            packs = 1
        if columns >= 256 and a_row != 1 and (a_column != 1 or a_row * size % _CONFLICT == 0):
            packs += 2
        return _TILES, packs

    def matmul(args, lo, hi):
        rows, columns = word(args, M), word(args, N)
        transposed = columns == 1 or (word(args, C_COLUMN) != 1 and word(args, C_ROW) == 1)
        problem = address_of_stack(WORDS)
        copy_problem(problem, args, transposed)
        method, packs = plan(problem)
        buffer = acquire(scratch_bytes) if packs != 0 or method == _ROW else 0
        scratch = aligned(buffer)
        width = _unit_columns(rows, columns)
        blocks = (columns + width - 1) // width
        groups = (rows + UNIT_ROWS - 1) // UNIT_ROWS
        while lo < hi:
            block = lo // groups
            group = lo - block * groups
            batch = block // blocks
            block -= batch * blocks
            # Whole blocks of columns where the range covers them, else some rows of one block.
            whole = smaller((hi - lo) // groups, blocks - block) if group == 0 else 0
            group_end = groups if whole > 0 else smaller(groups, group + hi - lo)
            row, row_end = group * UNIT_ROWS, smaller(rows, group_end * UNIT_ROWS)
            column = block * width
            column_end = smaller(columns, column + larger(whole, 1) * width)
            lo += larger(whole, 1) * (group_end - group)
            if transposed:
                row, row_end, column, column_end = column, column_end, row, row_end
            outer = batch // word(args, INNER)
            inner = batch - outer * word(args, INNER)
            if method == _TILES:
                by_tiles(problem, outer, inner, row, row_end, column, column_end, scratch, packs)
            elif method == _DOTS:
                by_dots(problem, outer, inner, row, row_end, column, column_end)
            else:
                by_row(problem, outer, inner, column, column_end, scratch)
        if buffer != 0:
            release(buffer)

    return matmul


matmul_float32 = build_matmul(types.float32)
matmul_float64 = build_matmul(types.float64)
