"""``NegativeBinomial``: successes before a number of failures."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..nn.functional import logsigmoid
from ..ops.pointwise.functions import exp, lgamma, sigmoid
from ..size import Size
from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .sampling import poisson
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Distribution):
    """Trials that succeed, with probability ``probs``, before ``total_count`` fail."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            self.total_count, self.probs = broadcast_all(total_count, probs)
        else:
            self.total_count, self.logits = broadcast_all(total_count, logits)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def _param(self) -> Any:
        return self.__dict__["probs" if "probs" in self.__dict__ else "logits"]

    @lazy_property
    def logits(self) -> Any:
        """Log odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._param.size()

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(
            NegativeBinomial, ("total_count", "probs", "logits"), batch_shape, _instance
        )

    @property
    def mean(self) -> Any:
        return self.total_count * exp(self.logits)

    @property
    def mode(self) -> Any:
        return ((self.total_count - 1) * exp(self.logits)).floor().clamp(min=0.0)

    @property
    def variance(self) -> Any:
        return self.mean / sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Any:
        # The rates of Poisson numbers; parameters were checked.
        return Gamma(self.total_count, exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        plain = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        norm = -lgamma(n + value) + lgamma(1.0 + value) + lgamma(n)
        norm = norm.masked_fill(n + value == 0.0, 0.0)
        return plain - norm
