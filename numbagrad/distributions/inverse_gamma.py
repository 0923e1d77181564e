"""``InverseGamma``: one over gamma numbers."""

from __future__ import annotations

import math
from typing import Any

from ..ops.pointwise.functions import digamma, lgamma, log
from ..ops.pointwise.selection import where
from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform
from .utils import same_as

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """One over a number of ``Gamma(concentration, rate)``."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        inverse = PowerTransform(exponent=-base.rate.new_ones(()))
        super().__init__(base, inverse, validate_args=validate_args)

    concentration: Any = same_as("base_dist.concentration")
    rate: Any = same_as("base_dist.rate")

    @property
    def mode(self) -> Any:
        return self.rate / (self.concentration + 1)

    @property
    def mean(self) -> Any:
        return where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def variance(self) -> Any:
        a = self.concentration
        finite = self.rate.square() / ((a - 1).square() * (a - 2))
        return where(a > 2, finite, math.inf)

    def entropy(self) -> Any:
        a = self.concentration
        return a + log(self.rate) + lgamma(a) - (1 + a) * digamma(a)
