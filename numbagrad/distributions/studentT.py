"""``StudentT``: normal numbers of an uncertain variance."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.grad_mode import no_grad
from ..ops.creation.filled import ones, zeros
from ..ops.creation.random import normal
from ..ops.pointwise.functions import digamma, lgamma, log, log1p
from ..ops.pointwise.selection import where
from ..size import Size
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution, validated
from .utils import broadcast_all, same_as

__all__ = ["StudentT"]


class StudentT(Distribution):
    """A normal number over the root of a chi-square number over ``df``, scaled and moved."""

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    _expands = ("df", "loc", "scale", "_chi2")

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return where(self.df <= 1, math.nan, self.loc)

    mode: Any = same_as("loc")

    @property
    def variance(self) -> Any:
        finite = self.scale.pow(2) * self.df / (self.df - 2)
        value = where(self.df > 2, finite, math.inf)
        return where(self.df > 1, value, math.nan)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            x = normal(
                zeros(shape, dtype=self.df.dtype, device=self.df.device),
                ones(shape, dtype=self.df.dtype, device=self.df.device),
            )
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * x * (z / self.df).rsqrt()

    @validated
    def log_prob(self, value: Any) -> Any:
        y = (value - self.loc) / self.scale
        norm = log(self.scale) + 0.5 * log(self.df) + 0.5 * math.log(math.pi)
        norm = norm + lgamma(0.5 * self.df) - lgamma(0.5 * (self.df + 1.0))
        return -0.5 * (self.df + 1.0) * log1p(y**2.0 / self.df) - norm

    def entropy(self) -> Any:
        half = 0.5 * self.df
        beta = lgamma(half) + math.lgamma(0.5) - lgamma(0.5 * (self.df + 1))
        psi = digamma(0.5 * (self.df + 1)) - digamma(half)
        return log(self.scale) + 0.5 * (self.df + 1) * psi + 0.5 * log(self.df) + beta
