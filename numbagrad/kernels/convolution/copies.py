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
from ..matmul.problem import quotient, smaller, word
from .layout import (
    BLOCK,
    BLOCKS,
    CHANNEL_STEP,
    CHANNELS,
    FIRST,
    GROUPS,
    PLANE,
    PLANES,
    PLANES_AT,
    POSITIONS,
    RESULT,
    RESULT_STEP,
    ROWS,
    SOURCE,
    STEP,
)
from .tile import clear, copy_rows


class Copies(NamedTuple):
    """The subroutines for a dtype."""

    #: ``(plan, source, image, group, block, target)``: the channels of a group of an image.
    read_block: Any
    #: ``(plan, phase, result, image, group, block, row, rows, sums, pitch, bias)``.
    write_block: Any
    #: ``(plan, phase, result, image, group, block, row, rows, target, pitch)``.
    read_result: Any


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
def first_inside(start, step):
    """The first ``k >= 0`` with ``start + k * step >= 0``."""
    if start >= 0:
        return 0
    return quotient(step - 1 - start, step)


@subroutine
def end_inside(start, step, size, count):
    """How many of ``count`` begin before ``size``: the first ``k`` that does not, or the count."""
    if start >= size:
        return 0
    return smaller(count, quotient(size - 1 - start, step) + 1)


def copies_of(shape: TileShape) -> Copies:
    """The subroutines for the elements of a shape of tiles."""
    size = shape.bytes
    element = types.float32 if size == 4 else types.float64
    copy, zeros = copy_rows(shape), clear(shape)

    @subroutine
    def read_block(plan, source, image, group, block, target):
        zero = address_of_stack(1)
        store(zero, 0, 0, int64)
        channels = word(plan, CHANNELS)
        depth, height, width = word(plan, SOURCE), word(plan, SOURCE + 1), word(plan, SOURCE + 2)
        step_z, step_y, step_x = word(plan, STEP), word(plan, STEP + 1), word(plan, STEP + 2)
        pz, py, px = word(plan, PLANE), word(plan, PLANE + 1), word(plan, PLANE + 2)
        v_z = first_position(plan, block, 0) * step_z
        v_y = first_position(plan, block, 1) * step_y
        v_x = first_position(plan, block, 2) * step_x
        planes, channel_step = word(plan, PLANES), word(plan, CHANNEL_STEP)
        first = (image * word(plan, GROUPS) + group) * channels
        for plane in range(planes):
            entry = word(plan, PLANES_AT) + 3 * plane
            z, y, x = (
                v_z + word(plan, entry),
                v_y + word(plan, entry + 1),
                v_x + word(plan, entry + 2),
            )
            lo_z, hi_z = first_inside(z, step_z), end_inside(z, step_z, depth, pz)
            lo_y, hi_y = first_inside(y, step_y), end_inside(y, step_y, height, py)
            lo_x, hi_x = first_inside(x, step_x), end_inside(x, step_x, width, px)
            whole = lo_x + lo_y + lo_z == 0 and hi_x == px and hi_y == py and hi_z == pz
            for channel in range(channels):
                to = target + (channel * channel_step + plane * pz * py * px) * size
                start = source + (first + channel) * depth * height * width * size
                if not whole:
                    zeros(pz * py * px, to)
                if plane == planes - 1:
                    used = planes * pz * py * px
                    zeros(channel_step - used, to + pz * py * px * size)
                if hi_x <= lo_x or hi_y <= lo_y:
                    continue
                for k in range(lo_z, hi_z):
                    row = start + ((z + k * step_z) * height + y + lo_y * step_y) * width * size
                    row += (x + lo_x * step_x) * size
                    into = to + ((k * py + lo_y) * px + lo_x) * size
                    if step_x == 1:
                        copy(hi_y - lo_y, hi_x - lo_x, into, px, row, step_y * width, zero)
                    else:
                        for _ in range(hi_y - lo_y):
                            for i in range(hi_x - lo_x):
                                store(into, i, load(row, i * step_x, element), element)
                            into += px * size
                            row += step_y * width * size

    @subroutine
    def result_row(plan, phase, image, group, row):
        """The first element of a row of the result."""
        number = (image * word(plan, GROUPS) + group) * word(plan, ROWS) + row
        return number * word(plan, RESULT) * word(plan, RESULT + 1) * word(plan, RESULT + 2)

    @subroutine
    def write_block(plan, phase, result, image, group, block, row, rows, sums, pitch, bias):
        number = address_of_stack(1)
        store(number, 0, 0, int64)
        height, width = word(plan, RESULT + 1), word(plan, RESULT + 2)
        step_z, step_y = word(plan, RESULT_STEP), word(plan, RESULT_STEP + 1)
        step_x = word(plan, RESULT_STEP + 2)
        v_z, v_y = first_position(plan, block, 0), first_position(plan, block, 1)
        v_x = first_position(plan, block, 2)
        z = v_z * step_z + word(plan, phase + FIRST)
        y = v_y * step_y + word(plan, phase + FIRST + 1)
        x = v_x * step_x + word(plan, phase + FIRST + 2)
        count_z = smaller(word(plan, BLOCK), word(plan, POSITIONS) - v_z)
        count_y = smaller(word(plan, BLOCK + 1), word(plan, POSITIONS + 1) - v_y)
        count_x = smaller(word(plan, BLOCK + 2), word(plan, POSITIONS + 2) - v_x)
        lo_z, hi_z = first_inside(z, step_z), end_inside(z, step_z, word(plan, RESULT), count_z)
        lo_y, hi_y = first_inside(y, step_y), end_inside(y, step_y, height, count_y)
        lo_x, hi_x = first_inside(x, step_x), end_inside(x, step_x, width, count_x)
        py, px = word(plan, PLANE + 1), word(plan, PLANE + 2)
        if hi_x <= lo_x or hi_y <= lo_y:
            return
        for r in range(rows):
            if bias != 0:
                at = group * word(plan, ROWS) + row + r
                store(number, 0, load(bias, at, element), element)
            start = result + result_row(plan, phase, image, group, row + r) * size
            for k in range(lo_z, hi_z):
                into = start + ((z + k * step_z) * height + y + lo_y * step_y) * width * size
                into += (x + lo_x * step_x) * size
                source = sums + (r * pitch + (k * py + lo_y) * px + lo_x) * size
                if step_x == 1:
                    copy(hi_y - lo_y, hi_x - lo_x, into, step_y * width, source, px, number)
                else:
                    added = load(number, 0, element)
                    for _ in range(hi_y - lo_y):
                        for i in range(hi_x - lo_x):
                            store(into, i * step_x, load(source, i, element) + added, element)
                        into += step_y * width * size
                        source += px * size

    @subroutine
    def read_result(plan, phase, result, image, group, block, row, rows, target, pitch):
        """Rows of the result's gradient at the positions of a block, and zeros between them."""
        zero = address_of_stack(1)
        store(zero, 0, 0, int64)
        height, width = word(plan, RESULT + 1), word(plan, RESULT + 2)
        v_z, v_y = first_position(plan, block, 0), first_position(plan, block, 1)
        v_x = first_position(plan, block, 2)
        count_z = smaller(word(plan, BLOCK), word(plan, POSITIONS) - v_z)
        count_y = smaller(word(plan, BLOCK + 1), word(plan, POSITIONS + 1) - v_y)
        count_x = smaller(word(plan, BLOCK + 2), word(plan, POSITIONS + 2) - v_x)
        py, px = word(plan, PLANE + 1), word(plan, PLANE + 2)
        zeros(rows * pitch, target)
        for r in range(rows):
            start = result + result_row(plan, phase, image, group, row + r) * size
            for k in range(count_z):
                source = start + (((v_z + k) * height + v_y) * width + v_x) * size
                into = target + (r * pitch + k * py * px) * size
                copy(count_y, count_x, into, px, source, width, zero)

    return Copies(read_block, write_block, read_result)
