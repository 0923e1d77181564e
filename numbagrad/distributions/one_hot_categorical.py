"""``OneHotCategorical``: one of some classes, as a vector with a single one."""

from __future__ import annotations

from typing import Any

from ..nn.functional import one_hot
from ..ops.creation.filled import eye
from ..size import Size
from . import constraints
from .categorical import Categorical
from .distribution import Distribution, validated
from .utils import same_as

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """A vector of zeros with a one at the class that was drawn."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _expands = ("_categorical",)

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    _param: Any = same_as("_categorical._param")
    probs: Any = same_as("_categorical.probs")
    logits: Any = same_as("_categorical.logits")
    param_shape: Any = same_as("_categorical.param_shape")
    mean: Any = same_as("_categorical.probs")

    @property
    def variance(self) -> Any:
        return self._categorical.probs * (1 - self._categorical.probs)

    @property
    def mode(self) -> Any:
        return one_hot(self.probs.argmax(-1), self.probs.shape[-1]).to(self.probs)

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        drawn = self._categorical.sample(Size(sample_shape))
        return one_hot(drawn, self._categorical._num_events).to(self.probs)

    @validated
    def log_prob(self, value: Any) -> Any:
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Any:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        n = self.event_shape[0]
        values = eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n, *(1,) * len(self.batch_shape), n))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, with the gradient of the probabilities (Bengio et al., 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        drawn = self.sample(sample_shape)
        return drawn + (self.probs - self.probs.detach())
