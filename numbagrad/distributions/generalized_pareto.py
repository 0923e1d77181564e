"""``GeneralizedPareto``: what lies above a threshold."""

from __future__ import annotations

import math
from typing import Any

from ..ops.creation.filled import ones_like, zeros_like
from ..ops.creation.random import rand
from ..ops.pointwise.functions import exp, expm1, log, log1p
from ..ops.pointwise.selection import where
from ..size import Size
from . import constraints
from .distribution import Distribution, validated
from .utils import broadcast_all, same_as

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The density (1 + c z)**(-1/c - 1) / scale of z = (x - loc) / scale; exponential for c = 0."""

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    _expands = ("loc", "scale", "concentration")

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        u = rand(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.icdf(u)

    def _split(self, z: Any) -> Any:
        """Where c counts as zero, a c that may be divided by, and 1 + c z."""
        flat = self.concentration.isclose(zeros_like(self.concentration))
        c = where(flat, ones_like(self.concentration), self.concentration)
        return flat, c, 1 + c * z

    @validated
    def log_prob(self, value: Any) -> Any:
        z = self._z(value)
        flat, c, inner = self._split(z)
        steep = log1p(c * z) * (-1 / c - 1)
        return -log(self.scale) + where(flat, -z, steep)

    def _z(self, x: Any) -> Any:
        return (x - self.loc) / self.scale

    @validated
    def log_survival_function(self, value: Any) -> Any:
        z = self._z(value)
        flat, c, inner = self._split(z)
        return where(flat, -z, -log1p(c * z) / c)

    @validated
    def cdf(self, value: Any) -> Any:
        return 1 - exp(self.log_survival_function(value))

    @validated
    def log_cdf(self, value: Any) -> Any:
        return log1p(-exp(self.log_survival_function(value)))

    def icdf(self, value: Any) -> Any:
        flat, c, _ = self._split(value)
        rest = log1p(-value)
        return self.loc + self.scale * where(flat, -rest, expm1(-c * rest) / c)

    @property
    def mean(self) -> Any:
        c = self.concentration
        return self.loc + self.scale / where(c < 1, 1 - c, zeros_like(c))

    @property
    def variance(self) -> Any:
        c = self.concentration
        finite = self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c))
        return where(c < 0.5, finite, math.nan)

    mode: Any = same_as("loc")

    def entropy(self) -> Any:
        return log(self.scale) + self.concentration + 1

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        lower = self.loc
        upper = where(self.concentration < 0, lower - self.scale / self.concentration, math.inf)
        return constraints.interval(lower, upper)
