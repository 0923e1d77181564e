"""``Beta``: probabilities."""

from __future__ import annotations

from typing import Any

from ..ops.pointwise.functions import lgamma
from ..ops.views.join import stack
from . import constraints
from .dirichlet import Dirichlet
from .distribution import ExponentialFamily, validated
from .utils import broadcast_all

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """The density x**(concentration1 - 1) (1 - x)**(concentration0 - 1), normalized."""

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    _expands = ("_dirichlet",)

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        pair = broadcast_all(concentration1, concentration0)
        self._dirichlet = Dirichlet(stack(list(pair), -1), validate_args=validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    @validated
    def log_prob(self, value: Any) -> Any:
        both = stack([value, 1.0 - value], -1)
        return self._dirichlet.log_prob(both)

    @property
    def concentration1(self) -> Any:
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Any:
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Any:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Any:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Any:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def entropy(self) -> Any:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> Any:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return lgamma(x) + lgamma(y) - lgamma(x + y)
