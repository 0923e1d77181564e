"""``RelaxedOneHotCategorical``: points of a simplex that get close to its corners."""

from __future__ import annotations

from typing import Any

from ..ops.creation.filled import full, full_like
from ..ops.creation.random import rand
from ..ops.pointwise.functions import lgamma, log
from ..size import Size
from . import constraints
from .categorical import Categorical
from .distribution import Distribution, validated
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs, same_as

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """Log probabilities plus Gumbel numbers, over a temperature, normalized."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True
    _expands = ("_categorical",)
    _shares = ("temperature",)

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    _param: Any = same_as("_categorical._param")
    param_shape: Any = same_as("_categorical.param_shape")
    logits: Any = same_as("_categorical.logits")
    probs: Any = same_as("_categorical.probs")

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - log(-log(u))) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    @validated
    def log_prob(self, value: Any) -> Any:
        n = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        norm = lgamma(full((), float(n), dtype=logits.dtype, device=logits.device))
        norm = norm - log(full_like(self.temperature, 1.0) * self.temperature).mul(-(n - 1))
        score = logits - value.mul(self.temperature)
        score = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return score + norm


class RelaxedOneHotCategorical(TransformedDistribution):
    """exp of that: the corner of a class at a temperature of zero."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    temperature: Any = same_as("base_dist.temperature")
    logits: Any = same_as("base_dist.logits")
    probs: Any = same_as("base_dist.probs")
