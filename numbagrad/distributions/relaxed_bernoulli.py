"""``RelaxedBernoulli``: numbers between 0 and 1 that get close to them."""

from __future__ import annotations

from typing import Any

from ..ops.creation.random import rand
from ..ops.pointwise.functions import exp, log, log1p
from ..size import Size
from . import constraints
from .distribution import Distribution, validated
from .probs_or_logits import ProbsOrLogits
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs, same_as

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ProbsOrLogits, Distribution):
    """(logits + a logistic number) / temperature (Maddison et al., 2017)."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _expands = ("probs", "logits")
    _shares = ("temperature",)

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._take(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(rand(shape, dtype=probs.dtype, device=probs.device))
        logistic = log(u) - log1p(-u)
        return (logistic + log(probs) - log1p(-probs)) / self.temperature

    @validated
    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        distance = logits - value.mul(self.temperature)
        return log(self.temperature) + distance - 2 * log1p(exp(distance))


class RelaxedBernoulli(TransformedDistribution):
    """The sigmoid of that: 0 or 1 at a temperature of zero."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    temperature: Any = same_as("base_dist.temperature")
    logits: Any = same_as("base_dist.logits")
    probs: Any = same_as("base_dist.probs")
