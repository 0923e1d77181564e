"""Sine, cosine, tangent and their inverses.

Called by the table of this package. Arguments are reduced modulo pi: in three parts as Cody and
Waite do, which holds up to some magnitude, or for any float32 as Payne and Hanek do.
"""

from __future__ import annotations

import math

from ...formula import abs, bits, cast, copysign, fma, from_bits, sqrt, where
from .arithmetic import FLOAT64, Format, Value, clamp, polynomial

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

# 1 / pi in two parts without the bits that contribute even multiples of pi to an argument of at
# least the size given first; see `_half_turns`.
_INVERSE_PI = (
    (0.0, 0.3183098861837907, -1.9678676675182486e-17),
    (2.0**26, 0.06830988618379068, -5.80088886736803e-18),
    (2.0**52, 1.665405738066088e-09, -6.491405224893059e-26),
    (2.0**78, 3.583247455607534e-17, -1.0721436282893004e-33),
    (2.0**104, 5.554714071658402e-25, -2.6488254541402194e-41),
)


def _sine(r: Value, n: Value, f: Format) -> Value:
    """(-1)**n sin(r) for |r| <= pi / 2, where n is in the low bits of an integer."""
    square = r * r
    sine = fma(r * square, polynomial(square, _SIN_TAIL[f.name]), r)
    sine = clamp(sine, -1.0, 1.0)  # rounding may go past one
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
    shifted = fma(wide, high, FLOAT64.rounder)
    h = fma(wide, low, fma(wide, high, FLOAT64.rounder - shifted))
    return h, cast(bits(shifted), "int32")


def sin_of_any(x: Value, f: Format) -> Value:
    """(-1)**n sin(r), where x = n pi + r, for all of float32."""
    h, n = _half_turns(x)
    return where(x == 0, x, _sine(cast(h * math.pi, f.name), n, f))


def cos_of_any(x: Value, f: Format) -> Value:
    """As sin, but of the distance from the zero of cos near x."""
    h, n = _half_turns(x)
    return _sine(cast((0.5 - abs(h)) * math.pi, f.name), n, f)


def tan_of_any(x: Value, f: Format) -> Value:
    """The tangent of x - n pi / 2, for all of float32."""
    h, _ = _half_turns(x)
    odd = abs(h) > 0.25
    wide = where(odd, h - copysign(0.5, h), h) * math.pi
    r = cast(wide, f.name)
    r_low = cast(wide - cast(r, "float64"), f.name)
    return where(x == 0, x, _tangent(r, r_low, odd, f))


# Up to some magnitude pi may be subtracted in three parts instead (Cody and Waite): a fused
# multiply-add with the first is exact, and the others round once each.


def sin(x: Value, f: Format) -> Value:
    shifted = fma(x, 1 / math.pi, f.rounder)
    n = shifted - f.rounder
    r = fma(-n, f.pi[0], x)
    r = fma(-n, f.pi[1], r)
    r = fma(-n, f.pi[2], r)
    return where(x == 0, x, _sine(r, bits(shifted), f))


def cos(x: Value, f: Format) -> Value:
    shifted = fma(x, 1 / math.pi, -0.5) + f.rounder
    n = (shifted - f.rounder) + 0.5
    r = fma(n, f.pi[0], -x)
    r = fma(n, f.pi[1], r)
    r = fma(n, f.pi[2], r)
    return _sine(r, bits(shifted), f)


def tan(x: Value, f: Format) -> Value:
    shifted = fma(x, 2 / math.pi, f.rounder)
    n = shifted - f.rounder
    r_high = fma(-n, 0.5 * f.pi[0], x)
    # The rounding errors of this product and of this difference make the low part.
    product = n * (0.5 * f.pi[1])
    r = r_high - product
    product_low = fma(n, 0.5 * f.pi[1], -product)
    r_low = fma(-n, 0.5 * f.pi[2], ((r_high - r) - product) - product_low)
    return where(x == 0, x, _tangent(r, r_low, (bits(shifted) & 1) != 0, f))


def _tangent(r: Value, r_low: Value, odd: Value, f: Format) -> Value:
    """tan(r + r_low) by a polynomial for |r| <= pi / 4; -1 / tan where odd."""
    square = r * r
    tangent = r + fma(r * square, polynomial(square, _TAN_TAIL[f.name]), fma(r_low, square, r_low))
    return where(odd, -1 / tangent, tangent)


def asin(x: Value, f: Format) -> Value:
    """x p(x**2) up to 1/2; beyond, pi / 2 - 2 asin(sqrt((1 - |x|) / 2))."""
    a = abs(x)
    near, z, s = _half_angle(a)
    result = _asin_tail(s, z, f)
    outer = (f.pi[0] / 2 - 2 * result) + f.pi[1] / 2
    return copysign(where(near, result, outer), x)


def acos(x: Value, f: Format) -> Value:
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


def _asin_tail(s: Value, z: Value, f: Format) -> Value:
    """asin(s) for 0 <= s <= 1/2 with z = s**2."""
    return fma(s * z, polynomial(z, _ASIN_TAIL[f.name]), s)


def atan(x: Value, f: Format) -> Value:
    """A polynomial up to 1; beyond, pi / 2 - atan(1 / |x|)."""
    a = abs(x)
    far = a > 1
    s = where(far, 1 / a, a)
    z = s * s
    result = fma(s * z, polynomial(z, _ATAN_TAIL[f.name]), s)
    outer = (f.pi[0] / 2 - result) + f.pi[1] / 2
    return copysign(where(far, outer, result), x)


def atan2(y: Value, x: Value, f: Format) -> Value:
    """The angle of (x, y): atan of the smaller magnitude over the larger one, and what is left.

    That is the angle to the nearest axis: it is added to 0, pi / 2 or pi, or taken away from these.
    """
    a, b = abs(y), abs(x)
    steep, left = a > b, copysign(1.0, x) < 0
    larger, smaller = where(steep, a, b), where(steep, b, a)
    ratio = where(smaller == math.inf, 1.0, smaller / larger)
    ratio = where(larger == 0, 0.0, ratio)
    z = ratio * ratio
    angle = fma(ratio * z, polynomial(z, _ATAN_TAIL[f.name]), ratio)
    signed = where(steep != left, -angle, angle)
    high, low = (where(steep, 0.5 * part, where(left, part, 0.0)) for part in f.pi[:2])
    return where((x == x) & (y == y), copysign(high + (signed + low), y), math.nan)
