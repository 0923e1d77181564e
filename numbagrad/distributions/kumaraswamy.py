"""``Kumaraswamy``: much like ``Beta``, by a formula."""

from __future__ import annotations

import math
from typing import Any

from ..ops.creation.filled import ones_like, zeros_like
from ..ops.pointwise.functions import digamma, exp, lgamma, log, log1p
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


def _moment(a: Any, b: Any, n: int) -> Any:
    """E[x**n] = b B(1 + n/a, b)."""
    c = 1 + n / a
    return exp(log(b) + lgamma(c) + lgamma(b) - lgamma(c + b))


class Kumaraswamy(TransformedDistribution):
    """(1 - u**(1 / concentration0))**(1 / concentration1) of a uniform number."""

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    _expands = ("concentration1", "concentration0")

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            zeros_like(self.concentration0),
            ones_like(self.concentration0),
            validate_args=validate_args,
        )
        transforms: list[Any] = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return _moment(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Any:
        a, b = self.concentration1, self.concentration0
        found = exp(a.reciprocal() * log1p(-b) - a.reciprocal() * log1p(-a * b))
        found[(b < 1) | (a < 1)] = math.nan
        return found

    @property
    def variance(self) -> Any:
        a, b = self.concentration1, self.concentration0
        return _moment(a, b, 2) - self.mean.pow(2)

    def entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        harmonic = digamma(b + 1) + euler_constant
        return 1 - b.reciprocal() + (1 - a.reciprocal()) * harmonic - log(a) - log(b)
