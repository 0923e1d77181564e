"""``Exponential``: waiting times."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..ops.creation.filled import zeros_like
from ..ops.pointwise.functions import exp, log, log1p
from ..size import Size
from . import constraints
from .distribution import ExponentialFamily, validated
from .utils import broadcast_all

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """The density rate exp(-rate x)."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _expands = ("rate",)

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Any:
        return zeros_like(self.rate)

    @property
    def stddev(self) -> Any:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Any:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            drawn = self.rate.new_empty(shape).exponential_()
        return drawn / self.rate

    @validated
    def log_prob(self, value: Any) -> Any:
        return log(self.rate) - self.rate * value

    @validated
    def cdf(self, value: Any) -> Any:
        return 1 - exp(-self.rate * value)

    def icdf(self, value: Any) -> Any:
        return -log1p(-value) / self.rate

    def entropy(self) -> Any:
        return 1 - log(self.rate)

    @property
    def _natural_params(self) -> Any:
        return (-self.rate,)

    def _log_normalizer(self, x: Any) -> Any:
        return -log(-x)
