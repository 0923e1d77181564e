"""``Normal``: the normal distribution."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.grad_mode import no_grad
from ..ops.creation.filled import ones, zeros
from ..ops.creation.random import normal
from ..ops.pointwise.functions import erf, erfinv, log
from ..size import Size
from . import constraints
from .distribution import ExponentialFamily, validated
from .utils import broadcast_all, same_as

__all__ = ["Normal"]


class Normal(ExponentialFamily):
    """The normal distribution of mean ``loc`` and standard deviation ``scale``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0
    _expands = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    mean: Any = same_as("loc")
    mode: Any = same_as("loc")
    stddev: Any = same_as("scale")

    @property
    def variance(self) -> Any:
        return self.stddev**2

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            loc, kind = self.loc.device, self.loc.dtype
            mean, deviation = [f(shape, dtype=kind, device=loc) for f in (zeros, ones)]
            drawn = normal(mean, deviation)
        return self.loc + drawn * self.scale

    @validated
    def log_prob(self, value: Any) -> Any:
        distance = (value - self.loc) ** 2 / (2 * self.scale**2)
        return -distance - log(self.scale) - 0.5 * math.log(2 * math.pi)

    @validated
    def cdf(self, value: Any) -> Any:
        return 0.5 * (1 + erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value: Any) -> Any:
        return self.loc + self.scale * erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Any:
        return 0.5 + 0.5 * math.log(2 * math.pi) + log(self.scale)

    @property
    def _natural_params(self) -> Any:
        return self.loc / self.scale**2, -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return -0.25 * x**2 / y + 0.5 * log(-math.pi / y)
