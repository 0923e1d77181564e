"""``MixtureSameFamily``: a distribution that is drawn from several of one kind."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..size import Size
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """One of the components along the last batch dimension, which a ``Categorical`` chooses."""

    arg_constraints: Any = {}
    has_rsample = False

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

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        made = self._get_checked_instance(MixtureSameFamily, _instance)
        shape = Size((*batch_shape, self._num_component))
        made._component_distribution = self._component_distribution.expand(shape)
        made._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        made._num_component = self._num_component
        made._event_ndims = self._event_ndims
        return self._expanded(MixtureSameFamily, (), batch_shape, made)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        return self._component_distribution

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

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
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
            place = chosen.reshape((*chosen.shape, *ones_behind))
            place = place.expand((*chosen.shape, 1, *self._event_shape))
            return parts.gather(dim, place).squeeze(dim)

    def __repr__(self) -> str:
        inner = f"{self.mixture_distribution},\n  {self.component_distribution}"
        return f"MixtureSameFamily(\n  {inner})"
