"""``Cauchy``: the ratio of two normal numbers."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.grad_mode import no_grad
from ..ops.creation.filled import full
from ..ops.pointwise.functions import atan, log, log1p, tan
from ..size import Size
from . import constraints
from .distribution import Distribution, validated
from .utils import broadcast_all, same_as

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The density 1 / (pi scale (1 + ((x - loc) / scale)**2))."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _expands = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    mode: Any = same_as("loc")

    @property
    def mean(self) -> Any:
        return full(self._extended_shape(), math.nan, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def variance(self) -> Any:
        return full(self._extended_shape(), math.inf, dtype=self.loc.dtype, device=self.loc.device)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            eps = self.loc.new_empty(shape).cauchy_()
        return self.loc + eps * self.scale

    @validated
    def log_prob(self, value: Any) -> Any:
        distance = ((value - self.loc) / self.scale) ** 2
        return -math.log(math.pi) - log(self.scale) - log1p(distance)

    @validated
    def cdf(self, value: Any) -> Any:
        return atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        return tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Any:
        return math.log(4 * math.pi) + log(self.scale)
