"""Powers: x**y as 2**(y log2(x)), with the logarithm to twice the precision of the format.

Called by the table of this package. An absolute error of the exponent y log2(x), which reaches
2**7 (float32) or 2**10 (float64), is a relative one of the result: so the logarithm is a sum of two
numbers throughout.
"""

from __future__ import annotations

import math

from ...formula import (
    abs,
    bits,
    copysign,
    floor,
    fma,
    from_bits,
    logical_not,
    rint,
    rough_reciprocal,
    times_power_of_two,
    where,
)
from .arithmetic import Format, Value, clamp, polynomial
from .exponential import power_of_fraction
from .logarithm import split_logarithm, split_normal

# 2 / log(2) and a third of it, high and low parts.
_TWO_LOG2_E = {
    "float32": (2.885390043258667, 3.851926067000022e-08),
    "float64": (2.8853900817779268, 4.0710547481862066e-17),
}
_THIRD = {
    "float32": (0.9617967009544373, -7.028461812552678e-09),
    "float64": (0.9617966939259756, 5.0577616648125907e-17),
}

# (log2(m) / s - 2 / log(2) (1 + z / 3)) / z**2 in powers of z, where m is in [sqrt(1/2), sqrt(2)],
# s = (m - 1) / (m + 1) and z = s**2; errors 2**-36.7 and 2**-66.3 of log2(m).
_LOG2_TAIL = {
    "float32": (0.5770801901817322, 0.4118499159812927, 0.3378208875656128),
    "float64": (
        0.577078016355618, 0.41219858309194635, 0.32059890227164617, 0.2623077013473902,
        0.22198398542077868, 0.1912554912466879, 0.19038201005234384,
    ),
}  # fmt: skip

#: Exponents beyond these make infinity or 0 of every base but 1.
_HIGHEST_EXPONENT = {"float32": 2.0**33, "float64": 2.0**65}

#: The magnitude of exponents up to which `power_usual` holds.
_USUAL_EXPONENT = {"float32": 2.0**14, "float64": 2.0**40}


def power(x: Value, y: Value, f: Format) -> Value:
    """x**y with all special cases of C's ``pow``."""
    a = abs(x)
    highest = _HIGHEST_EXPONENT[f.name]
    limited = clamp(y, -highest, highest)
    r, n = _exponent(*_log2(*split_logarithm(a, f), f), limited)
    # r is within 1 unless the result is 0 or infinite anyway.
    made = times_power_of_two(power_of_fraction(clamp(r, -1.0, 1.0), f), n)
    # Zero, infinity and NaN are their own powers, or their reciprocals are; NaN where y is.
    infinity = (2 * f.bias + 1) << f.mantissa
    own = where(y < 0, from_bits(infinity - bits(a)), a) + (limited - limited)
    made = where((a > 0) & (a < math.inf), made, own)
    half = 0.5 * y
    whole = floor(y) == y
    made = where(whole & (floor(half) != half), copysign(made, x), made)
    made = where((x < 0) & (a < math.inf) & (floor(y) != y), math.nan, made)
    return where((x == 1) | (y == 0), 1.0, made)


def power_usual(x: Value, y: Value, f: Format) -> Value:
    """The same where x is positive and normal, and y not so large that r would be."""
    r, n = _exponent(*_log2(*split_normal(x, f), f), y)
    return times_power_of_two(power_of_fraction(r, f), n)


def is_unusual_power(x: Value, y: Value, f: Format) -> Value:
    """Whether `power_usual` does not hold, as for NaN."""
    normal = (x >= f.smallest_normal) & (x < math.inf)
    if f.name == "float32":
        # In one comparison: such bits become the least integers. (64 bits would overflow instead.)
        first, infinity = 1 << f.mantissa, (2 * f.bias + 1) << f.mantissa
        least = -(f.bias + 1) << (f.mantissa + 1)
        normal = bits(x) - (first + least) < infinity - first + least
    return logical_not(normal & (abs(y) <= _USUAL_EXPONENT[f.name]))


def _exponent(high: Value, low: Value, y: Value) -> tuple[Value, Value]:
    """The fraction r and the whole number n whose sum is y (high + low)."""
    product = y * high
    rest = fma(y, low, fma(y, high, -product))
    n = rint(product + rest)
    return (product - n) + rest, n


def _log2(reduced: Value, e: Value, f: Format) -> tuple[Value, Value]:
    """log2(m 2**e) in two parts, from m - 1, by the series of atanh(s), s = (m - 1) / (m + 1)."""
    denominator = reduced + 2
    inverse = rough_reciprocal(denominator)
    if f.name == "float32":
        inverse = fma(fma(-inverse, denominator, 1.0), inverse, inverse)
    s = reduced * inverse
    doubled = s + s
    # The remainder of m + 1 as it was before it was rounded; the difference is exact.
    s_low = fma(-s, reduced, reduced - doubled) * inverse
    z = s * s
    z_low = fma(doubled, s_low, fma(s, s, -z))
    first, factor_low = _TWO_LOG2_E[f.name]
    third, third_low = _THIRD[f.name]
    second = z * third
    second_low = fma(z_low, third, fma(z, third, -second) + factor_low)
    second_low = fma(z, fma(z, polynomial(z, _LOG2_TAIL[f.name]), third_low), second_low)
    factor = second + first
    factor_low = (second - (factor - first)) + second_low
    high = s * factor
    low = fma(s, factor_low, fma(s_low, factor, fma(s, factor, -high)))
    total = e + high
    return total, low + (high - (total - e))
