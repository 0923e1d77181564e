"""``HalfNormal``: the size of a normal number."""

from __future__ import annotations

import math
from typing import Any

from ..ops.creation.filled import zeros_like
from ..ops.pointwise.selection import where
from . import constraints
from .distribution import validated
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform
from .utils import same_as

__all__ = ["HalfNormal"]


class AbsoluteValue(TransformedDistribution):
    """The absolute value of a number whose density is symmetric around 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    scale: Any = same_as("base_dist.scale")

    @property
    def mode(self) -> Any:
        return zeros_like(self.scale)

    @validated
    def log_prob(self, value: Any) -> Any:
        return self._log_density(value)

    def _log_density(self, value: Any) -> Any:
        density = self.base_dist.log_prob(value) + math.log(2)
        return where(value >= 0, density, -math.inf)

    @validated
    def cdf(self, value: Any) -> Any:
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Any:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(AbsoluteValue):
    """The absolute value of a normal number of mean 0."""

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(
            Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args
        )

    @property
    def mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        return self.scale.pow(2) * (1 - 2 / math.pi)
