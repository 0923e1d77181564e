"""A matrix product as the kernel sees it: the argument words, turned round where that helps.

Used by ``matmul``, hence imported only to compile. The words are those of ``matmul_layout``; these
intrinsics read them, since each would be several statements of Numba code otherwise.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from . import matmul_layout as layout

_WORD = ir.IntType(64)

#: Words that change places when ``C = A @ B`` becomes ``C.T = B.T @ A.T``.
_TRANSPOSED = (
    (layout.A, layout.B), (layout.M, layout.N),
    (layout.A_ROW, layout.B_COLUMN), (layout.A_COLUMN, layout.B_ROW),
    (layout.A_OUTER, layout.B_OUTER), (layout.A_INNER, layout.B_INNER),
    (layout.C_ROW, layout.C_COLUMN), (layout.I_ROW, layout.I_COLUMN),
)  # fmt: skip


@intrinsic
def smaller(typing_context, first, second):
    """The smaller of two integers (``min`` would have Numba compile a function for each use)."""

    def codegen(context, builder, signature, arguments):
        return builder.select(builder.icmp_signed("<", *arguments), *arguments)

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def larger(typing_context, first, second):
    """The larger of two integers."""

    def codegen(context, builder, signature, arguments):
        return builder.select(builder.icmp_signed(">", *arguments), *arguments)

    return types.int64(types.int64, types.int64), codegen


def _words(builder, address):
    return builder.inttoptr(address, _WORD.as_pointer())


def _at(builder, words, index):
    index = ir.Constant(_WORD, index) if isinstance(index, int) else index
    return builder.gep(words, [index])


@intrinsic
def word(typing_context, problem, index):
    """Word ``index`` of a problem."""

    def codegen(context, builder, signature, arguments):
        return builder.load(_at(builder, _words(builder, arguments[0]), arguments[1]))

    return types.int64(types.int64, types.int64), codegen


def _stride_of(name, position, doc):
    """An intrinsic for a stride of an operand, which is ``A``, ``B``, ``C`` or ``I``."""

    def codegen(context, builder, signature, arguments):
        problem, operand = arguments
        return builder.load(_stride(builder, _words(builder, problem), operand, position))

    def typed(typing_context, problem, operand):
        return types.int64(types.int64, types.int64), codegen

    typed.__name__, typed.__doc__ = name, doc
    return intrinsic(typed)


def _stride(builder, words, operand, position):
    """Address of the row (0), column (1), outer (2) or inner (3) stride of an operand."""
    strides = builder.mul(operand, ir.Constant(_WORD, 4))
    return _at(builder, words, builder.add(strides, ir.Constant(_WORD, layout.A_ROW + position)))


row_stride = _stride_of("row_stride", 0, "Distance of the rows of an operand.")
column_stride = _stride_of("column_stride", 1, "Distance of the columns of an operand.")


@intrinsic
def scalar(typing_context, problem, index, dtype):
    """Word ``index``, the bits of a float64, as a number of type ``dtype``."""
    returned = dtype.dtype

    def codegen(context, builder, signature, arguments):
        stored = builder.load(_at(builder, _words(builder, arguments[0]), arguments[1]))
        number = builder.bitcast(stored, ir.DoubleType())
        return number if returned == types.float64 else builder.fptrunc(number, ir.FloatType())

    return returned(types.int64, types.int64, dtype), codegen


@intrinsic
def copy_problem(typing_context, problem, args, transpose):
    """Copy the argument words to ``problem``, as those of ``C.T = B.T @ A.T`` if asked."""
    partners = {**dict(_TRANSPOSED), **{second: first for first, second in _TRANSPOSED}}

    def codegen(context, builder, signature, arguments):
        target, source = (_words(builder, address) for address in arguments[:2])
        values = [builder.load(_at(builder, source, i)) for i in range(layout.WORDS)]
        for i, value in enumerate(values):
            if i in partners:
                value = builder.select(arguments[2], values[partners[i]], value)
            builder.store(value, _at(builder, target, i))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.boolean), codegen


@intrinsic
def element_at(typing_context, problem, operand, itemsize, outer, inner, row, column):
    """Address of an element of operand ``A``, ``B``, ``C`` or ``I`` in a matrix of the batch."""

    def codegen(context, builder, signature, arguments):
        problem, operand, itemsize, outer, inner, row, column = arguments
        words = _words(builder, problem)
        offset = ir.Constant(_WORD, 0)
        for position, index in enumerate((row, column, outer, inner)):
            stride = builder.load(_stride(builder, words, operand, position))
            offset = builder.add(offset, builder.mul(index, stride))
        address = builder.load(_at(builder, words, operand))
        return builder.add(address, builder.mul(offset, itemsize))

    return types.int64(*[types.int64] * 7), codegen
