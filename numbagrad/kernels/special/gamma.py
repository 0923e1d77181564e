"""The regularised incomplete gamma functions, and Hurwitz' zeta function, element by element.

Launched by ``executor/families/special.py``, an element at a time. Where x is less than
a + 1, P is a power series, elsewhere Q a continued fraction; for a < 1 and small x, Q has a series
of its own, since 1 - P would lose its digits. Beyond ``_LARGE`` both follow Temme's expansion (NIST
DLMF 8.12), of which two terms hold all digits there are. All is computed in float64. Imported only
to compile.
"""

from __future__ import annotations

import math

from ...codegen.intrinsics import float64, load, store, subroutine
from ...codegen.kernel import element, kernel
from ...codegen.record import Word
from ..dtypes import dtypes
from ..packing import Arguments, Elements

_EPSILON = 2.0**-53
#: From here on series would take thousands of terms.
_LARGE = 1e5
#: A continued fraction that rounding keeps from standing still ends here.
_MOST_STEPS = 20_000
_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)
_TWO_PI = 2 * math.pi

_FLOATS = dtypes("float32 float64")


class Gamma(Arguments):
    output = Elements(element)
    a = Elements(element)
    x = Elements(element)
    coefficients = Elements(float64)  # of lgamma(1 + a) / a, by Chebyshev polynomials of 2 a - 1
    count = Word()  # of coefficients
    upper = Word()  # 1 for Q, 0 for P


class Zeta(Arguments):
    output = Elements(element)
    x = Elements(element)
    q = Elements(element)
    bernoulli = Elements(float64)  # B(2k) / (2k)!, from k = 1 on
    count = Word()


@subroutine
def _stirling(z):
    """The remainder of lgamma(z) over Stirling's formula, for z of 10 and more."""
    s = 1 / (z * z)
    rest = s * (1 / 1188 + s * (-691 / 360360 + s * (1 / 156)))
    return (1 / 12 + s * (-1 / 360 + s * (1 / 1260 + s * (-1 / 1680 + rest)))) / z


@subroutine
def _distance(away, ratio):
    """``away - log(1 + away)``, where ``ratio`` is ``1 + away``."""
    return away - (math.log1p(away) if abs(away) < 0.5 else math.log(ratio))


@subroutine
def _density(a, x):
    """x**a exp(-x) / gamma(a + 1)."""
    if a < 10:
        return math.exp(a * math.log(x) - x - math.lgamma(a + 1))
    distance = a * _distance((x - a) / a, x / a)
    return math.exp(-distance - _stirling(a) - _HALF_LOG_2_PI - 0.5 * math.log(a))


@subroutine
def _series(a, x):
    """P where x < a + 1."""
    term, total, n = 1.0, 1.0, a
    while term > _EPSILON * total:
        n += 1.0
        term *= x / n
        total += term
    return _density(a, x) * total


@subroutine
def _fraction(a, x):
    """Q where x > a + 1, or x > 1 for a < 1: a continued fraction, by Lentz's method."""
    tiny = 1e-300
    b = x + 1 - a
    c = 1 / tiny
    d = 1 / b
    value = d
    for n in range(1, _MOST_STEPS):
        factor = -n * (n - a)
        b += 2
        d = factor * d + b
        d = 1 / (tiny if abs(d) < tiny else d)
        c = b + factor / c
        c = tiny if abs(c) < tiny else c
        value *= c * d
        if not abs(c * d - 1) > 4 * _EPSILON:
            break
    return _density(a, x) * a * value


@subroutine
def _complement(a, x, coefficients, count):
    """Q for a < 1 and x of about 1 at most."""
    twice = 4 * a - 2
    here, before = load(coefficients, count - 1, float64), 0.0
    for n in range(count - 2, 0, -1):
        here, before = load(coefficients, n, float64) - before + twice * here, here
    log_gamma = a * (load(coefficients, 0, float64) - before + 0.5 * twice * here)
    power = a * math.log(x) - log_gamma
    term, total = 1.0, 0.0
    for n in range(1, 40):
        term *= -x / n
        total += term / (a + n)
        if abs(term) < _EPSILON * abs(total):
            break
    return -math.expm1(power) - math.exp(power) * a * total


@subroutine
def _temme(a, x, upper):
    """P or Q for large a."""
    away = (x - a) / a
    eta = math.copysign(math.sqrt(2 * max(_distance(away, x / a), 0.0)), away)
    e = min(max(eta, -0.5), 0.5)  # beyond that the rest is zero
    first = 1 / 864 + e * (1 / 2835 + e * (-139 / 777600 + e * (1 / 25515)))
    first = -1 / 3 + e * (1 / 12 + e * (-2 / 135 + e * first))
    second = -1 / 540 + e * (-1 / 288 + e * (1 / 378 + e * (-77 / 77760 + e * (1 / 4860))))
    rest = (first + second / a) * math.exp(-0.5 * a * eta * eta) / math.sqrt(_TWO_PI * a)
    scaled = eta * math.sqrt(a / 2)
    return 0.5 * math.erfc(scaled) + rest if upper else 0.5 * math.erfc(-scaled) - rest


@subroutine
def _incomplete_gamma(a, x, coefficients, count, upper):
    """P or Q; NaN for negative arguments, at (0, 0) and at two infinities."""
    if not (a >= 0 and x >= 0):
        return math.nan
    if a == math.inf or x == 0:
        if x == a:
            return math.nan
        return 1.0 if upper else 0.0
    if x == math.inf or a == 0:
        return 0.0 if upper else 1.0
    if a > _LARGE:
        return _temme(a, x, upper)
    if x >= a + 1 or (upper and a < 1 and x > 1.1):
        value = _fraction(a, x)
        return value if upper else 1 - value
    if upper and a < 1:
        return _complement(a, x, coefficients, count)
    value = _series(a, x)
    return 1 - value if upper else value


@kernel(variants=_FLOATS, takes=Gamma)
def incomplete_gamma(args, lo, hi):
    """output[k] = P(a[k], x[k]), or Q."""
    given = Gamma(args)
    output, left, right = given.output, given.a, given.x
    coefficients, count, upper = given.coefficients, given.count, given.upper
    for k in range(lo, hi):
        a, x = float64(load(left, k, element)), float64(load(right, k, element))
        store(output, k, element(_incomplete_gamma(a, x, coefficients, count, upper)), element)


@subroutine
def _zeta(x, q, bernoulli, count):
    """``sum((k + q)**-x)``: some terms, and Euler's and Maclaurin's formula for the rest."""
    if x == 1:
        return math.inf
    if not x > 1:
        return math.nan
    if q <= 0:
        if q == math.floor(q):
            return math.inf
        if x != math.floor(x):
            return math.nan
    total, end, steps = 0.0, q, 0
    while steps < 9 or end <= 9:
        term = math.pow(end, -x)
        total += term
        end += 1
        steps += 1
        if end > 1 and term < _EPSILON * total:
            return total
    power = math.pow(end, -x)
    total += power * end / (x - 1) + 0.5 * power
    factor = x * power / end
    for k in range(count):
        term = load(bernoulli, k, float64) * factor
        total += term
        if abs(term) < _EPSILON * abs(total):
            break
        factor *= (x + 2 * k + 1) * (x + 2 * k + 2) / (end * end)
    return total


@kernel(variants=_FLOATS, takes=Zeta)
def zeta(args, lo, hi):
    """output[k] = the zeta function of x[k] and q[k]."""
    given = Zeta(args)
    output, left, right = given.output, given.x, given.q
    bernoulli, count = given.bernoulli, given.count
    for k in range(lo, hi):
        x, q = float64(load(left, k, element)), float64(load(right, k, element))
        store(output, k, element(_zeta(x, q, bernoulli, count)), element)
