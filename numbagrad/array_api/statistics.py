"""Sums, means, extrema and other reductions of the array API."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numbagrad as torch

from ..dtype import dtype as DType
from ..tensor import Tensor
from .arguments import Axis, as_dtype, axes_of, whole

__all__ = [
    "all", "any", "cumulative_prod", "cumulative_sum", "diff", "max", "mean", "min", "prod", "std",
    "sum", "var",
]  # fmt: skip


def _sum_dtype(x: Tensor, dtype: DType | None) -> DType:
    """The dtype of a sum: the default integer of smaller integers and booleans."""
    if dtype is not None:
        return dtype
    return torch.int64 if whole(x) else x.dtype


def sum(  # noqa: A001
    x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """The sum over axes; small integers in int64."""
    wanted, axes = _sum_dtype(x, dtype), axes_of(x, axis)
    if not axes:
        return x.to(wanted, copy=True)
    return torch.sum(x, axes, keepdims, dtype=wanted)


def prod(
    x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """The product over axes; small integers in int64."""
    wanted = _sum_dtype(x, dtype)
    made = x.to(wanted, copy=True)
    for one in sorted(axes_of(x, axis), reverse=True):
        made = torch.prod(made, one, keepdims, dtype=wanted)
    return made


def _extremum(name: str, function: Callable[..., Tensor], meaning: str) -> Callable[..., Tensor]:
    def call(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
        axes = axes_of(x, axis)
        return function(x, axes, keepdims) if axes else x.clone()

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The {meaning} element over axes."
    return call


max = _extremum("max", torch.amax, "largest")  # noqa: A001
min = _extremum("min", torch.amin, "smallest")  # noqa: A001


def mean(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The mean over axes."""
    axes = axes_of(x, axis)
    return torch.mean(x, axes, keepdims) if axes else x.clone()


def var(
    x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The variance over axes: squares over their number less a correction."""
    axes = axes_of(x, axis)
    if not axes:
        return torch.square(x - x) / (1 - correction if correction < 1 else 0)
    return torch.var(x, axes, correction=correction, keepdim=keepdims)


def std(
    x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The standard deviation over axes, the root of ``var``."""
    axes = axes_of(x, axis)
    if not axes:
        return var(x, axis=axis, correction=correction)
    return torch.std(x, axes, correction=correction, keepdim=keepdims)


def _cumulative(
    name: str, function: Callable[..., Tensor], start: int, text: str
) -> Callable[..., Tensor]:
    """``cumulative_sum`` or ``cumulative_prod``."""

    def call(
        x: Tensor,
        /,
        *,
        axis: int | None = None,
        dtype: DType | None = None,
        include_initial: bool = False,
    ) -> Tensor:
        if axis is None:
            if x.ndim > 1:
                raise ValueError("axis must be given for an array of several dimensions")
            axis = 0
        made = function(x, axis, dtype=_sum_dtype(x, dtype))
        if not include_initial:
            return made
        shape = list(made.shape)
        shape[axis] = 1
        return torch.cat([torch.full(shape, start, dtype=made.dtype), made], axis)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""{text} before the first if ``include_initial``.

    Raises:
        ValueError: without an axis, for an array of several dimensions.
    """
    return call


cumulative_sum = _cumulative(
    "cumulative_sum", torch.cumsum, 0, "The sums up to each element, with zero"
)
cumulative_prod = _cumulative(
    "cumulative_prod", torch.cumprod, 1, "The products up to each element, with one"
)


def _truth(x: Tensor, axis: Axis, keepdims: bool, function: Callable[..., Tensor]) -> Tensor:
    found = x != 0 if x.dtype is not torch.bool else x.clone()
    for one in sorted(axes_of(x, axis), reverse=True):
        found = function(found, one, keepdims)
    return found


def all(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """Whether all elements over axes are true."""
    return _truth(x, axis, keepdims, torch.all)


def any(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """Whether an element over axes is true."""
    return _truth(x, axis, keepdims, torch.any)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """The differences of neighbours along an axis, ``n`` times, with arrays before and after."""
    kinds = [t.dtype for t in (x, prepend, append) if t is not None]
    common = functools.reduce(torch.promote_types, kinds)
    ends = [None if t is None else as_dtype(t, common) for t in (prepend, append)]
    return torch.diff(as_dtype(x, common), n, axis, *ends)
