"""``ContinuousBernoulli``: numbers of the unit interval by a density."""

from __future__ import annotations

import math
from typing import Any

from ..nn.functional import binary_cross_entropy_with_logits
from ..ops.creation.filled import ones_like, zeros_like
from ..ops.creation.random import rand
from ..ops.pointwise.functions import exp, log, log1p, sqrt
from ..ops.pointwise.selection import where
from ..size import Size
from . import constraints
from .distribution import ExponentialFamily, validated
from .probs_or_logits import ProbsOrLogits
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """The density probs**x (1 - probs)**(1 - x), normalized (Loaiza-Ganem et al., 2019)."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True
    _expands = ("probs", "logits")
    _shares = ("_lims",)

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: Any = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._take(probs, logits)
        if probs is not None:
            if validate_args is not False and not constraints.unit_interval.check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        # Between these, formulas are replaced by series: they divide by 1 - 2 probs.
        self._lims = lims
        super().__init__(self.param_shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Any:
        """Probabilities."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside(self) -> Any:
        """Where formulas hold, and probabilities with 1/2 moved to a limit."""
        low, high = self._lims
        outside = (self.probs <= low) | (self.probs > high)
        return outside, where(outside, self.probs, low * ones_like(self.probs))

    def _log_norm(self) -> Any:
        outside, probs = self._outside()
        below = where(probs <= 0.5, probs, zeros_like(probs))
        above = where(probs >= 0.5, probs, ones_like(probs))
        top = log((log1p(-probs) - log(probs)).abs())
        bottom = where(probs <= 0.5, log1p(-2.0 * below), log(2.0 * above - 1.0))
        x = (self.probs - 0.5).pow(2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return where(outside, top - bottom, series)

    @property
    def mean(self) -> Any:
        outside, probs = self._outside()
        means = probs / (2.0 * probs - 1.0) + 1.0 / (log1p(-probs) - log(probs))
        x = self.probs - 0.5
        return where(outside, means, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def variance(self) -> Any:
        outside, probs = self._outside()
        first = probs * (probs - 1.0) / (1.0 - 2.0 * probs).pow(2)
        x = (self.probs - 0.5).pow(2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return where(outside, first + 1.0 / (log1p(-probs) - log(probs)).pow(2), series)

    @property
    def stddev(self) -> Any:
        return sqrt(self.variance)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        u = rand(shape, dtype=self.probs.dtype, device=self.probs.device)
        return self.icdf(u)

    @validated
    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        cross = -binary_cross_entropy_with_logits(logits, value, reduction="none")
        return cross + self._log_norm()

    @validated
    def cdf(self, value: Any) -> Any:
        outside, probs = self._outside()
        powers = probs.pow(value) * (1.0 - probs).pow(1.0 - value)
        inner = where(outside, (powers + probs - 1.0) / (2.0 * probs - 1.0), value)
        kept = where(value >= 1.0, ones_like(inner), inner)
        return where(value <= 0.0, zeros_like(inner), kept)

    def icdf(self, value: Any) -> Any:
        outside, probs = self._outside()
        top = log1p(-probs + value * (2.0 * probs - 1.0)) - log1p(-probs)
        return where(outside, top / (log(probs) - log1p(-probs)), value)

    def entropy(self) -> Any:
        miss = log1p(-self.probs)
        return self.mean * (miss - log(self.probs)) - self._log_norm() - miss

    @property
    def _natural_params(self) -> Any:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:
        return _log_normalizer(x, self._lims)


def _log_normalizer(x: Any, limits: Any) -> Any:
    """log((exp(x) - 1) / x), and a series where x is about 0."""
    low, high = limits
    outside = (x <= low - 0.5) | (x > high - 0.5)
    moved = where(outside, x, (low - 0.5) * ones_like(x))
    plain = log((exp(moved) - 1).abs()) - log(moved.abs())
    return where(outside, plain, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
