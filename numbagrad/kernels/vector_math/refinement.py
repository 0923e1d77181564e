"""Quotients and square roots from the CPU's estimates of reciprocals, refined once.

`CPU_INSTRUCTED` has these where the CPU has estimates to 14 bits: the divider of such CPUs takes
ten cycles for a vector, these take five. One step of Newton's method from 14 bits leaves an error
of about 2**-28 before the last rounding.
"""

from __future__ import annotations

from ...formula import fma, reciprocal_estimate, rsqrt_estimate, where
from .arithmetic import Value

__all__ = ["near_quotient_refined", "near_sqrt_refined"]


def near_quotient_refined(a: Value, b: Value) -> Value:
    """a / b, the remainder of the first quotient divided again.

    The first quotient is infinite, zero or NaN where the remainder is NaN for no reason: where b is
    zero or infinite, or a is infinite.
    """
    reciprocal = reciprocal_estimate(b)
    first = a * reciprocal
    refined = fma(fma(-first, b, a), reciprocal, first)
    return where(refined == refined, refined, first)


def near_sqrt_refined(x: Value) -> Value:
    """x / sqrt(x), from Newton's method for 1 / sqrt(x); 0 and infinity are their own roots."""
    inverse = rsqrt_estimate(x)
    first = x * inverse
    refined = fma(first, fma(first * -0.5, inverse, 0.5), first)
    return where((refined != refined) & (x >= 0), x, refined)
