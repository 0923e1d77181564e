"""Pooling on ndarrays: where in its window the largest element is.

Called by ``nn/functional/pooling.py``; runs what ``kernels/pooling.py`` holds.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtype import from_numpy, name_of
from . import capture
from .complex_pointwise import refused
from .word_kernel import WordKernel

Array = np.ndarray[Any, Any]

_GRAIN = 32768  # elements that are worth a thread of their own


@functools.cache
def _kernel(kind: np.dtype[Any]) -> WordKernel:
    if kind.kind == "c":
        raise refused("max_pool", from_numpy(kind))
    return WordKernel("kernels.pooling", f"largest_{name_of(kind)}")


@functools.lru_cache(maxsize=256)
def _geometry(*parts: tuple[int, ...]) -> Array:
    """Sizes, counts and options of windows, each with three entries; the options are 1 or 0."""
    fill = (1, 1, 1, 1, 0, 1)
    made = np.array(
        [[one] * (3 - len(part)) + list(part) for one, part in zip(fill, parts, strict=True)],
        np.int64,
    )
    made.flags.writeable = False
    return made


def largest(array: Array, counts: tuple[int, ...], options: Sequence[tuple[int, ...]]) -> Array:
    """Places in the flattened spatial dimensions of contiguous (N, C, ...): int64 (N, C, *counts).

    ``options`` are kernel, stride, padding and dilation; every window has an element inside.
    """
    made = np.empty((*array.shape[:2], *counts), np.int64)
    geometry = _geometry(array.shape[2:], counts, *options)
    if capture.active is not None:
        geometry = capture.constant(geometry.copy())
    grain = max(_GRAIN // math.prod(options[0]), 1)
    _kernel(array.dtype)(made.size, grain, made, array, geometry)
    return made
