"""The subscript of ``x[...]``, taken apart into a view and index arrays.

Used by ``ops/indexing/items.py``. As in torch, ints, slices and None are applied first, as a view;
tensors and masks then index that view. (NumPy counts ints among the index arrays instead.)
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...autograd import tensor_interface as tensors
from ...backend import foreign, is_array, on_host
from ...executor.families.checks import check_inside
from ...executor.families.conversion import convert
from ...executor.families.copying import are_inside
from ...executor.families.indexing import strided_view
from ...executor.families.pointwise import PointwiseProgram
from ...executor.memory.arrays import (
    constant,
    constant_of,
    may_use_elements,
    positions_where,
    values_on_host,
)
from ...executor.plan.forms import ShapesDiffer, broadcast, spread
from ...executor.plan.formula_kernels import GRAIN
from ...formula import trace, where
from ...tensor import Tensor, new_tensor
from ...transforms.levels import Transformed
from ...warn_once import warn_caller
from ..operators.array_function import array_function
from ..operators.pointwise_operator import pointwise

Array = np.ndarray[Any, Any]
ALL = slice(None)

_TYPES = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
    "indices (got {})"
)


def is_basic(key: tuple[Any, ...]) -> bool:
    """Whether a key holds nothing but ints, slices with positive steps, None and Ellipsis."""
    for entry in key:
        kind = entry.__class__
        if kind is slice:
            step = entry.step
            if step is not None and (step.__class__ is not int or step <= 0):
                return False
        elif kind is not int and entry is not None and entry is not Ellipsis:
            return False
    return True


def with_one_ellipsis(key: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
    """A basic key with one Ellipsis, at the end if it had none, for a tensor of ``rank``.

    Raises:
        IndexError: if an entry follows a second Ellipsis that passes over dimensions.
    """
    number = key.count(Ellipsis)
    if number == 1:
        return key
    if not number:
        return (*key, ...)
    taken = sum([entry is not None and entry is not Ellipsis for entry in key])
    return tuple(_one_ellipsis(key, rank, rank - taken, ...))


def _is_whole(entry: Any) -> bool:
    return isinstance(entry, slice) and entry == ALL


def _one_ellipsis(key: Sequence[Any], rank: int, gap: int, *instead: Any) -> list[Any]:
    """A key with ``instead`` for its first Ellipsis, and without the further ones.

    In torch each Ellipsis passes over ``gap`` dimensions, as many as the key leaves out: what
    follows a second one lies beyond the last dimension, unless none are left out.
    """
    first, *others = [k for k, entry in enumerate(key) if entry is Ellipsis]
    rest = [entry for entry in key[first + 1 :] if entry is not Ellipsis]
    behind = key[others[0] :] if others and gap > 0 else ()
    if any([entry is not Ellipsis and not _is_whole(entry) for entry in behind]):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}]): indices "
            "follow a second Ellipsis, and each stands for all dimensions that have no index"
        )
    return [*key[:first], *instead, *rest]


def basic_error(shape: tuple[int, ...], key: tuple[Any, ...]) -> Exception:
    """The error for a basic key that does not fit a shape."""
    taken = sum([isinstance(entry, (int, slice)) for entry in key])
    for entry in key:
        if isinstance(entry, slice):
            entry.indices(1)  # raises where a bound is no integer
    if not shape:
        if any([isinstance(entry, slice) for entry in key]):
            return IndexError("slice() cannot be applied to a 0-dim tensor.")
        return IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
            "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
        )
    if taken > len(shape):
        return IndexError(f"too many indices for tensor of dimension {len(shape)}")
    dim = 0
    for entry in key:
        if entry is Ellipsis:
            dim = len(shape) - (taken - dim)
        elif isinstance(entry, int):
            if not -shape[dim] <= entry < shape[dim]:
                return out_of_bounds(entry, dim, shape[dim])
            dim += 1
        elif isinstance(entry, slice):
            dim += 1
    return IndexError(f"the index {key} does not fit a tensor of shape {list(shape)}")


def out_of_bounds(index: int, dim: int, size: int) -> IndexError:
    """The error for an index beyond a dimension."""
    return IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")


class Subscript:
    """A key as two steps: ``basic`` gives a view, and ``arrays`` index dimensions of the view.

    Attributes:
        basic: ints, slices and None, closed by an Ellipsis.
        arrays: for dimensions of the view in their order a slice of all, or int64 indices, none of
            them negative. Empty where the key is basic.
    """

    __slots__ = ("arrays", "basic")

    def __init__(self, shape: tuple[int, ...], key: Any) -> None:
        entries = _completed(len(shape), [_entry(x) for x in _as_tuple(key)])
        basic: list[Any] = []
        arrays: list[Any] = []
        dim = 0  # of the tensor
        order = 0
        unfit: tuple[Array, int] | None = None
        for entry in entries:
            kind = entry.__class__
            if kind is int:
                if not shape:
                    raise basic_error(shape, (entry,))
                if not -shape[dim] <= entry < shape[dim]:
                    raise out_of_bounds(entry, dim, shape[dim])
                basic.append(entry)
                dim += 1
            elif kind is slice:
                if not shape:
                    raise basic_error(shape, (entry,))
                basic.append(_checked_slice(entry))
                arrays.append(ALL)
                dim += 1
            elif entry is None:
                basic.append(None)
                arrays.append(ALL)
            elif entry.ndim == 0:  # a bool: a new dimension of size 1 or 0
                basic.append(None)
                count = int(values_on_host(entry, "a bool as an index"))
                arrays.append(np.zeros(count, np.int64))
                order += 1
            elif entry.dtype.kind == "b":
                if entry.shape != shape[dim : dim + entry.ndim]:
                    unfit = unfit or (entry, len(arrays))
                basic += [ALL] * entry.ndim
                arrays += positions_where(entry, _MASK)
                dim += entry.ndim
                order += entry.ndim
            else:
                basic.append(ALL)
                unread = functools.partial(_reads_nothing, shape, entries)
                arrays.append(_wrapped(entry, order, shape[dim], unread))
                dim += 1
                order += 1
        self.basic = (*basic, ...)
        if unfit is not None:
            raise _unfit_mask(*unfit, np.broadcast_to(False, shape)[self.basic].shape)
        self.arrays = _aligned(arrays) if order else ()


_MASK = "a mask as an index, which chooses as many elements as it holds"


def _as_tuple(key: Any) -> Sequence[Any]:
    """The entries of a key; a list that holds more than numbers counts as a tuple."""
    if isinstance(key, tuple):
        return key
    if isinstance(key, list) and len(key) < 32:
        kinds = (Tensor, slice, list, tuple, np.ndarray)
        if any([x is None or x is Ellipsis or isinstance(x, kinds) for x in key]):
            warn_caller(
                "Using a non-tuple sequence for multidimensional indexing is deprecated; use "
                "x[tuple(seq)] instead of x[seq]"
            )
            return key
    return (key,)


def _entry(given: Any) -> Any:
    """An entry as int, slice, None, Ellipsis, or an array of int64 or bool."""
    if given is None or given is Ellipsis or given.__class__ in (int, slice):
        return given
    if isinstance(given, bool):
        return np.array(given, dtype=bool)
    if isinstance(given, Tensor):
        array = given._array
        if array.ndim == 0 and array.dtype.kind != "b":
            array = values_on_host(array, "a tensor as an index")
        return _index_array(array)
    if isinstance(given, np.ndarray):
        return _index_array(constant_of(given))
    if isinstance(given, (list, tuple, range)):
        return _index_array(constant(_array_of(given)))
    if isinstance(given, str):
        raise TypeError("new(): invalid data type 'str'")
    if hasattr(given, "__index__"):
        return given.__index__()
    module = "numpy." if isinstance(given, np.generic) else ""
    raise IndexError(_TYPES.format(module + type(given).__name__))


def _array_of(sequence: Any) -> Array:
    """A list of numbers, bools, or tensors of one element, as an array."""
    values = [
        x.item() if isinstance(x, Tensor) else _array_of(x) if isinstance(x, (list, tuple)) else x
        for x in sequence
    ]
    return np.asarray(values) if values else np.zeros(0, np.int64)


def _index_array(array: Array) -> Any:
    kind = array.dtype.kind
    if array.__class__ is Transformed:
        return _index_of_samples(array)
    if kind == "b":
        return array
    if array.dtype == np.uint8:
        warn_caller(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
            "instead."
        )
        return convert(array, np.dtype(bool))
    if array.dtype in (np.int64, np.int32):
        return int(on_host(array)) if array.ndim == 0 else widened(array)
    if array.ndim == 0 and kind == "i":
        return int(on_host(array))
    raise IndexError("tensors used as indices must be long, int, byte or bool tensors")


def _index_of_samples(array: Array) -> Array:
    """An array that stands for one in each sample, which is looked at when memory is read."""
    if array.dtype.kind == "b" or array.dtype == np.uint8:
        raise RuntimeError(
            "vmap: We do not support batching operators that can support dynamic shape. Attempting "
            "to batch over indexing with a boolean mask."
        )
    if array.dtype != np.int64:
        raise IndexError("tensors used as indices of samples must be long tensors")
    return array


def dimension_of(rank: int, entries: Sequence[Any], number: int) -> int:
    """The dimension of a tensor that entry ``number`` of a key indexes."""

    def taken(entry: Any) -> int:
        if entry is None or entry is Ellipsis or isinstance(entry, bool):
            return 0
        array = entry._array if isinstance(entry, Tensor) else entry
        return array.ndim if is_array(array) and array.dtype.kind == "b" else 1

    before = sum([taken(entry) for entry in entries[:number]])
    if any([entry is Ellipsis for entry in entries[:number]]):
        return rank - sum([taken(entry) for entry in entries[number:]])
    return before


def _completed(rank: int, entries: list[Any]) -> list[Any]:
    """The entries with Ellipsis replaced by slices."""
    taken = 0
    for entry in entries:
        if is_array(entry):
            taken += entry.ndim if entry.dtype.kind == "b" else 1
        elif entry is not None and entry is not Ellipsis:
            taken += 1
    if taken > rank and rank:
        raise IndexError(f"too many indices for tensor of dimension {rank}")
    if not any([entry is Ellipsis for entry in entries]):
        return entries
    return _one_ellipsis(entries, rank, rank - taken, *[ALL] * (rank - taken))


def _checked_slice(entry: slice) -> slice:
    if entry.step is not None and int(entry.step) <= 0:
        raise ValueError("step must be greater than zero")
    return entry


def _unfit_mask(mask: Array, dim: int, shape: tuple[int, ...]) -> IndexError:
    """The error for a mask on dimension ``dim`` of a view of this shape."""
    k = 0
    while dim + k < len(shape) and k < mask.ndim - 1 and shape[dim + k] == mask.shape[k]:
        k += 1
    return IndexError(
        f"The shape of the mask {list(mask.shape)} at index {k} does not match the shape of the "
        f"indexed tensor {list(shape)} at index {dim + k}"
    )


def _reads_nothing(shape: tuple[int, ...], entries: list[Any], size: int) -> bool:
    """Whether a key selects no elements, so that torch looks at no index of a dimension.

    Of a dimension of ``size`` 0 it does, unless the index arrays have no elements either.
    """
    dim, kept = 0, []
    for entry in entries:
        if is_array(entry):
            mask = entry.dtype.kind == "b"
            if not (entry.any() if mask else entry.size):
                return True
            dim += entry.ndim if mask else 1
        elif entry.__class__ is slice:
            kept.append(len(range(*entry.indices(shape[dim]))))
            dim += 1
        elif entry is not None:
            dim += 1
    return size > 0 and 0 in (*kept, *shape[dim:])


def _wrapped(index: Array, order: int, size: int, unread: Any) -> Array:
    """Indices counted from 0; ``order`` of the index array and ``size`` are for the error."""
    if index.__class__ is Transformed:
        return index

    def outside(bad: int) -> IndexError:
        if size:
            return out_of_bounds(bad, order, size)
        return IndexError("index is out of bounds for dimension with size 0")

    return wrap_indices(index, size, outside, unread)


def wrap_indices(index: Array, size: int, error: Any, unread: Any = None) -> Array:
    """Indices counted from 0, or the exception ``error(index)`` for one out of range.

    ``unread(size)`` says whether no element is read at them: then any of them will do.
    """
    if may_use_elements(index) and are_inside(index, size):
        return index
    if unread is not None and unread(size):
        return constant(np.zeros(index.shape, INT64))
    made: Array
    if size > 0 and foreign(index) is not None:  # a bad one is told of where values are read
        made = _counted_from_zero().run(index, size)
        check_inside("indexing: an index", made, size, _check_bounds, index, size, error)
        return made
    _check_bounds_at_once(index, size, error)
    if may_use_elements(index):
        return np.where(index < 0, index + size, index)
    made = pointwise("remainder")(new_tensor(index), size)._array
    return made


@functools.cache
def _counted_from_zero() -> PointwiseProgram:
    """Indices of which those below 0 are counted from the end."""
    formula = functools.partial(trace, lambda x, y: where(x < 0, x + y, x))
    return PointwiseProgram("from_zero", formula, "same", GRAIN)


def _check_bounds(index: Array, size: int, error: Any) -> None:
    if index.size and (index.min() < -size or index.max() >= size):
        raise error(int(index[(index < -size) | (index >= size)][0]))


_check_bounds_at_once = array_function("check")(_check_bounds)


INT64 = np.dtype(np.int64)


def widened(index: Array) -> Array:
    """Indices of int32 or int64 as int64."""
    if index.dtype == INT64:
        return index
    if foreign(index) is not None:
        made: Array = tensors.cast(new_tensor(index), INT64)._array
        return made
    wide: Array = _as_int64(index)
    return wide


@array_function()
def _as_int64(index: Array) -> Array:
    return index.astype(INT64)


def _common_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return broadcast(shapes)
    except ShapesDiffer:
        found = ", ".join([str(list(shape)) for shape in shapes])
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {found}"
        ) from None


def _aligned(arrays: list[Any]) -> tuple[Any, ...]:
    """Index arrays broadcast together, without trailing slices."""
    while arrays[-1] is ALL:
        arrays.pop()
    chosen = [x for x in arrays if x is not ALL]
    if len(chosen) > 1 and any([x.shape != chosen[0].shape for x in chosen]):
        shape = _common_shape([x.shape for x in chosen])
        if Transformed not in [x.__class__ for x in chosen]:
            arrays = [x if x is ALL else strided_view(x, shape, spread(x, shape)) for x in arrays]
    return tuple(arrays)
