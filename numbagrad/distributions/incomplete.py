"""Derivatives of gamma and beta quantiles to their parameters, at a fixed probability.

For a distribution function F(x; a) the quantile moves by -(∂F/∂a) / (∂F/∂x). ``sampling.py`` uses
them as gradients of samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.creation.from_memory import from_numpy
from ..ops.pointwise.functions import digamma, lgamma

__all__ = ["beta_derivative", "gamma_derivative"]

Array = np.ndarray[Any, Any]

#: Above this concentration the cube root of a gamma number is normal, to six digits.
_LARGE = 1000.0


def _lgamma(x: Array) -> Array:
    return lgamma(from_numpy(np.ascontiguousarray(x))).numpy()


def _digamma(x: Array) -> Array:
    return digamma(from_numpy(np.ascontiguousarray(x))).numpy()


def gamma_derivative(alpha: Array, x: Array) -> Array:
    """d x / d alpha for gamma numbers ``x`` of rate one, in double precision."""
    a, y = np.broadcast_arrays(alpha, x)
    result = np.empty(a.shape)
    large = a > _LARGE
    with np.errstate(all="ignore"):
        if large.any():
            result[large] = _cube_root(a[large], y[large])
        if not large.all():
            result[~large] = _by_series(a[~large], y[~large])
    return result


def _cube_root(a: Array, x: Array) -> Array:
    """x = a (1 - 1/(9a) + z / (3 sqrt(a)))**3 at a fixed z (Wilson and Hilferty, 1931)."""
    root = np.cbrt(x / a)
    z = (root - 1 + 1 / (9 * a)) * 3 * np.sqrt(a)
    slope = 1 / (9 * a * a) - z / (6 * a * np.sqrt(a))
    return root**3 + 3 * a * root**2 * slope


def _by_series(a: Array, x: Array) -> Array:
    """∂P/∂a term by term, of P = sum of x**(a+n) exp(-x) / Γ(a+n+1), over the density."""
    # Each term over the density x**(a-1) exp(-x) / Γ(a).
    log_x = np.log(np.maximum(x, np.finfo(np.float64).tiny))
    term = x / a
    psi = _digamma(a + 1)
    total = term * (psi - log_x)
    most = int(np.max(np.maximum(x - a, 0) + 12 * np.sqrt(np.maximum(x, a)) + 60, initial=0))
    for n in range(1, most):
        term = term * x / (a + n)
        psi = psi + 1 / (a + n)
        change = term * (psi - log_x)
        total = total + change
        if n % 16 == 0 and (np.abs(change) <= 1e-16 * np.abs(total)).all():
            break
    return total


def beta_derivative(a: Array, b: Array, x: Array) -> Array:
    """d x / d a for beta numbers ``x`` of ``a`` and ``b``, in double precision."""
    a, b, x = np.broadcast_arrays(a, b, x)
    with np.errstate(all="ignore"):
        lower = x <= a / (a + b)
        mean_log = _digamma(a) - _digamma(a + b)
        # E[log t - E log t] over the tail that is shorter, divided by the density at x.
        below = _tail(a, b, x, mean_log, False)
        above = _tail(b, a, 1 - x, mean_log, True)
        return np.where(lower, -below, above)


def _nodes() -> tuple[Array, Array]:
    """Places and weights in (0, 1) for integrals of what is singular at the ends."""
    h = 0.05
    k = np.arange(-75, 76) * h
    u = np.pi / 2 * np.sinh(k)
    positions = 1 / (1 + np.exp(-2 * u))
    weights = h * np.pi / 2 * np.cosh(k) / (2 * np.cosh(u) ** 2)
    return positions, weights


def _tail(a: Array, b: Array, x: Array, mean_log: Array, mirrored: bool) -> Array:
    """The integral from 0 to x of (log t - mean_log) (t/x)**(a-1) ((1-t)/(1-x))**(b-1).

    With ``mirrored`` the logarithm is that of 1 - t.
    """
    positions, weights = _nodes()
    a, b, x, mean_log = [np.asarray(each)[..., None] for each in (a, b, x, mean_log)]
    # t = x s and s = p**(1 / power), so that what is infinite at 0 is gone.
    power = np.minimum(a, 1)
    log_s = np.log(positions) / power
    t = x * np.exp(log_s)
    log_of = np.log1p(-t) if mirrored else np.log(x) + log_s
    shape = (a / power - 1) * np.log(positions) + (b - 1) * (np.log1p(-t) - np.log1p(-x))
    values = (log_of - mean_log) * np.exp(shape) / power
    return (np.where(np.isfinite(values), values, 0) * weights).sum(-1) * x[..., 0]
