"""Views by strides, and kernels that read and write elements chosen by index arrays.

``executor/indexing.py`` compiles these by name: ``strided_view`` is a launcher (see ``launch.py``),
the others have the uniform entry of a kernel. Imported only to compile.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .indexing_layout import (
    VIEW_ARRAY_TYPE,
    VIEW_DIMENSIONS,
    VIEW_FRAME_WORDS,
    VIEW_NEW_FROM_DESCRIPTOR,
    VIEW_SET_BASE,
)
from .intrinsics import (
    address_of_stack,
    external,
    int32,
    int64,
    load,
    store,
)
from .layout import ARRAY_DATA, ARRAY_DESCRIPTOR, ARRAY_FLAGS

FLAG_WRITEABLE = 0x0400

increment_reference = external("Py_IncRef", types.void, types.int64)
long_as_long = external("PyLong_AsLongLong", types.int64, types.int64)
tuple_size = external("PyTuple_Size", types.int64, types.int64)
tuple_get_item = external("PyTuple_GetItem", types.int64, types.int64, types.int64)


@intrinsic
def new_from_descriptor(
    typing_context, function, subtype, descriptor, dimensions, sizes, strides, data, flags
):
    """NumPy's ``PyArray_NewFromDescr`` at address ``function``; takes over ``descriptor``."""

    def codegen(context, builder, signature, arguments):
        word, half = ir.IntType(64), ir.IntType(32)
        function_type = ir.FunctionType(word, [word, word, half, word, word, word, half, word])
        address, subtype, descriptor, dimensions, sizes, strides, data, flags = arguments
        pointer = builder.inttoptr(address, function_type.as_pointer())
        dimensions, flags = builder.trunc(dimensions, half), builder.trunc(flags, half)
        null = ir.Constant(word, 0)
        return builder.call(
            pointer, [subtype, descriptor, dimensions, sizes, strides, data, flags, null]
        )

    return types.int64(*[types.int64] * 8), codegen


@intrinsic
def set_base_object(typing_context, function, array, base):
    """NumPy's ``PyArray_SetBaseObject`` at address ``function``; takes over ``base``."""

    def codegen(context, builder, signature, arguments):
        word, half = ir.IntType(64), ir.IntType(32)
        address, array, base = arguments
        function_type = ir.FunctionType(half, [word, word])
        return builder.call(builder.inttoptr(address, function_type.as_pointer()), [array, base])

    return types.int32(*[types.int64] * 3), codegen


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
    descriptor = load(array + ARRAY_DESCRIPTOR, 0, int64)
    increment_reference(descriptor)
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
    if view != 0:
        increment_reference(array)
        set_base_object(load(table, VIEW_SET_BASE, int64), view, array)
    return view
