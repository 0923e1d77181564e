"""``convolve``: the kernel of convolutions, transposed ones, and gradients of inputs.

Start reading here. The executor compiles it by name (``convolve_float32``). ``arrange`` turns
weights for the other direction. Imported only to compile.
"""

from __future__ import annotations

import functools
from typing import Any

from numba import types

from ...codegen.intrinsics import int64, load, store, subroutine
from ...codegen.kernel import Values, element, kernel, variable
from ...codegen.vector_emitter import TileShape, tile_shape
from ..dtypes import dtypes
from ..matmul.problem import quotient, smaller, word
from ..matmul.scratch import acquire, aligned, release
from ..packing import Arguments, Elements, OptionalElements
from .copies import copies_of
from .exact import exact_of
from .layout import (
    BLOCKS,
    BYTES,
    CHANNEL_STEP,
    CHANNELS,
    DEPTH_CHANNELS,
    GROUPS,
    KERNEL,
    LENGTH,
    NUMBERS_AT,
    OFFSETS_AT,
    PANEL,
    PHASE_WORDS,
    PHASES,
    PHASES_AT,
    ROW_BLOCK,
    ROW_BLOCKS,
    ROWS,
    SLACK,
    SOURCE_ELEMENTS,
    TAPS,
    WEIGHTS_AT,
)
from .rows import clear
from .tile import multiply_windows

read_block, sum_rows = variable("read_block"), variable("sum_rows")

#: Bytes of an element.
size = variable("size")


def _summing(shape: TileShape) -> Any:
    """The subroutine that sums rows of the result for a phase and a block."""
    size, multiply, clear_sums = shape.bytes, multiply_windows(shape), clear(shape)
    write_block, mend_block = copies_of(shape).write_block, exact_of(shape).mend_block

    @subroutine
    def sum_panel(plan, phase, weights, copied, rows, sums):
        """Sums of a few rows at all positions of the block, gaps between lines included."""
        taps, channels = word(plan, phase + TAPS), word(plan, CHANNELS)
        pitch, largest = word(plan, LENGTH), word(plan, DEPTH_CHANNELS)
        offsets = plan + 8 * word(plan, phase + OFFSETS_AT)
        if taps == 0 or channels == 0:
            clear_sums(rows * pitch, sums)
            return
        channel = 0
        while channel < channels:
            count = smaller(largest, channels - channel)
            multiply(
                rows, pitch, count * taps, weights + channel * taps * size, channels * taps,
                copied + channel * word(plan, CHANNEL_STEP) * size, offsets, sums, pitch,
                channel > 0,
            )  # fmt: skip
            channel += count

    @subroutine
    def sum_rows(plan, phase, result, source, weights, bias, image, group, block, row, row_end,
                 copied, sums):  # fmt: skip
        a_row = word(plan, CHANNELS) * word(plan, phase + TAPS)
        weights += (word(plan, phase + WEIGHTS_AT) + group * word(plan, ROWS) * a_row) * size
        while row < row_end:
            rows = smaller(PANEL, row_end - row)
            if rows == PANEL and PANEL < row_end - row <= 16:
                rows = 8  # and up to eight more, rather than a thin tile
            factors = weights + row * a_row * size
            sum_panel(plan, phase, factors, copied, rows, sums)
            if write_block(plan, phase, result, image, group, block, row, rows, sums,
                           word(plan, LENGTH), bias):  # fmt: skip
                mend_block(plan, phase, result, source, factors, bias, image, group, block, row,
                           rows)  # fmt: skip
            row += rows

    return sum_rows


def values_of(dtype: str, vector_bits: int | None = None) -> Values:
    """The variables of the text of ``convolve`` for a dtype, with narrower vectors if asked."""
    kind: Any = getattr(types, dtype)
    shape = tile_shape(kind, vector_bits)
    return {
        "element": kind, "size": shape.bytes, "sum_rows": _summing(shape),
        "read_block": copies_of(shape).read_block,
    }  # fmt: skip


class Convolution(Arguments):
    """Arguments of ``convolve``."""

    result = Elements(element)  # (N, groups * rows, ...)
    source = Elements(element)  # (N, groups * channels, ...)
    weights = Elements(element)  # rows × channels * taps for each group and phase
    bias = OptionalElements(element)  # for each row
    plan = Elements(int64)  # ``layout.py``


class Arrangement(Arguments):
    """Arguments of ``arrange``."""

    arranged = Elements(element)
    weights = Elements(element)
    plan = Elements(int64)


@kernel(
    takes=Convolution,
    variants={dtype: functools.partial(values_of, dtype) for dtype in ("float32", "float64")},
)
def convolve(args, lo, hi):
    """The sums of windows times weights, for the units of work ``[lo, hi)`` of a plan.

    Args:
        args: address of a ``Convolution``.
        lo, hi: a unit is a block of positions of one group of one image, for some rows.

    A block of all channels is copied to scratch memory, with padding, one plane for each phase of
    the stride. There the window of a position is a table of distances from it, so the micro-kernel
    of ``tile`` is that of a matrix product whose vectors are read at these distances: no columns
    are written. Positions run on over the ends of lines; sums that belong to no position are left
    behind when rows of sums, ``PANEL`` at a time, are written with their bias. Padding takes no
    part: a sum that is NaN is computed again without it (``exact``).

    A transposed convolution with a stride has several phases of its result. Each is a convolution
    by the elements of the kernel that reach it; they share the copy.

    The depth is summed in blocks of channels that follow from the plan alone, so the bits do not
    depend on threads.

    A first call with the range ``[0, -1)`` reserves the scratch memory; its ``result`` becomes 0
    where there is none.
    """
    given = Convolution(args)
    result, source, weights = given.result, given.source, given.weights
    bias, plan = given.bias, given.plan
    buffer = acquire(BYTES, lo < hi)
    if hi < lo:  # there is no plan to read
        given.result = buffer
        release(buffer)
        return
    if buffer == 0:
        return
    copied = aligned(buffer)
    sums = copied + (SOURCE_ELEMENTS + SLACK) * size
    groups, row_blocks = word(plan, GROUPS), word(plan, ROW_BLOCKS)
    blocks = word(plan, BLOCKS) * word(plan, BLOCKS + 1) * word(plan, BLOCKS + 2)
    before = -1
    for unit in range(lo, hi):
        block_of = quotient(unit, row_blocks)
        row = (unit - block_of * row_blocks) * word(plan, ROW_BLOCK)
        row_end = smaller(word(plan, ROWS), row + word(plan, ROW_BLOCK))
        image_of = quotient(block_of, blocks)
        block = block_of - image_of * blocks
        image = quotient(image_of, groups)
        group = image_of - image * groups
        if block_of != before:
            read_block(plan, source, image, group, block, copied)
            before = block_of
        for number in range(word(plan, PHASES)):
            phase = word(plan, PHASES_AT) + number * PHASE_WORDS
            sum_rows(plan, phase, result, source, weights, bias, image, group, block, row, row_end,
                     copied, sums)  # fmt: skip
    release(buffer)


@kernel(takes=Arrangement, variants=dtypes("float32 float64"))
def arrange(args, lo, hi):
    """Weights (groups * channels, rows, *kernel) for the phases of a transposed convolution.

    Those of a phase are matrices (rows × channels * taps), one for each group. A unit is a row of
    a group.
    """
    given = Arrangement(args)
    arranged, weights, plan = given.arranged, given.weights, given.plan
    rows, channels = load(plan, ROWS, int64), load(plan, CHANNELS, int64)
    kernel_size = load(plan, KERNEL, int64)
    for unit in range(lo, hi):
        group = unit // rows
        row = unit - group * rows
        for number in range(load(plan, PHASES, int64)):
            phase = load(plan, PHASES_AT, int64) + number * PHASE_WORDS
            taps, numbers = load(plan, phase + TAPS, int64), load(plan, phase + NUMBERS_AT, int64)
            target = load(plan, phase + WEIGHTS_AT, int64) + unit * channels * taps
            for channel in range(channels):
                source = ((group * channels + channel) * rows + row) * kernel_size
                for tap in range(taps):
                    value = load(weights, source + load(plan, numbers + tap, int64), element)
                    store(arranged, target + channel * taps + tap, value, element)
