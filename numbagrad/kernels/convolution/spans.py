"""Where a block of positions lies in the source and in the result: arithmetic with a plan.

Used by ``copies`` and ``exact``; imported only to compile. *Spans* are nine words: in each
dimension the first index inside, how many are, and the element at which the first lies.
"""

from __future__ import annotations

from ...codegen.intrinsics import int64, load, store, subroutine
from ..matmul.problem import quotient, smaller, word
from .layout import (
    BLOCK,
    BLOCKS,
    CHANNELS,
    FIRST,
    OFFSETS_AT,
    PLANE,
    PLANES_AT,
    POSITIONS,
    RESULT,
    RESULT_STEP,
    RESULT_STRIDES,
    ROWS,
    SOURCE,
    SOURCE_STRIDES,
    STEP,
)

#: Words of spans: of each dimension, in the order of dimensions.
INDEX, COUNT, START = 0, 1, 2
SPAN_WORDS = 9


@subroutine
def first_position(plan, block, dimension):
    """The first position of a block in a dimension; blocks are counted in C order."""
    if dimension == 0:
        number = quotient(block, word(plan, BLOCKS + 1) * word(plan, BLOCKS + 2))
    elif dimension == 1:
        number = quotient(block, word(plan, BLOCKS + 2))
        number -= quotient(number, word(plan, BLOCKS + 1)) * word(plan, BLOCKS + 1)
    else:
        number = block - quotient(block, word(plan, BLOCKS + 2)) * word(plan, BLOCKS + 2)
    return number * word(plan, BLOCK + dimension)


@subroutine
def _write_span(start, step, size, count, span):
    """The indices ``k < count`` for which ``start + k * step`` is inside of a size."""
    first = 0 if start >= 0 else quotient(step - 1 - start, step)
    end = 0 if start >= size else smaller(count, quotient(size - 1 - start, step) + 1)
    store(span, INDEX, first, int64)
    store(span, COUNT, end - first if end > first else 0, int64)
    store(span, START, start + first * step, int64)


@subroutine
def plane_spans(plan, entry, block, spans):
    """The part of the source in a plane; ``entry`` is where the plan has the plane's start."""
    for d in range(3):
        step = word(plan, STEP + d)
        start = first_position(plan, block, d) * step + word(plan, entry + d)
        _write_span(start, step, word(plan, SOURCE + d), word(plan, PLANE + d), spans + 24 * d)


@subroutine
def _block_size(plan, block, dimension):
    first = first_position(plan, block, dimension)
    return smaller(word(plan, BLOCK + dimension), word(plan, POSITIONS + dimension) - first)


@subroutine
def result_spans(plan, phase, block, spans):
    """The parts of a phase of the result at the positions of a block."""
    for d in range(3):
        step = word(plan, RESULT_STEP + d)
        start = first_position(plan, block, d) * step + word(plan, phase + FIRST + d)
        size = word(plan, RESULT + d)
        _write_span(start, step, size, _block_size(plan, block, d), spans + 24 * d)


@subroutine
def tap_starts(plan, phase, tap, starts):
    """The three indices of the source element that a tap meets at position 0, which may be outside.

    The table of distances has the plane of a tap, and its place there.
    """
    height, width = word(plan, PLANE + 1), word(plan, PLANE + 2)
    distance = word(plan, word(plan, phase + OFFSETS_AT) + tap)
    line = quotient(distance, width)
    layer = quotient(line, height)
    plane = quotient(layer, word(plan, PLANE))
    entry = word(plan, PLANES_AT) + 3 * plane
    inside = layer - plane * word(plan, PLANE)
    store(starts, 0, word(plan, entry) + inside * word(plan, STEP), int64)
    inside = line - layer * height
    store(starts, 1, word(plan, entry + 1) + inside * word(plan, STEP + 1), int64)
    inside = distance - line * width
    store(starts, 2, word(plan, entry + 2) + inside * word(plan, STEP + 2), int64)


@subroutine
def tap_spans(plan, starts, block, spans):
    """The parts of the source that a tap meets at the positions of a block."""
    for d in range(3):
        step = word(plan, STEP + d)
        start = first_position(plan, block, d) * step + load(starts, d, int64)
        size = word(plan, SOURCE + d)
        _write_span(start, step, size, _block_size(plan, block, d), spans + 24 * d)


@subroutine
def source_image(plan, image, group, channel):
    """The first element of a channel of the source."""
    number = group * word(plan, CHANNELS) + channel
    return image * word(plan, SOURCE_STRIDES) + number * word(plan, SOURCE_STRIDES + 1)


@subroutine
def source_element(plan, z, y, x):
    """An element of a channel of the source, counted from the first one."""
    begin = z * word(plan, SOURCE_STRIDES + 2) + y * word(plan, SOURCE_STRIDES + 3)
    return begin + x * word(plan, SOURCE_STRIDES + 4)


@subroutine
def result_image(plan, image, group, row):
    """The first element of a row of the result."""
    number = group * word(plan, ROWS) + row
    return image * word(plan, RESULT_STRIDES) + number * word(plan, RESULT_STRIDES + 1)


@subroutine
def result_element(plan, z, y, x):
    """An element of a row of the result, counted from the first one."""
    begin = z * word(plan, RESULT_STRIDES + 2) + y * word(plan, RESULT_STRIDES + 3)
    return begin + x * word(plan, RESULT_STRIDES + 4)
