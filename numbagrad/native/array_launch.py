"""Launchers of views by strides, and of kernels that take words: arrays' memory and ints.

Installed as builtins by ``executor/indexing.py`` and ``executor/word_kernel.py``; imported only to
compile.
"""

from __future__ import annotations

from ..codegen.intrinsics import address_of_stack, int32, int64, load, store
from .array_launch_layout import (
    LAUNCH_KERNEL,
    LAUNCH_RUNTIME,
    LAUNCH_WORDS,
    VIEW_ARRAY_TYPE,
    VIEW_DIMENSIONS,
    VIEW_FRAME_WORDS,
    VIEW_NEW_FROM_DESCRIPTOR,
    VIEW_SET_BASE,
)
from .calls import new_from_descriptor
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
