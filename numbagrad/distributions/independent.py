"""``Independent``: batch dimensions as a part of each value."""

from __future__ import annotations

from types import GenericAlias
from typing import Any

from ..size import Size
from . import constraints
from .distribution import Distribution
from .utils import same_as

__all__ = ["Independent", "sum_last"]


class Independent(Distribution):
    """A distribution whose last batch dimensions count as dimensions of a value."""

    #: Annotations name its elements, as `Independent[int]`; nothing asks for them.
    __class_getitem__: Any = classmethod(GenericAlias)

    arg_constraints: Any = {}
    _expands = ("base_dist",)
    _shares = ("reinterpreted_batch_ndims",)

    def __init__(
        self,
        base_distribution: Any,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        if reinterpreted_batch_ndims > len(base_distribution.batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(base_distribution.batch_shape)}"
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        dims = reinterpreted_batch_ndims + len(base_distribution.event_shape)
        cut = len(shape) - dims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    has_rsample: Any = same_as("base_dist.has_rsample")
    mean: Any = same_as("base_dist.mean")
    mode: Any = same_as("base_dist.mode")
    variance: Any = same_as("base_dist.variance")

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        count = self.reinterpreted_batch_ndims
        inner = self.base_dist.support
        return constraints.independent(inner, count) if count else inner

    def sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        return sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        return sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


def sum_last(value: Any, count: int) -> Any:
    """The sum over the last dimensions."""
    return value.sum(tuple(range(-count, 0))) if count else value
