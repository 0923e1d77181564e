"""Views by strides, and kernels that read and write elements chosen by index arrays.

``executor/indexing.py`` compiles these by name: ``strided_view`` and ``launch_words`` are launchers
(see ``launch.py``), the others have the uniform entry of a kernel. Imported only to compile.

The kernels see contiguous arrays as (outer, size, inner), the middle dimension being the indexed
one. Those that add run over columns (outer, inner), so that each element is added to by one thread
in the order of the indices: the result has the same bits for any number of threads.
"""

from __future__ import annotations

from .indexing_layout import (
    LAUNCH_KERNEL,
    LAUNCH_RUNTIME,
    LAUNCH_WORDS,
    VIEW_ARRAY_TYPE,
    VIEW_DIMENSIONS,
    VIEW_FRAME_WORDS,
    VIEW_NEW_FROM_DESCRIPTOR,
    VIEW_SET_BASE,
)
from .intrinsics import (
    address_of_stack,
    bfloat16,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    load,
    new_from_descriptor,
    store,
    uint8,
)
from .launch import run_range
from .layout import (
    ARRAY_DATA,
    ARRAY_DESCRIPTOR,
    ARRAY_FLAGS,
    OBJECT_TYPE,
    RUNTIME_ARRAY_TYPE,
    RUNTIME_NONE,
)
from .objects import long_as_long, new_reference, tuple_get_item, tuple_size
from .tensors import set_base

FLAG_WRITEABLE = 0x0400


def strided_view(self, arguments, given):
    """``builtin(array, shape, strides, offset) -> ndarray``; strides and offset are bytes.

    The caller answers for the elements lying in the memory of ``array``.
    """
    table = load(self + ARRAY_DATA, 0, int64)
    frame = address_of_stack(VIEW_FRAME_WORDS)
    array = load(arguments, 0, int64)
    shape = load(arguments, 1, int64)
    strides = load(arguments, 2, int64)
    rank = tuple_size(shape)
    for d in range(rank):
        store(frame, d, long_as_long(tuple_get_item(shape, d)), int64)
        store(frame, VIEW_DIMENSIONS + d, long_as_long(tuple_get_item(strides, d)), int64)
    descriptor = new_reference(load(array + ARRAY_DESCRIPTOR, 0, int64))
    view = new_from_descriptor(
        load(table, VIEW_NEW_FROM_DESCRIPTOR, int64),
        load(table, VIEW_ARRAY_TYPE, int64),
        descriptor,
        rank,
        frame,
        frame + 8 * VIEW_DIMENSIONS,
        load(array + ARRAY_DATA, 0, int64) + long_as_long(load(arguments, 3, int64)),
        int64(load(array + ARRAY_FLAGS, 0, int32)) & FLAG_WRITEABLE,
    )
    return set_base(load(table, VIEW_SET_BASE, int64), view, array)


def launch_words(self, arguments, given):
    """``builtin(total, grain, *words)``: run the kernel of the table over ``[0, total)``.

    The packed arguments are the words: the address of an ndarray's memory, or an int as it is.
    """
    table = load(self + ARRAY_DATA, 0, int64)
    runtime = load(table, LAUNCH_RUNTIME, int64)
    kernel = load(table, LAUNCH_KERNEL, int64)
    frame = address_of_stack(LAUNCH_WORDS)
    array_type = load(runtime, RUNTIME_ARRAY_TYPE, int64)
    total = long_as_long(load(arguments, 0, int64))
    grain = long_as_long(load(arguments, 1, int64))
    for k in range(2, given):
        word = load(arguments, k, int64)
        if load(word + OBJECT_TYPE, 0, int64) == array_type:
            store(frame, k - 2, load(word + ARRAY_DATA, 0, int64), int64)
        else:
            store(frame, k - 2, long_as_long(word), int64)
    run_range(runtime, kernel, frame, total, grain)
    return new_reference(load(runtime, RUNTIME_NONE, int64))


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
