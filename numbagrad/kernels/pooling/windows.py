"""Kernels of pooling: where in a window or part the largest element is, and sums of windows.

``executor/families/pooling.py`` compiles them by name. They go through lines of windows, place by
place of the kernel, so that inner loops run along memory and become vectors. Imported only to
compile.
"""

from __future__ import annotations

import functools
from typing import Any

from ...codegen.intrinsics import int32, int64, load, load_apart, store, store_apart, subroutine
from ...codegen.kernel import Values, element, kernel, real, variable
from ...codegen.record import Word
from ...codegen.vector_emitter import tile_shape
from ..dtypes import FLOATS, dtypes
from ..packing import Arguments, Elements
from .layout import COUNTS, DILATION, KERNEL, PADDING, SIZES, STRIDE
from .lines import search_line, search_windows

#: Bytes of an element, and the loops along a line.
size_of = variable("size_of")
search, add_from, add_to = variable("search"), variable("add_from"), variable("add_to")


def _by_step(loop: Any) -> Any:
    """A loop along a line, of which there is one for the strides 1 and 2: those are vectors."""

    @subroutine
    def by_step(step, line, position, first, end, sums):
        if step == 1:
            loop(1, line, position, first, end, sums)
        elif step == 2:
            loop(2, line, position, first, end, sums)
        else:
            loop(step, line, position, first, end, sums)

    return by_step


def _values(name: str) -> Values:
    """The variables of the kernels' text for a dtype."""
    element = dtypes(name)[name]["element"]
    size = element.bitwidth // 8
    vectors = name in ("float32", "float64")
    search = search_line(tile_shape(element), element) if vectors else search_windows(element)

    @subroutine
    def add_from(step, source, position, first, end, sums):
        """Add elements a step apart to sums beside each other."""
        for o in range(first, end):
            value = load_apart(source, position + o * step, element, 1)
            store_apart(sums, o, load_apart(sums, o, element, 2) + value, element, 2)

    @subroutine
    def add_to(step, target, position, first, end, sums):
        """Add sums beside each other to elements a step apart."""
        for o in range(first, end):
            value = load_apart(target, position + o * step, element, 1)
            value += load_apart(sums, o, element, 2)
            store_apart(target, position + o * step, value, element, 1)

    loops = {"search": search, "add_from": _by_step(add_from), "add_to": _by_step(add_to)}
    return {"element": element, "size_of": size, **loops}


def _variants(names: str) -> dict[str, functools.partial[Values]]:
    return {name: functools.partial(_values, name) for name in names.split()}


_NUMBERS = _variants("float16 float32 float64 int8 int16 int32 int64 uint8")

#: Dtypes of pooling by sums and of reads by index: other dtypes are left to NumPy.
_SUMMED = _variants("float32 float64")


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


class Windows(Arguments):
    """Planes, what is computed of their windows, and the geometry (``layout.py``)."""

    output = Elements(element)
    source = Elements(element)
    geometry = Elements(int64)


class Positions(Windows):
    output = Elements(int64)


class Moved(Arguments):
    """Elements that move between planes of ``size`` and the ``count`` of their windows."""

    output = Elements(element)
    source = Elements(element)
    positions = Elements(int64)
    size = Word()
    count = Word()


@kernel(variants=_NUMBERS, takes=Positions)
def largest(args, lo, hi):
    """where[n, o] = the place in plane n of the largest element of window o, for lines of windows.

    A unit is a line of windows. NaN is larger than any number, and the last one is taken; of
    equals it is the first.
    """
    given = Positions(args)
    positions, source, geometry = given.output, given.source, given.geometry
    depth = load(geometry, SIZES, int64)
    height = load(geometry, SIZES + 1, int64)
    width = load(geometry, SIZES + 2, int64)
    layers, lines = load(geometry, COUNTS, int64), load(geometry, COUNTS + 1, int64)
    columns = load(geometry, COUNTS + 2, int64)
    step_z, step_y = load(geometry, DILATION, int64), load(geometry, DILATION + 1, int64)
    plane = lo // (layers * lines)
    layer = lo // lines - plane * layers
    line = lo - (plane * layers + layer) * lines
    for at in range(lo, hi):  # lines are counted on: divisions would take as long as the search
        y = line * load(geometry, STRIDE + 1, int64) - load(geometry, PADDING + 1, int64)
        z = layer * load(geometry, STRIDE, int64) - load(geometry, PADDING, int64)
        first_z, first_y = first_window(z, step_z), first_window(y, step_y)
        end_z = end_window(z, step_z, depth, load(geometry, KERNEL, int64))
        end_y = end_window(y, step_y, height, load(geometry, KERNEL + 1, int64))
        row = ((z + first_z * step_z) * height + y + first_y * step_y) * width
        search(
            columns, source + plane * depth * height * width * size_of, row,
            end_z - first_z, step_z * height * width, end_y - first_y, step_y * width,
            load(geometry, KERNEL + 2, int64), load(geometry, DILATION + 2, int64),
            -load(geometry, PADDING + 2, int64), load(geometry, STRIDE + 2, int64), width,
            positions + at * columns * 8,
        )  # fmt: skip
        line += 1
        if line == lines:
            line, layer = 0, layer + 1
        if layer == layers:
            layer, plane = 0, plane + 1


@kernel(variants=FLOATS, takes=Positions)
def largest_of_parts(args, lo, hi):
    """where[n, o] = the place in plane n of the largest element of part o; a unit is a part.

    The geometry has the sizes and the counts alone. Parts are nearly equal, and may overlap. Of
    equals the first one is taken, of NaN the last.
    """
    given = Positions(args)
    positions, source, geometry = given.output, given.source, given.geometry
    depth = load(geometry, SIZES, int64)
    height = load(geometry, SIZES + 1, int64)
    width = load(geometry, SIZES + 2, int64)
    layers, lines = load(geometry, COUNTS, int64), load(geometry, COUNTS + 1, int64)
    columns = load(geometry, COUNTS + 2, int64)
    for at in range(lo, hi):
        line, layer = at // columns, at // (columns * lines)
        plane = layer // layers
        x, y, z = at - line * columns, line - layer * lines, layer - plane * layers
        first_x, end_x = x * width // columns, ((x + 1) * width + columns - 1) // columns
        first_y, end_y = y * height // lines, ((y + 1) * height + lines - 1) // lines
        first_z, end_z = z * depth // layers, ((z + 1) * depth + layers - 1) // layers
        offset = plane * depth * height * width
        where = (first_z * height + first_y) * width + first_x
        most = real(load(source, offset + where, element))
        for k in range(first_z, end_z):
            for j in range(first_y, end_y):
                row = (k * height + j) * width
                larger = int32(0)  # of a whole line at once: few lines have one
                for i in range(row + first_x, row + end_x):
                    value = real(load(source, offset + i, element))
                    larger |= int32(0) if value <= most else int32(1)
                if not larger:
                    continue
                for i in range(row + first_x, row + end_x):
                    value = real(load(source, offset + i, element))
                    if value > most or value != value:
                        most, where = value, i
        store(positions, at, where, int64)


@kernel(variants=_SUMMED, takes=Moved)
def take(args, lo, hi):
    """out[n, o] = source[n, places[n, o]]; a unit is a plane n, of ``size`` and ``count``."""
    given = Moved(args)
    out, source, positions = given.output, given.source, given.positions
    size, count = given.size, given.count
    for n in range(lo, hi):
        into, where = out + n * count * size_of, positions + n * count * 8
        plane = source + n * size * size_of
        for o in range(count):
            value = load_apart(plane, load_apart(where, o, int64, 2), element, 1)
            store_apart(into, o, value, element, 3)


@kernel(variants=_SUMMED, takes=Moved)
def put_back(args, lo, hi):
    """out[n, places[n, o]] += values[n, o], from zeros; a unit is a plane n, as in ``take``."""
    given = Moved(args)
    out, values, positions = given.output, given.source, given.positions
    size, count = given.size, given.count
    for n in range(lo, hi):
        into = out + n * size * size_of
        for i in range(size):
            store(into, i, 0, element)
        for o in range(n * count, n * count + count):
            position = load(positions, o, int64)
            store(into, position, load(into, position, element) + load(values, o, element), element)


@kernel(variants=_SUMMED, takes=Windows)
def window_sums(args, lo, hi):
    """The sum of every window of planes; units as for ``largest``."""
    given = Windows(args)
    sums, source, geometry = given.output, given.source, given.geometry
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


@kernel(variants=_SUMMED, takes=Windows)
def spread_sums(args, lo, hi):
    """The adjoint of ``window_sums``: each sum added to the elements of its window.

    The output has the planes, the source the sums. A unit is a plane.
    """
    given = Windows(args)
    out, sums, geometry = given.output, given.source, given.geometry
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
