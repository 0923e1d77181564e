"""Sums over the elements that windows meet, for those that came out as NaN.

The kernels multiply zeros too: those of the padding, and those between the lines of a gradient.
Where they meet infinity or NaN the sum is NaN, though the convolution has no such product. As a
product of zero and a finite number changes nothing, all such sums are NaN: they are found there and
computed again, here, element by element. Used by ``product`` and ``weights``; imported only to
compile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types

from ...codegen.intrinsics import address_of_stack, int64, load, store, subroutine
from ...codegen.vector_emitter import TileShape
from ..matmul.problem import quotient, word
from .layout import (
    BATCH,
    CHANNELS,
    PHASES_AT,
    RESULT_STEP,
    RESULT_STRIDES,
    ROWS,
    SOURCE,
    SOURCE_STRIDES,
    STEP,
    TAPS,
)
from .spans import (
    COUNT,
    INDEX,
    SPAN_WORDS,
    START,
    first_position,
    result_element,
    result_image,
    result_spans,
    source_element,
    source_image,
    tap_spans,
    tap_starts,
)


class Exact(NamedTuple):
    """The subroutines for a dtype."""

    #: ``(plan, phase, result, source, weights, bias, image, group, block, row, rows)``: sums of a
    #: block again, where they are NaN; ``weights`` are those of the first row.
    mend_block: Any
    #: ``(plan, sums, source, grad, group, row, rows, piece, end)``: sums of pieces, likewise.
    mend_weights: Any


def exact_of(shape: TileShape) -> Exact:
    """The subroutines for the elements of a shape of tiles."""
    return Exact(_mending_block(shape), _mending_weights(shape))


def _mending_block(shape: TileShape) -> Any:
    size = shape.bytes
    element = types.float32 if size == 4 else types.float64

    @subroutine
    def window_sum(plan, phase, source, weights, z, y, x, value):
        """The sum for a position; ``value`` if the whole window lies inside of the source."""
        starts = address_of_stack(3)
        store(starts, 0, 0, int64)
        total = load(starts, 0, element)
        depth, height, width = word(plan, SOURCE), word(plan, SOURCE + 1), word(plan, SOURCE + 2)
        channels, taps = word(plan, CHANNELS), word(plan, phase + TAPS)
        whole = True
        for tap in range(taps):
            tap_starts(plan, phase, tap, starts)
            at_z = z * word(plan, STEP) + load(starts, 0, int64)
            at_y = y * word(plan, STEP + 1) + load(starts, 1, int64)
            at_x = x * word(plan, STEP + 2) + load(starts, 2, int64)
            if 0 <= at_z < depth and 0 <= at_y < height and 0 <= at_x < width:
                at = source_element(plan, at_z, at_y, at_x)
                for channel in range(channels):
                    factor = load(weights, channel * taps + tap, element)
                    value_at = channel * word(plan, SOURCE_STRIDES + 1) + at
                    total += factor * load(source, value_at, element)
            else:
                whole = False
        return value if whole else total

    @subroutine
    def mend_row(plan, phase, result, source, weights, added, block, spans):
        """Sums of a row of the result again: ``result`` is its address, ``source`` the image's."""
        z = first_position(plan, block, 0) + load(spans, INDEX, int64)
        y = first_position(plan, block, 1) + load(spans, 3 + INDEX, int64)
        x = first_position(plan, block, 2) + load(spans, 6 + INDEX, int64)
        step = word(plan, RESULT_STEP + 2) * word(plan, RESULT_STRIDES + 4)
        for k in range(load(spans, COUNT, int64)):
            at_z = load(spans, START, int64) + k * word(plan, RESULT_STEP)
            for j in range(load(spans, 3 + COUNT, int64)):
                at_y = load(spans, 3 + START, int64) + j * word(plan, RESULT_STEP + 1)
                line = result_element(plan, at_z, at_y, load(spans, 6 + START, int64))
                for i in range(load(spans, 6 + COUNT, int64)):
                    at = line + i * step
                    value = load(result, at, element)
                    if value != value:
                        total = window_sum(plan, phase, source, weights, z + k, y + j, x + i, value)
                        store(result, at, total + added, element)

    @subroutine
    def mend_block(plan, phase, result, source, weights, bias, image, group, block, row, rows):
        spans = address_of_stack(SPAN_WORDS)
        result_spans(plan, phase, block, spans)
        a_row = word(plan, CHANNELS) * word(plan, phase + TAPS)
        first = source + source_image(plan, image, group, 0) * size
        zero = address_of_stack(1)
        store(zero, 0, 0, int64)
        for r in range(rows):
            added = load(zero, 0, element)
            if bias != 0:
                added = load(bias, group * word(plan, ROWS) + row + r, element)
            into = result + result_image(plan, image, group, row + r) * size
            mend_row(plan, phase, into, first, weights + r * a_row * size, added, block, spans)

    return mend_block


def _mending_weights(shape: TileShape) -> Any:
    size = shape.bytes
    element = types.float32 if size == 4 else types.float64

    @subroutine
    def block_sum(plan, source, grad, spans, block, total):
        """Add a block of an image: what a tap meets of the source, times the gradient."""
        step = word(plan, STEP + 2) * word(plan, SOURCE_STRIDES + 4)
        grad_step = word(plan, RESULT_STRIDES + 4)
        z = first_position(plan, block, 0) + load(spans, INDEX, int64)
        y = first_position(plan, block, 1) + load(spans, 3 + INDEX, int64)
        x = first_position(plan, block, 2) + load(spans, 6 + INDEX, int64)
        for k in range(load(spans, COUNT, int64)):
            at_z = load(spans, START, int64) + k * word(plan, STEP)
            for j in range(load(spans, 3 + COUNT, int64)):
                at_y = load(spans, 3 + START, int64) + j * word(plan, STEP + 1)
                at = source_element(plan, at_z, at_y, load(spans, 6 + START, int64))
                given = result_element(plan, z + k, y + j, x)
                for i in range(load(spans, 6 + COUNT, int64)):
                    factor = load(source, at + i * step, element)
                    total += factor * load(grad, given + i * grad_step, element)
                if total != total:
                    return total
        return total

    @subroutine
    def weight_sum(plan, source, grad, group, row, channel, tap, piece, end):
        """An element of the gradient of the weights, summed over pieces of the batch."""
        starts, spans = address_of_stack(3), address_of_stack(SPAN_WORDS)
        tap_starts(plan, word(plan, PHASES_AT), tap, starts)
        store(spans, 0, 0, int64)
        total = load(spans, 0, element)
        for number in range(piece, end):
            block = quotient(number, word(plan, BATCH))
            image = number - block * word(plan, BATCH)
            tap_spans(plan, starts, block, spans)
            read = source + source_image(plan, image, group, channel) * size
            given = grad + result_image(plan, image, group, row) * size
            total = block_sum(plan, read, given, spans, block, total)
            if total != total:
                break
        return total

    @subroutine
    def mend_weights(plan, sums, source, grad, group, row, rows, piece, end):
        taps = word(plan, word(plan, PHASES_AT) + TAPS)
        columns = word(plan, CHANNELS) * taps
        for r in range(rows):
            for column in range(columns):
                value = load(sums, r * columns + column, element)
                if value != value:
                    channel = quotient(column, taps)
                    tap = column - channel * taps
                    total = weight_sum(plan, source, grad, group, row + r, channel, tap, piece, end)
                    store(sums, r * columns + column, total, element)

    return mend_weights
