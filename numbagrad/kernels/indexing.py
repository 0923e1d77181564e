"""Kernels that read and write elements chosen by index arrays.

``executor/indexing.py`` compiles these by name; they have the uniform entry of a kernel. Imported
only to compile.

They see contiguous arrays as (outer, size, inner), the middle dimension being the indexed one.
Those that add run over columns (outer, inner), so that each element is added to by one thread in
the order of the indices: the result has the same bits for any number of threads.
"""

from __future__ import annotations

from ..codegen.intrinsics import (
    bfloat16,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    load,
    store,
    uint8,
)

# Words of a kernel: output, source, index, size of the indexed dimension, indices, inner size.


def _gather(kind):
    """output[o, k, i] = source[o, index[o, k, i], i], over rows (o, k)."""

    def kernel(args, lo, hi):
        output = load(args, 0, int64)
        source = load(args, 1, int64)
        index = load(args, 2, int64)
        size = load(args, 3, int64)
        count = load(args, 4, int64)
        inner = load(args, 5, int64)
        for row in range(lo, hi):
            start = row // count * size
            for i in range(inner):
                at = row * inner + i
                place = (start + load(index, at, int64)) * inner + i
                store(output, at, load(source, place, kind), kind)

    return kernel


def _index_select(kind):
    """output[o, k, i] = source[o, index[k], i], over rows (o, k)."""

    def kernel(args, lo, hi):
        output = load(args, 0, int64)
        source = load(args, 1, int64)
        index = load(args, 2, int64)
        size = load(args, 3, int64)
        count = load(args, 4, int64)
        inner = load(args, 5, int64)
        for row in range(lo, hi):
            outer = row // count
            place = (outer * size + load(index, row - outer * count, int64)) * inner
            for i in range(inner):
                store(output, row * inner + i, load(source, place + i, kind), kind)

    return kernel


def _scatter_add(kind, sum_kind):
    """output[o, index[o, k, i], i] += source[o, k, i], over columns (o, i)."""

    def kernel(args, lo, hi):
        output = load(args, 0, int64)
        source = load(args, 1, int64)
        index = load(args, 2, int64)
        size = load(args, 3, int64)
        count = load(args, 4, int64)
        inner = load(args, 5, int64)
        while lo < hi:
            outer = lo // inner
            first = lo - outer * inner
            last = min(inner, first + hi - lo)
            for k in range(count):
                row = (outer * count + k) * inner
                for i in range(first, last):
                    place = (outer * size + load(index, row + i, int64)) * inner + i
                    value = load(output, place, kind) + load(source, row + i, kind)
                    store(output, place, sum_kind(value), kind)
            lo += last - first

    return kernel


def _index_add(kind, sum_kind):
    """output[o, index[k], i] += source[o, k, i], over columns (o, i)."""

    def kernel(args, lo, hi):
        output = load(args, 0, int64)
        source = load(args, 1, int64)
        index = load(args, 2, int64)
        size = load(args, 3, int64)
        count = load(args, 4, int64)
        inner = load(args, 5, int64)
        while lo < hi:
            outer = lo // inner
            first = lo - outer * inner
            last = min(inner, first + hi - lo)
            for k in range(count):
                row = (outer * count + k) * inner
                place = (outer * size + load(index, k, int64)) * inner
                for i in range(first, last):
                    value = load(output, place + i, kind) + load(source, row + i, kind)
                    store(output, place + i, sum_kind(value), kind)
            lo += last - first

    return kernel


# Moving elements takes a kernel for each size, adding them one for each dtype.

gather_1, gather_2, gather_4, gather_8 = map(_gather, (int8, int16, int32, int64))
index_select_1, index_select_2, index_select_4, index_select_8 = map(
    _index_select, (int8, int16, int32, int64)
)
_KINDS = {
    "float16": (float16, float32), "bfloat16": (bfloat16, float32),
    "float32": (float32, float32), "float64": (float64, float64),
    "int8": (int8, int8), "int16": (int16, int16), "int32": (int32, int32),
    "int64": (int64, int64), "uint8": (uint8, uint8),
}  # fmt: skip
for _name, _kinds in _KINDS.items():
    globals()[f"scatter_add_{_name}"] = _scatter_add(*_kinds)
    globals()[f"index_add_{_name}"] = _index_add(*_kinds)
