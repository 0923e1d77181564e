"""Remainders of divisions whose quotient is not large, by one fused multiply-add, which is exact;
and divisions of integers, which processors do one by one, as divisions of vectors of floats.

Called by the table of this package.
"""

from __future__ import annotations

from collections.abc import Callable

from ...formula import abs, cast, copysign, fma, logical_not, trunc, where
from .arithmetic import Format, Value

#: ``floor`` or ``trunc``.
Rounding = Callable[[Value], Value]


def fmod_usual(x: Value, y: Value, f: Format) -> Value:
    """x - n y for the whole number n of x / y, towards 0, where that is less than the format holds.

    The rounded quotient is never less than n; where it is n + 1, the difference is negative by less
    than a unit of the quotient. All differences are multiples of the unit of y or of x, and less
    than y: so they are numbers of the format.
    """
    rest = fma(-trunc(x / y), y, x)
    beyond = (rest != 0) & ((rest < 0) != (x < 0))
    return copysign(where(beyond, rest + copysign(y, x), rest), x)


def is_unusual_quotient(x: Value, y: Value, f: Format) -> Value:
    """Whether `fmod_usual` does not hold, as for NaN and for a divisor of 0 or infinity."""
    usual = (abs(x / y) < 2.0 ** (f.mantissa - 1)) & (abs(y) >= 2.0**f.mantissa * f.smallest_normal)
    return logical_not(usual & (abs(y) < 2.0**f.bias))


def _quotient(a: Value, b: Value, real: str, rounded: Rounding) -> tuple[Value, Value, Value]:
    """Two integers as floats that hold them, and their quotient as a whole number.

    A quotient that is not whole is farther from the next whole number than rounding moves it. The
    divisor 0, of which callers raise, stands for 1.
    """
    dividend, divisor = cast(a, real), cast(where(b == 0, 1, b), real)
    return dividend, divisor, rounded(dividend / divisor)


def integer_quotient(a: Value, b: Value, integer: str, real: str, rounded: Rounding) -> Value:
    """The quotient of two integers that a float holds, as a whole number.

    Over -1 it is the opposite, which wraps for the least integer.
    """
    quotient = cast(_quotient(a, b, real, rounded)[2], integer)
    return quotient if integer[0] == "u" else where(b == -1, -a, quotient)


def integer_rest(a: Value, b: Value, integer: str, real: str, rounded: Rounding) -> Value:
    """The rest of that division."""
    dividend, divisor, quotient = _quotient(a, b, real, rounded)
    return cast(fma(-quotient, divisor, dividend), integer)


def is_beyond_float64(a: Value, b: Value) -> Value:
    """Whether one of two integers is larger than those that float64 holds."""
    limit = 1 << 53
    return ((a + limit) | (b + limit)) & ~(2 * limit - 1) != 0
