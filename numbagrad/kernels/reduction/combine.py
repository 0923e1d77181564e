"""The operations that join two partial results of a reduction, in any order.

Imported by generated reduction kernels, therefore only when compiling. Each is a primitive whose
instruction alone may be reordered, so that LLVM turns a plain loop into several vectors of partial
results, while the arithmetic around it keeps its order.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core import types

from ...codegen.primitive import primitive

__all__ = ["add", "both", "either", "maximum", "minimum", "multiply"]

_ANY_ORDER = ("reassoc", "contract")
#: An extremum of zeros of both signs is either: telling them apart would double its cost.
_EITHER_ZERO = ("nsz",)


def _combination(body):
    """A primitive over two values of one type; ``emit(builder, dtype, a, b)`` joins them."""

    def decorate(emit):
        def typed(typing_context, a, b):
            def codegen(context, builder, signature, arguments):
                return emit(builder, signature.return_type, *arguments)

            return a(a, a), codegen

        typed.__name__ = emit.__name__
        typed.__doc__ = emit.__doc__
        return primitive(body)(typed)

    return decorate


@_combination(np.add)
def add(builder, dtype, a, b):
    """Sum; of floats in any order."""
    if isinstance(dtype, types.Float):
        return builder.fadd(a, b, flags=_ANY_ORDER)
    return builder.add(a, b)


@_combination(np.multiply)
def multiply(builder, dtype, a, b):
    """Product; of floats in any order."""
    if isinstance(dtype, types.Float):
        return builder.fmul(a, b, flags=_ANY_ORDER)
    return builder.mul(a, b)


def _extremum(builder, dtype, a, b, name, comparison):
    if isinstance(dtype, types.Float):
        function_type = ir.FunctionType(a.type, [a.type, a.type])
        function = builder.module.declare_intrinsic(f"llvm.{name}", [a.type], function_type)
        return builder.call(function, [a, b], fastmath=_EITHER_ZERO)
    signed = isinstance(dtype, types.Integer) and dtype.signed
    compare = builder.icmp_signed if signed else builder.icmp_unsigned
    return builder.select(compare(comparison, a, b), a, b)


@_combination(np.maximum)
def maximum(builder, dtype, a, b):
    """The larger, or NaN if one of them is."""
    return _extremum(builder, dtype, a, b, "maximum", ">")


@_combination(np.minimum)
def minimum(builder, dtype, a, b):
    """The smaller, or NaN if one of them is."""
    return _extremum(builder, dtype, a, b, "minimum", "<")


@_combination(np.bitwise_or)
def either(builder, dtype, a, b):
    """Whether one is true."""
    return builder.or_(a, b)


@_combination(np.bitwise_and)
def both(builder, dtype, a, b):
    """Whether both are true."""
    return builder.and_(a, b)
