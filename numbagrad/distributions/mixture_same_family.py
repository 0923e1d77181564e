"""``MixtureSameFamily``: a distribution that is drawn from several of one kind."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..size import Size
from . import constraints
from .categorical import Categorical
from .distribution import Distribution, validated
from .utils import same_as

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """One of the components along the last batch dimension, which a ``Categorical`` chooses."""

    arg_constraints: Any = {}
    has_rsample = False
    _expands = ("_mixture_distribution", "_component_distribution")
    _shares = ("_num_component", "_event_ndims")

    def __init__(
        self,
        mixture_distribution: Any,
        component_distribution: Any,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of "
                "torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution need to be an "
                "instance of torch.distributions.Distribution"
            )
        weights, parts = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(weights), reversed(parts), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({weights}) is not compatible with "
                    "`component_distribution.batch_shape[:-1]`"
                    f"({parts})"
                )
        count = mixture_distribution.probs.shape[-1]
        components = component_distribution.batch_shape[-1]
        if count != components:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = component_distribution.batch_shape[-1]
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(parts, event_shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    mixture_distribution: Any = same_as("_mixture_distribution")
    component_distribution: Any = same_as("_component_distribution")

    def _weights(self) -> Any:
        probs = self.mixture_distribution.probs
        return probs.reshape((*probs.shape, *(1,) * self._event_ndims))

    @property
    def mean(self) -> Any:
        means = self.component_distribution.mean
        return (self._weights() * means).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Any:
        dim = -1 - self._event_ndims
        inside = (self._weights() * self.component_distribution.variance).sum(dim)
        away = self.component_distribution.mean - self.mean.unsqueeze(dim)
        return inside + (self._weights() * away.pow(2.0)).sum(dim)

    def cdf(self, value: Any) -> Any:
        x = value.unsqueeze(-1 - self._event_ndims)
        return (self.component_distribution.cdf(x) * self.mixture_distribution.probs).sum(-1)

    @validated
    def log_prob(self, value: Any) -> Any:
        x = value.unsqueeze(-1 - self._event_ndims)
        parts = self.component_distribution.log_prob(x)
        weights = self.mixture_distribution.logits
        weights = weights - weights.logsumexp(-1, keepdim=True)
        return (parts + weights).logsumexp(-1)

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        with no_grad():
            before = len(sample_shape)
            dim = before + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            parts = self.component_distribution.sample(sample_shape)
            ones_behind = (1,) * (self._event_ndims + 1)
            position = chosen.reshape((*chosen.shape, *ones_behind))
            position = position.expand((*chosen.shape, 1, *self._event_shape))
            return parts.gather(dim, position).squeeze(dim)

    def __repr__(self) -> str:
        inner = f"{self.mixture_distribution},\n  {self.component_distribution}"
        return f"MixtureSameFamily(\n  {inner})"
