"""``TransformedDistribution``: samples of a distribution, sent through transforms."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..size import Size
from . import constraints
from .distribution import Distribution, validated
from .independent import Independent, sum_last
from .transforms import ComposeTransform, Transform

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of ``transforms(x)`` for ``x`` of a base distribution."""

    arg_constraints: Any = {}
    _shares = ("transforms",)

    def __init__(
        self, base_distribution: Any, transforms: Any, validate_args: bool | None = None
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(
            isinstance(each, Transform) for each in self.transforms
        ):
            raise ValueError(
                f"transforms must be a Transform or a list of Transforms, but was {transforms}"
            )
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_dims = len(base_distribution.event_shape)
        transform = ComposeTransform(self.transforms)
        if len(base_shape) < transform.domain.event_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least "
                f"{transform.domain.event_dim}, but got {base_shape}."
            )
        # Parameters of transforms may be larger than those of the base.
        forward_shape = transform.forward_shape(base_shape)
        expanded = transform.inverse_shape(forward_shape)
        if tuple(base_shape) != tuple(expanded):
            batch_shape = expanded[: len(expanded) - base_dims]
            base_distribution = base_distribution.expand(batch_shape)
        extra = transform.domain.event_dim - base_dims
        if extra > 0:
            base_distribution = Independent(base_distribution, extra)
        self.base_dist = base_distribution
        grown = transform.codomain.event_dim - transform.domain.event_dim
        dims = max(transform.codomain.event_dim, base_dims + grown)
        cut = len(forward_shape) - dims
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        made = super().expand(batch_shape, _instance)
        # Transforms may grow dimensions of a value, which the base does not have.
        shape = Size((*batch_shape, *self.event_shape))
        for each in reversed(self.transforms):
            shape = each.inverse_shape(shape)
        base_shape = shape[: len(shape) - len(self.base_dist.event_shape)]
        made.base_dist = self.base_dist.expand(base_shape)
        return made

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        missing = len(self.event_shape) - support.event_dim
        return constraints.independent(support, missing) if missing > 0 else support

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        with no_grad():
            x = self.base_dist.sample(sample_shape)
            for each in self.transforms:
                x = each(x)
            return x

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        x = self.base_dist.rsample(sample_shape)
        for each in self.transforms:
            x = each(x)
        return x

    @validated
    def log_prob(self, value: Any) -> Any:
        dims = len(self.event_shape)
        total: Any = 0.0
        y = value
        for each in reversed(self.transforms):
            x = each.inv(y)
            dims += each.domain.event_dim - each.codomain.event_dim
            term = each.log_abs_det_jacobian(x, y)
            total = total - sum_last(term, dims - each.domain.event_dim)
            y = x
        inner = self.base_dist.log_prob(y)
        return total + sum_last(inner, dims - len(self.base_dist.event_shape))

    def _flipped(self, value: Any) -> Any:
        """A probability after a falling transform."""
        sign: Any = 1
        for each in self.transforms:
            sign = sign * each.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        for each in reversed(self.transforms):
            value = each.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._flipped(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        value = self.base_dist.icdf(self._flipped(value))
        for each in self.transforms:
            value = each(value)
        return value
