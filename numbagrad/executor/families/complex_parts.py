"""The memory of complex ndarrays as real numbers, for what knows no complex ones.

A view with a last dimension of two is what sums, copies and indexed reads work on: dimensions that
are counted from the first one stay where they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backend import foreign

__all__ = ["from_parts", "parts_of_array"]

Array = np.ndarray[Any, Any]


def parts_of_array(array: Array) -> Array:
    """A complex array as real numbers, with a last dimension for both parts: a view."""
    shape, strides = (*array.shape, 2), (*array.strides, array.itemsize // 2)
    if (where := foreign(array)) is not None:
        elsewhere: Array = where.view(array.real, shape, strides, 0)
        return elsewhere
    if array.flags.c_contiguous:
        return array.reshape(-1).view(array.real.dtype).reshape(shape)
    real = array.real
    view: Array = np.lib.stride_tricks.as_strided(real, shape, strides)
    return view


def from_parts(parts: Array) -> Array:
    """A real array with a last dimension of two, next to each other in memory, as complex."""
    kind = np.dtype(np.complex64 if parts.itemsize == 4 else np.complex128)
    view: Array = parts.view(kind)[..., 0]
    return view
