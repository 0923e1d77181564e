"""Kernels that write elements at places chosen by index arrays, or reduce them into what is there.

``executor/families/indexing.py`` compiles these by name; arrays are seen as in ``elements.py``, and
the work is columns (outer, inner) as there, so that of several elements for one place the last is
written, whatever the number of threads. Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import int64, load, select, store, subroutine
from ...codegen.kernel import element, kernel, real, variable
from ...codegen.record import Word
from ..dtypes import NUMBERS, dtypes
from ..packing import Arguments, Elements

_SIZES = dict(zip("1248", dtypes("int8 int16 int32 int64").values(), strict=True))


class Written(Arguments):
    """Arguments of the kernels of this file."""

    output = Elements(element)  # (outer, size, inner)
    source = Elements(element)  # (outer, count, inner), or one element
    index = Elements(int64)  # (outer, count, inner), or (count) of rows
    size = Word()  # of the indexed dimension
    count = Word()  # indices along it
    inner = Word()
    step = Word()  # 1, or 0 where the source is one element


@kernel(variants=_SIZES, takes=Written)
def scatter(args, lo, hi):
    """output[o, index[o, k, i], i] = source[o, k, i]."""
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
                value = load(source, at * step, element)
                store(output, start + load(index, at, int64), value, element)
        else:
            for k in range(count):
                row = (outer * count + k) * inner
                for i in range(first, last):
                    value = load(source, (row + i) * step, element)
                    store(output, start + load(index, row + i, int64) * inner + i, value, element)
        lo += last - first


@kernel(variants=_SIZES, takes=Written)
def scatter_rows(args, lo, hi):
    """output[o, index[k], i] = source[o, k, i]."""
    given = Written(args)
    output, source, index, step = given.output, given.source, given.index, given.step
    size, count, inner = given.size, given.count, given.inner
    while lo < hi:
        outer = lo // inner
        first = lo - outer * inner
        last = min(inner, first + hi - lo)
        for k in range(count):
            row = (outer * count + k) * inner
            position = (outer * size + load(index, k, int64)) * inner
            if step == 0:
                value = load(source, 0, element)
                for i in range(first, last):
                    store(output, position + i, value, element)
            else:
                for i in range(first, last):
                    store(output, position + i, load(source, row + i, element), element)
        lo += last - first


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


#: Variable of kernels: what becomes of an element and one that is reduced into it.
combine = variable("combine")

_REDUCTIONS = {
    f"{name}_{dtype}": {**values, "combine": function}
    for name, function in (("prod", _product), ("amax", _greater), ("amin", _less))
    for dtype, values in NUMBERS.items()
}


@kernel(variants=_REDUCTIONS, takes=Written)
def reduce(args, lo, hi):
    """Reduce source[o, k, i] into output[o, index[o, k, i], i]."""
    given = Written(args)
    output, source, index = given.output, given.source, given.index
    size, count, inner = given.size, given.count, given.inner
    while lo < hi:
        outer = lo // inner
        first = lo - outer * inner
        last = min(inner, first + hi - lo)
        start = outer * size * inner
        if inner == 1:
            for at in range(outer * count, (outer + 1) * count):
                position, value = start + load(index, at, int64), load(source, at, element)
                made = combine(load(output, position, element), value)
                store(output, position, real(made), element)
        else:
            for k in range(count):
                row = (outer * count + k) * inner
                for i in range(first, last):
                    position = start + load(index, row + i, int64) * inner + i
                    value = load(source, row + i, element)
                    made = combine(load(output, position, element), value)
                    store(output, position, real(made), element)
        lo += last - first


@kernel(variants=_REDUCTIONS, takes=Written)
def reduce_rows(args, lo, hi):
    """Reduce source[o, k, i] into output[o, index[k], i]."""
    given = Written(args)
    output, source, index = given.output, given.source, given.index
    size, count, inner = given.size, given.count, given.inner
    while lo < hi:
        outer = lo // inner
        first = lo - outer * inner
        last = min(inner, first + hi - lo)
        for k in range(count):
            row = (outer * count + k) * inner
            position = (outer * size + load(index, k, int64)) * inner
            for i in range(first, last):
                value = load(source, row + i, element)
                made = combine(load(output, position + i, element), value)
                store(output, position + i, real(made), element)
        lo += last - first
