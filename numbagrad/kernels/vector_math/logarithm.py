"""Logarithms to three bases, log1p, and the inverse hyperbolic functions, which are made of it.

Called by the table of this package. log(x) is log(m) + e log(2), where x = m 2**e with m near 1.
"""

from __future__ import annotations

import math

from ...formula import abs, bits, cast, copysign, fma, from_bits, sqrt, where
from .arithmetic import Format, Value, polynomial

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


def _log_of_one_plus(r: Value, f: Format) -> Value:
    """log(1 + r) for 1 + r in [sqrt(1/2), sqrt(2)]."""
    coefficients = _LOG_TAIL[f.name]
    square = r * r
    if f.name == "float32":
        return fma(square, fma(r, polynomial(r, coefficients), -0.5), r)
    s = r / (r + 2)
    z = s * s
    # 2 s = r - s r, and s r = r**2 / 2 - s r**2 / 2: so r is added last, exactly.
    half_square = 0.5 * square
    return r - fma(-s, fma(z, polynomial(z, coefficients), half_square), half_square)


def _exponent(x: Value, f: Format) -> Value:
    """The integer e with x * 2**-e in [sqrt(1/2), sqrt(2)), for normal x."""
    return (bits(x) - f.sqrt_half) >> f.mantissa


def split_normal(x: Value, f: Format) -> tuple[Value, Value]:
    """`m - 1` and `e` as floats: x = m 2**e is normal, and m in [sqrt(1/2), sqrt(2))."""
    e = _exponent(x, f)
    return from_bits(bits(x) - (e << f.mantissa)) - 1, cast(e, f.name)


def split_logarithm(x: Value, f: Format) -> tuple[Value, Value]:
    """The same for subnormal x as well."""
    subnormal = x < f.smallest_normal
    reduced, e = split_normal(where(subnormal, x * 2.0**f.mantissa, x), f)
    return reduced, e - where(subnormal, float(f.mantissa), 0.0)


def _log_edges(x: Value, result: Value) -> Value:
    """`result`, but what a logarithm is for zero, negative numbers, infinity and NaN."""
    result = where(x < math.inf, result, x)
    return where(x > 0, result, where(x == 0, -math.inf, math.nan))


def log(x: Value, f: Format) -> Value:
    """log(m) + e log(2), where x = m 2**e."""
    reduced, count = split_logarithm(x, f)
    natural = _log_of_one_plus(reduced, f)
    return _log_edges(x, fma(count, f.ln2[0], fma(count, f.ln2[1], natural)))


def log1p(x: Value, f: Format) -> Value:
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


def asinh(x: Value, f: Format) -> Value:
    """log(a + sqrt(a**2 + 1)) as log1p, for a = |x|; log(2 a) where the square may overflow."""
    a = abs(x)
    large = a > 2.0 ** (f.bias // 2)
    square = a * a
    argument = where(large, a, a + square / (sqrt(square + 1) + 1))
    result = log1p(argument, f) + where(large, f.ln2[0], 0.0)
    return copysign(result, x)


def acosh(x: Value, f: Format) -> Value:
    """log(x + sqrt(x**2 - 1)) as log1p of t + sqrt(t (t + 2)) with t = x - 1."""
    t = x - 1
    large = x > 2.0 ** (f.bias // 2)
    argument = where(large, x, t + sqrt(t * t + 2 * t))
    result = log1p(argument, f) + where(large, f.ln2[0], 0.0)
    return where(x >= 1, result, math.nan)


def atanh(x: Value, f: Format) -> Value:
    """A polynomial up to 1/2; beyond, log1p(2 a / (1 - a)) / 2 for a = |x|."""
    a = abs(x)
    z = a * a
    centre = fma(a * z, polynomial(z, _ATANH_TAIL[f.name]), a)
    outer = 0.5 * log1p(2 * a / (1 - a), f)
    return copysign(where(a < 0.5, centre, where(a > 1, math.nan, outer)), x)


def log2(x: Value, f: Format) -> Value:
    return _log_to_base(x, (1.0, 0.0), _LOG2_E[f.name], f)


def log10(x: Value, f: Format) -> Value:
    return _log_to_base(x, _LOG10_2[f.name], _LOG10_E[f.name], f)


def _log_to_base(
    x: Value, of_two: tuple[float, float], of_e: tuple[float, float], f: Format
) -> Value:
    """As log, with the logarithms of 2 and e to the base given as high and low parts."""
    reduced, count = split_logarithm(x, f)
    natural = _log_of_one_plus(reduced, f)
    fraction = fma(natural, of_e[0], natural * of_e[1])
    return _log_edges(x, fma(count, of_two[0], fma(count, of_two[1], fraction)))
