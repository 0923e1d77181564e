"""``NegativeBinomial``: successes before a number of failures."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..nn.functional import logsigmoid
from ..ops.pointwise.functions import exp, lgamma, sigmoid
from ..size import Size
from . import constraints
from .distribution import Distribution, validated
from .gamma import Gamma
from .probs_or_logits import ProbsOrLogits
from .sampling import poisson
from .utils import lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits, Distribution):
    """Trials that succeed, with probability ``probs``, before ``total_count`` fail."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _expands = ("total_count", "probs", "logits")

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        (self.total_count,) = self._take(probs, logits, total_count)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

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

    @validated
    def log_prob(self, value: Any) -> Any:
        n = self.total_count
        plain = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        norm = -lgamma(n + value) + lgamma(1.0 + value) + lgamma(n)
        norm = norm.masked_fill(n + value == 0.0, 0.0)
        return plain - norm
