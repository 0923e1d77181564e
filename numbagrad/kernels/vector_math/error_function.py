"""The error function, its complement, and gelu: x times the integral of the normal distribution.

Called by the table of this package. Each has a polynomial near 0, and farther out an exponential
times a ratio of polynomials.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...formula import abs, bits, copysign, fma, from_bits, where
from .arithmetic import FLOAT32, Format, Value, clamp_above, monic, polynomial
from .exponential import exponential, power_of_two

_INVERSE_SQRT_PI = {
    "float32": (0.564189612865448, -2.9317691385699618e-08),
    "float64": (0.5641895835477563, 7.66772980658294e-18),
}
_INVERSE_SQRT_2PI = (0.3989422804014327, -2.49232720227773e-17)

# erf(x) / x - 1 in powers of x**2 for |x| <= 0.875 (float32) and 1 (float64); errors 2**-26.1 and
# 2**-56.0.
_ERF_CENTRE = {
    "float32": (
        0.12837915122509003, -0.3761253356933594, 0.11282330751419067, -0.026787737384438515,
        0.005027317441999912, -0.0006180183845572174,
    ),
    "float64": (
        0.12837916709551256, -0.3761263890318346, 0.11283791670942665, -0.026866170642932563,
        0.005223977604943785, -0.0008548325882074023, 0.00012055292354614385,
        -1.4924691542858274e-05, 1.644690144306303e-06, -1.6204710439512584e-07,
        1.3704608270869101e-08, -7.768450388141464e-10,
    ),
}  # fmt: skip

# erf(x) in powers of x - 2.4375 for x in [0.875, 3.92]; error 2**-28.5.
_ERF_OUTER_FLOAT32 = (
    0.9994334578514099, 0.002965733176097274, -0.00722905807197094, 0.010758975520730019,
    -0.010702107101678848, 0.0072050211019814014, -0.003002578392624855, 0.0003800805425271392,
    0.00041583451093174517, -0.0003048793296329677, 7.09753148839809e-05, 2.2554526367457584e-05,
    -1.7998852854361758e-05, 1.901692940009525e-06, 1.1950974112551194e-06,
    -2.716296307880839e-07,
)  # fmt: skip

# erf(x) = 1 - e**(-x**2) t p(t) with t = 2 / (2 + x) for x in [0.99, 5.95]; error 2**-58.2.
_ERF_OUTER_FLOAT64 = (
    0.28211795158909203, 0.28154680993559283, 0.25275565946028083, 0.13771284313324378,
    0.25211253594301075, -0.5194486204353308, 1.0647054118142503, -1.770976103307598,
    1.7596730858828982, -1.025267722308316, 0.33177640897226474, -0.046708580202682905,
)  # fmt: skip

# erfc(x) = e**(-x**2) / sqrt(pi) * b(x) / (x b(x) + a(x)) for x from 0.45 to where it underflows:
# a, then b; errors 2**-26.7 and 2**-55.5.
_ERFC_RATIO = {
    "float32": (
        (
            9.339240074157715, 7.238648891448975, 2.8023412227630615, 0.4998536705970764,
        ),
        (
            16.553930282592773, 23.48746109008789, 15.588371276855469, 5.595883369445801, 1.0,
        ),
    ),
    "float64": (
        (
            4753.060057415435, 7965.579795786596, 6793.171957488763, 3724.139390197369,
            1416.6075506307884, 381.01751488521677, 70.88725148563017, 8.416720974543978,
            0.5000000000938973,
        ),
        (
            8424.579601879213, 19544.68103411638, 22326.889709350882, 16211.9288652132,
            8185.081058640008, 2973.4885559904674, 778.8685173743078, 142.7745016268716,
            16.83344197281806, 1.0,
        ),
    ),
}  # fmt: skip

# The normal distribution's tail: Phi(-x) = e**(-x**2 / 2) / sqrt(2 pi) * b(x) / (x b(x) + a(x)) for
# x from 0.6 to where it underflows: a, then b; error 2**-55.3.
_NORMAL_RATIO_FLOAT64 = (
    (
        155426.06534153325, 183745.38761922272, 110579.76183364338, 42779.701681849605,
        11482.052884730034, 2178.57351623136, 285.8179506164673, 23.916347873972274,
        1.0000000002064864,
    ),
    (
        194797.68499193134, 319007.3192379504, 257263.3312946627, 131869.09949440468,
        46993.456105284306, 12047.68426999969, 2226.4063518370563, 287.81794768865643,
        23.91634791070051, 1.0,
    ),
)  # fmt: skip

# 1 - x Phi(-x) sqrt(2 pi) e**(x**2 / 2) as a ratio in powers of x - 0.875 for x in [0.875, 14.7],
# with the effect of leaving out the low part of ln(2) taken in; error 2**-25.7. The last bits of
# the coefficients were searched for the smallest error of the whole function.
_NORMAL_RATIO_FLOAT32 = (
    (28.35856056213379, 24.823345184326172, 7.648283958435059, 1.0008647441864014),
    (
        73.3956527709961, 133.2384490966797, 101.8270492553711, 41.76412582397461,
        9.420238494873047, 1.0,
    ),
)  # fmt: skip

# The same for x in [0.90625, 5.5], in powers of x - 0.90625; error 2**-25 of one minus it. The last
# bits were searched as well.
_USUAL_NORMAL_RATIO_FLOAT32 = (
    (17.718658447265625, 6.831688404083252, 1.0037953853607178),
    (47.218528747558594, 62.16072463989258, 33.23943328857422, 8.726548194885254, 1.0),
)

# (e**(-r / 2) - 1) / (r sqrt(2 pi)) for |r| <= ln(2); error 2**-27.8 of e**(-r / 2).
_GAUSSIAN_EXP_FLOAT32 = (
    -0.1994711458683014, 0.049867767840623856, -0.008311226963996887, 0.0010390336392447352,
    -0.00010432869021315128, 8.49802563607227e-06,
)  # fmt: skip

# (2 Phi(x) - 1) / x in powers of x**2 for |x| <= 0.875; errors of 1 - x times it 2**-27 and
# 2**-58.2.
_NORMAL_CENTRE = {
    "float32": (
        0.7978845238685608, -0.1329795867204666, 0.01993815414607525, -0.002347402973100543,
        0.0001943522656802088,
    ),
    "float64": (
        0.7978845608028654, -0.13298076013381374, 0.019947114020129407, -0.0023746564315493585,
        0.00023086937870668778, -1.8889325274030924e-05, 1.3319687030847262e-06,
        -8.249847104683133e-08, 4.58875242404951e-09, -2.471207655348648e-10, 1.416478538905143e-11,
    ),
}  # fmt: skip

# As float32 there, but for |x| <= 0.90625; error 2**-26.
_USUAL_NORMAL_CENTRE_FLOAT32 = (
    0.7978844046592712, -0.1329779028892517, 0.019931210204958916, -0.0023363858927041292,
    0.0001883819786598906,
)  # fmt: skip

# Phi(-x) sqrt(2 pi) e**(x**2 / 2), Mills' ratio, for x in [0, 13.2]; error 2**-24.3 of the larger
# of 1 / 2 and its difference to x.
_MILLS_RATIO_FLOAT32 = (
    (36.34427261352539, 24.468156814575195, 7.651693344116211, 0.9995742440223694),
    (28.99853515625, 42.66017150878906, 25.644559860229492, 7.638269424438477, 1.0),
)


def erf(x: Value, f: Format) -> Value:
    """x p(x**2) near 0; farther out another polynomial (float32), or 1 - erfc (float64)."""
    a = abs(x)
    centre = fma(a, polynomial(a * a, _ERF_CENTRE[f.name]), a)
    if f.name == "float32":
        outer = polynomial(clamp_above(a, 3.92) - 2.4375, _ERF_OUTER_FLOAT32)
        return copysign(where(a < 0.875, centre, outer), x)
    clamped = clamp_above(a, 5.95)
    tail, n = exponential(-(clamped * clamped), f)
    t = 2 / (clamped + 2)
    scaled = power_of_two(n, 0, f) * (t * polynomial(t, _ERF_OUTER_FLOAT64))
    return copysign(where(a < 1, centre, 1 - fma(scaled, tail, scaled)), x)


def _gaussian_tail(
    a: Value,
    square: tuple[Value, Value],
    ratio: Sequence[Sequence[float]],
    factor: tuple[Value, Value],
    f: Format,
) -> Value:
    """`2**64 factor e**-square b(a) / (a b(a) + p(a))`, which stays normal where erfc does not.

    `square` and `factor` are sums of two parts. Numerator, denominator, quotient and product keep
    their rounding errors, so that only the last sum rounds; the error of b cancels for large a.
    """
    tail, n = exponential(-square[0], f, -square[1])
    p, b = polynomial(a, ratio[0]), monic(a, ratio[1])
    product = a * b
    denominator = product + p
    part = denominator - product
    denominator_low = (p - part) + (product - (denominator - part)) + fma(a, b, -product)
    numerator = fma(b, tail, b)
    numerator_low = fma(b, tail, b - numerator)
    inverse = 1 / denominator
    quotient = numerator * inverse
    rest = fma(-quotient, denominator, numerator) + fma(-quotient, denominator_low, numerator_low)
    quotient_low = rest * inverse
    value = quotient * factor[0]
    value_low = fma(quotient, factor[0], -value)
    value_low = fma(quotient_low, factor[0], fma(quotient, factor[1], value_low))
    # The sum is positive and normal: the power of two can be added to its exponent.
    return from_bits(bits(value + value_low) + ((n << f.mantissa) + (64 << f.mantissa)))


def erfc(x: Value, f: Format) -> Value:
    """1 - erf(x) near 0; e**(-x**2) times a ratio for positive x, two minus that for negative x."""
    small = abs(x)
    centre = fma(-x, polynomial(x * x, _ERF_CENTRE[f.name]), 1 - x)
    a = clamp_above(small, {"float32": 10.5, "float64": 27.3}[f.name])
    square = a * a
    tail = _gaussian_tail(
        a, (square, fma(a, a, -square)), _ERFC_RATIO[f.name], _INVERSE_SQRT_PI[f.name], f
    )
    # a - a is zero, or NaN where x is.
    outer = fma(where(x < 0, -tail, tail), 2.0**-64, where(x < 0, 2.0, a - a))
    return where(small < 0.45, centre, outer)


def gelu(x: Value, f: Format) -> Value:
    """x Phi(x) as max(x, 0) - |x| Phi(-|x|), which has no cancellation.

    At -infinity, where x Phi(x) is infinity times zero, x - x makes it NaN.
    """
    if f.name == "float32":
        return _gelu_float32(x)
    a = clamp_above(abs(x), 38.6)
    square = a * a
    high, low = _INVERSE_SQRT_2PI
    factor = a * high
    factor_low = fma(a, low, fma(a, high, -factor))
    half = (square * 0.5, fma(a, a, -square) * 0.5)
    tail = _gaussian_tail(a, half, _NORMAL_RATIO_FLOAT64, (factor, factor_low), f)
    centre = fma(-square, polynomial(square, _NORMAL_CENTRE[f.name]), a)
    near = a < 0.875
    return fma(where(near, centre, tail), where(near, -0.5, -(2.0**-64)), where(x < 0, x - x, x))


def _gelu_float32(x: Value) -> Value:
    """The same in fewer operations: this loop is as short as the multipliers allow.

    Away from 0, |x| Phi(-|x|) = (1 - w(|x|)) e**(-x**2 / 2) / sqrt(2 pi), where w is a ratio of two
    polynomials; the exponential is scaled by 2**64 and 1 / sqrt(2 pi), both in its coefficients.
    The low part of ln(2) is left out, since w takes in its effect.
    """
    f = FLOAT32
    a = clamp_above(abs(x), 14.7)
    square = a * a
    centre = fma(-square, polynomial(square, _NORMAL_CENTRE[f.name]), a)
    shifted = fma(square, -0.5 / math.log(2), f.rounder)
    n = shifted - f.rounder
    r = fma(n, 2 * f.ln2[0], square) + fma(a, a, -square)
    one = 2.0**64 * 0.3989422917366028
    tail = r * polynomial(r, [2.0**64 * c for c in _GAUSSIAN_EXP_FLOAT32])
    distance = a - 0.875
    w = polynomial(distance, _NORMAL_RATIO_FLOAT32[0]) / monic(distance, _NORMAL_RATIO_FLOAT32[1])
    outer = fma(-w, tail + one, tail) + one
    outer = from_bits(bits(outer) + (bits(shifted) << f.mantissa))
    near = a < 0.875
    return fma(where(near, centre, outer), where(near, -0.5, -(2.0**-64)), where(x < 0, x - x, x))


def gelu_usual(x: Value, f: Format) -> Value:
    """`_gelu_float32` for |x| <= 5.5: polynomials of lower degree, nothing that could underflow.

    The polynomial near 0 and the denominator elsewhere are of one degree, and choosing coefficients
    costs less than a second polynomial.
    """
    a = abs(x)
    near = a < 0.90625
    square = a * a
    distance = a - 0.90625
    numerator, denominator = _USUAL_NORMAL_RATIO_FLOAT32
    pairs = zip(_USUAL_NORMAL_CENTRE_FLOAT32, denominator, strict=True)
    shared = polynomial(
        where(near, square, distance), [where(near, *coefficients) for coefficients in pairs]
    )
    centre = fma(-square, shared, a)
    shifted = fma(square, -0.5 / math.log(2), f.rounder)
    r = fma(shifted - f.rounder, 2 * f.ln2[0], square) + fma(a, a, -square)
    one = 2 * 0.3989422917366028
    tail = r * polynomial(r, [2 * c for c in _GAUSSIAN_EXP_FLOAT32])
    w = polynomial(distance, numerator) / shared
    outer = fma(-w, tail + one, tail) + one
    outer = from_bits(bits(outer) + (bits(shifted) << f.mantissa))
    return fma(where(near, centre, outer), -0.5, where(x < 0, 0.0, x))


def gelu_gradient_float32(x: Value) -> Value:
    """Phi(x) + x Phi'(x): for negative x Phi'(x) times Mills' ratio less |x|, else 1 less that.

    The error is at most 3 units in the last place of 1 / 2, and 2**-21.9 of the result where
    x < -1.5. What is below 1e-36 is 0: beyond 13.1, but for infinity. The argument is cut off where
    that of gelu is, so that a loop that computes both squares and reduces it once.
    """
    f = FLOAT32
    size = abs(x)
    a = clamp_above(size, 14.7)
    square = a * a
    shifted = fma(square, -0.5 / math.log(2), f.rounder)
    n = shifted - f.rounder
    r = fma(n, 2 * f.ln2[0], square) + fma(n, 2 * f.ln2[1], fma(a, a, -square))
    density = fma(r, polynomial(r, _GAUSSIAN_EXP_FLOAT32), _INVERSE_SQRT_2PI[0])
    density = from_bits(bits(density) + (bits(shifted) << f.mantissa))
    numerator, denominator = _MILLS_RATIO_FLOAT32
    ratio = polynomial(a, numerator) / monic(a, denominator)
    # The exponent may have wrapped there; x - x is NaN at infinity, as x Phi'(x) is.
    lower = where(size > 13.1, x - x, density * (ratio - a))
    return where(x < 0, lower, 1 - lower)
