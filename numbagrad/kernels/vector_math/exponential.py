"""Exponentials and what is made of them: exp, exp2, expm1, sigmoid and the hyperbolic functions.

Called by the table of this package; `error_function.py` uses the reduced exponential. e**x is
2**n e**r with |r| <= ln(2) / 2; hyperbolic functions have polynomials where exponentials cancel.
"""

from __future__ import annotations

import math

from ...formula import (
    abs,
    bits,
    copysign,
    fma,
    from_bits,
    multiply_by_power,
    rough_reciprocal,
    where,
)
from .arithmetic import Format, Value, clamp, clamp_above, polynomial

# (e**r - 1 - r) / r**2 for |r| <= ln(2) / 2; errors 2**-28.2 and 2**-57.8 of e**r.
_EXP_TAIL = {
    "float32": (
        0.4999999403953552, 0.1666651964187622, 0.04166823625564575, 0.008368815295398235,
        0.0013823485933244228,
    ),
    "float64": (
        0.5000000000000011, 0.1666666666666643, 0.04166666666652684, 0.008333333333483628,
        0.0013888888944401843, 0.00019841269529759155, 2.480149236642575e-05,
        2.7557565789249424e-06, 2.763049304663794e-07, 2.5006565519610635e-08,
    ),
}  # fmt: skip

# (sinh(x) / x - 1) / x**2 in powers of x**2 for |x| <= 1; errors 2**-31.3 and 2**-61.5.
_SINH_TAIL = {
    "float32": (
        0.1666666716337204, 0.008333316072821617, 0.00019841419998556376, 2.7915382361243246e-06,
    ),
    "float64": (
        0.16666666666666669, 0.00833333333333297, 0.00019841269841531204, 2.7557319130377664e-06,
        2.5052126856438205e-08, 1.6057000489189095e-10, 7.765898662473967e-13,
    ),
}  # fmt: skip

# (2**r - 1) / r for |r| <= 1/2; errors 2**-28.3 and 2**-57.4 of 2**r.
_EXP2_TAIL = {
    "float32": (
        0.6931471824645996, 0.24022647738456726, 0.05550359562039375, 0.009618501178920269,
        0.0013390987878665328, 0.00015328619338106364,
    ),
    "float64": (
        0.6931471805599453, 0.2402265069591013, 0.05550410866482235, 0.009618129107594338,
        0.0013333558146355147, 0.0001540353045691862, 1.525273383048125e-05, 1.3215435349954066e-06,
        1.0178076536156091e-07, 7.07377541361931e-09, 4.4514584250931296e-10,
    ),
}  # fmt: skip


def exponential(x: Value, f: Format, correction: Value = None) -> tuple[Value, Value]:
    """`expm1(r)` and an integer with n in its low bits, where e**x = 2**n * e**r, |r| <= ln(2)/2.

    `correction` is the low part of an x given as the sum of two.
    """
    tail, shifted = _reduced(x, f, correction)
    return tail, bits(shifted)


def _reduced(x: Value, f: Format, correction: Value = None) -> tuple[Value, Value]:
    """`expm1(r)`, and n plus the rounder.

    Adding the rounder leaves n in the low bits of the sum: no conversion to an integer, which
    would be undefined for NaN.
    """
    shifted = fma(x, 1 / math.log(2), f.rounder)
    n = shifted - f.rounder
    r = fma(-n, f.ln2[0], x)
    r = fma(-n, f.ln2[1], r) if correction is None else r + fma(-n, f.ln2[1], correction)
    return fma(r * r, polynomial(r, _EXP_TAIL[f.name]), r), shifted


def power_of_two(n: Value, offset: Value, f: Format) -> Value:
    """`2**(n + offset)` from an integer with n in its low bits."""
    return from_bits((n << f.mantissa) + ((f.bias + offset) << f.mantissa))


def _scaled(value: Value, n: Value, negative: Value, f: Format) -> Value:
    """`value * 2**n` in two factors, so that subnormals round once; `negative` is n < 0."""
    exponent = n << f.mantissa
    large = (f.bias + 64) << f.mantissa
    small = (f.bias - 64) << f.mantissa
    scale = from_bits(where(negative, exponent + large, exponent + small))
    return value * scale * where(negative, 2.0**-64, 2.0**64)


def times_power_of_two(x: Value, n: Value, f: Format) -> Value:
    """x * 2**n for a whole n and |x| between 1/4 and 4, in two factors."""
    n = clamp(n, -(f.bias + f.mantissa + 4.0), f.bias + 4.0)
    return _scaled(x, bits(n + f.rounder), n < 0, f)


def exp(x: Value, f: Format) -> Value:
    """2**n e**r."""
    x = clamp(x, *f.exp_range)
    tail, n = exponential(x, f)
    return _scaled(tail + 1, n, x < 0, f)


def exp_instructed(x: Value, f: Format) -> Value:
    """The same where a single instruction multiplies by 2**n."""
    tail, shifted = _reduced(clamp(x, *f.exp_range), f)
    return multiply_by_power(tail + 1, shifted - f.rounder)


def expm1(x: Value, f: Format) -> Value:
    """e**x - 1 as 2**n * expm1(r) + (2**n - 1), halved on the way since 2**n may overflow."""
    clamped = clamp(x, f.small_exp, f.exp_range[1])
    tail, n = exponential(clamped, f)
    half_scale = power_of_two(n, -1, f)
    result = fma(half_scale, tail, half_scale - 0.5) * 2
    # Keeps the sign of zero and the low bits of subnormals.
    return where(abs(x) < 2.0 ** -(f.mantissa + 2), x, result)


def sigmoid(x: Value, f: Format) -> Value:
    """1 / (1 + e**-x), times 2**64 at first, so that the quotient is a normal number."""
    tail, n = exponential(-clamp(x, f.exp_range[0], -f.small_exp), f)
    scale = power_of_two(n, -64, f)
    power = fma(scale, tail, scale)
    quotient = rough_reciprocal(power + 2.0**-64)
    # The remainder, of the sum as it was before it was rounded.
    rest = fma(-quotient, power, fma(quotient, -(2.0**-64), 1.0))
    return fma(rest, quotient, quotient) * 2.0**-64


def tanh(x: Value, f: Format) -> Value:
    """m / (m + 2) with m = e**(2 |x|) - 1 = 2**n expm1(r) + (2**n - 1), where nothing cancels.

    The low part of ln(2) is left out: n is 0 near 0, and farther out tanh hardly changes.
    """
    doubled = clamp_above(abs(x) * 2, 2 - f.small_exp)
    shifted = fma(doubled, 1 / math.log(2), f.rounder)
    r = fma(f.rounder - shifted, f.ln2[0], doubled)
    tail = fma(r * r, polynomial(r, _EXP_TAIL[f.name]), r)
    scale = power_of_two(bits(shifted), 0, f)
    m = fma(scale, tail, scale - 1)
    inverse = rough_reciprocal(m + 2)
    quotient = m * inverse
    # The remainder, of m + 2 as it was before it was rounded.
    rest = fma(-quotient, m, fma(quotient, -2, m))
    return copysign(fma(rest, inverse, quotient), x)


def sinh(x: Value, f: Format) -> Value:
    """A polynomial up to 1; beyond, from e**|x| / 2, which does not overflow before sinh does."""
    a = abs(x)
    z = a * a
    centre = fma(a * z, polynomial(z, _SINH_TAIL[f.name]), a)
    half = _half_exp(a, f)
    return copysign(where(a < 1, centre, half - 0.25 / half), x)


def cosh(x: Value, f: Format) -> Value:
    half = _half_exp(abs(x), f)
    return half + 0.25 / half


def _half_exp(a: Value, f: Format) -> Value:
    """e**a / 2 for a >= 0."""
    tail, n = exponential(clamp_above(a, f.exp_range[1] + 0.5), f)
    scale = power_of_two(n, -2, f)
    return fma(scale, tail, scale) * 2


def exp2(x: Value, f: Format) -> Value:
    """2**n 2**r with |r| <= 1/2, in two factors as exp."""
    x = _clamped_exponent(x, f)
    shifted = x + f.rounder
    return _scaled(power_of_fraction(x - (shifted - f.rounder), f), bits(shifted), x < 0, f)


def exp2_instructed(x: Value, f: Format) -> Value:
    """The same where a single instruction multiplies by 2**n."""
    x = _clamped_exponent(x, f)
    n = (x + f.rounder) - f.rounder
    return multiply_by_power(power_of_fraction(x - n, f), n)


def _clamped_exponent(x: Value, f: Format) -> Value:
    """x where 2**x is neither 0 nor infinite, and something beyond elsewhere."""
    return clamp(x, -(f.bias + f.mantissa + 2.0), f.bias + 1.0)


def power_of_fraction(r: Value, f: Format) -> Value:
    """2**r for |r| <= 1/2."""
    return fma(r, polynomial(r, _EXP2_TAIL[f.name]), 1.0)
