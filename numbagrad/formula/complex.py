"""Formulas of complex numbers, as formulas of their real and imaginary parts.

``executor/families/complex_pointwise.py`` lifts the formula of an operator here, so that kernels
over real memory compute it. A complex value is a pair of real expressions; a real value stays one
expression, and what is known to be real is never given an imaginary part. The methods for
functions with branch cuts are Kahan's ("Branch cuts for complex elementary functions", 1987), so
that signed zeros decide on which side of a cut an argument lies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from . import expression as e
from .expression import Expression, as_expression, postorder, where

__all__ = [
    "Complex", "angle", "conj", "equals", "imag", "lift", "log", "parts_of", "polar", "real",
    "rsqrt", "select", "sgn", "turning",
]  # fmt: skip


class Complex:
    """A complex value: ``re + im * 1j``, both of them expressions."""

    __slots__ = ("re", "im")

    def __init__(self, re: Any, im: Any) -> None:
        self.re = as_expression(re)
        self.im = as_expression(im)

    def __repr__(self) -> str:
        return f"Complex({self.re!r}, {self.im!r})"

    def __add__(self, other: Any) -> Complex:
        return _add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Complex:
        return _sub(self, other)

    def __rsub__(self, other: Any) -> Complex:
        return _sub(other, self)

    def __mul__(self, other: Any) -> Complex:
        return _mul(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Complex:
        return _div(self, other)

    def __rtruediv__(self, other: Any) -> Complex:
        return _div(other, self)

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)


#: 1 as torch divides it, which converts a real operand of a complex one: 1 / (1+0j) is 1+0j.
_ONE = Complex(1, 0)

Value = Any  # a Complex, an Expression or a number


def real(x: Value) -> Expression:
    """The real part; a real value itself."""
    return x.re if isinstance(x, Complex) else as_expression(x)


def imag(x: Value) -> Expression:
    """The imaginary part; zero for a real value."""
    return x.im if isinstance(x, Complex) else e.constant(0)


def parts_of(x: Value) -> tuple[Expression, Expression]:
    """Both parts."""
    return real(x), imag(x)


def conj(x: Value) -> Value:
    """The conjugate; a real value itself."""
    return Complex(x.re, -x.im) if isinstance(x, Complex) else x


def _turned(z: Complex) -> Complex:
    """``1j * z``."""
    return Complex(-z.im, z.re)


def _turned_back(z: Complex) -> Complex:
    """``-1j * z``."""
    return Complex(z.im, -z.re)


# --- arithmetic -----------------------------------------------------------------------------------


def _add(a: Value, b: Value) -> Complex:
    if not isinstance(b, Complex):
        return Complex(a.re + b, a.im)
    if not isinstance(a, Complex):
        return Complex(a + b.re, b.im)
    return Complex(a.re + b.re, a.im + b.im)


def _sub(a: Value, b: Value) -> Complex:
    if not isinstance(b, Complex):
        return Complex(a.re - b, a.im)
    if not isinstance(a, Complex):
        return Complex(a - b.re, -b.im)
    return Complex(a.re - b.re, a.im - b.im)


def _mul(a: Value, b: Value) -> Complex:
    if not isinstance(b, Complex):
        return Complex(a.re * b, a.im * b)
    if not isinstance(a, Complex):
        return Complex(a * b.re, a * b.im)
    return Complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)


def _div(a: Value, b: Value) -> Complex:
    """By the larger part of the divisor first, so that no square overflows (Smith 1962)."""
    if not isinstance(b, Complex):
        return Complex(a.re / b, a.im / b)
    wide = e.abs(b.re) >= e.abs(b.im)
    most, least = where(wide, b.re, b.im), where(wide, b.im, b.re)
    # A divisor of zero divides each part by zero, as C does.
    zero = most == 0
    ratio = where(zero, 0, least / where(zero, 1, most))
    scale = 1 / where(zero, e.abs(most), most + least * ratio)
    if not isinstance(a, Complex):
        part = a * ratio
        return Complex(where(wide, a, part) * scale, where(wide, -part, -a) * scale)
    return Complex(
        where(wide, a.re + a.im * ratio, a.re * ratio + a.im) * scale,
        where(wide, a.im - a.re * ratio, a.im * ratio - a.re) * scale,
    )


def _fma(a: Value, b: Value, c: Value) -> Value:
    return a * b + c


def absolute(z: Complex) -> Expression:
    """The distance from 0."""
    return e.hypot(z.re, z.im)


def angle(x: Value) -> Expression:
    """The angle from the positive real axis."""
    return e.atan2(imag(x), real(x))


def turning(x: Value) -> Complex:
    """The gradient of the angle: ``1j * x / abs(x) ** 2``, and 0 at 0."""
    square = real(x) * real(x) + imag(x) * imag(x)
    nowhere = square == 0
    return Complex(where(nowhere, 0, -imag(x) / square), where(nowhere, 0, real(x) / square))


def sgn(z: Value) -> Value:
    """``z / abs(z)``, and 0 for 0."""
    if not isinstance(z, Complex):
        return e.sign(z)
    length = absolute(z)
    return Complex(where(length == 0, 0, z.re / length), where(length == 0, 0, z.im / length))


def polar(length: Expression, angle: Expression) -> Complex:
    """The number of this distance from 0 and this angle."""
    return Complex(length * e.cos(angle), length * e.sin(angle))


# --- exponentials, logarithms, powers and roots ---------------------------------------------------


def _exp(z: Complex) -> Complex:
    length = e.exp(z.re)
    return Complex(length * e.cos(z.im), _by_sine(length, z.im))


def _by_sine(length: Expression, angle: Expression) -> Expression:
    """``length * sin(angle)``, which is 0 at an angle of 0 for an infinite length as well."""
    # Beside the angle itself, the sign of the length counts.
    along = where(e.isinf(length), e.copysign(1, length), length)
    return where(angle == 0, along * angle, length * e.sin(angle))


def _expm1(z: Complex) -> Complex:
    half = e.sin(z.im * 0.5)
    return Complex(e.expm1(z.re) * e.cos(z.im) - 2 * (half * half), e.exp(z.re) * e.sin(z.im))


def _log_abs(x: Expression, y: Expression) -> Expression:
    """``log(hypot(x, y))``, accurate too where that is near 0."""
    a, b = e.abs(x), e.abs(y)
    most, least = e.maximum(a, b), e.minimum(a, b)
    near = (most > 0.5) & (most < 2)
    exact = 0.5 * e.log1p(where(near, (most - 1) * (most + 1) + least * least, 0))
    return where(near, exact, e.log(e.hypot(x, y)))


def _log(z: Complex) -> Complex:
    return Complex(_log_abs(z.re, z.im), e.atan2(z.im, z.re))


def _log1p(z: Complex) -> Complex:
    """As ``log``; for small arguments by the square of the distance less 1."""
    small = (e.abs(z.re) < 0.5) & (e.abs(z.im) < 0.5)
    exact = 0.5 * e.log1p(where(small, z.re * (2 + z.re) + z.im * z.im, 0))
    x = z.re + 1
    return Complex(where(small, exact, _log_abs(x, z.im)), e.atan2(z.im, x))


def _sqrt(z: Complex) -> Complex:
    length = absolute(z)
    root = e.sqrt((length + e.abs(z.re)) * 0.5)
    other = where(length == 0, 0, e.abs(z.im) / (2 * where(length == 0, 1, root)))
    right = z.re >= 0
    up = where(right, other, root)
    infinite = e.isinf(z.im)
    return Complex(
        where(infinite, e.abs(z.im), where(right, root, other)),
        where(infinite, z.im, e.copysign(up, z.im)),
    )


def rsqrt(z: Complex) -> Complex:
    """``1 / sqrt(z)``"""
    return reciprocal(_sqrt(z))


def reciprocal(x: Value) -> Complex:
    """``1 / x``, which is infinite at 0, in a direction that nobody knows."""
    z = x if isinstance(x, Complex) else Complex(x, 0)
    made = _ONE / z
    zero = _is_zero(z)
    return Complex(where(zero, math.inf, made.re), where(zero, math.nan, made.im))


def power(a: Value, b: Value) -> Complex:
    """``exp(b * log(a))``, which 0 to the power of 0 is too: NaN, as in C."""
    base = a if isinstance(a, Complex) else Complex(a, 0)
    zero = _is_zero(base)
    safe = Complex(where(zero, 1, base.re), base.im)
    logarithm = _log(safe) * b
    made = _exp(logarithm)
    vanishes = logarithm.re == -math.inf
    grows = (logarithm.re == math.inf) & ~e.isfinite(logarithm.im)
    made = Complex(where(vanishes, 0, where(grows, math.inf, made.re)), where(vanishes, 0, made.im))
    exponent = parts_of(b)[0]
    at_zero = where(exponent > 0, 0, where(exponent < 0, math.inf, math.nan))
    beside = where(exponent > 0, 0, math.nan)
    return Complex(where(zero, at_zero, made.re), where(zero, beside, made.im))


def _is_zero(z: Complex) -> Expression:
    return (z.re == 0) & (z.im == 0)


def log(x: Value) -> Complex:
    """The logarithm, complex for a real value too."""
    return _log(x if isinstance(x, Complex) else Complex(x, 0))


def share(x: Value, y: Value) -> Complex:
    """``exp(x) / (exp(x) + exp(y))``, the derivative of ``log_add`` by x."""
    wide = (x if isinstance(x, Complex) else Complex(x, 0)) - y
    small = wide.re < 0
    power = _exp(select(small, wide, -wide))
    return select(small, power, Complex(1, 0)) / (1 + power)


def log_add(x: Value, y: Value) -> Complex:
    """``log(exp(x) + exp(y))``, from the one with the larger real part on."""
    a = x if isinstance(x, Complex) else Complex(x, 0)
    b = y if isinstance(y, Complex) else Complex(y, 0)
    first = a.re >= b.re
    most, least = select(first, a, b), select(first, b, a)
    nothing = (most.re == -math.inf) & (least.re == -math.inf)
    added: Complex = most + _log1p(_exp(least - most))
    return select(nothing, b, added)


def equals(a: Value, b: Value) -> Expression:
    """Whether both parts are equal."""
    return (real(a) == real(b)) & (imag(a) == imag(b))


def select(condition: Expression, a: Value, b: Value) -> Complex:
    """``a`` where the condition holds, else ``b``."""
    return Complex(where(condition, real(a), real(b)), where(condition, imag(a), imag(b)))


# --- circular and hyperbolic functions ------------------------------------------------------------


def _sinh(z: Complex) -> Complex:
    return Complex(e.sinh(z.re) * e.cos(z.im), _by_sine(e.cosh(z.re), z.im))


def _cosh(z: Complex) -> Complex:
    return Complex(e.cosh(z.re) * e.cos(z.im), _by_sine(e.sinh(z.re), z.im))


def _tanh(z: Complex) -> Complex:
    """By powers of ``exp(-2 abs(re))``, which do not overflow."""
    size = e.abs(z.re)
    shrunk = e.exp(-2 * size)
    rest = e.expm1(-2 * size)
    cosine, sine = e.cos(z.im), e.sin(z.im)
    below = rest * rest + 4 * shrunk * (cosine * cosine)
    return Complex(
        e.copysign(-e.expm1(-4 * size), z.re) / below, 4 * shrunk * (sine * cosine) / below
    )


def _sigmoid(z: Complex) -> Complex:
    return _ONE / (_ONE + _exp(-z))


def _asin(z: Complex) -> Complex:
    below, above = _sqrt(1 - z), _sqrt(1 + z)
    return Complex(
        e.atan2(z.re, below.re * above.re - below.im * above.im),
        e.asinh(below.re * above.im - below.im * above.re),
    )


def _acos(z: Complex) -> Complex:
    below, above = _sqrt(1 - z), _sqrt(1 + z)
    return Complex(
        2 * e.atan2(below.re, above.re), e.asinh(above.re * below.im - above.im * below.re)
    )


def _acosh(z: Complex) -> Complex:
    below, above = _sqrt(z - 1), _sqrt(z + 1)
    return Complex(
        e.asinh(below.re * above.re + below.im * above.im), 2 * e.atan2(below.im, above.re)
    )


def _atanh(z: Complex) -> Complex:
    """A quarter turn away from 0 at infinity, whichever part is infinite."""
    left, squared = 1 - z.re, z.im * z.im
    infinite = e.isinf(z.re) | e.isinf(z.im)
    return Complex(
        where(infinite, e.copysign(0, z.re), 0.25 * e.log1p(4 * z.re / (left * left + squared))),
        where(
            infinite,
            e.copysign(math.pi / 2, z.im),
            0.5 * e.atan2(2 * z.im, left * (1 + z.re) - squared),
        ),
    )


# --- expressions ----------------------------------------------------------------------------------

_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "neg": lambda z: -z,
    "fma": _fma,
    "abs": absolute,
    "sign": sgn,
    "pow": power,
    "sqrt": _sqrt,
    "rsqrt": rsqrt,
    "exp": _exp,
    "exp2": lambda z: _exp(z * math.log(2.0)),
    "expm1": _expm1,
    "log": _log,
    "log1p": _log1p,
    "log2": lambda z: _log(z) * (1 / math.log(2.0)),
    "log10": lambda z: _log(z) * (1 / math.log(10.0)),
    "sin": lambda z: _turned_back(_sinh(_turned(z))),
    "cos": lambda z: _cosh(_turned(z)),
    "tan": lambda z: _turned_back(_tanh(_turned(z))),
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "asin": _asin,
    "acos": _acos,
    "atan": lambda z: _turned_back(_atanh(_turned(z))),
    "asinh": lambda z: _turned_back(_asin(_turned(z))),
    "acosh": _acosh,
    "atanh": _atanh,
    "sigmoid": _sigmoid,
    "eq": equals,
    "ne": lambda a, b: (real(a) != real(b)) | (imag(a) != imag(b)),
    "isnan": lambda z: e.isnan(z.re) | e.isnan(z.im),
    "isinf": lambda z: e.isinf(z.re) | e.isinf(z.im),
    "isfinite": lambda z: e.isfinite(z.re) & e.isfinite(z.im),
}

#: Powers by constants that need no logarithm, of a complex base and the exponent.
_POWERS: dict[float, Callable[..., Value]] = {
    0.5: lambda z, _: _sqrt(z),
    -0.5: lambda z, _: rsqrt(z),
    -1: lambda z, _: _ONE / z,
    -1.5: lambda z, _: rsqrt(z) / z,
    -2: lambda z, _: _ONE / (z * z),
    -3: lambda z, _: _ONE / (z * z * z),
}


def lift(output: Expression, inputs: Mapping[str, Value]) -> Value:
    """``output`` with its inputs replaced, some of them by complex values.

    Raises:
        NotImplementedError: for an operation that has no meaning for complex numbers, as an order.
    """
    done: dict[int, Value] = {}
    for node in postorder((output,)):
        if node.operation == "input":
            done[id(node)] = inputs[node.value]
        else:
            done[id(node)] = _lifted(node, [done[id(x)] for x in node.operands])
    return done[id(output)]


def _lifted(node: Expression, operands: list[Value]) -> Value:
    if not any([isinstance(x, Complex) for x in operands]):
        return Expression(node.operation, tuple(operands), node.value)
    if node.operation == "where":
        condition, a, b = operands
        if not isinstance(condition, Complex):
            return select(condition, a, b)
    function = _FUNCTIONS.get(node.operation)
    if node.operation == "pow" and node.operands[1].operation == "constant":
        function = _POWERS.get(node.operands[1].value, power)
    if function is None:
        raise NotImplementedError(f"{node.operation} has no meaning for complex numbers")
    return function(*operands)
