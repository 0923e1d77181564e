"""``RelaxedBernoulli``: numbers between 0 and 1 that get close to them."""

from __future__ import annotations

from typing import Any

from ..ops.creation.random import rand
from ..ops.pointwise.functions import exp, log, log1p
from ..size import Size
from . import constraints
from .distribution import Distribution
from .probs_or_logits import ProbsOrLogits
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ProbsOrLogits, Distribution):
    """(logits + a logistic number) / temperature (Maddison et al., 2017)."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

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

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        names = ("probs", "logits")
        made = self._expanded(LogitRelaxedBernoulli, names, batch_shape, _instance)
        made.temperature = self.temperature
        return made

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._param.size()

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(rand(shape, dtype=probs.dtype, device=probs.device))
        logistic = log(u) - log1p(-u)
        return (logistic + log(probs) - log1p(-probs)) / self.temperature

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
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

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        made = self._get_checked_instance(RelaxedBernoulli, _instance)
        return super().expand(batch_shape, _instance=made)

    @property
    def temperature(self) -> Any:
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        return self.base_dist.probs
