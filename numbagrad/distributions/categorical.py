"""``Categorical``: one of some classes, by number."""

from __future__ import annotations

import math
from typing import Any

from ..dtype import finfo
from ..ops.creation.filled import full
from ..ops.creation.random import multinomial
from ..ops.creation.sequences import arange
from ..ops.views.expand import broadcast_tensors
from ..size import Size
from . import constraints
from .distribution import Distribution, validated
from .probs_or_logits import ProbsOrLogits

__all__ = ["Categorical"]


class Categorical(ProbsOrLogits, Distribution):
    """The number of a class, from probabilities along the last dimension."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _expands = ("probs", "logits")
    _shares = ("_num_events",)
    _is_binary = False

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        name = self._given(probs, logits)
        given = logits if probs is None else probs
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = given.size()[-1]
        super().__init__(given.size()[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Any:
        return full(
            self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device
        )

    @property
    def mode(self) -> Any:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Any:
        return full(
            self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device
        )

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = Size(sample_shape)
        probs = self.probs.detach().reshape(-1, self._num_events)
        drawn = multinomial(probs, shape.numel(), True).T
        return drawn.reshape(self._extended_shape(shape))

    @validated
    def log_prob(self, value: Any) -> Any:
        value = value.long().unsqueeze(-1)
        value, logits = broadcast_tensors(value, self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._along_first(arange(self._num_events, device=self._param.device), expand)
