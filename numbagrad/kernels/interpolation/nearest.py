"""Resampling by the nearest element: lines of elements repeated, and sums over where they went.

``executor/families/interpolation.py`` compiles these by name. Places never decrease along a
dimension, so what an element was repeated to is a range of them. Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import int64, load, load_apart, store, store_apart
from ...codegen.kernel import element, kernel, real
from ..dtypes import FLOATS, dtypes
from ..packing import Arguments, Elements


class Repeated(Arguments):
    """Arguments of ``repeat``."""

    output = Elements(element)
    source = Elements(element)
    positions = Elements(int64)  # three sizes of the source, three of the output, and three tables


class Summed(Arguments):
    """Arguments of ``gather_back``."""

    output = Elements(element)
    source = Elements(element)
    #: Three sizes of the output, three of the source; for each dimension where the range of every
    #: element begins, and where the last one ends.
    ends = Elements(int64)


# Moving elements takes a kernel for each size.
_SIZES = dict(zip("1248", dtypes("int8 int16 int32 int64").values(), strict=True))


@kernel(variants=_SIZES, takes=Repeated)
def repeat(args, lo, hi):
    """output[n, z, y, x] = source[n, at_z[z], at_y[y], at_x[x]]; a unit is a line of the output.

    A line that repeats the one before is copied from there.
    """
    given = Repeated(args)
    output, source, positions = given.output, given.source, given.positions
    depth, height, width = (
        load(positions, 0, int64),
        load(positions, 1, int64),
        load(positions, 2, int64),
    )
    layers, lines = load(positions, 3, int64), load(positions, 4, int64)
    columns = load(positions, 5, int64)
    before = -1
    for at in range(lo, hi):
        layer = at // lines
        plane = layer // layers
        z = load(positions, 6 + layer - plane * layers, int64)
        y = load(positions, 6 + layers + at - layer * lines, int64)
        line = (plane * depth + z) * height + y
        if line == before:
            for x in range(columns):
                value = load_apart(output, (at - 1) * columns + x, element, 1)
                store_apart(output, at * columns + x, value, element, 2)
        else:
            for x in range(columns):
                position = load_apart(positions, 6 + layers + lines + x, int64, 3)
                value = load_apart(source, line * width + position, element, 1)
                store_apart(output, at * columns + x, value, element, 2)
        before = line


@kernel(variants=FLOATS, takes=Summed)
def gather_back(args, lo, hi):
    """The adjoint of ``repeat``: sums over where elements went; a unit is a line of them."""
    given = Summed(args)
    output, source, ends = given.output, given.source, given.ends
    depth, height, width = load(ends, 0, int64), load(ends, 1, int64), load(ends, 2, int64)
    layers, lines = load(ends, 3, int64), load(ends, 4, int64)
    columns = load(ends, 5, int64)
    at_y, at_x = 7 + depth, 8 + depth + height
    for at in range(lo, hi):
        layer = at // height
        plane = layer // depth
        z, y = 6 + layer - plane * depth, at_y + at - layer * height
        first_z, end_z = load(ends, z, int64), load(ends, z + 1, int64)
        first_y, end_y = load(ends, y, int64), load(ends, y + 1, int64)
        for o in range(width):
            first, end = load(ends, at_x + o, int64), load(ends, at_x + o + 1, int64)
            total = real(0)
            for k in range(first_z, end_z):
                for j in range(first_y, end_y):
                    line = ((plane * layers + k) * lines + j) * columns
                    for x in range(first, end):
                        total += load(source, line + x, element)
            store(output, at * width + o, total, element)
