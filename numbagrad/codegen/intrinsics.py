"""The language of kernels beyond plain arithmetic: memory by address, bits, fused operations.

Imported by generated kernels and by the hand-written ones, therefore only when compiling. Every
function becomes one or two machine instructions; called from Python, it does the same there.
"""

from __future__ import annotations

import ctypes

import numpy as np
from llvmlite import ir
from numba import (
    boolean,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    types,
    uint8,
)
from numba.core import cgutils
from numba.core.types import float16

from . import (
    alias_scopes,
    record_types,  # noqa: F401 - so that Numba knows records
)
from .addresses import (
    call_function,
    fused_multiply_add,
    load_element,
    rounded_element,
    store_element,
    words_on_stack,
)
from .compiler import subroutine
from .loader import SHARED
from .primitive import primitive

__all__ = [
    "absolute", "address_of_stack", "bfloat16", "bits", "boolean", "call_kernel",
    "ceil", "copysign", "external", "float16", "float32", "float64", "floor", "fma", "fmod",
    "from_bits", "int8", "int16", "int32", "int64", "load", "load_apart",
    "rint", "rounded", "select", "sqrt", "store", "store_apart",
    "subroutine", "trunc", "uint8",
]  # fmt: skip

_HALF = ir.HalfType()


class _BFloat16(types.Number):
    """The upper half of a float32: a type of elements in memory, which Numba does not have."""

    bitwidth = 16


bfloat16 = _BFloat16("bfloat16")


def _memory_type(context, dtype):
    """LLVM type of an element in memory, and its alignment in bytes."""
    if dtype == types.float16:
        return _HALF, 2
    if dtype == bfloat16:
        return ir.IntType(16), 2
    if dtype == types.boolean:
        return ir.IntType(8), 1
    return context.get_data_type(dtype), dtype.bitwidth // 8


def _pointer(builder, address, element_type):
    return builder.inttoptr(address, element_type.as_pointer())


def _is_half(dtype):
    """Whether values of a dtype are float32 outside of memory."""
    return dtype == types.float16 or dtype == bfloat16


def _widened(builder, value):
    """The float32 of an element of float16 or bfloat16."""
    if value.type == _HALF:
        return builder.fpext(value, ir.FloatType())
    word = ir.IntType(32)
    pattern = builder.shl(builder.zext(value, word), ir.Constant(word, 16))
    return builder.bitcast(pattern, ir.FloatType())


def _narrowed(builder, value, element_type):
    """The element of float16 or bfloat16 that is nearest to a float32; of two, the even one.

    Half of a unit is added, a little less where the last bit is even; a carry moves on to the
    exponent, up to infinity. NaN would come out as something else.
    """
    if element_type == _HALF:
        return builder.fptrunc(value, _HALF)
    word = ir.IntType(32)
    pattern = builder.bitcast(value, word)
    odd = builder.and_(builder.lshr(pattern, ir.Constant(word, 16)), ir.Constant(word, 1))
    rounded = builder.add(pattern, builder.add(odd, ir.Constant(word, 0x7FFF)))
    high = builder.lshr(rounded, ir.Constant(word, 16))
    is_number = builder.fcmp_ordered("ord", value, value)
    kept = builder.select(is_number, high, ir.Constant(word, 0x7FC0))
    return builder.trunc(kept, element_type)


def _load(stored, memory=0):
    """Type that a load of ``stored`` returns, and the code of it."""
    returned = types.float32 if _is_half(stored) else stored

    def codegen(context, builder, signature, arguments):
        element_type, alignment = _memory_type(context, stored)
        pointer = builder.gep(_pointer(builder, arguments[0], element_type), [arguments[1]])
        value = builder.load(pointer, align=alignment)
        if memory:
            alias_scopes.note(builder.module, value, memory)
        if _is_half(stored):
            return _widened(builder, value)
        if stored == types.boolean:
            return builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))
        return value

    return returned, codegen


def _store(stored, memory=0):
    """Type of the value that a store of ``stored`` takes, and the code of it."""
    passed = types.float32 if _is_half(stored) else stored

    def codegen(context, builder, signature, arguments):
        element_type, alignment = _memory_type(context, stored)
        pointer = builder.gep(_pointer(builder, arguments[0], element_type), [arguments[1]])
        value = arguments[2]
        if _is_half(stored):
            value = _narrowed(builder, value, element_type)
        elif stored == types.boolean:
            value = builder.zext(value, element_type)
        instruction = builder.store(value, pointer, align=alignment)
        if memory:
            alias_scopes.note(builder.module, instruction, memory)
        return context.get_dummy_value()

    return passed, codegen


@primitive(load_element)
def load(typing_context, address, index, dtype):
    """Element ``index`` of the array at ``address``; float16 and bfloat16 come back as float32."""
    returned, codegen = _load(dtype.dtype)
    return returned(types.int64, types.int64, dtype), codegen


@primitive(store_element)
def store(typing_context, address, index, value, dtype):
    """Write ``value``, converted to ``dtype``, to element ``index`` of the array at ``address``."""
    passed, codegen = _store(dtype.dtype)
    return types.void(types.int64, types.int64, passed, dtype), codegen


@primitive(rounded_element)
def rounded(typing_context, value, dtype):
    """A float32 rounded to ``dtype``, float16 or bfloat16, as a float32."""
    stored = dtype.dtype

    def codegen(context, builder, signature, arguments):
        element_type, _ = _memory_type(context, stored)
        return _widened(builder, _narrowed(builder, arguments[0], element_type))

    return types.float32(types.float32, dtype), codegen


@primitive(lambda address, index, dtype, memory: load_element(address, index, dtype))
def load_apart(typing_context, address, index, dtype, memory):
    """``load`` from memory number ``memory`` (a literal), of which no other number has a byte.

    LLVM then vectorises without comparing addresses first, which it gives up for many arrays.
    """
    if not isinstance(memory, types.IntegerLiteral):
        return None
    returned, codegen = _load(dtype.dtype, memory.literal_value)
    return returned(types.int64, types.int64, dtype, memory), codegen


@primitive(lambda address, index, value, dtype, memory: store_element(address, index, value, dtype))
def store_apart(typing_context, address, index, value, dtype, memory):
    """``store`` to memory number ``memory``, as :func:`load_apart` has it."""
    if not isinstance(memory, types.IntegerLiteral):
        return None
    passed, codegen = _store(dtype.dtype, memory.literal_value)
    return types.void(types.int64, types.int64, passed, dtype, memory), codegen


def _integer_of(dtype):
    return {32: types.int32, 64: types.int64}[dtype.bitwidth]


@primitive(lambda value: value.view(np.int32 if value.itemsize == 4 else np.int64))
def bits(typing_context, value):
    """The bit pattern of a float as a signed integer of the same size."""
    returned = _integer_of(value)

    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(returned))

    return returned(value), codegen


@primitive(lambda value: value.view(np.float32 if value.itemsize == 4 else np.float64))
def from_bits(typing_context, value):
    """The float whose bit pattern is the given integer."""
    returned = {32: types.float32, 64: types.float64}[value.bitwidth]

    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(returned))

    return returned(value), codegen


@primitive(np.copysign)
def copysign(typing_context, x, y):
    """x with the sign bit of y.

    In integers: LLVM rounds before its own copysign, and so rounds a float64 that came from a
    float16 back to that at once, by a function of its runtime that there is not.
    """
    sign = 1 << (x.bitwidth - 1)

    def codegen(context, builder, signature, arguments):
        word = ir.IntType(signature.return_type.bitwidth)
        magnitude, other = [builder.bitcast(each, word) for each in arguments]
        magnitude = builder.and_(magnitude, ir.Constant(word, sign - 1))
        other = builder.and_(other, ir.Constant(word, sign))
        return builder.bitcast(builder.or_(magnitude, other), arguments[0].type)

    return x(x, x), codegen


@primitive(lambda condition, first, second: first if condition else second)
def select(typing_context, condition, first, second):
    """``first if condition else second`` without a branch; both are evaluated."""
    if first != second:
        raise TypeError(f"select needs two values of one type, got {first} and {second}")

    def codegen(context, builder, signature, arguments):
        return builder.select(*arguments)

    return first(types.boolean, first, first), codegen


def _float_primitive(name, body, operands, doc):
    """The LLVM intrinsic ``llvm.<name>`` on float32 and float64; ``body`` on NumPy's scalars."""

    def emit(context, builder, signature, arguments):
        value_type = arguments[0].type
        function_type = ir.FunctionType(value_type, [value_type] * operands)
        function = builder.module.declare_intrinsic(f"llvm.{name}", [value_type], function_type)
        return builder.call(function, arguments)

    def unary(typing_context, x):
        return x(x), emit

    def binary(typing_context, x, y):
        return x(x, x), emit

    def ternary(typing_context, x, y, z):
        return x(x, x, x), emit

    typed = (unary, binary, ternary)[operands - 1]
    typed.__name__ = name
    typed.__doc__ = doc
    return primitive(body)(typed)


floor = _float_primitive("floor", np.floor, 1, "Largest whole number not above x.")
ceil = _float_primitive("ceil", np.ceil, 1, "Smallest whole number not below x.")
trunc = _float_primitive("trunc", np.trunc, 1, "x without its fraction.")
rint = _float_primitive("rint", np.rint, 1, "Nearest whole number, ties to even.")
sqrt = _float_primitive("sqrt", np.sqrt, 1, "Square root.")
absolute = _float_primitive("fabs", np.abs, 1, "x without its sign bit.")
fma = _float_primitive("fma", fused_multiply_add, 3, "``x * y + z``, rounded once.")


@primitive(np.fmod)
def fmod(typing_context, x, y):
    """The remainder of x / y rounded towards zero, with the sign of x: C's function."""

    def codegen(context, builder, signature, arguments):
        return builder.frem(*arguments)

    return x(x, x), codegen


@primitive(call_function)
def call_kernel(typing_context, function, args, lo, hi):
    """Call the uniform kernel entry at address ``function``."""

    def codegen(context, builder, signature, arguments):
        word = ir.IntType(64)
        function_type = ir.FunctionType(ir.VoidType(), [word] * 3)
        pointer = builder.inttoptr(arguments[0], function_type.as_pointer())
        builder.call(pointer, arguments[1:])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), codegen


@primitive(words_on_stack)
def address_of_stack(typing_context, words):
    """Address of ``words`` (a literal) int64 words on the stack of the calling function."""
    if not isinstance(words, types.IntegerLiteral):
        return None
    count = words.literal_value

    def codegen(context, builder, signature, arguments):
        word = ir.IntType(64)
        with builder.goto_entry_block():
            memory = builder.alloca(ir.ArrayType(word, count))
            memory.align = 64
        return builder.ptrtoint(memory, word)

    return types.int64(words), codegen


_C_TYPES = {types.int64: ctypes.c_int64, types.float64: ctypes.c_double, types.void: None}


def external(name, returned, *arguments, body=None):
    """A C function of the process as an intrinsic over int64 and float64 values.

    In Python ``body`` is run instead, if there is one.
    """

    def emit(context, builder, signature, values):
        function_type = ir.FunctionType(
            context.get_value_type(returned) if returned != types.void else ir.VoidType(),
            [context.get_value_type(a) for a in arguments],
        )
        function = cgutils.get_or_insert_function(builder.module, function_type, name)
        result = builder.call(function, values)
        return result if returned != types.void else context.get_dummy_value()

    def called(*values):
        kinds = [_C_TYPES[argument] for argument in arguments]
        function = ctypes.CFUNCTYPE(_C_TYPES[returned], *kinds)((name, ctypes.CDLL(None)))
        found = function(*[value.item() if hasattr(value, "item") else value for value in values])
        return None if returned == types.void else returned(found)

    parameters = ", ".join(f"a{i}" for i in range(len(arguments)))
    namespace = {"signature": returned(*arguments), "emit": emit}
    source = f"def typed(typing_context{', ' if parameters else ''}{parameters}):\n"
    exec(source + "    return signature, emit\n", namespace)
    typed = namespace["typed"]
    typed.__name__ = name
    return primitive(body or called)(typed)


def shared(kernel):
    """A kernel as a function that others call by name: they share its machine code.

    For what is long to compile and called seldom. Its signature is ``loader.SHARED_SIGNATURE``.
    """
    room = kernel.__module__.partition(".")[2]
    words = [types.int64] * 4
    name = f"{SHARED}{room}.{kernel.__name__}"
    return external(name, types.int64, *words, body=kernel.py_func)


#: C's function: target, source, number of bytes.
copy_memory = external("memcpy", types.int64, types.int64, types.int64, types.int64)
