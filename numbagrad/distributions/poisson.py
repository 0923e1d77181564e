"""``Poisson``: counts of rare events."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..ops.pointwise.functions import exp, floor, lgamma, log, xlogy
from ..size import Size
from . import constraints
from .distribution import ExponentialFamily, validated
from .sampling import poisson as draw
from .utils import broadcast_all, same_as

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """The probability rate**k exp(-rate) / k! of a count k."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _expands = ("rate",)

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    mean: Any = same_as("rate")

    @property
    def mode(self) -> Any:
        return floor(self.rate)

    variance: Any = same_as("rate")

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return draw(self.rate.expand(shape))

    @validated
    def log_prob(self, value: Any) -> Any:
        rate, value = broadcast_all(self.rate, value)
        return xlogy(value, rate) - rate - lgamma(value + 1)

    @property
    def _natural_params(self) -> Any:
        return (log(self.rate),)

    def _log_normalizer(self, x: Any) -> Any:
        return exp(x)
