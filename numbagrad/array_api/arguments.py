"""Arguments of functions of the array API: promotion, axes, devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numbagrad as torch

from ..dtype import dtype as DType
from ..tensor import Tensor

Axis = int | tuple[int, ...] | None


def promoted(x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """Both operands in their common dtype, which that of an array without dimensions counts for.

    torch lets a tensor with dimensions decide alone; the standard knows dtypes only. A Python
    number beside an array takes its dtype, or the default one of a higher kind.

    Raises:
        TypeError: if neither is an array, or one is neither an array nor a number.
    """
    for x in (x1, x2):
        if not isinstance(x, (Tensor, bool, int, float, complex)):
            raise TypeError(f"expected an array or a Python number, but got {type(x).__name__}")
    if not isinstance(x1, Tensor) and not isinstance(x2, Tensor):
        raise TypeError("expected an array among the operands, but got two Python numbers")
    if not isinstance(x1, Tensor):
        x1 = _array_of(x1, x2)
    elif not isinstance(x2, Tensor):
        x2 = _array_of(x2, x1)
    kind = torch.promote_types(x1.dtype, x2.dtype)
    return as_dtype(x1, kind), as_dtype(x2, kind)


def _array_of(number: Any, beside: Tensor) -> Tensor:
    return torch.tensor(number, dtype=torch.result_type(beside, number))


def as_dtype(x: Tensor, kind: DType) -> Tensor:
    return x if x.dtype is kind else x.to(kind)


def whole(x: Tensor) -> bool:
    """Whether an array holds integers or booleans."""
    return not (x.dtype.is_floating_point or x.dtype.is_complex)


def axes_of(x: Tensor, axis: Axis) -> tuple[int, ...]:
    """The axes as a tuple of numbers that are not negative; of None all.

    Raises:
        IndexError: for an axis that is not there.
        ValueError: for one that is named twice.
    """
    if axis is None:
        return tuple(range(x.ndim))
    found = []
    for one in (axis,) if isinstance(axis, int) else axis:
        if not -x.ndim <= one < x.ndim:
            raise IndexError(f"axis {one} is out of bounds for an array of {x.ndim} dimensions")
        if one % x.ndim in found:
            raise ValueError(f"axis {one} is named twice")
        found.append(one % x.ndim)
    return tuple(found)


def shape_of(shape: int | Sequence[int]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def check_device(device: Any) -> None:
    """Raise unless the device is None or the CPU.

    Raises:
        ValueError: for other devices.
    """
    if device is not None and str(device) != "cpu":
        raise ValueError(f"unsupported device {device!r}; arrays of this namespace are on 'cpu'")
