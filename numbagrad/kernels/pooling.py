"""Kernels of pooling: where in its window the largest element is.

``executor/pooling.py`` compiles them by name. Imported only to compile.
"""

from __future__ import annotations

from ..codegen.intrinsics import int64, load, store, subroutine
from ..codegen.kernel import element, kernel
from .dtypes import dtypes
from .packing import Words
from .pooling_layout import COUNTS, DILATION, KERNEL, PADDING, SIZES, STRIDE

_NUMBERS = dtypes("float16 float32 float64 int8 int16 int32 int64 uint8")


@subroutine
def first_inside(start, step, size):
    """The first of ``start, start + step, ...`` that is not in the padding before, or the last."""
    if start < 0:
        start += (step - 1 - start) // step * step
    return min(start, size - 1)


@kernel(variants=_NUMBERS, takes=Words(places=int64, source=element, geometry=int64))
def largest(args, lo, hi):
    """where[n, o] = the place in plane n of the largest element of window o, over all windows.

    Words: places, planes, and the geometry: sizes, counts of windows and their options, three of
    each. NaN is larger than any number, and the last one is taken; of equals it is the first.
    """
    places = load(args, 0, int64)
    source = load(args, 1, int64)
    geometry = load(args, 2, int64)
    depth = load(geometry, SIZES, int64)
    height = load(geometry, SIZES + 1, int64)
    width = load(geometry, SIZES + 2, int64)
    rows = load(geometry, COUNTS + 1, int64)
    columns = load(geometry, COUNTS + 2, int64)
    windows = load(geometry, COUNTS, int64) * rows * columns
    steps_z = load(geometry, DILATION, int64)
    steps_y = load(geometry, DILATION + 1, int64)
    steps_x = load(geometry, DILATION + 2, int64)
    for at in range(lo, hi):
        plane = at // windows
        window = at - plane * windows
        x0 = window % columns * load(geometry, STRIDE + 2, int64)
        y0 = window // columns % rows * load(geometry, STRIDE + 1, int64)
        z0 = window // (columns * rows) * load(geometry, STRIDE, int64)
        x0 -= load(geometry, PADDING + 2, int64)
        y0 -= load(geometry, PADDING + 1, int64)
        z0 -= load(geometry, PADDING, int64)
        base = plane * depth * height * width
        first = first_inside(z0, steps_z, depth) * height + first_inside(y0, steps_y, height)
        best = first * width + first_inside(x0, steps_x, width)
        largest = load(source, base + best, element)
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
                    x = x0 + k * steps_x
                    if x < 0 or x >= width:
                        continue
                    value = load(source, base + row + x, element)
                    if value > largest or value != value:
                        largest = value
                        best = row + x
        store(places, at, best, int64)
