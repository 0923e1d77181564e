"""Elementary functions as branch-free arithmetic, so that LLVM turns their loops into vectors.

The printers of `formula/` call the functions in `CPU_LOWERING` on symbolic values just before a CPU
kernel is printed; every function returns the expression that replaces a call of exp, log, erf, ...
They use the primitives of `numbagrad.formula` and nothing else: no tables, no loops over data, no
calls of a C library, and `where` instead of branches.

Every function is written once for float32 and float64; what differs is in `_Format` and in the
tables of coefficients. The polynomials are minimax fits (Remez' exchange or Lawson's reweighted
least squares in 50 digits, then the coefficients rounded from the lowest up and the rest fitted
again); the comment at each says what it approximates, where, and with what relative error of the
function's result. Errors of whole functions are bounded in tests/test_math_accuracy.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from numbagrad.formula import abs, bits, cast, copysign, fma, from_bits, where

Value = Any  # a symbolic value: an Expression of numbagrad.formula, or a number


@dataclass(frozen=True)
class _Format:
    """The numbers that depend on the floating point format alone."""

    name: str
    mantissa: int  # explicit bits of the significand
    bias: int  # of the exponent
    rounder: float  # 1.5 * 2**mantissa: adding it leaves the nearest integer in the low bits
    ln2: tuple[float, float]  # high and low part
    pi: tuple[float, ...]
    exp_range: tuple[float, float]  # outside, exp is 0 or infinite
    small_exp: float  # below, exp is less than half a unit in the last place of 1
    sqrt_half: int  # bit pattern of sqrt(1/2)

    @property
    def sign_bit(self) -> int:
        return 31 if self.name == "float32" else 63

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)


_FLOAT32 = _Format(
    name="float32",
    mantissa=23,
    bias=127,
    rounder=1.5 * 2.0**23,
    ln2=(0.6931471824645996, -1.9046542121259336e-09),
    pi=(3.1415927410125732, -8.742277657347586e-08, -3.4302490200117637e-15),
    exp_range=(-104.0, 89.0),
    small_exp=-18.0,
    sqrt_half=0x3F3504F3,
)
_FLOAT64 = _Format(
    name="float64",
    mantissa=52,
    bias=1023,
    rounder=1.5 * 2.0**52,
    ln2=(0.6931471805599453, 2.3190468138462996e-17),
    pi=(3.141592653589793, 1.2246467991473532e-16, -2.9947698097183397e-33),
    exp_range=(-746.0, 710.0),
    small_exp=-38.0,
    sqrt_half=0x3FE6A09E667F3BCD,
)

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

# float32: (log(1 + f) - f + f**2 / 2) / f**3 for 1 + f in [sqrt(1/2), sqrt(2)]; error 2**-27.3.
# float64: with s = f / (2 + f), (log(1 + f) - 2 s) / s**3 in powers of s**2; error 2**-58.5.
_LOG_TAIL = {
    "float32": (
        0.3333333134651184, -0.250008225440979, 0.20001240074634552, -0.16623318195343018,
        0.1420159637928009, -0.13160443305969238, 0.12762264907360077, -0.07634295523166656,
    ),
    "float64": (
        0.6666666666666734, 0.3999999999941676, 0.2857142874199123, 0.22222198609389335,
        0.1818356261198443, 0.15314091134686073, 0.14795569713232085,
    ),
}  # fmt: skip

# (tanh(x) / x - 1) / x**2 in powers of x**2 for |x| <= 0.55; errors 2**-29.8 and 2**-60.6.
_TANH_TAIL = {
    "float32": (
        -0.33333319425582886, 0.13332638144493103, -0.053857069462537766, 0.021089332178235054,
        -0.006297179963439703,
    ),
    "float64": (
        -0.333333333333333, 0.13333333333326639, -0.053968253963787516, 0.021869488386893128,
        -0.008863232621077206, 0.003592092245573988, -0.001455544300732358,
        0.0005884506585518608, -0.00023339757421088654, 8.333966278178048e-05,
        -1.9509114252432485e-05,
    ),
}  # fmt: skip

# (sin(x) / x - 1) / x**2 in powers of x**2 for |x| <= pi / 2; errors 2**-30.7 and 2**-61.5.
_SIN_TAIL = {
    "float32": (
        -0.1666666716337204, 0.008333347737789154, -0.00019842604524455965,
        2.7600117391557433e-06, -2.50288980652158e-08,
    ),
    "float64": (
        -0.16666666666666666, 0.008333333333333208, -0.00019841269841213338,
        2.755731921173345e-06, -2.5052106920103302e-08, 1.6058941803932393e-10,
        -7.643040320010322e-13, 2.721639583418433e-15,
    ),
}  # fmt: skip

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

# erfc(x) = e**(-x**2) p(x) / q(x) for x in [0, 10.5] and [0, 27.3]; errors 2**-25.2 and 2**-55.5.
_ERFC_RATIO = {
    "float32": (
        (
            16.854455947875977, 20.97978973388672, 12.443675994873047, 3.917433738708496,
            0.5641953349113464,
        ),
        (
            16.854455947875977, 39.998016357421875, 40.72197723388672, 22.54916000366211,
            6.943869113922119, 1.0,
        ),
    ),
    "float64": (
        (
            38982.03919691185, 91350.8724475014, 106116.40488347366, 78961.02803168407,
            41291.88315990127, 15785.154679677209, 4461.584676009495, 921.8200811312895,
            133.75955680181022, 12.396531153219684, 0.5641895835478794,
        ),
        (
            38982.03919691185, 135337.39336819743, 219846.26089224554, 221017.9226986188,
            153154.55233402504, 77024.64091276989, 28784.41392442431, 8025.994257044714,
            1644.869692456669, 237.5826415460876, 21.972279380430322, 1.0,
        ),
    ),
}  # fmt: skip

# The normal distribution's tail: Phi(-x) = e**(-x**2 / 2) p(x) / q(x) for x in [0, 14.7] and
# [0, 38.6]; errors 2**-26.0 and 2**-55.6.
_NORMAL_RATIO = {
    "float32": (
        (
            47.80435562133789, 42.047122955322266, 17.625179290771484, 3.92094087600708,
            0.39894646406173706,
        ),
        (
            95.60871124267578, 160.37899780273438, 115.40945434570312, 45.16621017456055,
            9.8289155960083, 1.0,
        ),
    ),
    "float64": (
        (
            882183.1405837078, 1461797.189650954, 1200707.7745378232, 631753.7234471753,
            233603.6484974266, 63145.62646202077, 12620.093779717703, 1843.7331390701331,
            189.1710211181482, 12.396737628638137, 0.39894228040151947,
        ),
        (
            1764366.2811674157, 4331354.994646557, 4975153.686076787, 3536681.801761656,
            1732922.234101822, 616253.018986022, 162842.01880135818, 32106.065311571096,
            4652.627630668707, 475.18143027018607, 31.074013053177058, 1.0,
        ),
    ),
}  # fmt: skip


def _polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Horner's scheme, lowest coefficient first."""
    result: Value = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = fma(x, result, coefficient)
    return result


def _monic(x: Value, coefficients: Sequence[float]) -> Value:
    """Horner's scheme where the highest coefficient is one."""
    return _polynomial(x, (*coefficients[:-2], x + coefficients[-2]))


def _clamp_above(x: Value, highest: float) -> Value:
    """The smaller of the two; NaN stays."""
    return where(x > highest, highest, x)


def _clamp(x: Value, lowest: float, highest: float) -> Value:
    """`x` brought into the range; NaN stays."""
    return _clamp_above(where(x < lowest, lowest, x), highest)


def _exponential(x: Value, f: _Format, correction: Value = None) -> tuple[Value, Value]:
    """`expm1(r)` and an integer with n in its low bits, where e**x = 2**n * e**r, |r| <= ln(2)/2.

    `correction` is the low part of an x given as the sum of two.
    Adding the rounder leaves n in the low bits of the sum: no conversion to an integer, which
    would be undefined for NaN.
    """
    shifted = fma(x, 1 / math.log(2), f.rounder)
    n = shifted - f.rounder
    r = fma(-n, f.ln2[0], x)
    r = fma(-n, f.ln2[1], r) if correction is None else r + fma(-n, f.ln2[1], correction)
    return fma(r * r, _polynomial(r, _EXP_TAIL[f.name]), r), bits(shifted)


def _power_of_two(n: Value, offset: Value, f: _Format) -> Value:
    """`2**(n + offset)` from an integer with n in its low bits."""
    return from_bits((n << f.mantissa) + ((f.bias + offset) << f.mantissa))


def exp(x: Value, f: _Format) -> Value:
    """e**x: the power of two is applied in two factors, so that subnormals round once."""
    x = _clamp(x, *f.exp_range)
    tail, n = _exponential(x, f)
    negative = x < 0
    large = (f.bias + 64) << f.mantissa
    small = (f.bias - 64) << f.mantissa
    exponent = n << f.mantissa
    scale = from_bits(where(negative, exponent + large, exponent + small))
    return (tail + 1) * scale * where(negative, 2.0**-64, 2.0**64)


def expm1(x: Value, f: _Format) -> Value:
    """e**x - 1 as 2**n * expm1(r) + (2**n - 1), halved on the way since 2**n may overflow."""
    clamped = _clamp(x, f.small_exp, f.exp_range[1])
    tail, n = _exponential(clamped, f)
    half_scale = _power_of_two(n, -1, f)
    result = fma(half_scale, tail, half_scale - 0.5) * 2
    # Keeps the sign of zero and the low bits of subnormals.
    return where(abs(x) < 2.0 ** -(f.mantissa + 2), x, result)


def sigmoid(x: Value, f: _Format) -> Value:
    """1 / (1 + e**-x) with both sides scaled by 2**-64, so that subnormal results round once."""
    tail, n = _exponential(-_clamp(x, f.exp_range[0], -f.small_exp), f)
    scale = _power_of_two(n, -64, f)
    return 2.0**-64 / (fma(scale, tail, 2.0**-64) + scale)


def _log_of_one_plus(r: Value, f: _Format) -> Value:
    """log(1 + r) for 1 + r in [sqrt(1/2), sqrt(2)]."""
    coefficients = _LOG_TAIL[f.name]
    square = r * r
    if f.name == "float32":
        return fma(square, fma(r, _polynomial(r, coefficients), -0.5), r)
    s = r / (r + 2)
    z = s * s
    # 2 s = r - s r, and s r = r**2 / 2 - s r**2 / 2: so r is added last, exactly.
    half_square = 0.5 * square
    return r - fma(-s, fma(z, _polynomial(z, coefficients), half_square), half_square)


def _exponent(x: Value, f: _Format) -> Value:
    """The integer e with x * 2**-e in [sqrt(1/2), sqrt(2)), for normal x."""
    return (bits(x) - f.sqrt_half) >> f.mantissa


def log(x: Value, f: _Format) -> Value:
    """log(m) + e log(2), where x = m 2**e and m is near one."""
    subnormal = x < f.smallest_normal
    scaled = where(subnormal, x * 2.0**f.mantissa, x)
    e = _exponent(scaled, f)
    reduced = from_bits(bits(scaled) - (e << f.mantissa)) - 1
    count = cast(e, f.name) - where(subnormal, float(f.mantissa), 0.0)
    result = fma(count, f.ln2[0], fma(count, f.ln2[1], _log_of_one_plus(reduced, f)))
    result = where(x < math.inf, result, x)
    return where(x > 0, result, where(x == 0, -math.inf, math.nan))


def log1p(x: Value, f: _Format) -> Value:
    """As log, but 2**-e (1 + x) - 1 is formed from 2**-e x, which is exact."""
    e = _exponent(x + 1, f)
    exponent = e << f.mantissa
    # For huge x, where 2**-e does not matter, it becomes zero.
    scale_bits = (f.bias << f.mantissa) - exponent
    scale = from_bits(where(scale_bits > 0, scale_bits, 0))
    reduced = from_bits(bits(x) - exponent) + (scale - 1)
    count = cast(e, f.name)
    result = fma(count, f.ln2[0], fma(count, f.ln2[1], _log_of_one_plus(reduced, f)))
    result = where((x < math.inf) & (x != 0), result, x)
    return where(x > -1, result, where(x == -1, -math.inf, math.nan))


def tanh(x: Value, f: _Format) -> Value:
    """x + x**3 p(x**2) near 0, else 1 - 2 / (e**(2 |x|) + 1)."""
    a = abs(x)
    square = a * a
    centre = fma(a * square, _polynomial(square, _TANH_TAIL[f.name]), a)
    highest = 2 - f.small_exp
    tail, n = _exponential(_clamp_above(a * 2, highest), f)
    scale = _power_of_two(n, 0, f)
    outer = 1 - 2 / (fma(scale, tail, scale) + 1)
    return copysign(where(a < 0.55, centre, outer), x)


def erf(x: Value, f: _Format) -> Value:
    """x p(x**2) near 0; farther out another polynomial (float32), or 1 - erfc (float64)."""
    a = abs(x)
    centre = fma(a, _polynomial(a * a, _ERF_CENTRE[f.name]), a)
    if f.name == "float32":
        outer = _polynomial(_clamp_above(a, 3.92) - 2.4375, _ERF_OUTER_FLOAT32)
        return copysign(where(a < 0.875, centre, outer), x)
    clamped = _clamp_above(a, 5.95)
    tail, n = _exponential(-(clamped * clamped), f)
    t = 2 / (clamped + 2)
    scaled = _power_of_two(n, 0, f) * (t * _polynomial(t, _ERF_OUTER_FLOAT64))
    return copysign(where(a < 1, centre, 1 - fma(scaled, tail, scaled)), x)


def _gaussian_tail(a: Value, half: float, ratio: Sequence[Sequence[float]], f: _Format) -> Value:
    """`2**64 e**(-half a**2) p(a) / q(a)` for a >= 0, which stays normal where erfc does not.

    The square is taken in two parts: its rounding error would be multiplied by its size.
    """
    b = a * half
    square = b * a
    tail, n = _exponential(-square, f, -fma(b, a, -square))
    numerator = _polynomial(a, ratio[0])
    numerator = fma(numerator, tail, numerator)
    # Multiplied by the power of two: the numerator is positive and normal, or NaN.
    scaled = from_bits(bits(numerator) + ((n << f.mantissa) + (64 << f.mantissa)))
    return scaled / _monic(a, ratio[1])


def erfc(x: Value, f: _Format) -> Value:
    """e**(-x**2) p(x) / q(x) for positive x, two minus that for negative x."""
    a = _clamp_above(abs(x), {"float32": 10.5, "float64": 27.3}[f.name])
    tail = _gaussian_tail(a, 1.0, _ERFC_RATIO[f.name], f)
    return fma(where(x < 0, -tail, tail), 2.0**-64, where(x < 0, 2.0, 0.0))


def gelu(x: Value, f: _Format) -> Value:
    """x Phi(x) as max(x, 0) - |x| Phi(-|x|), which has no cancellation."""
    a = _clamp_above(abs(x), {"float32": 14.7, "float64": 38.6}[f.name])
    tail = _gaussian_tail(a, 0.5, _NORMAL_RATIO[f.name], f)
    return fma(tail * a, -(2.0**-64), where(x < 0, 0.0, x))


def _sine(r: Value, n: Value, f: _Format) -> Value:
    """(-1)**n sin(r) for |r| <= pi / 2, where n is in the low bits of an integer."""
    square = r * r
    sine = fma(r * square, _polynomial(square, _SIN_TAIL[f.name]), r)
    sine = _clamp(sine, -1.0, 1.0)  # rounding may go past one
    return from_bits(bits(sine) ^ (n << f.sign_bit))


def sin(x: Value, f: _Format) -> Value:
    """x = n pi + r, with n pi subtracted in parts (Cody and Waite)."""
    shifted = fma(x, 1 / math.pi, f.rounder)
    n = shifted - f.rounder
    r = fma(-n, f.pi[0], x)
    r = fma(-n, f.pi[1], r)
    r = fma(-n, f.pi[2], r)
    return where(x == 0, x, _sine(r, bits(shifted), f))


def cos(x: Value, f: _Format) -> Value:
    """As sin, with the zeros at n + 1/2."""
    shifted = fma(x, 1 / math.pi, -0.5) + f.rounder
    n = (shifted - f.rounder) + 0.5
    r = fma(n, f.pi[0], -x)
    r = fma(n, f.pi[1], r)
    r = fma(n, f.pi[2], r)
    return _sine(r, bits(shifted), f)


_FORMATS = (_FLOAT32, _FLOAT64)
_FUNCTIONS = (exp, expm1, log, log1p, sigmoid, tanh, erf, erfc, gelu, sin, cos)

#: (function, dtype) -> the function over symbolic values that replaces it in a CPU kernel.
CPU_LOWERING: dict[tuple[str, str], Callable[..., Value]] = {
    (function.__name__, f.name): partial(function, f=f) for function in _FUNCTIONS for f in _FORMATS
}
