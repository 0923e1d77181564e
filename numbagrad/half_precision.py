"""Numbers of two bytes, float16 and bfloat16, where no kernel of their own computes with them.

NumPy moves elements of bfloat16 but knows nothing of their values (``dtype.py``). ``converted`` is
NumPy's ``astype`` for all dtypes; kernels do the same in ``codegen/intrinsics.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtype import bfloat16

Array = np.ndarray[Any, Any]

_BFLOAT16 = bfloat16.numpy
_FLOAT32 = np.dtype(np.float32)


def converted(array: Array, kind: np.dtype[Any]) -> Array:
    """The array itself if it is of that NumPy dtype, else a copy that is."""
    if array.dtype == kind:
        return array
    with np.errstate(invalid="ignore", over="ignore"):
        if array.dtype == _BFLOAT16:
            return _widened(array).astype(kind, copy=False)
        if kind == _BFLOAT16:
            return _narrowed(array.astype(_FLOAT32, copy=False))
        return array.astype(kind)


def readable(array: Array) -> Array:
    """The elements as NumPy can compute with them: the array, or one of float32 for bfloat16."""
    return _widened(array) if array.dtype == _BFLOAT16 else array


def copy_into(target: Array, source: Array) -> None:
    """Write the elements of an array of any dtype into another one of its shape."""
    np.copyto(target, converted(source, target.dtype), casting="unsafe")


def rounded_number(number: float, kind: np.dtype[Any]) -> float:
    """A Python number as the nearest one of a dtype of half precision."""
    return float(readable(converted(np.array(number, _FLOAT32), kind)))


def assign(array: Array, key: Any, values: Array) -> None:
    """``array[key] = values``, converted to the dtype of the array."""
    if array.dtype is not values.dtype and "V" in (array.dtype.kind, values.dtype.kind):
        values = converted(values, array.dtype)
    array[key] = values


def fill(array: Array, number: Any) -> None:
    """Let every element of an array be a number."""
    if array.dtype == _BFLOAT16:
        array[...] = converted(np.array(number, _FLOAT32), _BFLOAT16)
    else:
        array.fill(number)


def _widened(array: Array) -> Array:
    pattern = array.view(np.uint16).astype(np.uint32) << np.uint32(16)
    return np.asarray(pattern).view(_FLOAT32)


def _narrowed(array: Array) -> Array:
    """To the nearest number of bfloat16, of two to the even one; NaN stays NaN."""
    pattern = np.asarray(array).view(np.uint32)
    odd = (pattern >> np.uint32(16)) & np.uint32(1)
    rounded = (pattern + (odd + np.uint32(0x7FFF))) >> np.uint32(16)
    kept = np.where(np.isnan(array), np.uint32(0x7FC0), rounded).astype(np.uint16)
    return np.asarray(kept).view(_BFLOAT16)
