"""``Bernoulli``: 0 or 1."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.grad_mode import no_grad
from ..nn.functional import binary_cross_entropy_with_logits
from ..ops.creation.random import bernoulli
from ..ops.creation.sequences import arange
from ..ops.pointwise.functions import exp, log, log1p
from ..size import Size
from . import constraints
from .distribution import ExponentialFamily, validated
from .probs_or_logits import ProbsOrLogits
from .utils import broadcast_all, same_as

__all__ = ["Bernoulli"]


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """1 with probability ``probs``, else 0."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _expands = ("probs", "logits")

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._take(probs, logits)
        super().__init__(self.param_shape, validate_args=validate_args)

    mean: Any = same_as("probs")

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    @property
    def mode(self) -> Any:
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = math.nan
        return mode

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return bernoulli(self.probs.expand(shape).contiguous())

    @validated
    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._along_first(
            arange(2, dtype=self._param.dtype, device=self._param.device), expand
        )

    @property
    def _natural_params(self) -> Any:
        return (log(self.probs) - log1p(-self.probs),)

    def _log_normalizer(self, x: Any) -> Any:
        return log1p(exp(x))
