"""Launchers of views by strides, and of kernels that take words: arrays' memory and ints.

Installed as builtins by ``executor/families/indexing.py`` and ``executor/hand_written.py``;
imported only to compile.
"""

from __future__ import annotations

from ..codegen.intrinsics import address_of_stack, int64, load, store
from .array_launch_layout import WORD_ARGUMENTS, HandWrittenTable, ViewFrame, ViewTable
from .calls import new_from_descriptor
from .launch import run_range
from .object_heads import FLAG_WRITEABLE, ArrayHead, ObjectHead
from .objects import long_as_long, new_reference, tuple_get_item, tuple_size
from .tensors import set_base


def strided_view(self, arguments, given):
    """``builtin(array, shape, strides, offset) -> ndarray``; strides and offset are bytes.

    The caller answers for the elements lying in the memory of ``array``.
    """
    table = ViewTable(ArrayHead(self).data)
    frame = ViewFrame()
    array = load(arguments, 0, int64)
    shape = load(arguments, 1, int64)
    strides = load(arguments, 2, int64)
    rank = tuple_size(shape)
    for d in range(rank):
        frame.sizes[d] = long_as_long(tuple_get_item(shape, d))
        frame.strides[d] = long_as_long(tuple_get_item(strides, d))
    descriptor = new_reference(ArrayHead(array).descriptor)
    view = new_from_descriptor(
        table.new_from_descriptor,
        table.array_type,
        descriptor,
        rank,
        frame.sizes,
        frame.strides,
        ArrayHead(array).data + long_as_long(load(arguments, 3, int64)),
        int64(ArrayHead(array).flags) & FLAG_WRITEABLE,
    )
    return set_base(table.set_base, view, array)


def launch_hand_written(self, arguments, given):
    """``builtin(total, grain, *words) -> bool``: run the kernel of the table over ``[0, total)``.

    The packed arguments are the words: the address of an ndarray's memory, or an int as it is. For
    a word of another class the answer is False, and nothing has run.
    """
    table = HandWrittenTable(ArrayHead(self).data)
    runtime = table.runtime
    kernel = table.kernel
    frame = address_of_stack(WORD_ARGUMENTS)
    array_type = runtime.array_type
    total = long_as_long(load(arguments, 0, int64))
    grain = long_as_long(load(arguments, 1, int64))
    for k in range(2, given):
        word = load(arguments, k, int64)
        kind = ObjectHead(word).type
        if kind == array_type:
            store(frame, k - 2, ArrayHead(word).data, int64)
        elif kind == runtime.int_type:
            store(frame, k - 2, long_as_long(word), int64)
        else:
            return new_reference(runtime.false)
    run_range(runtime, kernel, frame, total, grain)
    return new_reference(runtime.true)
