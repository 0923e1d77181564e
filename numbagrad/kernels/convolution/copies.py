"""Blocks of images in scratch memory, and blocks of sums on their way out of it.

Used by ``product`` and ``weights``; imported only to compile. A plane has every ``STEP``-th element
of an image in each dimension, zeros around it, so that every place of a window is a constant
distance behind its position, whatever the stride and the dilation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types

from ...codegen.intrinsics import address_of_stack, int64, load, store, subroutine
from ...codegen.vector_emitter import TileShape
from ..matmul.problem import word
from .layout import (
    CHANNEL_STEP,
    CHANNELS,
    PLANE,
    PLANES,
    PLANES_AT,
    RESULT_STEP,
    RESULT_STRIDES,
    ROWS,
    SOURCE_STRIDES,
    STEP,
)
from .rows import clear, copy_rows
from .spans import (
    COUNT,
    INDEX,
    SPAN_WORDS,
    START,
    plane_spans,
    result_element,
    result_image,
    result_spans,
    source_element,
    source_image,
)


class Copies(NamedTuple):
    """The subroutines for a dtype."""

    #: ``(plan, source, image, group, block, target)``: the channels of a group of an image.
    read_block: Any
    #: ``(plan, phase, result, image, group, block, row, rows, sums, pitch, bias)``, which returns
    #: whether one of the elements is NaN.
    write_block: Any
    #: ``(plan, phase, result, image, group, block, row, rows, target, pitch)``.
    read_result: Any


def copies_of(shape: TileShape) -> Copies:
    """The subroutines for the elements of a shape of tiles."""
    return Copies(_reading(shape), _writing(shape), _reading_result(shape))


def _reading(shape: TileShape) -> Any:
    size, copy, zeros = shape.bytes, copy_rows(shape), clear(shape)

    @subroutine
    def read_plane(plan, plane, source, block, target):
        """A plane of all channels, the first of which is at ``source``."""
        zero, spans = address_of_stack(2), address_of_stack(SPAN_WORDS)
        store(zero, 0, 0, int64)
        plane_spans(plan, word(plan, PLANES_AT) + 3 * plane, block, spans)
        layer_count, z = load(spans, COUNT, int64), load(spans, START, int64)
        line_count, y = load(spans, 3 + COUNT, int64), load(spans, 3 + START, int64)
        count, x = load(spans, 6 + COUNT, int64), load(spans, 6 + START, int64)
        line_step = word(plan, STEP + 1) * word(plan, SOURCE_STRIDES + 3)
        step = word(plan, STEP + 2) * word(plan, SOURCE_STRIDES + 4)
        lines, columns = word(plan, PLANE + 1), word(plan, PLANE + 2)
        elements = word(plan, PLANE) * lines * columns
        begin = load(spans, INDEX, int64) * lines + load(spans, 3 + INDEX, int64)
        begin = begin * columns + load(spans, 6 + INDEX, int64)
        for _ in range(word(plan, CHANNELS)):
            if layer_count * line_count * count < elements:
                zeros(elements, target)
            if line_count * count > 0:
                for k in range(layer_count):
                    row = source_element(plan, z + k * word(plan, STEP), y, x)
                    copy(line_count, count, target + (begin + k * lines * columns) * size, columns,
                         1, source + row * size, line_step, step, zero)  # fmt: skip
            source += word(plan, SOURCE_STRIDES + 1) * size
            target += word(plan, CHANNEL_STEP) * size

    @subroutine
    def read_block(plan, source, image, group, block, target):
        elements = word(plan, PLANE) * word(plan, PLANE + 1) * word(plan, PLANE + 2)
        planes, channel_step = word(plan, PLANES), word(plan, CHANNEL_STEP)
        first = source + source_image(plan, image, group, 0) * size
        for plane in range(planes):
            read_plane(plan, plane, first, block, target + plane * elements * size)
        used = planes * elements
        for channel in range(word(plan, CHANNELS)):
            zeros(channel_step - used, target + (channel * channel_step + used) * size)

    return read_block


def _writing(shape: TileShape) -> Any:
    size, copy = shape.bytes, copy_rows(shape)
    element = types.float32 if size == 4 else types.float64

    @subroutine
    def write_block(plan, phase, result, image, group, block, row, rows, sums, pitch, bias):
        number, spans = address_of_stack(2), address_of_stack(SPAN_WORDS)
        store(number, 0, 0, int64)
        store(number, 1, 0, int64)
        result_spans(plan, phase, block, spans)
        z, y = load(spans, START, int64), load(spans, 3 + START, int64)
        x, lines = load(spans, 6 + START, int64), load(spans, 3 + COUNT, int64)
        count = load(spans, 6 + COUNT, int64)
        line_step = word(plan, RESULT_STEP + 1) * word(plan, RESULT_STRIDES + 3)
        step = word(plan, RESULT_STEP + 2) * word(plan, RESULT_STRIDES + 4)
        py, px = word(plan, PLANE + 1), word(plan, PLANE + 2)
        begin = load(spans, INDEX, int64) * py + load(spans, 3 + INDEX, int64)
        begin = begin * px + load(spans, 6 + INDEX, int64)
        if lines * count == 0:
            return 0
        for r in range(rows):
            if bias != 0:
                store(number, 0, load(bias, group * word(plan, ROWS) + row + r, element), element)
            start = result_image(plan, image, group, row + r)
            for k in range(load(spans, COUNT, int64)):
                into = start + result_element(plan, z + k * word(plan, RESULT_STEP), y, x)
                summed = sums + (r * pitch + begin + k * py * px) * size
                copy(lines, count, result + into * size, line_step, step, summed, px, 1, number)
        return load(number, 1, int64)

    return write_block


def _reading_result(shape: TileShape) -> Any:
    size, copy, zeros = shape.bytes, copy_rows(shape), clear(shape)

    @subroutine
    def read_result(plan, phase, result, image, group, block, row, rows, target, pitch):
        """Rows of the result's gradient at the positions of a block, and zeros between them."""
        zero, spans = address_of_stack(2), address_of_stack(SPAN_WORDS)
        store(zero, 0, 0, int64)
        result_spans(plan, phase, block, spans)
        z, y = load(spans, START, int64), load(spans, 3 + START, int64)
        x, lines = load(spans, 6 + START, int64), load(spans, 3 + COUNT, int64)
        line_step, step = word(plan, RESULT_STRIDES + 3), word(plan, RESULT_STRIDES + 4)
        py, px = word(plan, PLANE + 1), word(plan, PLANE + 2)
        zeros(rows * pitch, target)
        for r in range(rows):
            start = result_image(plan, image, group, row + r)
            for k in range(load(spans, COUNT, int64)):
                read = start + result_element(plan, z + k, y, x)
                into = target + (r * pitch + k * py * px) * size
                copy(lines, load(spans, 6 + COUNT, int64), into, px, 1, result + read * size,
                     line_step, step, zero)  # fmt: skip

    return read_result
