"""``LogisticNormal``: points of a simplex from normal numbers."""

from __future__ import annotations

from typing import Any

from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform
from .utils import same_as

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Normal numbers, sent to a simplex by ``StickBreakingTransform``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base: Any = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    loc: Any = same_as("base_dist.base_dist.loc")
    scale: Any = same_as("base_dist.base_dist.scale")
