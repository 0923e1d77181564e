"""``Geometric``: failures before the first success."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..dtype import finfo
from ..nn.functional import binary_cross_entropy_with_logits
from ..ops.creation.filled import zeros_like
from ..ops.pointwise.functions import log, log1p
from ..ops.pointwise.selection import where
from ..size import Size
from . import constraints
from .distribution import Distribution, validated
from .probs_or_logits import ProbsOrLogits
from .utils import broadcast_all

__all__ = ["Geometric"]


class Geometric(ProbsOrLogits, Distribution):
    """The number of trials that fail before one succeeds, with probability ``probs``."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _expands = ("probs", "logits")

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._take(probs, logits)
        super().__init__(self.param_shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            bad = self.probs[~(self.probs > 0)]
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of "
                f"distribution {self!r} to be positive but found invalid values:\n{bad}"
            )

    @property
    def mean(self) -> Any:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Any:
        return zeros_like(self.probs)

    @property
    def variance(self) -> Any:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = self._extended_shape(sample_shape)
        with no_grad():
            u = self.probs.new_empty(shape).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (log(u) / log1p(-self.probs)).floor()

    @validated
    def log_prob(self, value: Any) -> Any:
        value, probs = broadcast_all(value, self.probs)
        sure = (probs == 1) & (value == 0)
        probs = where(sure, 0.0, probs)
        return value * log1p(-probs) + log(self.probs)

    def entropy(self) -> Any:
        return (
            binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
        )
