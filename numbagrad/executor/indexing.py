"""Views and indexed copies of ndarrays, as native launchers where Python would be slow.

Called by the operators of ``ops/view.py``, ``ops/strided.py`` and ``ops/indexing.py``; runs what
``kernels/indexing.py`` holds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernels import indexing_layout as layout
from .builtin import _numpy_function, launcher, make_builtin
from .pointwise import JIT_DISABLED

Array = np.ndarray[Any, Any]

_NEW_FROM_DESCRIPTOR_SLOT = 94  # places in NumPy's C API table, fixed by its ABI
_SET_BASE_SLOT = 282


@functools.lru_cache(maxsize=1)
def _native_view() -> Callable[..., Array]:
    table = np.zeros(layout.VIEW_WORDS, dtype=np.int64)
    table[layout.VIEW_NEW_FROM_DESCRIPTOR] = _numpy_function(_NEW_FROM_DESCRIPTOR_SLOT)
    table[layout.VIEW_SET_BASE] = _numpy_function(_SET_BASE_SLOT)
    table[layout.VIEW_ARRAY_TYPE] = id(np.ndarray)
    return make_builtin("strided_view", launcher("strided_view", "indexing"), table)


def _first_view(array: Array, shape: Any, strides: Any, offset: int) -> Array:
    global _strided_view
    _strided_view = _native_view()
    return _strided_view(array, shape, strides, offset)


_strided_view: Callable[..., Array] = _first_view


def strided_view(
    array: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0
) -> Array:
    """A view of the memory around ``array``; strides and offset (from its first element) in bytes.

    The caller answers for all elements lying in memory that ``array`` keeps alive.
    """
    if JIT_DISABLED or len(shape) > layout.VIEW_DIMENSIONS:
        return _interface_view(array, shape, strides, offset)
    return _strided_view(array, shape, strides, offset)


class _Interface:
    """What NumPy makes an array of, without a compiler."""

    def __init__(self, base: Array, description: dict[str, Any]):
        self.base = base
        self.__array_interface__ = description


def _interface_view(array: Array, shape: Any, strides: Any, offset: int) -> Array:
    description = dict(array.__array_interface__)
    address, read_only = description["data"]
    description.update(data=(address + offset, read_only), shape=shape, strides=strides)
    return np.asarray(_Interface(array, description))
