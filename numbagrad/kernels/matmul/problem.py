"""A matrix product as the kernels see it: the argument words of ``matmul_layout``, and arithmetic.

Used by ``matmul``, hence imported only to compile. Each of these primitives would be several
statements of Numba code otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from llvmlite import ir
from numba import types

from ...codegen.addresses import load_element
from ...codegen.intrinsics import subroutine
from ...codegen.primitive import primitive
from . import layout

_WORD = ir.IntType(64)


def compiled(function: Callable[..., Any], **called: Any) -> Any:
    """A plain function of ``matmul_layout`` as a subroutine, calling compiled functions."""
    namespace = {**function.__globals__, **called}
    return subroutine(FunctionType(function.__code__, namespace, function.__name__))


@primitive(min)
def smaller(typing_context, first, second):
    """The smaller of two integers (``min`` would have Numba compile a function for each use)."""

    def codegen(context, builder, signature, arguments):
        return builder.select(builder.icmp_signed("<", *arguments), *arguments)

    return types.int64(types.int64, types.int64), codegen


@primitive(lambda dividend, divisor: dividend // divisor)
def quotient(typing_context, dividend, divisor):
    """``dividend // divisor`` of integers that are not negative; the divisor is not 0."""

    def codegen(context, builder, signature, arguments):
        return builder.udiv(*arguments)

    return types.int64(types.int64, types.int64), codegen


def _read(builder, args, index):
    """Word ``index`` (a number, or a value)."""
    index = ir.Constant(_WORD, index) if isinstance(index, int) else index
    words = builder.inttoptr(args, _WORD.as_pointer())
    return builder.load(builder.gep(words, [index]))


@primitive(lambda args, index: load_element(args, index, "int64"))
def word(typing_context, args, index):
    """Word ``index`` of the arguments."""

    def codegen(context, builder, signature, arguments):
        return _read(builder, *arguments)

    return types.int64(types.int64, types.int64), codegen


def _matrix_at(args, operand, item_size, batch):
    outer, inner = divmod(batch, load_element(args, layout.INNER, "int64"))
    position = operand * (layout.B_ROW - layout.A_ROW)
    offset = outer * load_element(args, position + layout.A_OUTER, "int64")
    offset += inner * load_element(args, position + layout.A_INNER, "int64")
    return load_element(args, operand, "int64") + offset * item_size


@primitive(_matrix_at)
def matrix_at(typing_context, args, operand, item_size, batch):
    """Address of a matrix of operand ``A``, ``B`` or ``C``, by its number in the batch."""

    def codegen(context, builder, signature, arguments):
        args, operand, item_size, batch = arguments
        inner_size = _read(builder, args, layout.INNER)
        outer = builder.udiv(batch, inner_size)
        inner = builder.sub(batch, builder.mul(outer, inner_size))
        position = builder.mul(operand, ir.Constant(_WORD, layout.B_ROW - layout.A_ROW))
        offset = ir.Constant(_WORD, 0)
        for index, first in ((outer, layout.A_OUTER), (inner, layout.A_INNER)):
            stride = _read(builder, args, builder.add(position, ir.Constant(_WORD, first)))
            offset = builder.add(offset, builder.mul(index, stride))
        return builder.add(_read(builder, args, operand), builder.mul(offset, item_size))

    return types.int64(*[types.int64] * 4), codegen
