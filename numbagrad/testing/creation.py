"""``make_tensor``: random tensors of any dtype and range, for tests."""

from __future__ import annotations

import math
from typing import Any

from ..dtype import dtype as DType
from ..dtype import finfo, iinfo
from ..ops.creation.filled import empty
from ..ops.creation.random import rand, randint
from ..tensor import Tensor

__all__ = ["make_tensor"]


def _bounds(dtype: DType, low: Any, high: Any) -> tuple[Any, Any]:
    """The range to draw from: what is asked for, within what the dtype can hold."""
    if dtype.is_floating_point or dtype.is_complex:
        real = dtype.to_real() if dtype.is_complex else dtype
        lowest, most, defaults = finfo(real).min, finfo(real).max, (-9, 9)
    elif str(dtype) == "torch.bool":
        lowest, most, defaults = 0, 2, (0, 2)
    else:
        info = iinfo(dtype)
        lowest, most = info.min, info.max
        defaults = (0, 10) if info.min == 0 else (-9, 10)
    low = defaults[0] if low is None else low
    high = defaults[1] if high is None else high
    if any(isinstance(each, float) and math.isnan(each) for each in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low > high:
        raise ValueError(f"`low` must be weakly less than `high`, but got {low} >= {high}")
    return max(low, lowest), min(high, most)


def _integers(shape: Any, low: Any, high: Any, dtype: DType) -> Tensor:
    low, high = math.floor(low), math.ceil(high)
    if str(dtype) == "torch.bool":
        return randint(low, high, shape).to(dtype)
    return randint(low, max(high, low + 1), shape, dtype=dtype)


def make_tensor(
    *shape: Any,
    dtype: DType,
    device: Any = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor with elements from ``[low, high)``, uniformly.

    Args:
        shape: sizes, or one tuple of them.
        low, high: by default -9 and 9, 0 and 10 for uint8, 0 and 2 for bool.
        requires_grad: only for floating point and complex dtypes.
        noncontiguous: whether elements lie apart from each other.
        exclude_zero: whether zeros are replaced by the smallest number.

    Raises:
        ValueError: for a range that is empty, or a gradient of integers.
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    differentiable = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not differentiable:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"dtype={dtype}"
        )
    low, high = _bounds(dtype, low, high)
    drawn = (*sizes[:-1], 2 * sizes[-1]) if noncontiguous and sizes else sizes
    if not differentiable:
        made = _integers(drawn, low, high, dtype)
    else:
        real = dtype.to_real() if dtype.is_complex else dtype
        pairs = (*drawn, 2) if dtype.is_complex else drawn
        # Scaled in two parts, since the width of the whole range of a dtype overflows.
        part = rand(pairs, dtype=real)
        made = (1 - part) * low + part * high
        if dtype.is_complex:
            made = made.contiguous().view(dtype).reshape(drawn).clone()  # no view, as in torch
    if noncontiguous and sizes:
        made = made[..., 1::2]
    if exclude_zero:
        smallest = (
            finfo(dtype.to_real() if dtype.is_complex else dtype).tiny if differentiable else 1
        )
        made = made.masked_fill(made == 0, smallest)
    if memory_format is not None:
        made = empty(sizes, dtype=dtype).to(memory_format=memory_format).copy_(made)
    if device is not None:
        made = made.to(device)
    return made.requires_grad_() if requires_grad else made
