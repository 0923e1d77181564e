"""Elementwise functions of the array API, most of them torch's after the standard's promotion."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numbagrad as torch

from ..tensor import Tensor
from .arguments import as_dtype, promoted, whole
from .complex_functions import with_special_values

__all__ = [
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and",
    "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "ceil", "clip", "conj", "copysign", "cos", "cosh", "divide", "equal", "exp", "expm1", "floor",
    "floor_divide", "greater", "greater_equal", "hypot", "imag", "isfinite", "isinf", "isnan",
    "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logical_and",
    "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative",
    "nextafter", "not_equal", "positive", "pow", "real", "reciprocal", "remainder", "round", "sign",
    "signbit", "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc",
]  # fmt: skip


def _unary(name: str, function: Callable[[Tensor], Tensor], meaning: str) -> Callable[..., Tensor]:
    def call(x: Tensor, /) -> Tensor:
        return function(x)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{meaning}, element by element."
    return call


def _binary(
    name: str, function: Callable[[Tensor, Tensor], Tensor], meaning: str
) -> Callable[..., Tensor]:
    def call(x1: Any, x2: Any, /) -> Tensor:
        return function(*promoted(x1, x2))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{meaning}, element by element of two arrays, or of an array and a number."
    return call


def _of_fractions(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """A rounding, which leaves integers as they are; their array is copied."""

    @functools.wraps(function)
    def rounded(x: Tensor) -> Tensor:
        return x.clone() if whole(x) else function(x)

    return rounded


def _rounded(x: Tensor) -> Tensor:
    """The nearest integer, of complex numbers the nearest whole parts, which torch refuses."""
    if x.is_complex():
        return torch.complex(torch.round(x.real), torch.round(x.imag))
    return torch.round(x)


def _floor_quotient(x1: Tensor, x2: Tensor) -> Tensor:
    """The quotient rounded down; torch has NaN of infinities, the standard what they divide to."""
    if whole(x1):
        return torch.floor_divide(x1, x2)
    infinite = torch.isinf(x1) | torch.isinf(x2)
    return torch.where(infinite, x1 / x2, torch.floor_divide(x1, x2))


def _remainder(x1: Tensor, x2: Tensor) -> Tensor:
    """The rest of a division with the sign of the divisor, also where it is zero."""
    rest = torch.remainder(x1, x2)
    return rest if whole(rest) else torch.where(rest == 0, torch.copysign(rest, x2), rest)


def _sign(x: Tensor) -> Tensor:
    """The sign, NaN of NaN where torch has zero."""
    return torch.where(torch.isnan(x), x, torch.sgn(x))


abs = _unary("abs", torch.abs, "The absolute value")  # noqa: A001
acos = _unary("acos", with_special_values("acos"), "The inverse cosine")
acosh = _unary("acosh", with_special_values("acosh"), "The inverse hyperbolic cosine")
asin = _unary("asin", torch.asin, "The inverse sine")
asinh = _unary("asinh", with_special_values("asinh"), "The inverse hyperbolic sine")
atan = _unary("atan", torch.atan, "The inverse tangent")
atanh = _unary("atanh", with_special_values("atanh"), "The inverse hyperbolic tangent")
bitwise_invert = _unary("bitwise_invert", torch.bitwise_not, "The inverted bits")
ceil = _unary("ceil", _of_fractions(torch.ceil), "The next integer above")
conj = _unary("conj", torch.conj_physical, "The complex conjugate")
cos = _unary("cos", torch.cos, "The cosine")
cosh = _unary("cosh", with_special_values("cosh"), "The hyperbolic cosine")
exp = _unary("exp", with_special_values("exp"), "The exponential")
expm1 = _unary("expm1", with_special_values("expm1"), "The exponential less one")
floor = _unary("floor", _of_fractions(torch.floor), "The next integer below")
imag = _unary("imag", torch.imag, "The imaginary part")
isfinite = _unary("isfinite", torch.isfinite, "Whether a number is finite")
isinf = _unary("isinf", torch.isinf, "Whether a number is infinite")
isnan = _unary("isnan", torch.isnan, "Whether it is no number")
log = _unary("log", torch.log, "The natural logarithm")
log1p = _unary("log1p", torch.log1p, "The logarithm of one and the number")
log2 = _unary("log2", torch.log2, "The logarithm to base 2")
log10 = _unary("log10", torch.log10, "The logarithm to base 10")
logical_not = _unary("logical_not", torch.logical_not, "Whether it is false")
negative = _unary("negative", torch.neg, "The negative")
positive = _unary("positive", torch.clone, "The number itself")
real = _unary("real", torch.real, "The real part")
reciprocal = _unary("reciprocal", torch.reciprocal, "One over the number")
round = _unary("round", _of_fractions(_rounded), "The nearest integer, of two the even")  # noqa: A001
sign = _unary("sign", _sign, "The sign")
signbit = _unary("signbit", torch.signbit, "Whether the sign bit is set")
sin = _unary("sin", torch.sin, "The sine")
sinh = _unary("sinh", with_special_values("sinh"), "The hyperbolic sine")
sqrt = _unary("sqrt", torch.sqrt, "The square root")
square = _unary("square", torch.square, "The square")
tan = _unary("tan", torch.tan, "The tangent")
tanh = _unary("tanh", with_special_values("tanh"), "The hyperbolic tangent")
trunc = _unary("trunc", _of_fractions(torch.trunc), "The integer part")

add = _binary("add", torch.add, "The sum")
atan2 = _binary("atan2", torch.atan2, "The angle of the point (x2, x1)")
bitwise_and = _binary("bitwise_and", torch.bitwise_and, "The bits that both have")
bitwise_left_shift = _binary(
    "bitwise_left_shift", torch.bitwise_left_shift, "The bits moved to the left"
)
bitwise_or = _binary("bitwise_or", torch.bitwise_or, "The bits that one has")
bitwise_right_shift = _binary(
    "bitwise_right_shift", torch.bitwise_right_shift, "The bits moved to the right"
)
bitwise_xor = _binary("bitwise_xor", torch.bitwise_xor, "The bits that one alone has")
copysign = _binary("copysign", torch.copysign, "The size of x1 with the sign of x2")
divide = _binary("divide", torch.true_divide, "The quotient")
equal = _binary("equal", torch.eq, "Whether both are equal")
floor_divide = _binary("floor_divide", _floor_quotient, "The quotient, rounded down")
greater = _binary("greater", torch.gt, "Whether x1 is greater")
greater_equal = _binary("greater_equal", torch.ge, "Whether x1 is greater or equal")
hypot = _binary("hypot", torch.hypot, "The root of the sum of squares")
less = _binary("less", torch.lt, "Whether x1 is less")
less_equal = _binary("less_equal", torch.le, "Whether x1 is less or equal")
logaddexp = _binary("logaddexp", torch.logaddexp, "The logarithm of the sum of exponentials")
logical_and = _binary("logical_and", torch.logical_and, "Whether both are true")
logical_or = _binary("logical_or", torch.logical_or, "Whether one is true")
logical_xor = _binary("logical_xor", torch.logical_xor, "Whether one alone is true")
maximum = _binary("maximum", torch.maximum, "The larger one")
minimum = _binary("minimum", torch.minimum, "The smaller one")
multiply = _binary("multiply", torch.mul, "The product")
nextafter = _binary("nextafter", torch.nextafter, "The next number after x1 towards x2")
not_equal = _binary("not_equal", torch.ne, "Whether both differ")
pow = _binary("pow", torch.pow, "x1 to the power of x2")  # noqa: A001
remainder = _binary("remainder", _remainder, "The rest of the division, with the sign of x2")
subtract = _binary("subtract", torch.sub, "The difference")


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:  # noqa: A002
    """The elements, no smaller than ``min`` and no larger than ``max``; in the dtype of ``x``.

    Args:
        x: real numbers.
        min, max: numbers, or arrays that broadcast with ``x``; None is no bound.
    """
    made = x.clone()
    for bound, choose in ((min, torch.maximum), (max, torch.minimum)):
        if bound is None:
            continue
        if not isinstance(bound, Tensor):
            bound = _within(bound, x)
        made = choose(*torch.broadcast_tensors(made, as_dtype(bound, x.dtype)))
    return made


def _within(bound: Any, x: Tensor) -> Tensor:
    """A bound as an array; one that the integers of the dtype do not reach is their limit."""
    if whole(x) and x.dtype is not torch.bool:
        limits = torch.iinfo(x.dtype)
        bound = limits.min if bound < limits.min else limits.max if bound > limits.max else bound
    return torch.tensor(bound, dtype=x.dtype)
