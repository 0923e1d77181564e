"""``Multinomial``: how often each class comes in some draws."""

from __future__ import annotations

import math
from typing import Any

from ..ops.creation.filled import ones_like
from ..ops.creation.from_data import as_tensor
from ..ops.pointwise.functions import exp, lgamma
from ..size import Size
from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution, validated
from .utils import broadcast_all, same_as

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """Counts of classes in ``total_count`` draws."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _expands = ("_categorical", "_binomial")
    _shares = ("total_count",)

    def __init__(
        self,
        total_count: int = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    _param: Any = same_as("_categorical._param")
    probs: Any = same_as("_categorical.probs")
    logits: Any = same_as("_categorical.logits")
    param_shape: Any = same_as("_categorical.param_shape")

    @property
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count, *shape)))
        order = [*range(1, drawn.dim()), 0]
        drawn = drawn.permute(order)
        counts = self.probs.new_zeros(self._extended_shape(shape))
        counts.scatter_add_(-1, drawn, ones_like(drawn, dtype=counts.dtype))
        return counts

    @validated
    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        ways = lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Any:
        n = as_tensor(float(self.total_count), device=self.probs.device)
        entropy = n * self._categorical.entropy() - lgamma(n + 1)
        values = self._binomial.enumerate_support(expand=False)[1:]
        weights = exp(self._binomial.log_prob(values))
        return entropy + (weights * lgamma(values + 1)).sum([0, -1])
