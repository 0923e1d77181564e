"""``LogNormal``: numbers whose logarithm is normal."""

from __future__ import annotations

from typing import Any

from ..ops.pointwise.functions import exp, expm1
from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import same_as

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """exp of a normal number."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(
            Normal(loc, scale, validate_args=validate_args),
            ExpTransform(),
            validate_args=validate_args,
        )

    loc: Any = same_as("base_dist.loc")
    scale: Any = same_as("base_dist.scale")

    @property
    def mean(self) -> Any:
        return exp(self.loc + self.scale.pow(2) / 2)

    @property
    def mode(self) -> Any:
        return exp(self.loc - self.scale.square())

    @property
    def variance(self) -> Any:
        return expm1(self.scale.pow(2)) * exp(2 * self.loc + self.scale.pow(2))

    def entropy(self) -> Any:
        return self.base_dist.entropy() + self.loc
