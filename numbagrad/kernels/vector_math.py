"""Elementary functions as branch-free arithmetic, so that LLVM turns their loops into vectors.

The printers of `formula/` call the functions in `CPU_LOWERING` on symbolic values just before a CPU
kernel is printed; every function returns the expression that replaces a call of exp, log, erf, ...
They use the primitives of `numbagrad.formula` and nothing else: no tables, no loops over data, no
calls of a C library, and `where` instead of branches.

Every function is written once for float32 and float64; what differs is in `_Format` and in the
tables of coefficients. The polynomials and ratios are near-minimax fits (Lawson's reweighted
least squares in 50 digits, then the coefficients rounded from the lowest up and the rest fitted
again); the comment at each says what it approximates, where, and with what relative error of the
function's result. Errors of whole functions are bounded in tests/test_math_accuracy.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..formula import abs, bits, cast, copysign, fma, from_bits, sqrt, where

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

# High and low parts.
_LOG2_E = {
    "float32": (1.4426950216293335, 1.925963033500011e-08),
    "float64": (1.4426950408889634, 2.0355273740931033e-17),
}
_LOG10_2 = {
    "float32": (0.3010300099849701, -1.432098883924482e-08),
    "float64": (0.3010299956639812, -2.8037281277851704e-18),
}
_LOG10_E = {
    "float32": (0.4342944920063019, -1.0103049952192578e-08),
    "float64": (0.4342944819032518, 1.098319650216765e-17),
}
_INVERSE_SQRT_PI = {
    "float32": (0.564189612865448, -2.9317691385699618e-08),
    "float64": (0.5641895835477563, 7.66772980658294e-18),
}
_INVERSE_SQRT_2PI = (0.3989422804014327, -2.49232720227773e-17)

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

# The same for x in [0.90625, 5], in powers of x - 0.90625; error 2**-25.5 of one minus it.
_USUAL_NORMAL_RATIO_FLOAT32 = (
    (18.131450653076172, 6.901900768280029, 1.0043504238128662),
    (48.318580627441406, 63.37187957763672, 33.732112884521484, 8.805484771728516, 1.0),
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

# (tan(x) / x - 1) / x**2 in powers of x**2 for |x| <= pi / 4; errors 2**-29.5 and 2**-59.9.
_TAN_TAIL = {
    "float32": (
        0.33333349227905273, 0.13332673907279968, 0.05405920743942261, 0.021284177899360657,
        0.010833799839019775, 8.90028677531518e-05, 0.004377769306302071,
    ),
    "float64": (
        0.3333333333333338, 0.13333333333325412, 0.053968253972844535, 0.021869488401291617,
        0.008863237886161404, 0.0035921012932021226, 0.0014560424330649646, 0.000588880819753649,
        0.00024369143024574936, 8.371485621522827e-05, 6.693312994865097e-05,
        -2.5263573662847418e-05, 4.832346200435615e-05, -2.4117753758376952e-05,
        9.764030998921137e-06,
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

# (asin(x) / x - 1) / x**2 in powers of x**2 for |x| <= 1/2; errors 2**-27.6 and 2**-55.9.
_ASIN_TAIL = {
    "float32": (
        0.16666753590106964, 0.07495253533124924, 0.04547576978802681, 0.02415364794433117,
        0.0422089658677578,
    ),
    "float64": (
        0.16666666666665383, 0.07500000000342799, 0.044642856823727144, 0.0303819593201831,
        0.02237175380221368, 0.017359766790540607, 0.013884641594207296, 0.01217299558935815,
        0.006512075555248813, 0.019570587447885958, -0.016288919489580757, 0.03195547498442284,
    ),
}  # fmt: skip

# (atan(x) / x - 1) / x**2 in powers of x**2 for |x| <= 1; errors 2**-28.5 and 2**-57.6.
_ATAN_TAIL = {
    "float32": (
        -0.33333298563957214, 0.1999853402376175, -0.14264100790023804, 0.10951489210128784,
        -0.08401504904031754, 0.057925496250391006, -0.031146837398409843, 0.010898391716182232,
        -0.0017900789389386773,
    ),
    "float64": (
        -0.33333333333333065, 0.19999999999951, -0.14285714282549702, 0.11111111006303317,
        -0.09090906990529439, 0.07692279696793514, -0.06666402912826994, 0.058805210981401325,
        -0.05253488989329499, 0.04722222782296149, -0.04218920351347036, 0.03663667719597526,
        -0.029895606381794376, 0.021974760350540693, -0.013891087996929842, 0.007189815946222867,
        -0.0028814839915693273, 0.000830111171701214, -0.00015189901583339665,
        1.3198883451452462e-05,
    ),
}  # fmt: skip

# (atanh(x) / x - 1) / x**2 in powers of x**2 for |x| <= 1/2; errors 2**-29.4 and 2**-60.9.
_ATANH_TAIL = {
    "float32": (
        0.33333298563957214, 0.2000259906053543, 0.14221321046352386, 0.1183507889509201,
        0.05094999819993973, 0.1772395372390747,
    ),
    "float64": (
        0.3333333333333328, 0.20000000000018595, 0.1428571428338334, 0.11111111258488528,
        0.09090903578282368, 0.07692440790080533, 0.06664482360108044, 0.05907468424320915,
        0.05057811212712571, 0.05957080440375248, -0.00533970015998255, 0.17491620737083632,
        -0.19604364567680582, 0.24105926132831118,
    ),
}  # fmt: skip

# (2**r - 1) / r for |r| <= 1/2; errors 2**-32.4 and 2**-57.4 of 2**r.
_EXP2_TAIL = {
    "float32": (
        0.6931471824645996, 0.24022650718688965, 0.05550405755639076, 0.009618078358471394,
        0.0013337271520867944, 0.00015455952961929142, 1.447843351343181e-05,
    ),
    "float64": (
        0.6931471805599453, 0.2402265069591013, 0.05550410866482235, 0.009618129107594338,
        0.0013333558146355147, 0.0001540353045691862, 1.525273383048125e-05, 1.3215435349954066e-06,
        1.0178076536156091e-07, 7.07377541361931e-09, 4.4514584250931296e-10,
    ),
}  # fmt: skip

# 1 / pi in two parts without the bits that contribute even multiples of pi to an argument of at
# least the size given first; see `_half_turns`.
_INVERSE_PI = (
    (0.0, 0.3183098861837907, -1.9678676675182486e-17),
    (2.0**26, 0.06830988618379068, -5.80088886736803e-18),
    (2.0**52, 1.665405738066088e-09, -6.491405224893059e-26),
    (2.0**78, 3.583247455607534e-17, -1.0721436282893004e-33),
    (2.0**104, 5.554714071658402e-25, -2.6488254541402194e-41),
)


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


def _scaled(value: Value, n: Value, negative: Value, f: _Format) -> Value:
    """`value * 2**n` in two factors, so that subnormals round once; `negative` is n < 0."""
    exponent = n << f.mantissa
    large = (f.bias + 64) << f.mantissa
    small = (f.bias - 64) << f.mantissa
    scale = from_bits(where(negative, exponent + large, exponent + small))
    return value * scale * where(negative, 2.0**-64, 2.0**64)


def exp(x: Value, f: _Format) -> Value:
    """2**n e**r."""
    x = _clamp(x, *f.exp_range)
    tail, n = _exponential(x, f)
    return _scaled(tail + 1, n, x < 0, f)


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


def _split_logarithm(x: Value, f: _Format) -> tuple[Value, Value]:
    """`m - 1` and `e` as floats, where x = m 2**e and m is in [sqrt(1/2), sqrt(2))."""
    subnormal = x < f.smallest_normal
    scaled = where(subnormal, x * 2.0**f.mantissa, x)
    e = _exponent(scaled, f)
    reduced = from_bits(bits(scaled) - (e << f.mantissa)) - 1
    return reduced, cast(e, f.name) - where(subnormal, float(f.mantissa), 0.0)


def _log_edges(x: Value, result: Value) -> Value:
    """`result`, but what a logarithm is for zero, negative numbers, infinity and NaN."""
    result = where(x < math.inf, result, x)
    return where(x > 0, result, where(x == 0, -math.inf, math.nan))


def log(x: Value, f: _Format) -> Value:
    """log(m) + e log(2), where x = m 2**e."""
    reduced, count = _split_logarithm(x, f)
    natural = _log_of_one_plus(reduced, f)
    return _log_edges(x, fma(count, f.ln2[0], fma(count, f.ln2[1], natural)))


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


def _gaussian_tail(
    a: Value,
    square: tuple[Value, Value],
    ratio: Sequence[Sequence[float]],
    factor: tuple[Value, Value],
    f: _Format,
) -> Value:
    """`2**64 factor e**-square b(a) / (a b(a) + p(a))`, which stays normal where erfc does not.

    `square` and `factor` are sums of two parts. Numerator, denominator, quotient and product keep
    their rounding errors, so that only the last sum rounds; the error of b cancels for large a.
    """
    tail, n = _exponential(-square[0], f, -square[1])
    p, b = _polynomial(a, ratio[0]), _monic(a, ratio[1])
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


def erfc(x: Value, f: _Format) -> Value:
    """1 - erf(x) near 0; e**(-x**2) times a ratio for positive x, two minus that for negative x."""
    small = abs(x)
    centre = fma(-x, _polynomial(x * x, _ERF_CENTRE[f.name]), 1 - x)
    a = _clamp_above(small, {"float32": 10.5, "float64": 27.3}[f.name])
    square = a * a
    tail = _gaussian_tail(
        a, (square, fma(a, a, -square)), _ERFC_RATIO[f.name], _INVERSE_SQRT_PI[f.name], f
    )
    # a - a is zero, or NaN where x is.
    outer = fma(where(x < 0, -tail, tail), 2.0**-64, where(x < 0, 2.0, a - a))
    return where(small < 0.45, centre, outer)


def gelu(x: Value, f: _Format) -> Value:
    """x Phi(x) as max(x, 0) - |x| Phi(-|x|), which has no cancellation."""
    if f.name == "float32":
        return _gelu_float32(x)
    a = _clamp_above(abs(x), 38.6)
    square = a * a
    high, low = _INVERSE_SQRT_2PI
    factor = a * high
    factor_low = fma(a, low, fma(a, high, -factor))
    half = (square * 0.5, fma(a, a, -square) * 0.5)
    tail = _gaussian_tail(a, half, _NORMAL_RATIO_FLOAT64, (factor, factor_low), f)
    centre = fma(-square, _polynomial(square, _NORMAL_CENTRE[f.name]), a)
    near = a < 0.875
    return fma(where(near, centre, tail), where(near, -0.5, -(2.0**-64)), where(x < 0, 0.0, x))


def _gelu_float32(x: Value) -> Value:
    """The same in fewer operations: this loop is as short as the multipliers allow.

    Away from 0, |x| Phi(-|x|) = (1 - w(|x|)) e**(-x**2 / 2) / sqrt(2 pi), where w is a ratio of two
    polynomials; the exponential is scaled by 2**64 and 1 / sqrt(2 pi), both in its coefficients.
    The low part of ln(2) is left out, since w takes in its effect.
    """
    f = _FLOAT32
    a = _clamp_above(abs(x), 14.7)
    square = a * a
    centre = fma(-square, _polynomial(square, _NORMAL_CENTRE[f.name]), a)
    shifted = fma(square, -0.5 / math.log(2), f.rounder)
    n = shifted - f.rounder
    r = fma(n, 2 * f.ln2[0], square) + fma(a, a, -square)
    one = 2.0**64 * 0.3989422917366028
    tail = r * _polynomial(r, [2.0**64 * c for c in _GAUSSIAN_EXP_FLOAT32])
    distance = a - 0.875
    w = _polynomial(distance, _NORMAL_RATIO_FLOAT32[0]) / _monic(distance, _NORMAL_RATIO_FLOAT32[1])
    outer = fma(-w, tail + one, tail) + one
    outer = from_bits(bits(outer) + (bits(shifted) << f.mantissa))
    near = a < 0.875
    return fma(where(near, centre, outer), where(near, -0.5, -(2.0**-64)), where(x < 0, 0.0, x))


def gelu_usual(x: Value, f: _Format) -> Value:
    """`_gelu_float32` for |x| <= 5: polynomials of lower degree, nothing that could underflow.

    The polynomial near 0 and the denominator elsewhere are of one degree, and choosing coefficients
    costs less than a second polynomial.
    """
    a = abs(x)
    near = a < 0.90625
    square = a * a
    distance = a - 0.90625
    numerator, denominator = _USUAL_NORMAL_RATIO_FLOAT32
    pairs = zip(_USUAL_NORMAL_CENTRE_FLOAT32, denominator, strict=True)
    shared = _polynomial(
        where(near, square, distance), [where(near, *coefficients) for coefficients in pairs]
    )
    centre = fma(-square, shared, a)
    shifted = fma(square, -0.5 / math.log(2), f.rounder)
    r = fma(shifted - f.rounder, 2 * f.ln2[0], square) + fma(a, a, -square)
    one = 2 * 0.3989422917366028
    tail = r * _polynomial(r, [2 * c for c in _GAUSSIAN_EXP_FLOAT32])
    w = _polynomial(distance, numerator) / shared
    outer = fma(-w, tail + one, tail) + one
    outer = from_bits(bits(outer) + (bits(shifted) << f.mantissa))
    return fma(where(near, centre, outer), -0.5, where(x < 0, 0.0, x))


def _sine(r: Value, n: Value, f: _Format) -> Value:
    """(-1)**n sin(r) for |r| <= pi / 2, where n is in the low bits of an integer."""
    square = r * r
    sine = fma(r * square, _polynomial(square, _SIN_TAIL[f.name]), r)
    sine = _clamp(sine, -1.0, 1.0)  # rounding may go past one
    return from_bits(bits(sine) ^ (n << f.sign_bit))


def _half_turns(x: Value) -> tuple[Value, Value]:
    """x / pi = n + h with |h| <= 1/2 for any float32 x: h as float64, and n modulo 2 as int32.

    Payne and Hanek's method: of 1 / pi only the 106 bits are used that do not make even integers.
    """
    a = abs(x)
    high, low = (cast(part, "float64") for part in _INVERSE_PI[0][1:])
    for size, high_part, low_part in _INVERSE_PI[1:]:
        high = where(a >= size, high_part, high)
        low = where(a >= size, low_part, low)
    wide = cast(x, "float64")
    shifted = fma(wide, high, _FLOAT64.rounder)
    h = fma(wide, low, fma(wide, high, _FLOAT64.rounder - shifted))
    return h, cast(bits(shifted), "int32")


def sin_of_any(x: Value, f: _Format) -> Value:
    """(-1)**n sin(r), where x = n pi + r, for all of float32."""
    h, n = _half_turns(x)
    return where(x == 0, x, _sine(cast(h * math.pi, f.name), n, f))


def cos_of_any(x: Value, f: _Format) -> Value:
    """As sin, but of the distance from the zero of cos near x."""
    h, n = _half_turns(x)
    return _sine(cast((0.5 - abs(h)) * math.pi, f.name), n, f)


def tan_of_any(x: Value, f: _Format) -> Value:
    """The tangent of x - n pi / 2, for all of float32."""
    h, _ = _half_turns(x)
    odd = abs(h) > 0.25
    wide = where(odd, h - copysign(0.5, h), h) * math.pi
    r = cast(wide, f.name)
    r_low = cast(wide - cast(r, "float64"), f.name)
    return where(x == 0, x, _tangent(r, r_low, odd, f))


# Up to some magnitude pi may be subtracted in three parts instead (Cody and Waite): a fused
# multiply-add with the first is exact, and the others round once each.


def sin(x: Value, f: _Format) -> Value:
    shifted = fma(x, 1 / math.pi, f.rounder)
    n = shifted - f.rounder
    r = fma(-n, f.pi[0], x)
    r = fma(-n, f.pi[1], r)
    r = fma(-n, f.pi[2], r)
    return where(x == 0, x, _sine(r, bits(shifted), f))


def cos(x: Value, f: _Format) -> Value:
    shifted = fma(x, 1 / math.pi, -0.5) + f.rounder
    n = (shifted - f.rounder) + 0.5
    r = fma(n, f.pi[0], -x)
    r = fma(n, f.pi[1], r)
    r = fma(n, f.pi[2], r)
    return _sine(r, bits(shifted), f)


def tan(x: Value, f: _Format) -> Value:
    shifted = fma(x, 2 / math.pi, f.rounder)
    n = shifted - f.rounder
    r_high = fma(-n, 0.5 * f.pi[0], x)
    # The rounding errors of this product and of this difference make the low part.
    product = n * (0.5 * f.pi[1])
    r = r_high - product
    product_low = fma(n, 0.5 * f.pi[1], -product)
    r_low = fma(-n, 0.5 * f.pi[2], ((r_high - r) - product) - product_low)
    return where(x == 0, x, _tangent(r, r_low, (bits(shifted) & 1) != 0, f))


def _tangent(r: Value, r_low: Value, odd: Value, f: _Format) -> Value:
    """tan(r + r_low) by a polynomial for |r| <= pi / 4; -1 / tan where odd."""
    square = r * r
    tangent = r + fma(r * square, _polynomial(square, _TAN_TAIL[f.name]), fma(r_low, square, r_low))
    return where(odd, -1 / tangent, tangent)


def asin(x: Value, f: _Format) -> Value:
    """x p(x**2) up to 1/2; beyond, pi / 2 - 2 asin(sqrt((1 - |x|) / 2))."""
    a = abs(x)
    near, z, s = _half_angle(a)
    result = _asin_tail(s, z, f)
    outer = (f.pi[0] / 2 - 2 * result) + f.pi[1] / 2
    return copysign(where(near, result, outer), x)


def acos(x: Value, f: _Format) -> Value:
    """pi / 2 - asin(x) up to 1/2; beyond, 2 asin(sqrt((1 - |x|) / 2)), for negative x from pi."""
    near, z, s = _half_angle(abs(x))
    result = _asin_tail(s, z, f)
    centre = (f.pi[0] / 2 - copysign(result, x)) + f.pi[1] / 2
    outer = where(x < 0, (f.pi[0] - 2 * result) + f.pi[1], 2 * result)
    return where(near, centre, outer)


def _half_angle(a: Value) -> tuple[Value, Value, Value]:
    near = a <= 0.5
    z = where(near, a * a, fma(a, -0.5, 0.5))
    return near, z, where(near, a, sqrt(z))


def _asin_tail(s: Value, z: Value, f: _Format) -> Value:
    """asin(s) for 0 <= s <= 1/2 with z = s**2."""
    return fma(s * z, _polynomial(z, _ASIN_TAIL[f.name]), s)


def atan(x: Value, f: _Format) -> Value:
    """A polynomial up to 1; beyond, pi / 2 - atan(1 / |x|)."""
    a = abs(x)
    far = a > 1
    s = where(far, 1 / a, a)
    z = s * s
    result = fma(s * z, _polynomial(z, _ATAN_TAIL[f.name]), s)
    outer = (f.pi[0] / 2 - result) + f.pi[1] / 2
    return copysign(where(far, outer, result), x)


def sinh(x: Value, f: _Format) -> Value:
    """A polynomial up to 1; beyond, from e**|x| / 2, which does not overflow before sinh does."""
    a = abs(x)
    z = a * a
    centre = fma(a * z, _polynomial(z, _SINH_TAIL[f.name]), a)
    half = _half_exp(a, f)
    return copysign(where(a < 1, centre, half - 0.25 / half), x)


def cosh(x: Value, f: _Format) -> Value:
    half = _half_exp(abs(x), f)
    return half + 0.25 / half


def _half_exp(a: Value, f: _Format) -> Value:
    """e**a / 2 for a >= 0."""
    tail, n = _exponential(_clamp_above(a, f.exp_range[1] + 0.5), f)
    scale = _power_of_two(n, -2, f)
    return fma(scale, tail, scale) * 2


def asinh(x: Value, f: _Format) -> Value:
    """log(a + sqrt(a**2 + 1)) as log1p, for a = |x|; log(2 a) where the square may overflow."""
    a = abs(x)
    large = a > 2.0 ** (f.bias // 2)
    square = a * a
    argument = where(large, a, a + square / (sqrt(square + 1) + 1))
    result = log1p(argument, f) + where(large, f.ln2[0], 0.0)
    return copysign(result, x)


def acosh(x: Value, f: _Format) -> Value:
    """log(x + sqrt(x**2 - 1)) as log1p of t + sqrt(t (t + 2)) with t = x - 1."""
    t = x - 1
    large = x > 2.0 ** (f.bias // 2)
    argument = where(large, x, t + sqrt(t * t + 2 * t))
    result = log1p(argument, f) + where(large, f.ln2[0], 0.0)
    return where(x >= 1, result, math.nan)


def atanh(x: Value, f: _Format) -> Value:
    """A polynomial up to 1/2; beyond, log1p(2 a / (1 - a)) / 2 for a = |x|."""
    a = abs(x)
    z = a * a
    centre = fma(a * z, _polynomial(z, _ATANH_TAIL[f.name]), a)
    outer = 0.5 * log1p(2 * a / (1 - a), f)
    return copysign(where(a < 0.5, centre, where(a > 1, math.nan, outer)), x)


def exp2(x: Value, f: _Format) -> Value:
    """2**n 2**r with |r| <= 1/2, in two factors as exp."""
    x = _clamp(x, -(f.bias + f.mantissa + 2.0), f.bias + 1.0)
    shifted = x + f.rounder
    r = x - (shifted - f.rounder)
    return _scaled(fma(r, _polynomial(r, _EXP2_TAIL[f.name]), 1.0), bits(shifted), x < 0, f)


def log2(x: Value, f: _Format) -> Value:
    return _log_to_base(x, (1.0, 0.0), _LOG2_E[f.name], f)


def log10(x: Value, f: _Format) -> Value:
    return _log_to_base(x, _LOG10_2[f.name], _LOG10_E[f.name], f)


def _log_to_base(
    x: Value, of_two: tuple[float, float], of_e: tuple[float, float], f: _Format
) -> Value:
    """As log, with the logarithms of 2 and e to the base given as high and low parts."""
    reduced, count = _split_logarithm(x, f)
    natural = _log_of_one_plus(reduced, f)
    fraction = fma(natural, of_e[0], natural * of_e[1])
    return _log_edges(x, fma(count, of_two[0], fma(count, of_two[1], fraction)))


_FORMATS = (_FLOAT32, _FLOAT64)
_FUNCTIONS = (
    exp, exp2, expm1, log, log2, log10, log1p, sigmoid, tanh, sinh, cosh, asinh, acosh, atanh,
    erf, erfc, gelu, asin, acos, atan,
)  # fmt: skip

#: (function, dtype) -> the function over symbolic values that replaces it in a CPU kernel, good for
#: every argument. What is not here (sine and its kin in float64) is left to the C library.
CPU_LOWERING: dict[tuple[str, str], Callable[..., Value]] = {
    (function.__name__, f.name): partial(function, f=f) for function in _FUNCTIONS for f in _FORMATS
} | {
    ("sin", "float32"): partial(sin_of_any, f=_FLOAT32),
    ("cos", "float32"): partial(cos_of_any, f=_FLOAT32),
    ("tan", "float32"): partial(tan_of_any, f=_FLOAT32),
}

#: Faster replacements, and the magnitude of the argument up to which they hold. Pointwise kernels
#: use them for blocks of elements within it (see `executor.pointwise`).
CPU_BOUNDED: Mapping[tuple[str, str], tuple[float, Callable[..., Value]]] = {
    ("gelu", "float32"): (5.0, partial(gelu_usual, f=_FLOAT32)),
} | {
    (function.__name__, f.name): (bound, partial(function, f=f))
    for f, bound in ((_FLOAT32, 1e4), (_FLOAT64, 1e14))
    for function in (sin, cos, tan)
}
