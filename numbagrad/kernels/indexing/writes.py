"""Kernels that write elements at places chosen by index arrays, or combine them with what is there.

``scatter`` takes an index for each element, ``scatter_rows`` one for a whole entry of a dimension.
Their variants are what becomes of the two elements that meet: the later one stays (``scatter_4``,
by the size of an element), or both become their sum (``scatter_sum_float32``, which are
``scatter_add`` and, of rows, ``index_add``), product, maximum or minimum.

``executor/families/indexing.py`` compiles these by name; arrays are seen as in ``reads.py``. The
work is columns (outer, inner), so that each element is written by one thread in the order of the
indices: the result has the same bits for any number of threads. Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import int64, load, select, store, subroutine
from ...codegen.kernel import element, kernel, real, variable
from ...codegen.record import Word
from ..dtypes import NUMBERS, dtypes
from ..packing import Arguments, Elements


class Written(Arguments):
    """Arguments of the kernels of this file."""

    output = Elements(element)  # (outer, size, inner)
    source = Elements(element)  # (outer, count, inner), or one element
    index = Elements(int64)  # (outer, count, inner), or (count) of rows
    size = Word()  # of the indexed dimension
    count = Word()  # indices along it
    inner = Word()
    step = Word()  # 1, or 0 where the source is one element


@subroutine
def _later(a, b):
    return b


@subroutine
def _sum(a, b):
    return a + b


@subroutine
def _product(a, b):
    return a * b


@subroutine
def _greater(a, b):
    """The greater of two numbers, or NaN if one is that."""
    return select(a > b or a != a, a, b)


@subroutine
def _less(a, b):
    return select(a < b or a != a, a, b)


#: Variable of kernels: what becomes of an element and one that is written to its place.
combine = variable("combine")

_SIZES = dict(zip("1248", dtypes("int8 int16 int32 int64").values(), strict=True))
_VARIANTS = {name: {**values, "combine": _later} for name, values in _SIZES.items()} | {
    f"{name}_{dtype}": {**values, "combine": function}
    for name, function in (("sum", _sum), ("prod", _product), ("amax", _greater), ("amin", _less))
    for dtype, values in NUMBERS.items()
}


@kernel(variants=_VARIANTS, takes=Written)
def scatter(args, lo, hi):
    """Combine output[o, index[o, k, i], i] with source[o, k, i], over columns (o, i)."""
    given = Written(args)
    output, source, index, step = given.output, given.source, given.index, given.step
    size, count, inner = given.size, given.count, given.inner
    while lo < hi:
        outer = lo // inner
        first = lo - outer * inner
        last = min(inner, first + hi - lo)
        start = outer * size * inner
        if inner == 1:
            for at in range(outer * count, (outer + 1) * count):
                position = start + load(index, at, int64)
                value = load(source, at * step, element)
                made = combine(load(output, position, element), value)
                store(output, position, real(made), element)
        else:
            for k in range(count):
                row = (outer * count + k) * inner
                at = (row + first) * step
                for i in range(first, last):
                    position = start + load(index, row + i, int64) * inner + i
                    made = combine(load(output, position, element), load(source, at, element))
                    store(output, position, real(made), element)
                    at += step
        lo += last - first


@kernel(variants=_VARIANTS, takes=Written)
def scatter_rows(args, lo, hi):
    """Combine output[o, index[k], i] with source[o, k, i], over columns (o, i)."""
    given = Written(args)
    output, source, index, step = given.output, given.source, given.index, given.step
    size, count, inner = given.size, given.count, given.inner
    while lo < hi:
        outer = lo // inner
        first = lo - outer * inner
        last = min(inner, first + hi - lo)
        if inner == 1:
            for k in range(count):
                position = outer * size + load(index, k, int64)
                value = load(source, (outer * count + k) * step, element)
                made = combine(load(output, position, element), value)
                store(output, position, real(made), element)
        else:
            for k in range(count):
                row = (outer * count + k) * inner
                position = (outer * size + load(index, k, int64)) * inner
                if step == 0:
                    value = load(source, 0, element)
                    for i in range(first, last):
                        made = combine(load(output, position + i, element), value)
                        store(output, position + i, real(made), element)
                else:
                    for i in range(first, last):
                        value = load(source, row + i, element)
                        made = combine(load(output, position + i, element), value)
                        store(output, position + i, real(made), element)
        lo += last - first
