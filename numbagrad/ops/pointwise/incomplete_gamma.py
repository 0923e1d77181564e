"""The regularised incomplete gamma functions, P = ``igamma`` and Q = ``igammac``.

Where x is less than a + 1, P is a power series, elsewhere Q a continued fraction; for a < 1 and
small x, Q has a series of its own, since 1 - P would lose its digits. Beyond ``_LARGE`` both follow
Temme's expansion (NIST DLMF 8.12), of which two terms hold all digits there are. All is computed in
float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...executor.plan.dtypes import promoted
from ...tensor import Tensor, new_tensor
from ..conversion.dtypes import cast
from ..methods.registry import method
from ..methods.variants import install_in_place
from ..operators.tensor_operator import TensorOperator
from ..views.expand import sum_to_size
from .functions import erfc, exp, lgamma, log

__all__ = ["igamma", "igammac"]

Array = np.ndarray[Any, Any]

_EPSILON = 2.0**-53
#: From here on series would take thousands of terms.
_LARGE = 1e5
#: A continued fraction that rounding keeps from standing still ends here.
_MOST_STEPS = 20_000
#: Stirling's series of lgamma: coefficients of 1/z, 1/z**3, ...
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)
#: Temme's coefficients of 1 and 1/a, by powers of eta.
_TEMME = (
    (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515),
    (-1 / 540, -1 / 288, 1 / 378, -77 / 77760, 1 / 4860),
)


def _stirling(z: Array) -> Array:
    """The remainder of lgamma(z) over Stirling's formula, for z of 10 and more."""
    square = 1 / (z * z)
    rest = np.zeros_like(z)
    for coefficient in reversed(_STIRLING):
        rest = rest * square + coefficient
    return rest / z


def _log_gamma_above_one(a: Array) -> Array:
    """lgamma(1 + a) for positive a below 10."""
    z = a + 17
    product = np.ones_like(a)
    for k in range(1, 17):
        product = product * (a + k)
    return (z - 0.5) * np.log(z) - z + _HALF_LOG_2_PI + _stirling(z) - np.log(product)


def _zeta(k: int) -> float:
    """Riemann's zeta function, by Euler and Maclaurin."""
    n = 40
    tail = n ** (1 - k) / (k - 1) + n**-k / 2 + k * n ** (-k - 1) / 12
    tail -= k * (k + 1) * (k + 2) * n ** (-k - 3) / 720
    tail += k * (k + 1) * (k + 2) * (k + 3) * (k + 4) * n ** (-k - 5) / 30240
    return math.fsum([j**-k for j in range(1, n)]) + tail


#: Taylor's series of lgamma(1 + a) about 0: coefficients of a**2, a**3, ...
_TAYLOR = tuple([(-1) ** k * _zeta(k) / k for k in range(2, 56)])
_EULER = 0.57721566490153286


def _log_gamma_near_one(a: Array) -> Array:
    """lgamma(1 + a) for positive a below 1, to all its digits."""
    small = np.minimum(a, 0.5)
    series = np.zeros_like(a)
    for coefficient in reversed(_TAYLOR):
        series = series * small + coefficient
    return np.where(a < 0.5, (series * small - _EULER) * small, _log_gamma_above_one(a))


def _distance(away: Array, ratio: Array) -> Array:
    """``away - log(1 + away)``, where ``ratio`` is ``1 + away``."""
    return away - np.where(np.abs(away) < 0.5, np.log1p(away), np.log(ratio))


def _density(a: Array, x: Array) -> Array:
    """x**a exp(-x) / gamma(a + 1)."""
    low = np.minimum(a, 10)
    direct = low * np.log(x) - x - _log_gamma_above_one(low)
    high = np.maximum(a, 10)
    distance = high * _distance((x - high) / high, x / high)
    saddle = -distance - _stirling(high) - _HALF_LOG_2_PI - 0.5 * np.log(high)
    return np.exp(np.where(a < 10, direct, saddle))


def _series(a: Array, x: Array) -> Array:
    """P where x < a + 1."""
    term = total = np.ones_like(a)
    going = np.ones(a.shape, bool)  # a sum is closed when its term is too small, whatever others do
    n = 0
    while going.any():
        n += 1
        term = term * (x / (a + n))
        total = np.where(going, total + term, total)
        going &= term > _EPSILON * total
    return _density(a, x) * total


def _fraction(a: Array, x: Array) -> Array:
    """Q where x > a + 1, or x > 1 for a < 1: a continued fraction, by Lentz's method."""
    tiny = 1e-300
    b = x + 1 - a
    c = np.full_like(x, 1 / tiny)
    d = 1 / b
    value = d
    going = np.ones(a.shape, bool)
    n = 0
    while going.any() and n < _MOST_STEPS:
        n += 1
        factor = -n * (n - a)
        b = b + 2
        d = factor * d + b
        d = 1 / np.where(np.abs(d) < tiny, tiny, d)
        c = b + factor / c
        c = np.where(np.abs(c) < tiny, tiny, c)
        change = c * d
        value = np.where(going, value * change, value)
        going &= np.abs(change - 1) > 4 * _EPSILON
    return _density(a, x) * a * value


def _complement(a: Array, x: Array) -> Array:
    """Q for a < 1 and x of about 1 at most."""
    power = a * np.log(x) - _log_gamma_near_one(a)
    term = np.ones_like(a)
    total = np.zeros_like(a)
    for n in range(1, 40):
        term = term * (-x / n)
        total = total + term / (a + n)
    return -np.expm1(power) - np.exp(power) * a * total


def _temme(a: Array, x: Array) -> tuple[Array, Array]:
    """P and Q for large a."""
    away = (x - a) / a
    eta = np.sign(away) * np.sqrt(2 * np.maximum(_distance(away, x / a), 0))
    near = np.clip(eta, -0.5, 0.5)  # beyond that the rest is zero
    rest = np.zeros_like(a)
    for row in reversed(_TEMME):
        rest = rest / a + np.polynomial.polynomial.polyval(near, row)
    rest = rest * np.exp(-0.5 * a * eta * eta) / np.sqrt(2 * math.pi * a)
    scaled = eta * np.sqrt(a / 2)
    lower, upper = [0.5 * erfc(new_tensor(sign * scaled))._array for sign in (-1, 1)]
    return lower - rest, upper + rest


def _regular(a: Array, x: Array) -> tuple[Array, Array]:
    """P and Q of positive, finite numbers."""
    p, q = np.empty_like(a), np.empty_like(a)
    large = a > _LARGE
    p[large], q[large] = _temme(a[large], x[large])
    below = ~large & (x < a + 1)
    p[below] = _series(a[below], x[below])
    q[below] = 1 - p[below]
    small = ~large & (a < 1) & (x <= 1.1)
    q[small] = _complement(a[small], x[small])
    beyond = ~large & ((x >= a + 1) | (a < 1) & (x > 1.1))
    q[beyond] = _fraction(a[beyond], x[beyond])
    p[beyond & ~below] = 1 - q[beyond & ~below]
    return p, q


def _both(a: Array, x: Array) -> tuple[Array, Array]:
    """P and Q of all numbers, broadcast, in float64."""
    a, x = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    p = np.full(a.shape, np.nan)
    q = np.full(a.shape, np.nan)
    with np.errstate(all="ignore"):
        valid = (a >= 0) & (x >= 0)
        zero = valid & (x == 0) & (a > 0) | valid & np.isinf(a) & np.isfinite(x)
        one = valid & (a == 0) & (x > 0) | valid & np.isinf(x) & np.isfinite(a)
        p[zero], q[zero] = 0.0, 1.0
        p[one], q[one] = 1.0, 0.0
        regular = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        p[regular], q[regular] = _regular(a[regular], x[regular])
    return p, q


def _refused(name: str) -> Any:
    def gradient(grad: Tensor) -> Tensor:
        raise NotImplementedError(f"the derivative for '{name}: self' is not implemented.")

    return gradient


def _derivative(input: Tensor, other: Tensor) -> Tensor:
    """The derivative of P by ``other``: the density of the gamma distribution."""
    return exp((input - 1) * log(other) - other - lgamma(input))


def _tangent(operator: Any, primals: Any, tangents: Any, results: Any) -> tuple[Tensor]:
    if tangents[0] is not None:
        raise NotImplementedError(
            f"Trying to use forward AD with {operator.name} that does not support it for its first "
            "argument, because it has not been implemented yet."
        )
    made = _derivative(*primals) * tangents[1]
    return (made if operator is _igamma else -made,)


def _slope(grad: Tensor, input: Tensor, other: Tensor, other_shape: tuple[int, ...]) -> Tensor:
    return sum_to_size(grad * _derivative(input, other), other_shape)


_igamma = TensorOperator(
    "igamma",
    lambda input, other: _both(input, other)[0].astype(other.dtype),
    {"input": _refused("igamma"), "other": lambda grad, input, other, other_shape: _slope(
        grad, input, other, other_shape
    )},
    tangent=_tangent,
)  # fmt: skip
_igammac = TensorOperator(
    "igammac",
    lambda input, other: _both(input, other)[1].astype(other.dtype),
    {"input": _refused("igammac"), "other": lambda grad, input, other, other_shape: -_slope(
        grad, input, other, other_shape
    )},
    tangent=_tangent,
)  # fmt: skip


def _called(operator: TensorOperator, input: Tensor, other: Tensor) -> Tensor:
    kind = promoted([input._array, other._array])
    if not kind.is_floating_point:
        raise NotImplementedError(f"\"{operator.name}\" not implemented for '{kind}'")
    return operator(*[cast(x, kind.numpy) for x in (input, other)])


@method()
def igamma(input: Tensor, other: Tensor) -> Tensor:
    """The regularised lower incomplete gamma function P(input, other); differentiable by ``other``.

    NaN for negative arguments, and at (0, 0).

    Raises:
        NotImplementedError: for integers; in backward, if ``input`` requires grad.
    """
    return _called(_igamma, input, other)


@method()
def igammac(input: Tensor, other: Tensor) -> Tensor:
    """The regularised upper incomplete gamma function 1 - P(input, other), as ``igamma``.

    Raises:
        NotImplementedError: for integers; in backward, if ``input`` requires grad.
    """
    return _called(_igammac, input, other)


for _function in (igamma, igammac):
    install_in_place(_function)
