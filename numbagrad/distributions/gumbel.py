"""``Gumbel``: the largest of many numbers."""

from __future__ import annotations

import math
from typing import Any

from ..dtype import finfo
from ..ops.creation.filled import ones_like
from ..ops.pointwise.functions import exp, log
from . import constraints
from .distribution import validated
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant, same_as

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """loc - scale log(-log(u)) of a uniform number."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _expands = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = finfo(self.loc.dtype)
        if isinstance(loc, (int, float)) and isinstance(scale, (int, float)):
            base = Uniform(info.tiny, 1 - info.eps, validate_args=validate_args)
        else:
            ones = ones_like(self.loc)
            base = Uniform(ones * info.tiny, ones * (1 - info.eps), validate_args=validate_args)
        transforms: list[Any] = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc=self.loc, scale=-self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    @validated
    def log_prob(self, value: Any) -> Any:
        y = (self.loc - value) / self.scale
        return y - exp(y) - log(self.scale)

    @property
    def mean(self) -> Any:
        return self.loc + self.scale * euler_constant

    mode: Any = same_as("loc")

    @property
    def stddev(self) -> Any:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Any:
        return self.stddev.pow(2)

    def entropy(self) -> Any:
        return log(self.scale) + (1 + euler_constant)
