"""``convolve``: the kernel of convolutions, transposed ones, and gradients of inputs.

Start reading here. The executor compiles it by name (``convolve_float32``). ``arrange`` turns
weights for the other direction. Imported only to compile.
"""

from __future__ import annotations

import functools
from typing import Any

from numba import types

from ...codegen.intrinsics import int64, load, store
from ...codegen.kernel import Values, element, kernel, variable
from ...codegen.vector_emitter import tile_shape
from ..dtypes import dtypes
from ..matmul.problem import quotient, smaller, word
from ..matmul.scratch import acquire, aligned, release
from ..packing import Words, optional
from .copies import copies_of
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
from .tile import clear, multiply_windows

read_block, write_block = variable("read_block"), variable("write_block")
multiply, clear_sums = variable("multiply"), variable("clear_sums")

#: Bytes of an element.
size = variable("size")


def values_of(dtype: str, vector_bits: int | None = None) -> Values:
    """What ``convolve`` is written with, for a dtype, and narrower vectors if asked."""
    kind: Any = getattr(types, dtype)
    shape = tile_shape(kind, vector_bits)
    return {
        "element": kind, "size": shape.bytes, "multiply": multiply_windows(shape),
        "clear_sums": clear(shape), **copies_of(shape)._asdict(),
    }  # fmt: skip


@kernel(
    takes=Words(result=element, source=element, weights=element, bias=optional(element),
                plan=int64),
    variants={dtype: functools.partial(values_of, dtype) for dtype in ("float32", "float64")},
)  # fmt: skip
def convolve(args, lo, hi):
    """The sums of windows times weights, for the units of work ``[lo, hi)`` of a plan.

    Args:
        args: address of the words: result (N, groups * rows, ...), source (N, groups * channels,
            ...), weights (rows × channels * taps for each group and phase), a bias for each row or
            0, and the plan (``layout.py``).
        lo, hi: a unit is a block of positions of one group of one image, for some rows.

    A block of all channels is copied to scratch memory, with padding, one plane for each phase of
    the stride. There the window of a position is a table of distances from it, so the micro-kernel
    of ``tile`` is that of a matrix product whose vectors are read at these distances: no columns
    are written. Positions run on over the ends of lines; sums that belong to no position are left
    behind when rows of sums, ``PANEL`` at a time, are written with their bias.

    A transposed convolution with a stride has several phases of its result. Each is a convolution
    by the elements of the kernel that reach it; they share the copy.

    The depth is summed in blocks of channels that follow from the plan alone, so the bits do not
    depend on threads.

    A first call with the range ``[0, -1)`` reserves the scratch memory; word 0 of its arguments
    becomes 0 where there is none.
    """
    result, source, weights = word(args, 0), word(args, 1), word(args, 2)
    bias, plan = word(args, 3), word(args, 4)
    buffer = acquire(BYTES, lo < hi)
    if hi < lo:
        store(args, 0, buffer, int64)
    if buffer == 0:
        return
    copied = aligned(buffer)
    sums = copied + (SOURCE_ELEMENTS + SLACK) * size
    groups, row_blocks = word(plan, GROUPS), word(plan, ROW_BLOCKS)
    blocks = word(plan, BLOCKS) * word(plan, BLOCKS + 1) * word(plan, BLOCKS + 2)
    channels, pitch = word(plan, CHANNELS), word(plan, LENGTH)
    largest = word(plan, DEPTH_CHANNELS)
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
            taps, offsets = word(plan, phase + TAPS), word(plan, phase + OFFSETS_AT)
            a_row = channels * taps
            first = word(plan, phase + WEIGHTS_AT) + group * word(plan, ROWS) * a_row
            at = row
            while at < row_end:
                rows = smaller(PANEL, row_end - at)
                if rows == PANEL and PANEL < row_end - at <= 16:
                    rows = 8  # and up to eight more, rather than a thin tile
                if taps == 0 or channels == 0:
                    clear_sums(rows * pitch, sums)
                else:
                    channel = 0
                    while channel < channels:
                        count = smaller(largest, channels - channel)
                        multiply(
                            rows, pitch, count * taps,
                            weights + (first + at * a_row + channel * taps) * size, a_row,
                            copied + channel * word(plan, CHANNEL_STEP) * size,
                            plan + 8 * offsets, sums, pitch, channel > 0,
                        )  # fmt: skip
                        channel += count
                write_block(plan, phase, result, image, group, block, at, rows, sums, pitch, bias)
                at += rows
    release(buffer)


@kernel(
    takes=Words(arranged=element, weights=element, plan=int64), variants=dtypes("float32 float64")
)
def arrange(args, lo, hi):
    """Weights (groups * channels, rows, *kernel) for the phases of a transposed convolution.

    Those of a phase are matrices (rows × channels * taps), one for each group. A unit is a row of
    a group.
    """
    arranged, weights, plan = load(args, 0, int64), load(args, 1, int64), load(args, 2, int64)
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
