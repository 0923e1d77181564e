"""Remainders of divisions whose quotient is not large: one fused multiply-add, which is exact.

Called by the table of this package.
"""

from __future__ import annotations

from ...formula import abs, copysign, fma, logical_not, trunc, where
from .arithmetic import Format, Value


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
