"""Random numbers that distributions need beside uniform and normal ones, drawn in torch's order.

Each number is drawn by itself, by rejection, from the same generator as all others: a few
microseconds a number. A GPU compiles these functions (``cuda/kernels/draws.py``): they are of
numbers, and none goes on for ever, whatever it is given. Gradients of gamma and Dirichlet samples
are implicit ones: the derivative of the quantile function at a fixed probability (Figurnov et al.,
2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import half_precision as half
from ..autograd import Function
from ..backend import foreign
from ..dtype import finfo, float64
from ..executor import capture
from ..executor.families.checks import check_signs
from ..ops.creation.from_memory import from_numpy
from ..ops.views.expand import broadcast_tensors
from ..random import Generator, default_generator
from ..tensor import Tensor, new_tensor
from .incomplete import beta_derivative, gamma_derivative

__all__ = ["binomial", "dirichlet", "poisson", "standard_gamma"]


class _Draws:
    """Uniform and normal numbers in double precision, one at a time."""

    def __init__(self, generator: Generator | None) -> None:
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
    if not alpha < math.inf:
        return alpha
    scale = 1.0
    if alpha < 1:
        if alpha <= 0:
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


def _drawn(one: Callable[..., float], generator: Any, *parameters: Tensor) -> Tensor:
    """Numbers that ``one`` draws for each element of parameters of one shape, in their dtype."""
    capture.refuse("random numbers that are drawn by rejection")
    arrays = [p.detach()._array for p in parameters]
    where = foreign(arrays[0])
    if where is not None:
        return new_tensor(where.drawn(one, arrays, generator))
    draws = _Draws(generator)
    each = zip(*[half.readable(x).ravel().tolist() for x in arrays], strict=True)
    with np.errstate(all="ignore"):
        values = [one(*given, draws) for given in each]
    made = np.asarray(values, np.float64).reshape(arrays[0].shape)
    return new_tensor(half.converted(made, arrays[0].dtype))


def _on_host(function: Callable[..., Any], grad: Tensor, *tensors: Tensor) -> Tensor:
    """A function of ndarrays of float64, beside a gradient."""
    given = [x.detach().cpu().numpy().astype(np.float64) for x in tensors]
    return from_numpy(function(*given)).to(grad.device, grad.dtype)


class _StandardGamma(Function):
    """Gamma numbers of rate one."""

    @staticmethod
    def forward(ctx: Any, alpha: Tensor, generator: Any) -> Tensor:
        """Draw one for each concentration."""
        result = _drawn(_gamma, generator, alpha).clamp_min(finfo(alpha.dtype).tiny)
        ctx.save_for_backward(alpha, result)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        """The gradient of the quantile."""
        return grad * _on_host(gamma_derivative, grad, *ctx.saved_tensors), None


def standard_gamma(alpha: Tensor, generator: Generator | None = None) -> Tensor:
    """Gamma numbers of rate one, with gradients to the concentrations."""
    return _StandardGamma.apply(alpha, generator)


class _Dirichlet(Function):
    """Points of a simplex."""

    @staticmethod
    def forward(ctx: Any, alpha: Tensor) -> Tensor:
        """Gamma numbers, divided by their sum."""
        numbers = _drawn(_gamma, None, alpha.double()).clamp_min(finfo(float64).tiny)
        points = (numbers / numbers.sum(-1, keepdim=True)).to(alpha.dtype)
        limits = finfo(alpha.dtype)
        result = points.clamp(limits.tiny, 1 - limits.eps / 2)
        ctx.save_for_backward(alpha, result)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        """Each part moves as a beta number, and the others shrink for it."""
        alpha, result = ctx.saved_tensors
        slope = _on_host(_slope_of_parts, grad, alpha, result)
        return slope * (grad - (result * grad).sum(-1, keepdim=True))


def _slope_of_parts(a: Any, x: Any) -> Any:
    return beta_derivative(a, a.sum(-1, keepdims=True) - a, x) / (1 - x)


def dirichlet(alpha: Tensor) -> Tensor:
    """Points of simplices along the last dimension, with gradients to the concentrations."""
    return _Dirichlet.apply(alpha)


def _poisson(rate: float, draws: _Draws) -> float:
    """A Poisson number: a product of uniform numbers (Knuth), or rejection (Hörmann, 1993)."""
    if not rate > 0:
        return 0.0
    if rate == math.inf:
        return rate
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
    check_signs("poisson(): a rate", rate.detach()._array, _explain_rates)
    return _drawn(_poisson, generator, rate)


def _explain_rates(rates: Any) -> None:
    if not np.all(half.readable(rates) >= 0):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")


#: The remainder of log(k!) over Stirling's formula, for small k.
_REST = tuple([
    math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))
    for k in range(10)
])  # fmt: skip


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
    if count != count or prob != prob:
        return math.nan
    if count <= 0 or prob <= 0:
        return 0.0
    if prob >= 1 or count == math.inf:
        return count
    chance = 1 - prob if prob > 0.5 else prob
    if count * chance >= 10:
        number = _binomial_by_rejection(count, chance, draws)
    else:
        number = _binomial_by_waiting(count, chance, draws)
    return count - number if prob > 0.5 else number


def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of ``count`` trials succeed, each with probability ``prob``, in that dtype."""
    return _drawn(_binomial, generator, *broadcast_tensors(count.detach(), prob.detach()))
