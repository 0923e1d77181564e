"""The argument words of the matmul kernels and how their work is counted.

Shared by ``matmul`` (the kernels), the launcher and plain Python callers; imports neither Numba nor
LLVM, so that a process whose kernels are all in the disk cache can pack arguments and count units.
"""

from __future__ import annotations

#: Index of each int64 word at ``args``. Strides count elements; any of them may be 0 or negative.
#: A batch has two dimensions (a batch of one dimension has an outer size of 1), each operand with
#: its own strides. The result is ``C = alpha * (A @ B) + beta * I``; alpha and beta are the bits
#: of float64 numbers, and ``I`` is not read where beta is 0. ``I`` may be ``C`` itself; otherwise C
#: overlaps no operand.
A, B, C, I = 0, 1, 2, 3  # addresses  # noqa: E741
M, N, K = 4, 5, 6
OUTER, INNER = 7, 8  # sizes of the batch
A_ROW, A_COLUMN, A_OUTER, A_INNER = 9, 10, 11, 12
B_ROW, B_COLUMN, B_OUTER, B_INNER = 13, 14, 15, 16
C_ROW, C_COLUMN, C_OUTER, C_INNER = 17, 18, 19, 20
I_ROW, I_COLUMN, I_OUTER, I_INNER = 21, 22, 23, 24
ALPHA, BETA = 25, 26
WORDS = 27

#: Rows of C in one unit of work.
UNIT_ROWS = 4

#: Columns of C in one unit of work: many where rows can be shared out among threads instead.
WIDE_COLUMNS, NARROW_COLUMNS = 256, 64

#: Rows from which on a unit is wide.
WIDE_FROM_ROWS = 48


def unit_columns(rows: int, columns: int) -> int:
    """Columns of C in one unit of work of a ``rows`` × ``columns`` result."""
    return WIDE_COLUMNS if rows >= WIDE_FROM_ROWS else NARROW_COLUMNS


def matmul_units(rows: int, columns: int, depth: int, batch: int) -> int:
    """Units of work in ``batch`` products of (rows × depth) and (depth × columns) matrices.

    Units are ordered by batch, then by block of columns, then by group of rows: a contiguous range
    of them is a few rectangles of C. Every element of C is computed by the same sequence of
    operations in whatever rectangle it lies, so any partition gives the same bits.
    """
    width = unit_columns(rows, columns)
    return batch * ((columns + width - 1) // width) * ((rows + UNIT_ROWS - 1) // UNIT_ROWS)


def matmul_grain(rows: int, columns: int, depth: int, batch: int, threads: int) -> int:
    """Units for one thread: an equal share of the work, or about 20 µs of it if that is more.

    Shares are not cut further, since every piece packs its operands anew.
    """
    width = min(columns, unit_columns(rows, columns))
    work = UNIT_ROWS * max(width, 1) * max(depth, 1)
    share = -(-matmul_units(rows, columns, depth, batch) // threads)
    return max(share, 1_000_000 // work, 1)
