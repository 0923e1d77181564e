"""Reads, writes and sums at index arrays: the forwards of operators by subscript, on ndarrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import half_precision as half
from ...backend import refuse_foreign
from ...executor import capture
from ...executor import indexing as executor
from ...executor.arrays import filled
from ...executor.copying import copies
from .subscript import ALL

Array = np.ndarray[Any, Any]
Key = tuple[Any, ...]


def _single_place(arrays: Key) -> int:
    """The dimension that is indexed, if it is one only, else -1."""
    if len(arrays) == 1 or all([x is ALL for x in arrays[:-1]]):
        return len(arrays) - 1
    return -1


def taken(array: Array, arrays: Key) -> Array:
    """The elements at a key of index arrays and whole dimensions, contiguous."""
    if array.__class__ is not np.ndarray:
        refuse_foreign("index", array)
    dim = _single_place(arrays)
    if dim < 0:
        taken = array[arrays]
        return taken if taken.flags.c_contiguous else taken.copy("C")
    index = arrays[dim]
    if capture.active is None:
        made = copies.read_rows(array, dim, index)
        if made is not None:
            return made
    shape = (*array.shape[:dim], *index.shape, *array.shape[dim + 1 :])
    return executor.index_select(array, dim, index.reshape(-1)).reshape(shape)


def _add_values(array: Array, arrays: Key, values: Array) -> None:
    """Add ``values``, of the shape of the indexing result, to ``array`` at the indices."""
    dim = _single_place(arrays)
    if dim >= 0:
        rank = arrays[dim].ndim
        shape = (*values.shape[:dim], arrays[dim].size, *values.shape[dim + rank :])
        executor.index_add(array, dim, arrays[dim].reshape(-1), values.reshape(shape))
        return
    places = np.arange(array.size).reshape(array.shape)[arrays].reshape(-1)
    flat = np.ascontiguousarray(array).reshape(-1)
    executor.index_add(flat, 0, places, np.ascontiguousarray(values).reshape(-1))
    if not array.flags.c_contiguous:
        array[...] = flat.reshape(array.shape)


def spread_over(array: Array, shape: tuple[int, ...], arrays: Key) -> Array:
    result = filled(shape, array.dtype, 0)
    _add_values(result, arrays, array)
    return result


def put_values(array: Array, arrays: Key, values: Array, accumulate: bool) -> Array:
    refuse_foreign("index_put", array)
    result = array.copy()
    write_values(result, arrays, values, accumulate)
    return result


def write_values(array: Array, arrays: Key, values: Array, accumulate: bool) -> None:
    refuse_foreign("index_put_", array)
    if not accumulate:
        half.assign(array, arrays, values)
        return
    shape = array[arrays].shape
    _add_values(array, arrays, np.broadcast_to(values, shape))
