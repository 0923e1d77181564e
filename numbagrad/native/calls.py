"""Calls of launchers and of NumPy's C API by address. Imported only to compile."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def call_launcher(typing_context, function, self, arguments, given):
    """Call the launcher (a function with the fastcall convention) at address ``function``."""

    def codegen(context, builder, signature, arguments):
        word = ir.IntType(64)
        function_type = ir.FunctionType(word, [word] * 3)
        pointer = builder.inttoptr(arguments[0], function_type.as_pointer())
        return builder.call(pointer, arguments[1:])

    return types.int64(*[types.int64] * 4), codegen


@intrinsic
def new_array(typing_context, function, subtype, dimensions, sizes, type_number, strides):
    """NumPy's ``PyArray_New`` at address ``function``; strides may be NULL."""

    def codegen(context, builder, signature, arguments):
        word, half = ir.IntType(64), ir.IntType(32)
        function_type = ir.FunctionType(
            word, [word, half, word, half, word, word, half, half, word]
        )
        address, subtype, dimensions, sizes, type_number, strides = arguments
        pointer = builder.inttoptr(address, function_type.as_pointer())
        null, zero = ir.Constant(word, 0), ir.Constant(half, 0)
        return builder.call(
            pointer,
            [
                subtype,
                builder.trunc(dimensions, half),
                sizes,
                builder.trunc(type_number, half),
                strides,
                null,
                zero,
                zero,
                null,
            ],
        )

    return types.int64(*[types.int64] * 6), codegen


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
