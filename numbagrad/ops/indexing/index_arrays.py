"""Reads, writes and sums at index arrays: the forwards of operators by subscript, on ndarrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import half_precision as half
from ...backend import Backend, foreign
from ...executor.families import copying
from ...executor.families import indexing as executor
from ...executor.families.checks import check_inside
from ...executor.families.copying import copies
from ...executor.memory.arrays import assign, filled_like
from ...executor.plan.forms import spread, with_sizes
from ...tensor import new_tensor
from ..operators.pointwise_operator import pointwise
from .subscript import ALL

Array = np.ndarray[Any, Any]
Key = tuple[Any, ...]


def _single_position(arrays: Key) -> int:
    """The dimension that is indexed, if it is one only, else -1."""
    if len(arrays) == 1 or all([x is ALL for x in arrays[:-1]]):
        return len(arrays) - 1
    return -1


def taken(array: Array, arrays: Key) -> Array:
    """The elements at a key of index arrays and whole dimensions, contiguous."""
    dim = _single_position(arrays)
    if dim < 0 and foreign(array) is not None:
        flat, lead, index = _as_rows(array, arrays)
        read = executor.index_select(flat, lead, index.reshape(-1))
        return read.reshape(with_sizes(read.shape, lead, *index.shape))
    if dim < 0:
        taken = array[arrays]
        return taken if taken.flags.c_contiguous else taken.copy("C")
    index = arrays[dim]
    made = copies.read_rows(array, dim, index)
    if made is not None:
        return made
    shape = with_sizes(array.shape, dim, *index.shape)
    return executor.index_select(array, dim, index.reshape(-1)).reshape(shape)


def _add_values(array: Array, arrays: Key, values: Array) -> None:
    """Add ``values``, of the shape of the indexing result, to ``array`` at the indices."""
    dim = _single_position(arrays)
    if dim >= 0:
        rank = arrays[dim].ndim
        shape = (*values.shape[:dim], arrays[dim].size, *values.shape[dim + rank :])
        executor.index_add(array, dim, arrays[dim].reshape(-1), values.reshape(shape))
        return
    if foreign(array) is not None:
        flat, lead, index = _as_rows(array, arrays)
        rows = values.reshape(with_sizes(flat.shape, lead, index.size))
        executor.index_add(flat, lead, index.reshape(-1), rows)
        _write_back(array, arrays, flat)
        return
    positions = np.arange(array.size).reshape(array.shape)[arrays].reshape(-1)
    flat = np.ascontiguousarray(array).reshape(-1)
    executor.index_add(flat, 0, positions, np.ascontiguousarray(values).reshape(-1))
    if not array.flags.c_contiguous:
        array[...] = flat.reshape(array.shape)


def spread_over(array: Array, shape: tuple[int, ...], arrays: Key) -> Array:
    result = filled_like(array, shape, array.dtype, 0)
    _add_values(result, arrays, array)
    return result


def put_values(array: Array, arrays: Key, values: Array, accumulate: bool) -> Array:
    result = array.copy()
    write_values(result, arrays, values, accumulate)
    return result


def write_values(array: Array, arrays: Key, values: Array, accumulate: bool) -> None:
    if (where := foreign(array)) is not None:
        if values.__class__ is np.ndarray and values.ndim == 0:
            values = where.constant(values)
        _write_elsewhere(where, array, arrays, values, accumulate)
        return
    if not accumulate:
        half.assign(array, arrays, values)
        return
    shape = array[arrays].shape
    _add_values(array, arrays, np.broadcast_to(values, shape))


# --- on arrays of another backend, which have reads and writes along one dimension ----------------


def beside(array: Array, arrays: Key) -> Key:
    """Indices of the CPU, which may index any tensor, on the device of the array."""
    where = foreign(array)
    if where is None:
        return arrays
    return tuple([where.constant(x) if x.__class__ is np.ndarray else x for x in arrays])


def _order_of(array: Array, arrays: Key) -> tuple[list[int], int]:
    """The order of dimensions in which the indexed ones follow one another, and their place."""
    positions = [k for k, x in enumerate(arrays) if x is not ALL]
    if positions[-1] - positions[0] == len(positions) - 1:
        return list(range(array.ndim)), positions[0]
    return [*positions, *[d for d in range(array.ndim) if d not in positions]], 0


def _as_rows(array: Array, arrays: Key) -> tuple[Array, int, Array]:
    """The indexed dimensions as one: array (a view where it can be), its place, and indices."""
    order, lead = _order_of(array, arrays)
    indices = [x for x in arrays if x is not ALL]
    moved = array.transpose(order)
    sizes = moved.shape[lead : lead + len(indices)]
    flat = moved.reshape((*moved.shape[:lead], math.prod(sizes), *moved.shape[lead + len(sizes) :]))
    total: Any = new_tensor(indices[0])
    for index, size in zip(indices[1:], sizes[1:], strict=True):
        total = pointwise("add")(pointwise("mul")(total, size), new_tensor(index))
    return flat, lead, total._array


def _write_back(array: Array, arrays: Key, flat: Array) -> None:
    """Copy what was written into the memory of an array, if that was a copy of it."""
    if flat.base is not (array if array.base is None else array.base):
        order, _ = _order_of(array, arrays)
        moved = array.transpose(order)
        assign(moved, flat.reshape(moved.shape))


def _write_elsewhere(
    where: Backend, array: Array, arrays: Key, values: Array, accumulate: bool
) -> None:
    """``array[arrays] (+)= values``."""
    flat, lead, index = _as_rows(array, arrays)
    shape = with_sizes(flat.shape, lead, *index.shape)
    spread_values = executor.strided_view(values, shape, spread(values, shape))
    rows = spread_values.reshape(with_sizes(flat.shape, lead, index.size))
    add = executor.index_add if accumulate else where.index_copy
    add(flat, lead, index.reshape(-1), rows)
    _write_back(array, arrays, flat)


def check_rows(index: Array, size: int) -> None:
    """Raise torch's error for an index of a row that is not there."""
    if not copying.are_inside(index, size):
        if not size:
            raise RuntimeError(
                "index_select() or embedding(): self indexing axis dim should be positive, but "
                "there are indices into a dimension of size 0"
            )
        raise IndexError("index out of range in self")


def embedded_rows(weight: Array, indices: Array) -> Array:
    """The rows of a matrix at indices of any shape."""
    made = copies.read_rows(weight, 0, indices)
    if made is not None:
        return made
    size = weight.shape[0]
    check_inside("embedding(): an index", indices, size, check_rows, indices, size)
    return taken(weight, (indices,))
