"""Kernels of pooling: where in its window the largest element is, and sums of windows.

``executor/pooling.py`` compiles them by name. They go through lines of windows, place by place of
the kernel, so that inner loops run along memory and become vectors. Imported only to compile.
"""

from __future__ import annotations

import functools

from ..codegen.intrinsics import (
    address_of_stack,
    int64,
    load,
    load_apart,
    select,
    store,
    store_apart,
    subroutine,
)
from ..codegen.kernel import Values, element, kernel, real, variable
from ..codegen.vector_emitter import tile_shape
from .dtypes import dtypes
from .packing import Words
from .pooling_layout import COUNTS, DILATION, KERNEL, PADDING, SIZES, STRIDE
from .pooling_lines import compare_line

#: Windows of a line whose largest elements are found together, and kept on the stack.
_TOGETHER = 256

#: Bytes of an element, and the loops along a line.
size_of = variable("size_of")
compare, add_from, add_to = variable("compare"), variable("add_from"), variable("add_to")


def _values(name: str) -> Values:
    """What the kernels are written with, for a dtype.

    Loops along a line are there for the strides 1 and 2 by themselves: those are vectors.
    """
    kinds = dtypes(name)[name]
    element, real = kinds["element"], kinds["real"]
    size = element.bitwidth // 8

    if name in ("float32", "float64"):
        compare_vectors = compare_line(tile_shape(element))

        @subroutine
        def compare(step, source, place, first, end, best, places):
            if first < end:
                best, places = best + first * size, places + 8 * first
                compare_vectors(end - first, step, source, place + first * step, best, places)

    else:

        @subroutine
        def compare(step, source, place, first, end, best, places):
            """Keep what is larger, and where it is, of elements a step apart."""
            for o in range(first, end):
                value = load_apart(source, place + o * step, element, 1)
                before, where = load_apart(best, o, real, 2), load_apart(places, o, int64, 3)
                where = select(value > before, place + o * step, where)
                kept = select(value > before, value, before)
                store_apart(best, o, select(value != value, value, kept), real, 2)
                where = select(value != value, place + o * step, where)
                store_apart(places, o, where, int64, 3)

    @subroutine
    def add_from_by(step, source, place, first, end, sums):
        for o in range(first, end):
            value = load_apart(source, place + o * step, element, 1)
            store_apart(sums, o, load_apart(sums, o, element, 2) + value, element, 2)

    @subroutine
    def add_from(step, source, place, first, end, sums):
        """Add elements a step apart to sums beside each other."""
        if step == 1:
            add_from_by(1, source, place, first, end, sums)
        elif step == 2:
            add_from_by(2, source, place, first, end, sums)
        else:
            add_from_by(step, source, place, first, end, sums)

    @subroutine
    def add_to_by(step, target, place, first, end, sums):
        for o in range(first, end):
            value = load_apart(target, place + o * step, element, 1)
            value += load_apart(sums, o, element, 2)
            store_apart(target, place + o * step, value, element, 1)

    @subroutine
    def add_to(step, target, place, first, end, sums):
        """Add sums beside each other to elements a step apart."""
        if step == 1:
            add_to_by(1, target, place, first, end, sums)
        elif step == 2:
            add_to_by(2, target, place, first, end, sums)
        else:
            add_to_by(step, target, place, first, end, sums)

    loops = {"compare": compare, "add_from": add_from, "add_to": add_to}
    return {"element": element, "real": real, "size_of": size, **loops}


def _variants(names: str) -> dict[str, functools.partial[Values]]:
    return {name: functools.partial(_values, name) for name in names.split()}


_NUMBERS = _variants("float16 float32 float64 int8 int16 int32 int64 uint8")

#: What is pooled by sums, and what lies where its indices say: other dtypes are left to NumPy.
_SUMMED = _variants("float32 float64")


@subroutine
def first_inside(start, step, size):
    """The first of ``start, start + step, ...`` that is not in the padding before, or the last."""
    if start < 0:
        start += (step - 1 - start) // step * step
    return min(start, size - 1)


@subroutine
def first_window(start, step):
    """The first of ``start, start + step, ...`` that is not before a line, by number."""
    return 0 if start >= 0 else (step - 1 - start) // step


@subroutine
def end_window(start, step, size, count):
    """How many of them are not behind a line, or the count."""
    if start + (count - 1) * step < size:
        return count
    return (size - 1 - start) // step + 1


@kernel(variants=_NUMBERS, takes=Words(places=int64, source=element, geometry=int64))
def largest(args, lo, hi):
    """where[n, o] = the place in plane n of the largest element of window o, for lines of windows.

    Words: places, planes, and the geometry: sizes, counts of windows and their options, three of
    each. A unit is a line of windows. NaN is larger than any number, and the last one is taken; of
    equals it is the first.
    """
    places = load(args, 0, int64)
    source = load(args, 1, int64)
    geometry = load(args, 2, int64)
    depth = load(geometry, SIZES, int64)
    height = load(geometry, SIZES + 1, int64)
    width = load(geometry, SIZES + 2, int64)
    rows = load(geometry, COUNTS + 1, int64)
    columns = load(geometry, COUNTS + 2, int64)
    lines = load(geometry, COUNTS, int64) * rows
    steps_z = load(geometry, DILATION, int64)
    steps_y = load(geometry, DILATION + 1, int64)
    steps_x = load(geometry, DILATION + 2, int64)
    stride = load(geometry, STRIDE + 2, int64)
    padding = load(geometry, PADDING + 2, int64)
    best = address_of_stack(_TOGETHER)
    for at in range(lo, hi):
        plane = at // lines
        line = at - plane * lines
        y0 = line % rows * load(geometry, STRIDE + 1, int64) - load(geometry, PADDING + 1, int64)
        z0 = line // rows * load(geometry, STRIDE, int64) - load(geometry, PADDING, int64)
        base = source + plane * depth * height * width * size_of
        start = first_inside(z0, steps_z, depth) * height + first_inside(y0, steps_y, height)
        start *= width
        for begin in range(0, columns, _TOGETHER):
            count = min(_TOGETHER, columns - begin)
            into = places + (at * columns + begin) * 8
            offset = begin * stride - padding
            inside = min(count, first_window(offset, stride))
            for o in range(inside):
                store(into, o, start + first_inside(o * stride + offset, steps_x, width), int64)
            for o in range(inside, count):
                store(into, o, start + o * stride + offset, int64)
            for o in range(count):
                store(best, o, load(base, load(into, o, int64), element), real)
            for i in range(load(geometry, KERNEL, int64)):
                z = z0 + i * steps_z
                if z < 0 or z >= depth:
                    continue
                for j in range(load(geometry, KERNEL + 1, int64)):
                    y = y0 + j * steps_y
                    if y < 0 or y >= height:
                        continue
                    row = (z * height + y) * width
                    for k in range(load(geometry, KERNEL + 2, int64)):
                        x = k * steps_x + offset
                        end = end_window(x, stride, width, count)
                        compare(stride, base, row + x, first_window(x, stride), end, best, into)


@kernel(variants=_SUMMED, takes=Words(out=element, source=element, places=int64, sizes=int64))
def take(args, lo, hi):
    """out[n, o] = source[n, places[n, o]]; a unit is a plane n, of ``size`` and ``count``."""
    out, source, places = load(args, 0, int64), load(args, 1, int64), load(args, 2, int64)
    size, count = load(args, 3, int64), load(args, 4, int64)
    for n in range(lo, hi):
        into, where = out + n * count * size_of, places + n * count * 8
        plane = source + n * size * size_of
        for o in range(count):
            value = load_apart(plane, load_apart(where, o, int64, 2), element, 1)
            store_apart(into, o, value, element, 3)


@kernel(variants=_SUMMED, takes=Words(out=element, values=element, places=int64, sizes=int64))
def put_back(args, lo, hi):
    """out[n, places[n, o]] += values[n, o], from zeros; a unit is a plane n, as in ``take``."""
    out, values, places = load(args, 0, int64), load(args, 1, int64), load(args, 2, int64)
    size, count = load(args, 3, int64), load(args, 4, int64)
    for n in range(lo, hi):
        into = out + n * size * size_of
        for i in range(size):
            store(into, i, 0, element)
        for o in range(n * count, n * count + count):
            place = load(places, o, int64)
            store(into, place, load(into, place, element) + load(values, o, element), element)


@kernel(variants=_SUMMED, takes=Words(sums=element, source=element, geometry=int64))
def window_sums(args, lo, hi):
    """The sum of every window of planes; words and units as for ``largest``."""
    sums, source, geometry = load(args, 0, int64), load(args, 1, int64), load(args, 2, int64)
    depth = load(geometry, SIZES, int64)
    height = load(geometry, SIZES + 1, int64)
    width = load(geometry, SIZES + 2, int64)
    rows, columns = load(geometry, COUNTS + 1, int64), load(geometry, COUNTS + 2, int64)
    lines = load(geometry, COUNTS, int64) * rows
    stride = load(geometry, STRIDE + 2, int64)
    padding = load(geometry, PADDING + 2, int64)
    for at in range(lo, hi):
        plane = at // lines
        line = at - plane * lines
        y0 = line % rows * load(geometry, STRIDE + 1, int64) - load(geometry, PADDING + 1, int64)
        z0 = line // rows * load(geometry, STRIDE, int64) - load(geometry, PADDING, int64)
        into = sums + at * columns * size_of
        for o in range(columns):
            store(into, o, 0, element)
        for i in range(load(geometry, KERNEL, int64)):
            z = z0 + i * load(geometry, DILATION, int64)
            if z < 0 or z >= depth:
                continue
            for j in range(load(geometry, KERNEL + 1, int64)):
                y = y0 + j * load(geometry, DILATION + 1, int64)
                if y < 0 or y >= height:
                    continue
                row = source + ((plane * depth + z) * height + y) * width * size_of
                for k in range(load(geometry, KERNEL + 2, int64)):
                    x = k * load(geometry, DILATION + 2, int64) - padding
                    end = end_window(x, stride, width, columns)
                    add_from(stride, row, x, first_window(x, stride), end, into)


@kernel(variants=_SUMMED, takes=Words(out=element, sums=element, geometry=int64))
def spread_sums(args, lo, hi):
    """The adjoint of ``window_sums``: each sum added to the elements of its window.

    Words: planes, sums, and the geometry. A unit is a plane.
    """
    out, sums, geometry = load(args, 0, int64), load(args, 1, int64), load(args, 2, int64)
    depth = load(geometry, SIZES, int64)
    height = load(geometry, SIZES + 1, int64)
    width = load(geometry, SIZES + 2, int64)
    rows, columns = load(geometry, COUNTS + 1, int64), load(geometry, COUNTS + 2, int64)
    lines = load(geometry, COUNTS, int64) * rows
    stride = load(geometry, STRIDE + 2, int64)
    padding = load(geometry, PADDING + 2, int64)
    for plane in range(lo, hi):
        base = out + plane * depth * height * width * size_of
        for i in range(depth * height * width):
            store(base, i, 0, element)
        for line in range(lines):
            y0 = line % rows * load(geometry, STRIDE + 1, int64)
            y0 -= load(geometry, PADDING + 1, int64)
            z0 = line // rows * load(geometry, STRIDE, int64) - load(geometry, PADDING, int64)
            given = sums + (plane * lines + line) * columns * size_of
            for i in range(load(geometry, KERNEL, int64)):
                z = z0 + i * load(geometry, DILATION, int64)
                if z < 0 or z >= depth:
                    continue
                for j in range(load(geometry, KERNEL + 1, int64)):
                    y = y0 + j * load(geometry, DILATION + 1, int64)
                    if y < 0 or y >= height:
                        continue
                    row = base + (z * height + y) * width * size_of
                    for k in range(load(geometry, KERNEL + 2, int64)):
                        x = k * load(geometry, DILATION + 2, int64) - padding
                        end = end_window(x, stride, width, columns)
                        add_to(stride, row, x, first_window(x, stride), end, given)
