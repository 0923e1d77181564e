"""Where rows of an iteration space begin: the part of a strided kernel that no formula changes.

Used by kernels that ``source.py`` writes, hence imported only to compile. All of them call the same
machine code: it runs once for many rows, and in each kernel it took as long to compile as the rest.
"""

from __future__ import annotations

from ...codegen.intrinsics import int64, load, shared, store
from ...codegen.kernel import kernel
from ...codegen.loader import SHARED_SIGNATURE
from ..layout import ARGUMENT_OPERANDS, OPERAND_WORDS
from .layout import PLANE_COLUMN, PLANE_OPERANDS, PLANE_WORDS

__all__ = ["describe_rows", "find_rows"]


@kernel(SHARED_SIGNATURE)
def row_steps(args, own, plane, _):
    """Write to ``plane`` what is the same for all rows; returns how many elements a row has.

    For each operand whose bit is set in ``own`` its bytes from row to row and from element to
    element, at the words that ``layout.py`` names.
    """
    dimensions = load(args, 0, int64)
    operand = args + 8 * ARGUMENT_OPERANDS
    words = plane + 8 * PLANE_OPERANDS
    while own != 0:
        if own & 1:
            store(words, 1, load(operand, dimensions - 1, int64), int64)
            store(words, 2, load(operand, dimensions, int64), int64)
        own >>= 1
        operand += 8 * OPERAND_WORDS
        words += 8 * PLANE_WORDS
    return load(args, dimensions, int64)


@kernel(SHARED_SIGNATURE)
def row_starts(args, lo, own, plane):
    """How many rows follow one another from element ``lo`` on, up to the end of their dimension.

    Writes to ``plane`` which element of the first row that is, and for each operand whose bit is
    set in ``own`` where the first row begins.
    """
    dimensions = load(args, 0, int64)
    row = 0
    column = lo
    rows = 1
    if dimensions > 1:
        size = load(args, dimensions, int64)
        row = lo // size
        column = lo - row * size
    store(plane, PLANE_COLUMN, column, int64)
    outermost = 0
    if dimensions > 1:
        extent = load(args, dimensions - 1, int64)
        outermost = row // extent
        row -= outermost * extent
        rows = extent - row
    operand = args + 8 * ARGUMENT_OPERANDS
    words = plane + 8 * PLANE_OPERANDS
    left = own
    while left != 0:
        if left & 1:
            start = load(operand, 0, int64) + row * load(operand, dimensions - 1, int64)
            store(words, 0, start, int64)
        left >>= 1
        operand += 8 * OPERAND_WORDS
        words += 8 * PLANE_WORDS
    for d in range(dimensions - 2, 0, -1):
        extent = load(args, d, int64)
        outer = outermost // extent
        position = outermost - outer * extent
        outermost = outer
        operand = args + 8 * ARGUMENT_OPERANDS
        words = plane + 8 * PLANE_OPERANDS
        left = own
        while left != 0:
            if left & 1:
                start = load(words, 0, int64) + position * load(operand, d, int64)
                store(words, 0, start, int64)
            left >>= 1
            operand += 8 * OPERAND_WORDS
            words += 8 * PLANE_WORDS
    return rows


describe_rows, find_rows = shared(row_steps), shared(row_starts)
