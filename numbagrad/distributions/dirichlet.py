"""``Dirichlet``: points of a simplex."""

from __future__ import annotations

from typing import Any

from ..nn.functional import one_hot
from ..ops.pointwise.functions import digamma, lgamma, xlogy
from ..ops.pointwise.selection import where
from ..size import Size
from . import constraints
from .distribution import ExponentialFamily, validated
from .sampling import dirichlet as draw

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """The density prod(x**(concentration - 1)) over vectors that sum to one, normalized."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _expands = ("concentration",)

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        return draw(self.concentration.expand(shape))

    @validated
    def log_prob(self, value: Any) -> Any:
        a = self.concentration
        total = lgamma(a.sum(-1)) - lgamma(a).sum(-1)
        return xlogy(a - 1, value).sum(-1) + total

    @property
    def mean(self) -> Any:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Any:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = (self.concentration < 1).all(-1, keepdim=True)
        position = one_hot(mode.argmax(-1), self.concentration.shape[-1]).to(mode)
        return where(corner, position, mode)

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, True)
        rest = total - self.concentration
        return self.concentration * rest / (total.pow(2) * (total + 1))

    def entropy(self) -> Any:
        k = self.concentration.size(-1)
        a = self.concentration
        total = a.sum(-1)
        norm = lgamma(a).sum(-1) - lgamma(total)
        return norm - (k - total) * digamma(total) - ((a - 1.0) * digamma(a)).sum(-1)

    @property
    def _natural_params(self) -> Any:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:
        return lgamma(x).sum(-1) - lgamma(x.sum(-1))
