"""``Laplace``: two exponential distributions back to back."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..dtype import finfo
from ..ops.pointwise.functions import expm1, log, log1p
from ..size import Size
from . import constraints
from .distribution import Distribution, validated
from .utils import broadcast_all, same_as

__all__ = ["Laplace"]


class Laplace(Distribution):
    """The density exp(-|x - loc| / scale) / (2 scale)."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _expands = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    mean: Any = same_as("loc")
    mode: Any = same_as("loc")

    @property
    def variance(self) -> Any:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Any:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        eps = finfo(self.loc.dtype).eps
        with no_grad():
            u = self.loc.new_empty(shape).uniform_(eps - 1, 1)
        return self.loc - self.scale * u.sign() * log1p(-u.abs())

    @validated
    def log_prob(self, value: Any) -> Any:
        return -log(2 * self.scale) - (value - self.loc).abs() / self.scale

    @validated
    def cdf(self, value: Any) -> Any:
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * expm1(-distance.abs() / self.scale)

    def icdf(self, value: Any) -> Any:
        part = value - 0.5
        return self.loc - self.scale * part.sign() * log1p(-2 * part.abs())

    def entropy(self) -> Any:
        return 1 + log(2 * self.scale)
