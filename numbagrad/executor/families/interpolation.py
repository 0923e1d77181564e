"""Resampling of ndarrays by the nearest element, and its adjoint.

Called by ``nn/functional/resampling.py``; runs what ``kernels/interpolation/nearest.py`` holds.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend import foreign
from ...dtype import name_of
from ..hand_written import HandWrittenKernel
from ..memory.arrays import constant, in_c_order, new_array

Array = np.ndarray[Any, Any]

_GRAIN = 32768  # elements that are worth a thread of their own


@functools.cache
def _kernel(name: str) -> HandWrittenKernel:
    return HandWrittenKernel("kernels.interpolation.nearest", name)


def has_kernels(array: Array) -> bool:
    """Whether elements of an array are repeated and summed here: floats of any precision."""
    if foreign(array) is not None or not array.size or not array.dtype.isnative:
        return False
    return name_of(array.dtype) in ("float16", "bfloat16", "float32", "float64")


def _words(sizes: Sequence[int], counts: Sequence[int], tables: Sequence[Array]) -> Array:
    made = np.concatenate([sizes, counts, *tables]).astype(np.int64)
    made.flags.writeable = False
    return made


def positions_words(sizes: Sequence[int], positions: Sequence[Array]) -> Array:
    """Words of ``repeated``: of up to three dimensions the size, and the place of each element."""
    missing = 3 - len(sizes)
    tables = [np.zeros(1, np.int64)] * missing + [*positions]
    return _words([1] * missing + [*sizes], [table.size for table in tables], tables)


def ends_words(sizes: Sequence[int], positions: Sequence[Array]) -> Array:
    """Words of ``gathered_back``: where the range of places of each element begins and ends."""
    missing = 3 - len(sizes)
    counts = [1] * missing + [table.size for table in positions]
    tables = [np.arange(2)] * missing
    tables += [np.searchsorted(t, np.arange(n + 1)) for n, t in zip(sizes, positions, strict=True)]
    return _words([1] * missing + [*sizes], counts, tables)


def repeated(array: Array, counts: Sequence[int], words: Array) -> Array:
    """(N, C, *counts): each element is that of (N, C, ...) at its place."""
    made = new_array((*array.shape[:2], *counts), array.dtype)
    lines = made.size // counts[-1]
    kernel = _kernel(f"repeat_{array.itemsize}")
    kernel(lines, max(_GRAIN // counts[-1], 1), made, in_c_order(array), constant(words))
    return made


def gathered_back(array: Array, sizes: Sequence[int], words: Array) -> Array:
    """The adjoint of ``repeated``: (N, C, *sizes), sums of (N, C, *counts)."""
    made = new_array((*array.shape[:2], *sizes), array.dtype)
    lines = made.size // sizes[-1]
    grain = max(_GRAIN // math.prod(array.shape[2:]) * math.prod(sizes[:-1]), 1)
    kernel = _kernel(f"gather_back_{name_of(array.dtype)}")
    kernel(lines, grain, made, in_c_order(array), constant(words))
    return made
