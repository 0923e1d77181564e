"""The language of kernels as Numba compiles it for a GPU: memory by address, bits, and the like.

The names are those of ``codegen.intrinsics``, so that a formula is printed once for both. Addresses
are of global memory; what lies elsewhere is an array of ``cuda.shared`` or ``cuda.local``. Imported
only to compile. ``simulated.py`` has the same names as Python.
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import cuda
from numba.cuda import types
from numba.cuda.extending import intrinsic

_GLOBAL = 1  # LLVM's address space of global memory

boolean, uint8, int8, int16 = types.boolean, types.uint8, types.int8, types.int16
int32, int64, float32, float64 = types.int32, types.int64, types.float32, types.float64
float16 = types.float16


class _BFloat16(types.Number):
    """The upper half of a float32, as elements in memory."""

    bitwidth = 16


bfloat16 = _BFloat16("bfloat16_element")


def _memory_type(stored: Any) -> Any:
    """LLVM's type of an element in memory."""
    if stored == types.boolean:
        return ir.IntType(8)
    if stored == types.float16:
        return ir.HalfType()
    if stored == bfloat16:
        return ir.IntType(16)
    if stored == types.float32:
        return ir.FloatType()
    if stored == types.float64:
        return ir.DoubleType()
    return ir.IntType(stored.bitwidth)


def _passed(stored: Any) -> Any:
    """The type of an element outside of memory."""
    return types.float32 if stored in (types.float16, bfloat16) else stored


def _widened(builder: Any, value: Any, stored: Any) -> Any:
    """An element as it is computed with."""
    if stored == types.boolean:
        return builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))
    if stored == types.float16:
        return builder.fpext(value, ir.FloatType())
    if stored == bfloat16:
        word = ir.IntType(32)
        pattern = builder.shl(builder.zext(value, word), ir.Constant(word, 16))
        return builder.bitcast(pattern, ir.FloatType())
    return value


def _narrowed(builder: Any, value: Any, stored: Any) -> Any:
    """A value as it lies in memory; of two bfloat16 that are as near, the even one."""
    if stored == types.boolean:
        return builder.zext(value, ir.IntType(8))
    if stored == types.float16:
        return builder.fptrunc(value, ir.HalfType())
    if stored == bfloat16:
        word = ir.IntType(32)
        pattern = builder.bitcast(value, word)
        odd = builder.and_(builder.lshr(pattern, ir.Constant(word, 16)), ir.Constant(word, 1))
        rounded = builder.add(pattern, builder.add(odd, ir.Constant(word, 0x7FFF)))
        is_number = builder.fcmp_ordered("ord", value, value)
        high = builder.lshr(rounded, ir.Constant(word, 16))
        kept = builder.select(is_number, high, ir.Constant(word, 0x7FC0))
        return builder.trunc(kept, ir.IntType(16))
    return value


def _pointer(builder: Any, address: Any, index: Any, element: Any, space: int = _GLOBAL) -> Any:
    pointer = builder.inttoptr(address, ir.PointerType(element, addrspace=space))
    return builder.gep(pointer, [index])


@intrinsic
def load(context: Any, address: Any, index: Any, dtype: Any) -> Any:
    """Element ``index`` of the array at ``address``; float16 and bfloat16 come back as float32."""
    stored = dtype.dtype

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(builder, arguments[0], arguments[1], _memory_type(stored))
        return _widened(builder, builder.load(pointer), stored)

    return _passed(stored)(types.int64, types.int64, dtype), emit


@intrinsic
def store(context: Any, address: Any, index: Any, value: Any, dtype: Any) -> Any:
    """Write ``value``, converted to ``dtype``, to element ``index`` of the array at ``address``."""
    stored = dtype.dtype

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(builder, arguments[0], arguments[1], _memory_type(stored))
        builder.store(_narrowed(builder, arguments[2], stored), pointer)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, _passed(stored), dtype), emit


def _vector(stored: Any, width: int) -> tuple[Any, int]:
    """LLVM's type of ``width`` neighbours in memory, and its alignment in bytes."""
    element = _memory_type(stored)
    size = 8 if element == ir.DoubleType() else 4 if element == ir.FloatType() else 0
    size = size or (2 if element == ir.HalfType() else element.width // 8)
    return ir.VectorType(element, width), size * width


@intrinsic
def load_vector(context: Any, address: Any, group: Any, dtype: Any, width: Any) -> Any:
    """Elements ``group * width`` and those behind it, by one access of aligned memory."""
    if not isinstance(width, types.IntegerLiteral):
        return None
    stored, count = dtype.dtype, width.literal_value
    returned = types.UniTuple(_passed(stored), count)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, alignment = _vector(stored, count)
        pointer = _pointer(builder, arguments[0], arguments[1], kind)
        value = builder.load(pointer, align=alignment)
        lane = ir.IntType(32)
        parts = [builder.extract_element(value, ir.Constant(lane, k)) for k in range(count)]
        widened = [_widened(builder, part, stored) for part in parts]
        made = ir.Constant(context.get_value_type(signature.return_type), ir.Undefined)
        for k, part in enumerate(widened):
            made = builder.insert_value(made, part, k)
        return made

    return returned(types.int64, types.int64, dtype, width), emit


@intrinsic
def store_vector(context: Any, address: Any, group: Any, values: Any, dtype: Any) -> Any:
    """Write a tuple to elements ``group * len(values)`` and behind it, by one access."""
    stored, count = dtype.dtype, len(values)
    passed = _passed(stored)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, alignment = _vector(stored, count)
        made, lane = ir.Constant(kind, ir.Undefined), ir.IntType(32)
        for k in range(count):
            part = builder.extract_value(arguments[2], k)
            if stored == types.boolean and part.type == ir.IntType(8):
                part = builder.trunc(part, ir.IntType(1))
            part = _narrowed(builder, part, stored)
            made = builder.insert_element(made, part, ir.Constant(lane, k))
        pointer = _pointer(builder, arguments[0], arguments[1], kind)
        builder.store(made, pointer, align=alignment)
        return context.get_dummy_value()

    wanted = types.UniTuple(passed, count)
    return types.void(types.int64, types.int64, wanted, dtype), emit


@intrinsic
def quotient(context: Any, value: Any, divisor: Any) -> Any:
    """``value // divisor`` of numbers from 0 to 2**31 - 1, as the 32-bit division of the GPU."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        narrow = [builder.trunc(x, ir.IntType(32)) for x in arguments]
        return builder.zext(builder.udiv(*narrow), ir.IntType(64))

    return types.int64(types.int64, types.int64), emit


@intrinsic
def rounded(context: Any, value: Any, dtype: Any) -> Any:
    """A float32 rounded to ``dtype``, float16 or bfloat16, as a float32."""
    stored = dtype.dtype

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _widened(builder, _narrowed(builder, arguments[0], stored), stored)

    return types.float32(types.float32, dtype), emit


@intrinsic
def bits(context: Any, value: Any) -> Any:
    """The bit pattern of a float as a signed integer of the same size."""
    returned = {32: types.int32, 64: types.int64}[value.bitwidth]

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(signature.return_type.bitwidth))

    return returned(value), emit


@intrinsic
def from_bits(context: Any, value: Any) -> Any:
    """The float whose bit pattern is the given integer."""
    returned = {32: types.float32, 64: types.float64}[value.bitwidth]

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], _memory_type(signature.return_type))

    return returned(value), emit


@intrinsic
def select(context: Any, condition: Any, first: Any, second: Any) -> Any:
    """``first if condition else second`` without a branch; both are evaluated."""
    if first != second:
        raise TypeError(f"select needs two values of one type, got {first} and {second}")

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    return first(types.boolean, first, first), emit


@intrinsic
def exchanged(context: Any, value: Any, distance: Any) -> Any:
    """The value of the thread of the warp whose number differs in the bit ``distance``.

    All threads of the warp have to be here.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given, kind = arguments[0], arguments[0].type
        word = ir.IntType(32)
        if isinstance(kind, ir.FloatType | ir.DoubleType):
            width = 64 if kind == ir.DoubleType() else 32
            pattern = builder.bitcast(given, ir.IntType(width))
        else:
            width, pattern = kind.width, given
        step = builder.trunc(arguments[1], word)
        if width <= 32:
            whole = pattern if width == 32 else builder.zext(pattern, word)
            moved = _of_partner(builder, whole, step)
            moved = moved if width == 32 else builder.trunc(moved, pattern.type)
        else:
            wide = ir.IntType(64)
            by = ir.Constant(wide, 32)
            low = _of_partner(builder, builder.trunc(pattern, word), step)
            high = _of_partner(builder, builder.trunc(builder.lshr(pattern, by), word), step)
            moved = builder.or_(builder.shl(builder.zext(high, wide), by), builder.zext(low, wide))
        return moved if moved.type == kind else builder.bitcast(moved, kind)

    return value(value, types.int64), emit


def _of_partner(builder: Any, value: Any, step: Any) -> Any:
    """The instruction that exchanges 32 bits within a warp."""
    word = ir.IntType(32)
    symbol = "llvm.nvvm.shfl.sync.bfly.i32"
    function = builder.module.globals.get(symbol)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(word, [word] * 4), symbol)
    return builder.call(function, [ir.Constant(word, -1), value, step, ir.Constant(word, 31)])


def _of_libdevice(name: str, operands: int) -> Any:
    """The function ``__nv_<name>`` of libdevice, which NVVM links, of float32 or float64."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = arguments[0].type
        symbol = f"__nv_{name}{'f' if kind == ir.FloatType() else ''}"
        function_type = ir.FunctionType(kind, [kind] * operands)
        function = builder.module.globals.get(symbol)
        if function is None:
            function = ir.Function(builder.module, function_type, symbol)
        return builder.call(function, arguments)

    def unary(context: Any, x: Any) -> Any:
        return x(x), emit

    def ternary(context: Any, x: Any, y: Any, z: Any) -> Any:
        return x(x, x, x), emit

    return intrinsic(unary if operands == 1 else ternary)


floor, ceil, trunc = _of_libdevice("floor", 1), _of_libdevice("ceil", 1), _of_libdevice("trunc", 1)
rint, sqrt, absolute = _of_libdevice("rint", 1), _of_libdevice("sqrt", 1), _of_libdevice("fabs", 1)
fma = _of_libdevice("fma", 3)


fmod = math.fmod


@intrinsic
def copysign(context: Any, x: Any, y: Any) -> Any:
    """x with the sign bit of y."""
    width = x.bitwidth
    sign = 1 << (width - 1)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(width)
        magnitude, other = [builder.bitcast(each, word) for each in arguments]
        magnitude = builder.and_(magnitude, ir.Constant(word, sign - 1))
        other = builder.and_(other, ir.Constant(word, sign))
        return builder.bitcast(builder.or_(magnitude, other), arguments[0].type)

    return x(x, x), emit


# --- how two partial results become one -----------------------------------------------------------


def _joining(emitted: Any) -> Any:
    def typed(context: Any, a: Any, b: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return emitted(builder, signature.return_type, *arguments)

        return a(a, a), emit

    return intrinsic(typed)


def _extremum(comparison: str) -> Any:
    def emitted(builder: Any, dtype: Any, a: Any, b: Any) -> Any:
        if isinstance(dtype, types.Float):
            better = builder.fcmp_unordered(comparison, a, b)  # a NaN on either side too
            a_is_nan = builder.fcmp_unordered("uno", a, a)
            b_is_nan = builder.fcmp_unordered("uno", b, b)
            chosen = builder.select(better, a, b)
            return builder.select(a_is_nan, a, builder.select(b_is_nan, b, chosen))
        signed = isinstance(dtype, types.Integer) and dtype.signed
        compare = builder.icmp_signed if signed else builder.icmp_unsigned
        return builder.select(compare(comparison, a, b), a, b)

    return emitted


def _sum(builder: Any, dtype: Any, a: Any, b: Any) -> Any:
    return builder.fadd(a, b) if isinstance(dtype, types.Float) else builder.add(a, b)


def _product(builder: Any, dtype: Any, a: Any, b: Any) -> Any:
    return builder.fmul(a, b) if isinstance(dtype, types.Float) else builder.mul(a, b)


add, multiply = _joining(_sum), _joining(_product)
maximum, minimum = _joining(_extremum(">")), _joining(_extremum("<"))
either = _joining(lambda builder, dtype, a, b: builder.or_(a, b))
both = _joining(lambda builder, dtype, a, b: builder.and_(a, b))


_OWN = ("Any", "annotations", "ir", "types", "intrinsic")

#: Names that the text of a kernel may use.
NAMES = {
    **{x: made for x, made in globals().items() if not x.startswith("_") and x not in _OWN},
    "cuda": cuda,
}
