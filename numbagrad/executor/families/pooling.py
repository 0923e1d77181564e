"""Pooling on ndarrays: where in a window or part the largest element is, and sums of windows.

Called by ``nn/functional/pooling.py``; runs what ``kernels/pooling/windows.py`` holds.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend import foreign
from ...dtype import from_numpy, name_of
from .. import capture
from ..hand_written import HandWrittenKernel
from ..memory.arrays import constant, in_c_order, new_array
from .complex_pointwise import refused

Array = np.ndarray[Any, Any]

_GRAIN = 32768  # elements that are worth a thread of their own


@functools.cache
def _kernel(kind: np.dtype[Any]) -> HandWrittenKernel:
    if kind.kind == "c":
        raise refused("max_pool", from_numpy(kind))
    return HandWrittenKernel("kernels.pooling.windows", f"largest_{name_of(kind)}")


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
    if (where := foreign(array)) is not None:
        named = {"counts": counts, "options": options}
        elsewhere: Array = where.window("largest", (array,), named)
        return elsewhere
    made = new_array((*array.shape[:2], *counts), np.dtype(np.int64))
    launch_args = _launch_args(array.shape[2:], counts, options)
    lines = made.size // counts[-1]
    grain = max(_GRAIN // (math.prod(options[0]) * counts[-1]), 1)
    _kernel(array.dtype)(lines, grain, made, array, launch_args)
    return made


def largest_of_parts(array: Array, counts: tuple[int, ...]) -> Array:
    """Places as of ``largest`` in nearly equal parts of (N, C, ...), which may overlap."""
    made = new_array((*array.shape[:2], *counts), np.dtype(np.int64))
    if made.size:
        launch_args = _launch_args(array.shape[2:], counts, ((),) * 4)
        grain = max(_GRAIN * math.prod(counts) // math.prod(array.shape[2:]), 1)
        kernel = _summing("largest_of_parts", array.dtype)
        kernel(made.size, grain, made, in_c_order(array), launch_args)
    return made


def _launch_args(sizes: tuple[int, ...], counts: tuple[int, ...], options: Any) -> Array:
    geometry = _geometry(sizes, counts, *options)
    if capture.active is not None:
        geometry = constant(geometry.copy())
    return geometry


@functools.cache
def _summing(name: str, kind: np.dtype[Any]) -> HandWrittenKernel:
    return HandWrittenKernel("kernels.pooling.windows", f"{name}_{name_of(kind)}")


def has_sums(array: Array) -> bool:
    """Whether there are kernels that add elements of an array up, and put them back."""
    known = array.dtype.kind == "f" and array.dtype.itemsize > 2 and array.dtype.isnative
    return known and array.size > 0 and foreign(array) is None


def taken(source: Array, positions: Array) -> Array:
    """The elements of (N, C, ...) at places (N, C, *counts) in the flattened spatial dimensions."""
    made = new_array(positions.shape, source.dtype)
    size, count = math.prod(source.shape[2:]), math.prod(positions.shape[2:])
    planes = math.prod(positions.shape[:2])
    _summing("take", source.dtype)(
        planes,
        max(_GRAIN // count, 1),
        made,
        in_c_order(source),
        in_c_order(positions),
        size,
        count,
    )
    return made


def put_back(values: Array, positions: Array, sizes: tuple[int, ...]) -> Array:
    """The adjoint of ``taken``: (N, C, *sizes), the sums of the values that were taken there."""
    made = new_array((*positions.shape[:2], *sizes), values.dtype)
    size, count = math.prod(sizes), math.prod(positions.shape[2:])
    planes = math.prod(positions.shape[:2])
    _summing("put_back", values.dtype)(
        planes, max(_GRAIN // size, 1), made, in_c_order(values), in_c_order(positions), size, count
    )
    return made


def window_sums(array: Array, counts: tuple[int, ...], options: Any) -> Array:
    """The sum of every window of (N, C, ...): (N, C, *counts); options as for ``largest``."""
    if (where := foreign(array)) is not None:
        named = {"counts": counts, "options": options}
        elsewhere: Array = where.window("window_sums", (array,), named)
        return elsewhere
    made = new_array((*array.shape[:2], *counts), array.dtype)
    launch_args = _launch_args(array.shape[2:], counts, options)
    lines = made.size // counts[-1]
    grain = max(_GRAIN // (math.prod(options[0]) * counts[-1]), 1)
    _summing("window_sums", array.dtype)(lines, grain, made, in_c_order(array), launch_args)
    return made


def spread_sums(sums: Array, sizes: tuple[int, ...], options: Any) -> Array:
    """The adjoint of ``window_sums``, for planes of these sizes."""
    if (where := foreign(sums)) is not None:
        named = {"sizes": sizes, "options": options}
        elsewhere: Array = where.window("spread_sums", (sums,), named)
        return elsewhere
    made = new_array((*sums.shape[:2], *sizes), sums.dtype)
    launch_args = _launch_args(sizes, sums.shape[2:], options)
    grain = max(_GRAIN // math.prod(sizes), 1)
    planes = math.prod(sums.shape[:2])
    _summing("spread_sums", sums.dtype)(planes, grain, made, in_c_order(sums), launch_args)
    return made
