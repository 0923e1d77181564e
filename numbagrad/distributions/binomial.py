"""``Binomial``: how many of some trials succeed."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..ops.creation.sequences import arange
from ..ops.pointwise.functions import exp, lgamma, log1p
from ..size import Size
from . import constraints
from .distribution import Distribution, validated
from .probs_or_logits import ProbsOrLogits
from .sampling import binomial as draw

__all__ = ["Binomial"]


class Binomial(ProbsOrLogits, Distribution):
    """How many of ``total_count`` trials succeed, each with probability ``probs``."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _expands = ("total_count", "probs", "logits")

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        (self.total_count,) = self._take(probs, logits, total_count)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return draw(self.total_count.expand(shape), self.probs.expand(shape))

    @validated
    def log_prob(self, value: Any) -> Any:
        n, logits = self.total_count, self.logits
        ways = lgamma(n + 1) - lgamma(value + 1) - lgamma(n - value + 1)
        # n log(1 + exp(logits)) without overflow.
        norm = n * logits.clamp(min=0) + n * log1p(exp(-logits.abs()))
        return value * logits + ways - norm

    def entropy(self) -> Any:
        most = int(self.total_count.max())
        if not (self.total_count == most).all():
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        log_probs = self.log_prob(self.enumerate_support(False))
        return -(exp(log_probs) * log_probs).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        most = int(self.total_count.max())
        if not (self.total_count == most).all():
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `enumerate_support`."
            )
        return self._along_first(
            arange(1 + most, dtype=self._param.dtype, device=self._param.device), expand
        )
