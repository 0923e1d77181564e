"""The gradient of a convolution's weights: ``correlate`` sums parts, ``join`` adds them up.

The executor compiles both by name. Imported only to compile.
"""

from __future__ import annotations

import functools
from typing import Any

from numba import types

from ...codegen.intrinsics import int64, load, store
from ...codegen.kernel import Values, element, kernel, variable
from ...codegen.record import Word
from ...codegen.vector_emitter import tile_shape
from ..dtypes import dtypes
from ..matmul.problem import quotient, smaller, word
from ..matmul.scratch import acquire, aligned, release
from ..packing import Arguments, Elements
from .copies import copies_of
from .exact import exact_of
from .layout import (
    BATCH,
    BLOCKS,
    BYTES,
    CHANNEL_STEP,
    CHANNELS,
    DEPTH_CHANNELS,
    GROUPS,
    IMAGES,
    LENGTH,
    OFFSETS_AT,
    PARTS,
    PHASES_AT,
    ROW_BLOCK,
    ROW_BLOCKS,
    ROWS,
    SLACK,
    SOURCE_ELEMENTS,
    SUM_ELEMENTS,
    TAPS,
)
from .tile import multiply_window_dots

read_block, read_result = variable("read_block"), variable("read_result")
multiply, mend_weights = variable("multiply"), variable("mend_weights")
size = variable("size")


def values_of(dtype: str, vector_bits: int | None = None) -> Values:
    """The variables of the text of ``correlate`` for a dtype, with narrower vectors if asked."""
    kind: Any = getattr(types, dtype)
    shape = tile_shape(kind, vector_bits)
    return {
        "element": kind, "size": shape.bytes, "multiply": multiply_window_dots(shape),
        "mend_weights": exact_of(shape).mend_weights, **copies_of(shape)._asdict(),
    }  # fmt: skip


class Correlation(Arguments):
    """Arguments of ``correlate``."""

    sums = Elements(element)  # (parts, groups * rows, channels * taps)
    source = Elements(element)
    grad = Elements(element)  # of the output
    plan = Elements(int64)  # of the convolution (``layout.py``), which has one phase


class Joined(Arguments):
    """Arguments of ``join``."""

    total = Elements(element)
    sums = Elements(element)
    parts = Word()
    length = Word()  # of each


@kernel(
    takes=Correlation,
    variants={dtype: functools.partial(values_of, dtype) for dtype in ("float32", "float64")},
)
def correlate(args, lo, hi):
    """Sums over positions of the source's windows times the gradient of the output.

    Args:
        args: address of a ``Correlation``.
        lo, hi: a unit is a part of the images and blocks, for some rows of one group.

    Both are copied as ``product.convolve`` copies the source: the gradient lies at the positions of
    the planes, zeros where lines end. So each element of the gradient of the weights is a dot
    product of long rows, of several images at a time (``tile.multiply_window_dots``). Sums that are
    NaN are computed again without these zeros (``exact``).
    """
    given = Correlation(args)
    sums, source, grad, plan = given.sums, given.source, given.grad, given.plan
    buffer = acquire(BYTES, lo < hi)
    if hi < lo:  # there is no plan to read
        given.sums = buffer
        release(buffer)
        return
    if buffer == 0:
        return
    copied = aligned(buffer)
    groups, row_blocks, parts = word(plan, GROUPS), word(plan, ROW_BLOCKS), word(plan, PARTS)
    blocks = word(plan, BLOCKS) * word(plan, BLOCKS + 1) * word(plan, BLOCKS + 2)
    pieces = word(plan, BATCH) * blocks  # block by block, the images of each beside each other
    channels, pitch, images = word(plan, CHANNELS), word(plan, LENGTH), word(plan, IMAGES)
    channel_step, largest = word(plan, CHANNEL_STEP), word(plan, DEPTH_CHANNELS)
    phase = word(plan, PHASES_AT)
    taps, offsets = word(plan, phase + TAPS), plan + 8 * word(plan, phase + OFFSETS_AT)
    image_step, columns = channels * channel_step, channels * taps
    gradients = copied + (SOURCE_ELEMENTS + SLACK) * size
    row_block = word(plan, ROW_BLOCK)
    fitting = SUM_ELEMENTS // (2 * row_block * pitch * images)
    unit = lo
    while unit < hi:
        group_of = quotient(unit, row_blocks)
        row_number = unit - group_of * row_blocks
        row = row_number * row_block
        # Units that follow for the same images share the copy. All but the last are of whole tiles,
        # so bits do not depend on it.
        sharing = smaller(smaller(row_blocks - row_number, hi - unit), fitting)
        sharing = sharing if sharing > 1 else 1
        rows = smaller(word(plan, ROWS) - row, sharing * row_block)
        unit += sharing
        part = quotient(group_of, groups)
        group = group_of - part * groups
        piece, end = quotient(pieces * part, parts), quotient(pieces * (part + 1), parts)
        first = (part * groups + group) * word(plan, ROWS) + row
        target = sums + first * columns * size
        begin, accumulate = piece, False
        while piece < end:
            count = smaller(images, end - piece)
            for i in range(count):
                block = quotient(piece + i, word(plan, BATCH))
                image = piece + i - block * word(plan, BATCH)
                read_block(plan, source, image, group, block, copied + i * image_step * size)
                read_result(plan, phase, grad, image, group, block, row, rows,
                            gradients + i * rows * pitch * size, pitch)  # fmt: skip
            channel = 0
            while channel < channels:
                some = smaller(largest, channels - channel)
                multiply(
                    rows, some * taps, pitch, count, gradients, pitch, rows * pitch,
                    copied + channel * channel_step * size, image_step, offsets,
                    target + channel * taps * size, columns, accumulate,
                )  # fmt: skip
                channel += some
            accumulate = True
            piece += count
        mend_weights(plan, target, source, grad, group, row, rows, begin, end)
    release(buffer)


@kernel(takes=Joined, variants=dtypes("float32 float64"))
def join(args, lo, hi):
    """``total[i]``: the sum of element i of all parts, in order."""
    given = Joined(args)
    total, sums, parts, length = given.total, given.sums, given.parts, given.length
    for i in range(lo, hi):
        value = load(sums, i, element)
        for part in range(1, parts):
            value += load(sums, part * length + i, element)
        store(total, i, value, element)
