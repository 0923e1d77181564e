"""The CPU matrix product: cache blocks, packing and the choice of a method, over micro-kernels.

``matmul_float32`` and ``matmul_float64`` are kernels with the uniform entry; the executor names them
by string, and this module is imported only to compile them. ``matmul_layout`` describes their
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

from . import matmul_layout as layout
from .intrinsics import address_of_stack, float32, float64, from_bits, int64, load, store, subroutine
from .matmul_scratch import acquire, aligned, release
from .matmul_tile import (
    DOT_COLUMNS,
    copy_rows,
    combine_rows,
    dot_tile,
    multiply_tile,
    tile_shape,
    transpose_rows,
)

# Words of a problem behind those of the arguments: what one call decides about all its blocks.
_A0, _B0, _C0, _I0 = range(layout.WORDS, layout.WORDS + 4)  # addresses of the first batch
_METHOD, _PACK_A, _PACK_B, _DIRECT, _SCRATCH = range(layout.WORDS + 4, layout.WORDS + 9)
_PROBLEM_WORDS = layout.WORDS + 9

_TILES, _DOTS, _ROW = range(3)

#: For each operand: its address in this batch, in the first batch, and its batch strides.
_OPERANDS = (
    (layout.A, _A0, layout.A_OUTER, layout.A_INNER),
    (layout.B, _B0, layout.B_OUTER, layout.B_INNER),
    (layout.C, _C0, layout.C_OUTER, layout.C_INNER),
    (layout.I, _I0, layout.I_OUTER, layout.I_INNER),
)
_TRANSPOSED = (
    (layout.A, layout.B), (layout.M, layout.N),
    (layout.A_ROW, layout.B_COLUMN), (layout.A_COLUMN, layout.B_ROW),
    (layout.A_OUTER, layout.B_OUTER), (layout.A_INNER, layout.B_INNER),
    (layout.C_ROW, layout.C_COLUMN), (layout.I_ROW, layout.I_COLUMN),
)  # fmt: skip

_unit_columns = subroutine(layout.unit_columns)

#: Columns of C whose sums the row method keeps in the first-level cache at a time.
_ROW_COLUMNS = 1024


@subroutine
def _word(problem, index):
    return load(problem, index, int64)


@subroutine
def _transpose_problem(problem):
    """Turn ``C = A @ B`` into ``C.T = B.T @ A.T``."""
    for first, second in _TRANSPOSED:
        kept = _word(problem, first)
        store(problem, first, _word(problem, second), int64)
        store(problem, second, kept, int64)


def build_matmul(dtype: types.Float, vector_bits: int | None = None) -> Callable[..., None]:
    """The kernel for ``dtype`` (float32 or float64), for narrower vectors than the host's if asked.

    Returns a plain function ``(args, lo, hi) -> None`` for the kernel compiler.
    """
    shape = tile_shape(dtype, vector_bits)
    element = float32 if dtype == types.float32 else float64
    size = shape.bytes
    lanes = shape.lanes
    tile_columns = 2 * lanes
    heights = shape.rows
    tallest = heights[0]
    dot_heights = shape.dots

    # A panel of A (tallest × depth_block) stays in the first-level cache while it passes over a
    # block of B (depth_block × block_columns), which stays in the second-level cache.
    depth_block = 2048 // size
    dot_depth = 16384 // size
    block_columns = 16 * lanes

    b_elements = block_columns * depth_block + lanes * tile_columns
    a_elements = tallest * depth_block + (lanes + 1) * tallest + lanes
    # Scratch memory: the block of B, the panel of A, a tile of C, the sums of a row of C.
    scratch_tile = b_elements + a_elements
    scratch_sums = scratch_tile + tallest * tile_columns
    scratch_bytes = size * (scratch_sums + _ROW_COLUMNS)

    # Depth from which tiles of dot products cost less than packing B.
    dots_from = 24 * lanes

    tile = multiply_tile(shape)
    copy_panel = copy_rows(shape, 2)
    copy_a_panel = copy_rows(shape, -(-tallest // lanes))
    transpose_panel = transpose_rows(shape)
    combine_eight, combine_one = combine_rows(shape, 8), combine_rows(shape, 1)
    dots, single_dots = dot_tile(shape, single=False), dot_tile(shape, single=True)

    @subroutine
    def scalar(problem, index):
        return element(from_bits(_word(problem, index)))

    @subroutine
    def element_at(address, i, i_stride, j, j_stride):
        return address + (i * i_stride + j * j_stride) * size

    @subroutine
    def block_depth(depth, largest):
        """Depth of the blocks that ``depth`` is cut into: equal, and not above ``largest``."""
        blocks = max(1, (depth + largest - 1) // largest)
        return (depth + blocks - 1) // blocks

    @subroutine
    def pack_b(target, b, b_row, b_column, columns, depth):
        """Panels of B, each ``depth`` runs of ``tile_columns`` elements."""
        for column in range(0, columns, tile_columns):
            panel = target + column * depth * size
            source = b + column * b_column * size
            width = min(tile_columns, columns - column)
            if b_column == 1:
                copy_panel(width, depth, panel, tile_columns, source, b_row)
            elif b_row == 1:
                for half in range(0, width, lanes):
                    part = element_at(source, half, b_column, 0, 0)
                    to = panel + half * size
                    transpose_panel(min(lanes, width - half), depth, to, tile_columns, part, b_column)
            else:
                for k in range(depth):
                    for j in range(tile_columns):
                        from_column = min(j, width - 1)
                        value = load(element_at(source, k, b_row, from_column, b_column), 0, element)
                        store(panel, k * tile_columns + j, value, element)

    @subroutine
    def pack_a(target, a, a_row, a_column, rows, depth):
        """A panel of A: ``depth`` runs of ``tallest`` elements."""
        if a_row == 1:
            copy_a_panel(rows, depth, target, tallest, a, a_column)
        elif a_column == 1:
            for part in range(0, rows, lanes):
                source = a + part * a_row * size
                count = min(lanes, rows - part)
                transpose_panel(count, depth, target + part * size, tallest, source, a_row)
        else:
            for k in range(depth):
                for r in range(rows):
                    value = load(element_at(a, r, a_row, k, a_column), 0, element)
                    store(target, k * tallest + r, value, element)

    @subroutine
    def scatter_tile(problem, tile_at, row, column, rows, columns, first):
        """Write a tile to a C (or from an I) whose columns are not contiguous."""
        beta = scalar(problem, layout.BETA) if first else element(1)
        source = _word(problem, layout.I) if first else _word(problem, layout.C)
        source_row = _word(problem, layout.I_ROW) if first else _word(problem, layout.C_ROW)
        source_column = _word(problem, layout.I_COLUMN) if first else _word(problem, layout.C_COLUMN)
        c, c_row = _word(problem, layout.C), _word(problem, layout.C_ROW)
        c_column = _word(problem, layout.C_COLUMN)
        for r in range(rows):
            for j in range(columns):
                value = load(tile_at, r * tile_columns + j, element)
                if beta != 0:
                    old = element_at(source, row + r, source_row, column + j, source_column)
                    value += beta * load(old, 0, element)
                store(element_at(c, row + r, c_row, column + j, c_column), 0, value, element)

    @subroutine
    def multiply_panel(problem, row, rows, column, end, depth, first, a, a_row, a_step, b, b_step, b_panel):
        """``rows`` rows of C, from one block of the depth; ``b_panel``: distance of B's panels."""
        alpha = scalar(problem, layout.ALPHA)
        beta = scalar(problem, layout.BETA) if first else element(1)
        c, c_row = _word(problem, layout.C), _word(problem, layout.C_ROW)
        initial = _word(problem, layout.I) if first else c
        initial_row = _word(problem, layout.I_ROW) if first else c_row
        direct = _word(problem, _DIRECT) != 0
        tile_at = _word(problem, _SCRATCH) + scratch_tile * size
        while column < end:
            columns = min(tile_columns, end - column)
            if direct:
                tile(
                    rows, columns, depth, a, a_row, a_step, b, b_step,
                    element_at(c, row, c_row, column, 1), c_row,
                    element_at(initial, row, initial_row, column, 1), initial_row, alpha, beta,
                )  # fmt: skip
            else:
                tile(
                    rows, columns, depth, a, a_row, a_step, b, b_step,
                    tile_at, tile_columns, tile_at, tile_columns, alpha, element(0),
                )  # fmt: skip
                scatter_tile(problem, tile_at, row, column, rows, columns, first)
            b += b_panel
            column += tile_columns

    @subroutine
    def tallest_fitting(rows, candidates):
        """The tallest of the heights (tallest first, ending in 1) that fits in ``rows``."""
        for height in candidates:
            if height <= rows:
                return height
        return 1

    @subroutine
    def multiply_block(problem, row, row_end, column, end, k, depth):
        """A block of C, from one block of the depth."""
        a, b = _word(problem, layout.A), _word(problem, layout.B)
        a_row, a_step = _word(problem, layout.A_ROW), _word(problem, layout.A_COLUMN)
        b_step, b_column = _word(problem, layout.B_ROW), _word(problem, layout.B_COLUMN)
        b = element_at(b, k, b_step, column, b_column)
        b_panel = tile_columns * size
        scratch = _word(problem, _SCRATCH)
        if _word(problem, _PACK_B) != 0:
            pack_b(scratch, b, b_step, b_column, end - column, depth)
            b, b_step, b_panel = scratch, tile_columns, tile_columns * depth * size
        while row < row_end:
            rows = tallest_fitting(row_end - row, heights)
            panel = element_at(a, row, a_row, k, a_step)
            if _word(problem, _PACK_A) != 0:
                packed = scratch + b_elements * size
                pack_a(packed, panel, a_row, a_step, rows, depth)
                multiply_panel(
                    problem, row, rows, column, end, depth, k == 0,
                    packed, 1, tallest, b, b_step, b_panel,
                )  # fmt: skip
            else:
                multiply_panel(
                    problem, row, rows, column, end, depth, k == 0,
                    panel, a_row, a_step, b, b_step, b_panel,
                )  # fmt: skip
            row += rows

    @subroutine
    def multiply_tiles(problem, row, row_end, column, column_end):
        depth = _word(problem, layout.K)
        largest = block_depth(depth, depth_block)
        while column < column_end:
            end = min(column + block_columns, column_end)
            k = 0
            while True:
                multiply_block(problem, row, row_end, column, end, k, min(largest, depth - k))
                k += largest
                if k >= depth:
                    break
            column = end

    @subroutine
    def multiply_dot_block(problem, row, row_end, column, column_end, k, length):
        first = k == 0
        alpha = scalar(problem, layout.ALPHA)
        beta = scalar(problem, layout.BETA) if first else element(1)
        a_row, b_column = _word(problem, layout.A_ROW), _word(problem, layout.B_COLUMN)
        c_row, c_column = _word(problem, layout.C_ROW), _word(problem, layout.C_COLUMN)
        i = _word(problem, layout.I) if first else _word(problem, layout.C)
        i_row = _word(problem, layout.I_ROW) if first else c_row
        i_column = _word(problem, layout.I_COLUMN) if first else c_column
        single = _word(problem, layout.M) == 1
        while row < row_end:
            rows = tallest_fitting(row_end - row, dot_heights)
            a = element_at(_word(problem, layout.A), row, a_row, k, 1)
            j = column
            while j < column_end:
                columns = DOT_COLUMNS if column_end - j >= DOT_COLUMNS else 1
                b = element_at(_word(problem, layout.B), j, b_column, k, 1)
                at_c = element_at(_word(problem, layout.C), row, c_row, j, c_column)
                at_i = element_at(i, row, i_row, j, i_column)
                if single:
                    single_dots(rows, columns, length, a, a_row, b, b_column, at_c, c_row, c_column,
                                at_i, i_row, i_column, alpha, beta)  # fmt: skip
                else:
                    dots(rows, columns, length, a, a_row, b, b_column, at_c, c_row, c_column,
                         at_i, i_row, i_column, alpha, beta)  # fmt: skip
                j += columns
            row += rows

    @subroutine
    def multiply_dots(problem, row, row_end, column, column_end):
        depth = _word(problem, layout.K)
        largest = block_depth(depth, dot_depth)
        k = 0
        while True:
            length = min(largest, depth - k)
            multiply_dot_block(problem, row, row_end, column, column_end, k, length)
            k += largest
            if k >= depth:
                break

    @subroutine
    def combine_columns(problem, column, columns, sums):
        """``C = alpha * A @ B + beta * I`` for some columns of a single row."""
        a, a_step = _word(problem, layout.A), _word(problem, layout.A_COLUMN)
        b, b_row = _word(problem, layout.B) + column * size, _word(problem, layout.B_ROW)
        depth = _word(problem, layout.K)
        for j in range(columns):
            store(sums, j, element(0), element)
        k = 0
        while k + 8 <= depth:
            combine_eight(columns, sums, element_at(a, k, a_step, 0, 0), a_step,
                          element_at(b, k, b_row, 0, 0), b_row)  # fmt: skip
            k += 8
        while k < depth:
            combine_one(columns, sums, element_at(a, k, a_step, 0, 0), a_step,
                        element_at(b, k, b_row, 0, 0), b_row)  # fmt: skip
            k += 1
        alpha, beta = scalar(problem, layout.ALPHA), scalar(problem, layout.BETA)
        c_column, i_column = _word(problem, layout.C_COLUMN), _word(problem, layout.I_COLUMN)
        c = element_at(_word(problem, layout.C), column, c_column, 0, 0)
        i = element_at(_word(problem, layout.I), column, i_column, 0, 0)
        for j in range(columns):
            value = alpha * load(sums, j, element)
            if beta != 0:
                value += beta * load(i, j * i_column, element)
            store(c, j * c_column, value, element)

    @subroutine
    def multiply_row(problem, column, column_end):
        sums = _word(problem, _SCRATCH) + scratch_sums * size
        while column < column_end:
            columns = min(_ROW_COLUMNS, column_end - column)
            combine_columns(problem, column, columns, sums)
            column += columns

    @subroutine
    def plan(problem):
        """Choose the method and what to pack; returns whether scratch memory is needed."""
        rows, columns = _word(problem, layout.M), _word(problem, layout.N)
        depth = _word(problem, layout.K)
        a_row, a_column = _word(problem, layout.A_ROW), _word(problem, layout.A_COLUMN)
        b_row, b_column = _word(problem, layout.B_ROW), _word(problem, layout.B_COLUMN)
        no_initial = scalar(problem, layout.BETA) == 0
        contiguous_c = _word(problem, layout.C_COLUMN) == 1 or columns == 1
        contiguous_i = no_initial or _word(problem, layout.I_COLUMN) == 1 or columns == 1
        method, pack_a, pack_b, direct = _TILES, 0, 0, 1
        if rows == 1 and b_column == 1:
            method = _ROW
        elif a_column == 1 and b_row == 1 and (rows == 1 or depth >= dots_from):
            method = _DOTS
        else:
            pack_b = 1 if b_column != 1 or rows >= 256 else 0
            pack_a = 1 if columns >= 256 else 0
            direct = 1 if contiguous_c and contiguous_i else 0
        store(problem, _METHOD, method, int64)
        store(problem, _PACK_A, pack_a, int64)
        store(problem, _PACK_B, pack_b, int64)
        store(problem, _DIRECT, direct, int64)
        return method == _ROW or pack_a + pack_b > 0 or direct == 0

    @subroutine
    def multiply(problem, batch, row, row_end, column, column_end):
        """A rectangle of C of one batch, by the method of the problem."""
        inner_size = _word(problem, layout.INNER)
        outer = batch // inner_size
        inner = batch - outer * inner_size
        for operand, first, outer_stride, inner_stride in _OPERANDS:
            offset = outer * _word(problem, outer_stride) + inner * _word(problem, inner_stride)
            store(problem, operand, _word(problem, first) + offset * size, int64)
        method = _word(problem, _METHOD)
        if method == _ROW:
            multiply_row(problem, column, column_end)
        elif method == _DOTS:
            multiply_dots(problem, row, row_end, column, column_end)
        else:
            multiply_tiles(problem, row, row_end, column, column_end)

    def matmul(args, lo, hi):
        problem = address_of_stack(_PROBLEM_WORDS)
        for i in range(layout.WORDS):
            store(problem, i, _word(args, i), int64)
        rows, columns = _word(args, layout.M), _word(args, layout.N)
        transposed = columns == 1 or (
            _word(args, layout.C_COLUMN) != 1 and _word(args, layout.C_ROW) == 1 and rows > 1
        )
        if transposed:
            _transpose_problem(problem)
        for operand, first, _, _ in _OPERANDS:
            store(problem, first, _word(problem, operand), int64)
        buffer = acquire(scratch_bytes) if plan(problem) else 0
        store(problem, _SCRATCH, aligned(buffer), int64)
        width = _unit_columns(rows, columns)
        blocks = (columns + width - 1) // width
        groups = (rows + layout.UNIT_ROWS - 1) // layout.UNIT_ROWS
        while lo < hi:
            block = lo // groups
            group = lo - block * groups
            batch = block // blocks
            block -= batch * blocks
            # Whole columns of units where the range covers them, else part of one.
            whole = min((hi - lo) // groups, blocks - block) if group == 0 else 0
            group_end = groups if whole > 0 else min(groups, group + hi - lo)
            row, row_end = group * layout.UNIT_ROWS, min(rows, group_end * layout.UNIT_ROWS)
            column = block * width
            column_end = min(columns, column + max(whole, 1) * width)
            if transposed:
                multiply(problem, batch, column, column_end, row, row_end)
            else:
                multiply(problem, batch, row, row_end, column, column_end)
            lo += max(whole, 1) * (group_end - group)
        if buffer != 0:
            release(buffer)

    return matmul


matmul_float32 = build_matmul(types.float32)
matmul_float64 = build_matmul(types.float64)
