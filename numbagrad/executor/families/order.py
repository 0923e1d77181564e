"""Order along a dimension of an ndarray: indices that sort it, the first of them, and ranks.

Called by ``ops/reductions/sorting.py`` and ``ops/reductions/extremum.py``. An element of up to 32
bits becomes an integer that sorts as it does, with its place in the lower half: sorting these
numbers sorts the places, which moves less memory than a sort of indices that looks elements up.
``kernels/order/rows.py`` makes them, and sorts long rows. NaN is the greatest value, and equal
elements keep their order. No trace is told of these kernels: a program calls the function again.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...dtype import from_numpy, name_of
from ..hand_written import HandWrittenKernel
from ..memory.arrays import new_array
from ..plan.forms import with_sizes
from ..plan.spaces import around

Array = np.ndarray[Any, Any]

_GRAIN = 32768  # elements that are worth a thread of their own
_INT64 = np.dtype(np.int64)

#: Fewer elements are sorted by NumPy in less time than two kernels take to be called.
_FEW = 512

#: Shorter rows are sorted by NumPy, longer ones digit by digit, the bits of a digit being at most:
_LONG = 512
_DIGIT_BITS = 11

#: The least and the greatest integer that an element becomes.
_LEAST, _MOST = -1 << 31, (1 << 31) - 1
_MOST_OF_INT64 = (1 << 63) - 1

#: The most elements of a row that are selected one by one, as they are met.
_SELECTED = 64


@functools.cache
def _kernel(name: str) -> HandWrittenKernel:
    return HandWrittenKernel("kernels.order.rows", name)


def _readable(array: Array) -> Array:
    """A contiguous array of a dtype that kernels know."""
    from_numpy(array.dtype)  # raises for others
    return np.ascontiguousarray(array.view(np.uint8) if array.dtype.kind == "b" else array)


def _grain(size: int) -> int:
    return max(_GRAIN // max(size, 1), 1)


def sorted_keys(array: Array, dim: int, descending: bool) -> Array | None:
    """Integers (rows, size) in the order of the elements along ``dim``, with places below.

    None if elements have more bits than the places leave.
    """
    outer, size, inner = around(array.shape, dim)
    bits, offset = 32, 0
    if array.dtype.kind in "iub":
        low = int(array.min())
        bits, offset = (int(array.max()) - low).bit_length(), low - _LEAST
    if (
        bits > 32
        or size > _MOST
        or offset > _MOST_OF_INT64
        or array.dtype.kind not in "iubfV"
        or (array.dtype.kind == "f" and array.itemsize > 4)
    ):
        return None
    rows, source = outer * inner, _readable(array)
    keys = new_array((rows, size), _INT64)
    kernel = _kernel(f"order_keys_{name_of(source.dtype)}")
    kernel.launch(rows, _grain(size), keys, source, size, inner, offset, int(descending))
    if size < _LONG:
        keys.sort(1)
        return keys
    bits = max(bits, 1)
    passes = -(-bits // _DIGIT_BITS)
    base = _MOST + 1 - (1 << bits) if descending else _LEAST
    scratch = new_array(keys.shape, _INT64)
    kernel = _kernel("radix_sort")
    kernel.launch(rows, _grain(size), keys, scratch, size, base, -(-bits // passes), passes)
    return scratch if passes % 2 else keys


def _places(keys: Array, shape: tuple[int, ...], dim: int, start: int = 0) -> Array:
    """The places that keys hold, from one on, as an array of this shape."""
    made = new_array(shape, _INT64)
    outer, count, inner = around(shape, dim)
    size = keys.shape[1]
    kernel = _kernel("places_of_keys")
    kernel.launch(outer * inner, _grain(count), made, keys, size, inner, start, count)
    return made


def argsort(array: Array, dim: int, descending: bool) -> Array:
    """Indices that sort ``array`` along ``dim``; equal elements keep their order."""
    if array.ndim == 0:
        return np.zeros((), np.int64)
    if array.size > _FEW and (keys := sorted_keys(array, dim, descending)) is not None:
        return _places(keys, array.shape, dim)
    if not descending:
        return _stable(array, dim)
    backwards = (*(slice(None),) * dim, slice(None, None, -1))
    turned = _stable(array[backwards], dim)
    return np.ascontiguousarray(array.shape[dim] - 1 - turned[backwards])


def _stable(array: Array, dim: int) -> Array:
    """The same by NumPy: its fast way, and the stable one for rows with equal elements."""
    if array.size <= _FEW or array.dtype.kind != "f":
        return array.argsort(dim, kind="stable")
    rows = np.ascontiguousarray(np.moveaxis(array, dim, -1))
    order = rows.argsort(-1)
    values = np.take_along_axis(rows, order, -1)
    equal = ~(values[..., 1:] > values[..., :-1]).all(-1)  # NaN equals all
    if equal.any():
        order[equal] = rows[equal].argsort(-1, kind="stable")
    return np.ascontiguousarray(np.moveaxis(order, -1, dim))


def sorted_rows(array: Array, dim: int) -> Array:
    """Indices that sort the entries of a dimension by their first elements that differ.

    Complex numbers are compared by their real parts first.
    """
    rows = np.ascontiguousarray(np.moveaxis(array, dim, 0))
    rows = rows.reshape(len(rows), math.prod(rows.shape[1:]))
    source = _readable(rows.view(rows.real.dtype) if rows.dtype.kind == "c" else rows)
    count, width = source.shape
    places, scratch = new_array((count,), _INT64), new_array((count,), _INT64)
    kernel = _kernel(f"sort_whole_rows_{name_of(source.dtype)}")
    kernel.launch(1, 1, places, scratch, source, count, width)
    merges = max(count - 1, 0).bit_length()
    return scratch if merges % 2 else places


def between(array: Array, dim: int, descending: bool, start: int, stop: int) -> Array:
    """The entries of ``argsort`` from one place on to before another."""
    if array.ndim == 0:
        return np.zeros((), np.int64)
    shape = with_sizes(array.shape, dim, stop - start)
    size = array.shape[dim]
    if not math.prod(shape):
        return np.empty(shape, np.int64)
    if start == 0 and array.size > _FEW and stop <= _SELECTED and stop * 4 <= size:
        return _first(array, dim, descending, stop, shape)
    if array.size > _FEW and (keys := sorted_keys(array, dim, descending)) is not None:
        return _places(keys, shape, dim, start)
    order = argsort(array, dim, descending)
    key = (*(slice(None),) * dim, slice(start, stop))
    return np.ascontiguousarray(order[key])


def _first(array: Array, dim: int, descending: bool, count: int, shape: tuple[int, ...]) -> Array:
    """The first few entries of ``argsort``, found in one walk through each row."""
    rows = _readable(np.moveaxis(array, dim, -1))
    size = rows.shape[-1]
    places = np.empty((*rows.shape[:-1], count), np.int64)
    name = "largest" if descending else "smallest"
    kernel = _kernel(f"first_places_{name}_{name_of(rows.dtype)}")
    kernel.launch(rows.size // size, _grain(size), places, rows, size, count)
    return np.ascontiguousarray(np.moveaxis(places, -1, dim))


def of_rank(array: Array, dim: int, rank: int) -> Array:
    """Indices of the elements of one rank, from 0, along ``dim``, which stays with size 1."""
    rows = _readable(np.moveaxis(array, dim, -1))
    if rows.size <= _FEW or rows.dtype.kind == "V":  # of bfloat16, which NumPy cannot sort
        return between(array, dim, False, rank, rank + 1)
    size = rows.shape[-1]
    values = np.ascontiguousarray(np.partition(rows, rank, -1)[..., rank])
    places = np.empty((*rows.shape[:-1], 1), np.int64)
    kernel = _kernel(f"place_of_rank_{name_of(rows.dtype)}")
    kernel.launch(values.size, _grain(size), places, rows, values, size, rank)
    return np.moveaxis(places, -1, dim)
