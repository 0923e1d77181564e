"""Kernels that read elements chosen by index arrays.

``executor/families/indexing.py`` compiles these by name; they have the uniform entry of a kernel.
They see contiguous arrays as (outer, size, inner), the middle dimension being the indexed one.
Imported only to compile.
"""

from __future__ import annotations

from ...codegen.intrinsics import int64, load_apart, store_apart
from ...codegen.kernel import element, kernel
from ...codegen.record import Word
from ..dtypes import dtypes
from ..packing import Arguments, Elements


class Indexed(Arguments):
    """Arguments that all kernels of this file have."""

    output = Elements(element)
    source = Elements(element)
    index = Elements(int64)
    size = Word()  # of the indexed dimension
    count = Word()  # indices along it
    inner = Word()


# Moving elements takes a kernel for each size of one.
_SIZES = dict(zip("1248", dtypes("int8 int16 int32 int64").values(), strict=True))


@kernel(variants=_SIZES, takes=Indexed)
def gather(args, lo, hi):
    """output[o, k, i] = source[o, index[o, k, i], i], over rows (o, k)."""
    given = Indexed(args)
    output, source, index = given.output, given.source, given.index
    size, count, inner = given.size, given.count, given.inner
    if count == 1 and inner == 1:  # one element of each row of a matrix
        for row in range(lo, hi):
            position = row * size + load_apart(index, row, int64, 3)
            store_apart(output, row, load_apart(source, position, element, 2), element, 1)
        return
    outer = lo // max(count, 1)
    while lo < hi:
        end, start = min(hi, (outer + 1) * count), outer * size * inner
        if inner == 1:
            for at in range(lo, end):
                position = start + load_apart(index, at, int64, 3)
                store_apart(output, at, load_apart(source, position, element, 2), element, 1)
        else:
            for row in range(lo, end):
                for i in range(inner):
                    at = row * inner + i
                    position = start + load_apart(index, at, int64, 3) * inner + i
                    store_apart(output, at, load_apart(source, position, element, 2), element, 1)
        lo = end
        outer += 1


@kernel(variants=_SIZES, takes=Indexed)
def index_select(args, lo, hi):
    """output[o, k, i] = source[o, index[k], i], over rows (o, k)."""
    given = Indexed(args)
    output, source, index = given.output, given.source, given.index
    size, count, inner = given.size, given.count, given.inner
    outer = lo // max(count, 1)
    while lo < hi:
        end, start, first = min(hi, (outer + 1) * count), outer * size, outer * count
        if inner == 1:
            for at in range(lo, end):
                position = start + load_apart(index, at - first, int64, 3)
                store_apart(output, at, load_apart(source, position, element, 2), element, 1)
        else:
            for row in range(lo, end):
                position = (start + load_apart(index, row - first, int64, 3)) * inner
                for i in range(inner):
                    value = load_apart(source, position + i, element, 2)
                    store_apart(output, row * inner + i, value, element, 1)
        lo = end
        outer += 1
