"""Bessel and Airy functions of torch.special, which have no gradients there.

Near zero a function is a Chebyshev series of the entire functions in it (NIST DLMF 10.8, 10.31,
9.4), whose coefficients follow, when they are first needed, from power series in 60 decimal digits.
Far from zero it is its expansion by Hankel (DLMF 10.17, 9.7), or a Chebyshev series of its scaled
integral (DLMF 10.32.9) by the inverse of the argument. All is computed in float64, with errors of a
few units in the last place of the largest value nearby: near their zeros oscillating functions
have the absolute error of their neighbours.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

from ...executor.families.series import chebyshev_sum, either
from ...tensor import Tensor
from ...transforms.batching import stacked
from ..operators.tensor_operator import TensorOperator
from .special_functions import floats, i0, i1, of_dtype

__all__: list[str] = []

Array = np.ndarray[Any, Any]

_DIGITS = 60
_EULER = Decimal("0.577215664901532860606512090082402431042159335939923598805767")
#: Series are those of x up to here; DLMF 10.17 has all digits above.
_FAR = 25.0
#: Where one series ends and the next begins, so that none spans orders of magnitude.
_EDGES = (4.0, 12.0)
#: The same of modified functions, which need no more digits than float64 has.
_NEAR_K = 2.0
#: Airy's function oscillates below, decays above, and is one series between.
_AIRY = (-9.0, 2.0)


# --- series ---------------------------------------------------------------------------------------


def _sum(first: Decimal, ratio: Callable[[int], Decimal], weight: Callable[[int], Decimal]) -> Any:
    """The sum of ``weight(k) * term(k)``, where a term follows from the one before by a ratio."""
    total, term, k = first * weight(0), first, 0
    while True:
        k += 1
        term *= ratio(k)
        total += term * weight(k)
        if abs(term * weight(k)) < Decimal(10) ** (5 - _DIGITS) and k > 5:
            return total


def _harmonic(n: int) -> Decimal:
    return sum((Decimal(1) / k for k in range(1, n + 1)), Decimal(0))


def _entire(order: int, sign: int, logarithmic: bool) -> Callable[[Decimal], Decimal]:
    """The parts of J, Y, I and K that are entire functions of ``x * x``, without ``x ** order``.

    Of the logarithmic solutions those that multiply no logarithm and no pole (DLMF 10.8.1).
    """

    def weight(k: int) -> Decimal:
        return _harmonic(k) + _harmonic(k + order) if logarithmic else Decimal(1)

    def value(square: Decimal) -> Decimal:
        quarter = sign * square / 4
        first = Decimal(1) / 2**order
        return _sum(first, lambda k: quarter / (k * (k + order)), weight)

    return value


def _airy(x: Decimal) -> Decimal:
    """Airy's function by its power series (DLMF 9.4.1)."""
    cube = x**3
    at_zero = Decimal("0.355028053887817239260063186004183176397979174199177")
    slope = Decimal("-0.258819403792806798405183560189203963479091138354935")

    def even(k: int) -> Decimal:
        return cube / ((3 * k - 1) * 3 * k)

    def odd(k: int) -> Decimal:
        return cube / (3 * k * (3 * k + 1))

    def ones(k: int) -> Decimal:
        return Decimal(1)

    made: Decimal = at_zero * _sum(Decimal(1), even, ones) + slope * _sum(x, odd, ones)
    return made


def _fitted(values: Callable[[float], float], low: float, high: float, count: int) -> Array:
    """Chebyshev coefficients of a function on an interval."""
    angles = np.pi * (np.arange(count) + 0.5) / count
    numbers = [values((high + low) / 2 + (high - low) / 2 * math.cos(a)) for a in angles]
    # Turns are counted in whole numbers: rounded multiples of an angle would cost digits.
    turns = np.outer(np.arange(count), 2 * np.arange(count) + 1) % (4 * count)
    weights = np.cos(np.pi * turns / (2 * count)) * (2 / count)
    weights[0] /= 2
    return np.array([math.fsum(row * numbers) for row in weights])


@functools.cache
def _near(order: int, sign: int, logarithmic: bool, low: float, high: float) -> Array:
    """The coefficients of an entire part for arguments in an interval, by their squares."""
    part = _entire(order, sign, logarithmic)

    def value(square: float) -> float:
        with localcontext() as context:
            context.prec = _DIGITS
            return float(part(Decimal(square)))

    return _fitted(value, low * low, high * high, 20 if high < 3 else 60)


def _evaluated(coefficients: Array, x: Array, low: float, high: float) -> Array:
    scaled = (2 * np.clip(x, low, high) - (high + low)) / (high - low)
    made: Array = chebyshev_sum(scaled, coefficients)
    return made


def _pieces(order: int, sign: int, logarithmic: bool, x: Array, edges: list[float]) -> Array:
    """The part by the series of the interval between edges that an argument lies in."""

    def piece(x: Array) -> Array:
        low, high = edges[-2:]
        series = _near(order, sign, logarithmic, low, high)
        return _evaluated(series, x * x, low * low, high * high)

    if len(edges) == 2:
        return piece(x)
    rest = functools.partial(_pieces, order, sign, logarithmic, edges=edges[:-1])
    return either(x >= edges[-2], x, piece, rest)


def _part(order: int, sign: int, logarithmic: bool, x: Array, limit: float) -> Array:
    edges = [edge for edge in _EDGES if edge < limit]
    made = _pieces(order, sign, logarithmic, x, [0.0, *edges, limit])
    return made * x if order else made


# --- Bessel functions -----------------------------------------------------------------------------


def _hankel(order: int, x: Array) -> tuple[Array, Array]:
    """P and Q of Hankel's expansion (DLMF 10.17.3), for x of 25 and more."""
    four = 4 * order * order
    p, q = np.ones_like(x), np.zeros_like(x)
    term = np.ones_like(x)
    for k in range(1, 28):
        term = term * ((four - (2 * k - 1) ** 2) / (k * 8.0)) / x
        if k % 2:
            q = q + (term if k % 4 == 1 else -term)
        else:
            p = p + (term if k % 4 == 0 else -term)
    return p, q


def _far(order: int, second: bool, x: Array) -> Array:
    """J or Y for large x; the phase ``x - pi / 4`` is taken apart, so that x is not rounded."""
    p, q = _hankel(order, x)
    sine, cosine = np.sin(x), np.cos(x)
    # cos and sin of x - pi/4, times root two; a quarter turn further for order 1.
    c, s = cosine + sine, sine - cosine
    if order:
        c, s = s, -c
    made: Array = (p * s + q * c if second else p * c - q * s) / np.sqrt(np.pi * x)
    return made


def _first_kind(order: int, array: Array) -> Array:
    x = np.abs(array)
    made = either(
        ~(x >= _FAR),
        x,
        lambda near: _part(order, -1, False, near, _FAR),
        lambda far: _far(order, False, np.minimum(far, 1e300)),
    )
    made = np.where(np.isinf(x), 0.0, np.where(np.isnan(x), x, made))
    return np.where(array < 0, -made, made) if order else made


def _second_kind(order: int, array: Array) -> Array:
    """DLMF 10.8.1: a logarithm times J, what is entire, and for order 1 a pole."""
    x = np.where(array > 0, array, 1.0)
    made = either(
        x < _FAR,
        x,
        lambda near: _second_near(order, near),
        lambda far: _far(order, True, np.minimum(far, 1e300)),
    )
    made = np.where(np.isinf(x), 0.0, made)
    return _below(array, made, -np.inf)


def _second_near(order: int, x: Array) -> Array:
    logarithm = np.log(x / 2) + float(_EULER)
    made: Array = 2 * logarithm * _first_kind(order, x) - _part(order, -1, True, x, _FAR)
    return (made - 2 / x if order else made) / np.pi


def _below(array: Array, made: Array, at_zero: float) -> Array:
    """NaN for negative numbers, an infinity for zero."""
    made = np.where(array == 0, at_zero, np.where(array < 0, np.nan, made))
    return np.where(np.isnan(array), np.nan, made)


@functools.cache
def _scaled_integral(order: float, low: float) -> Array:
    """Coefficients of ``sqrt(x) exp(x) K(x)`` by ``low / x``: DLMF 10.32.9 by trapezoids."""

    def value(inverse: float) -> float:
        if inverse == 0:
            return math.sqrt(math.pi / 2)
        x = low / inverse
        # cosh t - 1 = 2 sinh(t/2)**2, beyond an exponent of 800 nothing is left.
        end = 2 * math.asinh(math.sqrt(400 / x))
        t, step = np.linspace(0, end, 801, retstep=True)
        terms = np.exp(-2 * x * np.sinh(t / 2) ** 2) * np.cosh(order * t)
        terms[0] *= 0.5
        return math.fsum(terms) * float(step) * math.sqrt(x)

    return _fitted(value, 0.0, 1.0, 50)


def _modified_second(order: int, scaled: bool, array: Array) -> Array:
    """DLMF 10.31.1, and for larger x the integral."""
    x = np.where(array > 0, array, 1.0)
    low = np.minimum(x, _NEAR_K)
    logarithm = np.log(low / 2) + float(_EULER)
    first = _part(order, 1, False, low, _NEAR_K)
    rest = _part(order, 1, True, low, _NEAR_K) / 2
    near = 1 / low + logarithm * first - rest if order else rest - logarithm * first
    high = np.maximum(x, _NEAR_K)
    series = _evaluated(_scaled_integral(order, _NEAR_K), _NEAR_K / high, 0.0, 1.0)
    far = series / np.sqrt(high)
    made = np.where(
        x <= _NEAR_K,
        near * np.exp(low) if scaled else near,
        far if scaled else far * np.exp(-high),
    )
    return _below(array, made, np.inf)


def _spherical(array: Array) -> Array:
    """``sin(x) / x``, and near zero one less a sixth of the square and so on."""
    x = np.where(array == 0, 1.0, array)
    made = np.where(np.isinf(array), 0.0, np.sin(np.where(np.isinf(x), 0, x)) / x)
    return np.where(array == 0, 1.0, made)


# --- Airy's function ------------------------------------------------------------------------------


@functools.cache
def _airy_coefficients(low: float, high: float) -> Array:
    def value(x: float) -> float:
        with localcontext() as context:
            context.prec = _DIGITS
            return float(_airy(Decimal(x)))

    return _fitted(value, low, high, 70)


def _airy_far(z: Array) -> Array:
    """Ai(-z) for z of 9 and more (DLMF 9.7.9)."""
    zeta = 2 / 3 * z * np.sqrt(z)
    p, q, term = np.ones_like(z), np.zeros_like(z), np.ones_like(z)
    for k in range(1, 24):
        term = term * ((6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1))) / zeta
        if k % 2:
            q = q + (term if k % 4 == 1 else -term)
        else:
            p = p + (term if k % 4 == 0 else -term)
    sine, cosine = np.sin(zeta), np.cos(zeta)
    c, s = cosine + sine, sine - cosine
    made: Array = (c * p + s * q) / np.sqrt(2 * np.pi * np.sqrt(z))
    return made


def _airy_of(array: Array) -> Array:
    left, right = _AIRY
    middle = np.where(
        array < 0,
        _evaluated(_airy_coefficients(left, 0.0), array, left, 0.0),
        _evaluated(_airy_coefficients(0.0, right), array, 0.0, right),
    )
    high = np.clip(array, right, 200.0)
    zeta = 2 / 3 * high * np.sqrt(high)
    least = 2 / 3 * right * math.sqrt(right)
    series = _evaluated(_scaled_integral(1 / 3, least), least / zeta, 0.0, 1.0)
    above = np.sqrt(high / (3 * zeta)) * series * np.exp(-zeta) / np.pi
    below = _airy_far(np.maximum(np.where(np.isinf(array), 1e150, -array), -left))
    made = np.where(array > right, above, np.where(array < left, below, middle))
    made = np.where(np.isinf(array), 0.0, made)
    return np.where(np.isnan(array), array, made)


# --- functions ------------------------------------------------------------------------------------


def _public(name: str, compute: Callable[[Array], Array], meaning: str) -> Callable[..., Tensor]:
    """A function of one tensor that has no gradient, as in torch."""

    def forward(input: Array) -> Array:
        with np.errstate(all="ignore"):
            return of_dtype(compute(input.astype(np.float64)), input.dtype)

    operator = TensorOperator(f"special_{name}", lambda input: forward(input), {}, batch=stacked())

    def function(input: Tensor) -> Tensor:
        return operator(floats(f"special_{name}", input))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{meaning}, in the dtype of the input; it has no gradient."
    return function


airy_ai = _public("airy_ai", _airy_of, "Airy's function Ai")
bessel_j0 = _public("bessel_j0", lambda x: _first_kind(0, x), "The Bessel function J of order 0")
bessel_j1 = _public("bessel_j1", lambda x: _first_kind(1, x), "The Bessel function J of order 1")
bessel_y0 = _public("bessel_y0", lambda x: _second_kind(0, x), "The Bessel function Y of order 0")
bessel_y1 = _public("bessel_y1", lambda x: _second_kind(1, x), "The Bessel function Y of order 1")
modified_bessel_k0 = _public(
    "modified_bessel_k0", lambda x: _modified_second(0, False, x), "The Bessel function K, order 0"
)
modified_bessel_k1 = _public(
    "modified_bessel_k1", lambda x: _modified_second(1, False, x), "The Bessel function K, order 1"
)
scaled_modified_bessel_k0 = _public(
    "scaled_modified_bessel_k0",
    lambda x: _modified_second(0, True, x),
    "``exp(x) * K(x)``, order 0",
)
scaled_modified_bessel_k1 = _public(
    "scaled_modified_bessel_k1",
    lambda x: _modified_second(1, True, x),
    "``exp(x) * K(x)``, order 1",
)
spherical_bessel_j0 = _public(
    "spherical_bessel_j0", _spherical, "The spherical Bessel function of order 0, sin(x) / x"
)


def modified_bessel_i0(input: Tensor) -> Tensor:
    """The modified Bessel function I of order 0; it has no gradient, that of ``i0`` has."""
    made = i0(floats("special_modified_bessel_i0", input.detach()))
    return made


def modified_bessel_i1(input: Tensor) -> Tensor:
    """The modified Bessel function I of order 1; it has no gradient, that of ``i1`` has."""
    made = i1(floats("special_modified_bessel_i1", input.detach()))
    return made
