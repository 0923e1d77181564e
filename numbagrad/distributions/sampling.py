"""Random numbers that distributions need beside uniform and normal ones, drawn in torch's order.

Each number is drawn by itself, by rejection, from the same generator as all others: a few
microseconds a number. Gradients of gamma and Dirichlet samples are implicit ones: the derivative of
the quantile function at a fixed probability (Figurnov et al., 2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd import Function
from ..executor import capture
from ..ops.creation.from_memory import from_numpy
from ..random import Generator, default_generator
from ..tensor import Tensor
from .incomplete import beta_derivative, gamma_derivative

__all__ = ["binomial", "dirichlet", "poisson", "standard_gamma"]

_Drawer = Callable[[], float]


class _Draws:
    """Uniform and normal numbers in double precision, one at a time."""

    def __init__(self, generator: Generator | None) -> None:
        capture.refuse("random numbers that are drawn by rejection")
        self._generator = generator or default_generator()
        self._one = np.empty(1)

    def uniform(self) -> float:
        """From [0, 1)."""
        self._generator.run("uniform_float64", self._one, 0.0, 1.0)
        return float(self._one[0])

    def normal(self) -> float:
        """From a standard normal distribution."""
        self._generator.run("normal_sequence", self._one, 0.0, 1.0)
        return float(self._one[0])


def _gamma(alpha: float, draws: _Draws) -> float:
    """A gamma number (Marsaglia and Tsang, 2000); below 1 one of alpha + 1, times a power."""
    scale = 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = (1 - draws.uniform()) ** (1 / alpha)
        alpha += 1
    d = alpha - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = draws.normal()
        y = 1 + c * x
        if y <= 0:
            continue
        v = y**3
        u = 1 - draws.uniform()
        square = x * x
        if u < 1 - 0.0331 * square * square:
            return scale * d * v
        if math.log(u) < 0.5 * square + d * (1 - v + math.log(v)):
            return scale * d * v


def _drawn(parameters: Any, one: Callable[..., float], generator: Any, result: Any) -> Any:
    """An array of what ``one`` draws for each element of the parameters."""
    draws = _Draws(generator)
    with np.errstate(all="ignore"):
        values = [one(*each, draws) for each in zip(*[p.ravel().tolist() for p in parameters],
                                                    strict=True)]  # fmt: skip
    return np.asarray(values, np.float64).reshape(parameters[0].shape).astype(result)


class _StandardGamma(Function):
    """Gamma numbers of rate one."""

    @staticmethod
    def forward(ctx: Any, alpha: Tensor, generator: Any) -> Tensor:
        """Draw one for each concentration."""
        given = alpha.detach().numpy()
        drawn = _drawn([given], _gamma, generator, given.dtype)
        result = from_numpy(np.maximum(drawn, np.finfo(given.dtype).tiny))
        ctx.save_for_backward(alpha, result)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        """The gradient of the quantile."""
        alpha, result = ctx.saved_tensors
        a, x = [each.detach().numpy().astype(np.float64) for each in (alpha, result)]
        return grad * from_numpy(gamma_derivative(a, x)).to(grad.dtype), None


def standard_gamma(alpha: Tensor, generator: Generator | None = None) -> Tensor:
    """Gamma numbers of rate one, with gradients to the concentrations."""
    return _StandardGamma.apply(alpha, generator)


class _Dirichlet(Function):
    """Points of a simplex."""

    @staticmethod
    def forward(ctx: Any, alpha: Tensor) -> Tensor:
        """Gamma numbers, divided by their sum."""
        given = alpha.detach().numpy()
        numbers = _drawn([given.astype(np.float64)], _gamma, None, np.float64)
        numbers = np.maximum(numbers, np.finfo(np.float64).tiny)
        points = (numbers / numbers.sum(-1, keepdims=True)).astype(given.dtype)
        tiny = np.finfo(given.dtype).tiny
        result = from_numpy(np.clip(points, tiny, 1 - np.finfo(given.dtype).epsneg))
        ctx.save_for_backward(alpha, result)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        """Each part moves as a beta number, and the others shrink for it."""
        alpha, result = ctx.saved_tensors
        a, x = [each.detach().numpy().astype(np.float64) for each in (alpha, result)]
        total = np.broadcast_to(a.sum(-1, keepdims=True), a.shape)
        slope = from_numpy(beta_derivative(a, total - a, x) / (1 - x)).to(grad.dtype)
        return slope * (grad - (result * grad).sum(-1, keepdim=True))


def dirichlet(alpha: Tensor) -> Tensor:
    """Points of simplices along the last dimension, with gradients to the concentrations."""
    return _Dirichlet.apply(alpha)


def _poisson(rate: float, draws: _Draws) -> float:
    """A Poisson number: a product of uniform numbers (Knuth), or rejection (Hörmann, 1993)."""
    if rate <= 0:
        return 0.0
    if rate < 10:
        limit, product, count = math.exp(-rate), 1.0, 0
        while True:
            product *= draws.uniform()
            if product <= limit:
                return float(count)
            count += 1
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    bound = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = draws.uniform() - 0.5
        v = draws.uniform()
        distance = 0.5 - abs(u)
        k = math.floor((2 * a / distance + b) * u + rate + 0.43)
        if distance >= 0.07 and v <= bound:
            return float(k)
        if k < 0 or (distance < 0.013 and v > distance):
            continue
        left = math.log(v) + math.log(inverse_alpha) - math.log(a / distance**2 + b)
        if left <= k * log_rate - rate - math.lgamma(k + 1):
            return float(k)


def poisson(rate: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson numbers of these rates, in their dtype."""
    given = rate.detach().numpy()
    if (given < 0).any():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return from_numpy(_drawn([given], _poisson, generator, given.dtype))


#: The remainder of log(k!) over Stirling's formula, for small k.
_REST = [
    math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))
    for k in range(10)
]


def _stirling_rest(k: float) -> float:
    if k <= 9:
        return _REST[int(k)]
    square = (k + 1) ** 2
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def _binomial_by_waiting(count: float, prob: float, draws: _Draws) -> float:
    """A binomial number as the waiting times that fit into the count."""
    log_miss = math.log1p(-prob)
    total, number = 0.0, 0
    while True:
        u = draws.uniform()
        total += math.ceil(math.log(u) / log_miss) if u > 0 else math.inf
        if total > count:
            return float(number)
        number += 1


def _binomial_by_rejection(count: float, prob: float, draws: _Draws) -> float:
    """A binomial number (Hörmann, 1993: BTRS)."""
    spread = math.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = count * prob + 0.5
    bound = 0.92 - 4.2 / b
    odds = prob / (1 - prob)
    alpha = (2.83 + 5.1 / b) * spread
    mode = math.floor((count + 1) * prob)
    while True:
        u = draws.uniform() - 0.5
        v = draws.uniform()
        distance = 0.5 - abs(u)
        k = math.floor((2 * a / distance + b) * u + c)
        if distance >= 0.07 and v <= bound:
            return float(k)
        if k < 0 or k > count:
            continue
        left = math.log(v * alpha / (a / (distance * distance) + b))
        right = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _stirling_rest(mode)
            + _stirling_rest(count - mode)
            - _stirling_rest(k)
            - _stirling_rest(count - k)
        )
        if left <= right:
            return float(k)


def _binomial(count: float, prob: float, draws: _Draws) -> float:
    if count <= 0 or prob <= 0:
        return 0.0
    if prob >= 1:
        return count
    if prob > 0.5:
        return count - _binomial(count, 1 - prob, draws)
    by = _binomial_by_rejection if count * prob >= 10 else _binomial_by_waiting
    return by(count, prob, draws)


def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of ``count`` trials succeed, each with probability ``prob``, in that dtype."""
    n, p = np.broadcast_arrays(count.detach().numpy(), prob.detach().numpy())
    return from_numpy(_drawn([n, p], _binomial, generator, p.dtype))
