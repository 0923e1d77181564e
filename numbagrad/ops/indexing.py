"""Indexing: ``x[...]`` and ``x[...] = v``, gather and scatter, selection by index and by mask.

``subscript.py`` takes keys apart; the loops are those of ``executor/indexing.py``. Reading by a
basic key gives a view, everything else copies. Elements that an index names more than once add up
in gradients, in the order of the indices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd.grad_mode import state as grad_mode
from ..autograd.inplace import compute_then_write, recording, write_inplace
from ..autograd.tensor_interface import bump_version
from ..executor import indexing as executor
from ..tensor import Tensor, new_tensor
from .inplace import copy_, zeros_for
from .operator import TensorOperator, pointwise
from .registry import method
from .subscript import ALL, Subscript, basic_error, is_basic, out_of_bounds, wrap_indices
from .view import (
    alias_view,
    common_shape,
    dimension,
    expand,
    reshape,
    select_view,
    slice_view,
    unsqueeze_view,
)

__all__ = [
    "argwhere", "embedding", "gather", "index_add", "index_copy", "index_fill", "index_put",
    "index_put_", "index_select", "masked_scatter", "masked_select", "nonzero", "scatter",
    "scatter_add", "scatter_reduce", "take", "take_along_dim",
]  # fmt: skip

Array = np.ndarray[Any, Any]
Key = tuple[Any, ...]


# --- reading by subscript -------------------------------------------------------------------------


@method("__getitem__")
def _getitem(self: Tensor, key: Any) -> Tensor:
    """``self[key]``: a view for ints, slices, None and Ellipsis, else a copy."""
    kind = key.__class__
    if kind is int:
        key = (key, ...)
        operator = select_view
    elif kind is slice and (key.step is None or (key.step.__class__ is int and key.step > 0)):
        key = (key, ...)
        operator = slice_view
    elif key is None:
        key = (None, ...)
        operator = unsqueeze_view
    elif kind is tuple and is_basic(key):
        operator = _view_of(key)
        if Ellipsis not in key:
            key = (*key, ...)
    elif isinstance(key, Tensor) and key._array.dtype == np.int64 and key._array.ndim:
        return _get_rows(self, key._array)
    else:
        return _get_advanced(self, key)
    try:
        array = self._array[key]
    except (IndexError, TypeError):
        array = _retry(self._array, key)
    if operator is unsqueeze_view:
        array = _with_strides(array)
    return operator.wrap(array, self, (key,))


def _with_strides(array: Array) -> Array:
    """The view with torch's strides for new dimensions, where NumPy has 0."""
    shape, strides = array.shape, list(array.strides)
    step = array.itemsize
    for dim in range(len(shape) - 1, -1, -1):
        if strides[dim] == 0 and shape[dim] == 1:
            strides[dim] = step
        step = shape[dim] * strides[dim]
    return executor.strided_view(array, shape, tuple(strides))


def _retry(array: Array, key: Key) -> Array:
    """The view again, by a key that NumPy takes; raises torch's error where there is none."""
    if key.count(Ellipsis) > 1:
        first = key.index(Ellipsis)
        rest = [x for x in key[first + 1 :] if x is not Ellipsis]
        return array[key[: first + 1] + tuple(rest)]
    raise basic_error(array.shape, key) from None


def _view_of(key: Key) -> Any:
    """The operator named as the last of those that torch would apply one after another."""
    for entry in reversed(key):
        if entry is None:
            return unsqueeze_view
        if entry.__class__ is int:
            return select_view
        if entry.__class__ is slice and entry != ALL:
            return slice_view
    return alias_view


def _get_advanced(self: Tensor, key: Any) -> Tensor:
    subscript = Subscript(self._array.shape, key)
    if any([entry is not ALL for entry in subscript.basic[:-1]]) or not subscript.arrays:
        view = _view_of(subscript.basic[:-1]).wrap(
            self._array[subscript.basic], self, (subscript.basic,)
        )
    else:
        view = self
    return _index(view, _kept(view, subscript.arrays)) if subscript.arrays else view


def _get_rows(self: Tensor, index: Array) -> Tensor:
    """``self[index]`` for one array of int64, the most frequent of advanced keys."""
    if self._array.ndim == 0:
        raise IndexError("too many indices for tensor of dimension 0")
    size = self._array.shape[0]
    index = wrap_indices(index, size, lambda bad: out_of_bounds(bad, 0, size))
    return _index(self, _kept(self, (index,)))


def _kept(tensor: Tensor, arrays: Key) -> Key:
    """Index arrays that a node may keep: copies, if there will be a node."""
    if not (tensor._requires_grad and grad_mode.enabled):
        return arrays
    return tuple([x if x is ALL else x.copy() for x in arrays])


def _single(arrays: Key) -> int:
    """The dimension that is indexed, if it is one only, else -1."""
    if len(arrays) == 1 or all([x is ALL for x in arrays[:-1]]):
        return len(arrays) - 1
    return -1


def _taken(array: Array, arrays: Key) -> Array:
    dim = _single(arrays)
    if dim < 0:
        taken = array[arrays]
        return taken if taken.flags.c_contiguous else taken.copy("C")
    index = arrays[dim]
    shape = (*array.shape[:dim], *index.shape, *array.shape[dim + 1 :])
    return executor.index_select(array, dim, index.reshape(-1)).reshape(shape)


def _put_sum(array: Array, arrays: Key, values: Array) -> None:
    """Add ``values``, of the shape of the indexing result, to ``array`` at the indices."""
    dim = _single(arrays)
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


def _spread(array: Array, shape: tuple[int, ...], arrays: Key) -> Array:
    result = np.zeros(shape, array.dtype)
    _put_sum(result, arrays, array)
    return result


_index = TensorOperator(
    "index",
    lambda input, arrays: _taken(input, arrays),
    {"input": lambda grad, input_shape, arrays: _index_backward(grad, input_shape, arrays)},
)
_index_backward = TensorOperator(
    "index_backward",
    lambda input, shape, arrays: _spread(input, shape, arrays),
    {"input": lambda grad, arrays: _index(grad, arrays)},
)


# --- assignment by subscript ----------------------------------------------------------------------


def _put(array: Array, arrays: Key, values: Array, accumulate: bool) -> Array:
    result = array.copy()
    _write(result, arrays, values, accumulate)
    return result


def _write(array: Array, arrays: Key, values: Array, accumulate: bool) -> None:
    if not accumulate:
        array[arrays] = values
        return
    shape = array[arrays].shape
    _put_sum(array, arrays, np.broadcast_to(values, shape))


_index_put = TensorOperator(
    "index_put",
    lambda input, values, arrays, accumulate: _put(input, arrays, values, accumulate),
    {
        "input": lambda grad, arrays, accumulate: grad if accumulate else _cleared(grad, arrays),
        "values": lambda grad, values_shape, arrays: _sum_to(_index(grad, arrays), values_shape),
    },
)


def _cleared(grad: Tensor, arrays: Key) -> Tensor:
    """``grad`` with zeros at the indices."""
    return _index_put(grad, new_tensor(np.zeros((), grad._array.dtype)), arrays, False)


def _sum_to(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    return grad if grad._array.shape == shape else grad.sum_to_size(shape)


@method("__setitem__")
def _setitem(self: Tensor, key: Any, value: Any) -> None:
    """``self[key] = value``: the value is broadcast and cast to the dtype of this tensor."""
    kind = key.__class__
    if kind is Tensor and _fill_where(self, key, value):
        return
    basic = key if kind is tuple else (key,)
    if not (kind is int or kind is slice or kind is tuple) or not is_basic(basic):
        subscript = Subscript(self._array.shape, key)
        basic, arrays = subscript.basic, subscript.arrays
    else:
        arrays = ()
        if Ellipsis not in basic:
            basic = (*basic, ...)
    number = not isinstance(value, Tensor)
    if number:
        value = _number_for(self, value)
    if not arrays and not recording(self, value) and _write_plain(self, basic, value):
        return
    target = _getitem(self, basic) if any([x is not ALL for x in basic[:-1]]) else self
    if arrays:
        _assign(target, arrays, value, number)
    else:
        own = target._array.shape
        copy_(target, _without_leading_ones(value, own))


_masked_fill = pointwise("masked_fill")


def _fill_where(tensor: Tensor, mask: Tensor, value: Any) -> bool:
    """``tensor[mask] = number`` without recording, as one pass; False for any other assignment."""
    if (
        mask._array.dtype.kind != "b"
        or mask._array.shape != tensor._array.shape
        or isinstance(value, Tensor)
        or (tensor._requires_grad and grad_mode.enabled)
    ):
        return False
    _masked_fill.into(tensor, (tensor, mask, _number_for(tensor, value)))
    return True


def _write_plain(tensor: Tensor, key: Key, value: Tensor) -> bool:
    """Write without recording; False where the value does not fit, for the error to be made."""
    try:
        tensor._array[key] = value._array
    except IndexError:
        raise basic_error(tensor._array.shape, key) from None
    except ValueError:
        return False
    bump_version(tensor)
    return True


def _number_for(tensor: Tensor, value: Any) -> Tensor:
    """A Python number as a tensor of the dtype it will be written to."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (bool, int, float)):
        raise TypeError(
            f"can't assign a {type(value).__name__} to a torch.{_type_name(tensor)}"
        )
    return new_tensor(np.array(value).astype(tensor._array.dtype))


def _type_name(tensor: Tensor) -> str:
    return tensor.type().removeprefix("torch.")


def _without_leading_ones(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """``value`` without leading dimensions of size 1 beyond the rank of ``shape``, expanded."""
    own = value._array.shape
    extra = 0
    while len(own) - extra > len(shape) and own[extra] == 1:
        extra += 1
    if extra:
        value = reshape(value, own[extra:])
    return value if value._array.shape == shape else expand(value, shape)


def _assign(target: Tensor, arrays: Key, value: Tensor, number: bool) -> None:
    if value._array.dtype != target._array.dtype:
        if value._array.ndim:
            raise RuntimeError(
                "Index put requires the source and destination dtypes match, got "
                f"{_scalar_name(target)} for the destination and {_scalar_name(value)} for the "
                "source."
            )
        value = value.to(target.dtype)
    _index_put_in_place(target, arrays, value, False)


def _scalar_name(tensor: Tensor) -> str:
    return _type_name(tensor).removesuffix("Tensor")


def _index_put_in_place(target: Tensor, arrays: Key, value: Tensor, accumulate: bool) -> Tensor:
    result_shape = _result_shape(target._array.shape, arrays)
    own = value._array.shape
    while len(own) > len(result_shape) and own[0] == 1:
        own = own[1:]
    if own != result_shape:
        _check_values(value._array.shape, own, result_shape)
    if own != value._array.shape:
        value = reshape(value, own)
    if recording(target, value):
        arrays = tuple([x if x is ALL else x.copy() for x in arrays])
    written = value._array
    return write_inplace(
        target,
        _index_put,
        lambda array: _write(array, arrays, written, accumulate),
        value,
        arrays,
        accumulate,
    )


def _check_values(given: tuple[int, ...], own: tuple[int, ...], result: tuple[int, ...]) -> None:
    fits = len(own) <= len(result) and all(
        [size in (1, wanted) for size, wanted in zip(own[::-1], result[::-1], strict=False)]
    )
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(given)} cannot be broadcast to indexing "
            f"result of shape {list(result)}"
        )


def _result_shape(shape: tuple[int, ...], arrays: Key) -> tuple[int, ...]:
    """The shape of what index arrays take from a tensor of this shape."""
    places = [k for k, x in enumerate(arrays) if x is not ALL]
    index_shape = arrays[places[0]].shape
    rest = [shape[k] for k in range(len(shape)) if k not in places]
    together = places[-1] - places[0] == len(places) - 1
    first = places[0] if together else 0
    return (*rest[:first], *index_shape, *rest[first:])


@method("index_put_")
def index_put_(
    input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    """Write ``values`` at ``indices`` (None stands for a whole dimension), or add them there."""
    key = tuple([ALL if index is None else _as_vector(index._array) for index in indices])
    subscript = Subscript(input._array.shape, key)
    if values._array.dtype != input._array.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{_scalar_name(input)} for the destination and {_scalar_name(values)} for the source."
        )
    return _index_put_in_place(input, subscript.arrays, values, accumulate)


def _as_vector(index: Array) -> Array:
    """An index array with at least one dimension, so that it does not count as an int."""
    return index.reshape(1) if index.ndim == 0 else index


@method()
def index_put(
    input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    """A copy with ``values`` at ``indices``."""
    return index_put_(input.clone(), indices, values, accumulate)


# --- one dimension, by an index of the same rank --------------------------------------------------


def _index_of(name: str, index: Tensor) -> Array:
    if index._array.dtype not in (np.int64, np.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    return index._array.astype(np.int64, copy=False)


def _check_range(index: Array, dim: int, size: int) -> None:
    if index.size and np.maximum.reduce(index.view(np.uint64), None) >= size:
        bad = index[(index < 0) | (index >= size)][0]
        raise RuntimeError(f"index {bad} is out of bounds for dimension {dim} with size {size}")


def _size(array: Array, dim: int) -> int:
    return array.shape[dim] if array.ndim else 1


_gather = TensorOperator(
    "gather",
    lambda input, dim, index: executor.gather(input, dim, index),
    {
        "input": lambda grad, input_shape, dim, index: _scatter_add(
            new_tensor(np.zeros(input_shape, grad._array.dtype)), dim, index, grad
        ),
        "index": None,  # type: ignore[dict-item]
    },
)


def _added(array: Array, dim: int, index: Array, source: Array) -> Array:
    result = array.copy("C")
    executor.scatter_add(result, dim, index, source)
    return result


_scatter_add = TensorOperator(
    "scatter_add",
    lambda input, dim, index, src: _added(input, dim, index, src),
    {
        "input": lambda grad: grad,
        "index": None,  # type: ignore[dict-item]
        "src": lambda grad, dim, index, src_shape: _padded(_gather(grad, dim, index), src_shape),
    },
)


def _padded(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """``grad`` with zeros behind it in every dimension, up to ``shape``."""
    own = grad._array.shape
    return grad if own == shape else _pad(grad, shape)


def _embedded(array: Array, shape: tuple[int, ...]) -> Array:
    result = np.zeros(shape, array.dtype)
    result[tuple([slice(size) for size in array.shape])] = array
    return result


_pad = TensorOperator(
    "pad",
    lambda input, shape: _embedded(input, shape),
    {
        "input": lambda grad, input_shape: _getitem(
            grad, (*[slice(size) for size in input_shape], ...)
        )
    },
)


def _long(index: Tensor, array: Array) -> Tensor:
    return index if index._array is array else new_tensor(array)


def _check_index(name: str, input: Tensor, dim: int, index: Tensor) -> Array:
    """Check shapes, dtype and range of an index of gather or scatter; int64 indices."""
    array = _index_of(name, index)
    shape = input._array.shape
    if max(array.ndim, 1) != max(len(shape), 1):
        other = "input" if name == "gather" else "self"
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as {other} tensor"
        )
    _check_range(array, dim, _size(input._array, dim))
    return array


@method()
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """``out[i, j] = input[index[i, j], j]`` for dim 0, and so on for the others.

    Raises:
        RuntimeError: if the ranks differ, an index is out of range, or ``index`` is larger than
            ``input`` in another dimension.
    """
    dim = dimension(input._array.ndim, dim)
    array = _check_index("gather", input, dim, index)
    for place, (size, limit) in enumerate(zip(array.shape, input._array.shape, strict=False)):
        if place != dim and size > limit:
            raise RuntimeError(
                f"Size does not match at dimension {place} expected index {list(array.shape)} to "
                f"be no larger than self {list(input._array.shape)} apart from dimension {dim}"
            )
    return _gather(input, dim, _long(index, array))


def _check_scatter(name: str, input: Tensor, dim: int, index: Tensor, src: Tensor | None) -> Array:
    own = input._array.shape
    source = () if src is None else src._array.shape
    if src is not None and src._array.dtype != input._array.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    array = _check_index(name, input, dim, index)
    for place, size in enumerate(array.shape if own else ()):
        outside = place != dim and size > own[place]
        if outside or (src is not None and size > (source[place] if source else 1)):
            text = f"Expected index {list(array.shape)} to be no larger than self {list(own)} apart"
            text += f" from dimension {dim}"
            if src is not None:
                text += f" and to be no larger size than src {list(source)}"
            raise RuntimeError(text)
    return array


@method()
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with ``src[i, j]`` added at ``[index[i, j], j]`` for dim 0, and so on."""
    dim = dimension(input._array.ndim, dim)
    array = _check_scatter("scatter", input, dim, index, src)
    return _scatter_add(input, dim, _long(index, array), src)


@method("scatter_add_")
def _scatter_add_(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """``scatter_add`` in place."""
    dim = dimension(input._array.ndim, dim)
    array = _check_scatter("scatter", input, dim, index, src)
    return write_inplace(
        input,
        _scatter_add,
        lambda output: executor.scatter_add(output, dim, array, src._array),
        dim,
        _long(index, array),
        src,
    )


def _scattered(array: Array, dim: int, index: Array, values: Any) -> Array:
    result = array.copy("C")
    if result.ndim == 0:
        result[...] = values if np.ndim(values) == 0 else values.reshape(-1)[-1]
        return result
    if isinstance(values, np.ndarray) and values.ndim:
        values = values[tuple([slice(size) for size in index.shape])]
    np.put_along_axis(result[_corner(result, dim, index)], index, values, dim)
    return result


def _corner(array: Array, dim: int, index: Array) -> Key:
    """The part of ``array`` that indices along ``dim`` can name."""
    return tuple([ALL if k == dim else slice(size) for k, size in enumerate(index.shape)])


_scatter_src = TensorOperator(
    "scatter",
    lambda input, dim, index, src: _scattered(input, dim, index, src),
    {
        "input": lambda grad, dim, index: _scatter_value(grad, dim, index, 0.0),
        "index": None,  # type: ignore[dict-item]
        "src": lambda grad, dim, index, src_shape: _padded(_gather(grad, dim, index), src_shape),
    },
)
_scatter_value = TensorOperator(
    "scatter",
    lambda input, dim, index, value: _scattered(input, dim, index, value),
    {
        "input": lambda grad, dim, index: _scatter_value(grad, dim, index, 0.0),
        "index": None,  # type: ignore[dict-item]
    },
    grad_fn="ScatterBackward1",
)


@method()
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
) -> Tensor:
    """A copy with ``src[i, j]`` (or a number) written at ``[index[i, j], j]`` for dim 0.

    ``reduce`` is None, "add" or "multiply". Where an index is named twice and nothing is reduced,
    one of the values is written.
    """
    if src is None:
        src = value
    dim = dimension(input._array.ndim, dim)
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError("reduce argument must be either add or multiply.")
        source = src
        if not isinstance(src, Tensor):
            source = new_tensor(np.full(index._array.shape, src, input._array.dtype))
        return scatter_reduce(input, dim, index, source, {"add": "sum", "multiply": "prod"}[reduce])
    tensor = src if isinstance(src, Tensor) else None
    array = _check_scatter("scatter", input, dim, index, tensor)
    if tensor is None:
        return _scatter_value(input, dim, _long(index, array), src)
    return _scatter_src(input, dim, _long(index, array), tensor)


_REDUCTIONS: dict[str, Any] = {
    "sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum,
}  # fmt: skip


def _reduced(array: Array, dim: int, index: Array, source: Array, reduce: str, own: bool) -> Array:
    result = array.copy("C")
    places = tuple(
        [
            index.reshape(-1) if k == dim else grid.reshape(-1)
            for k, grid in enumerate(np.indices(index.shape))
        ]
    )
    values = source[tuple([slice(size) for size in index.shape])].reshape(-1)
    if result.ndim == 0:
        result, places = result.reshape(1), (index.reshape(-1),)
    if not own:
        neutral = {"sum": 0, "prod": 1, "mean": 0}.get(reduce)
        if neutral is None:
            result[places] = values
        else:
            result[places] = neutral
    _REDUCTIONS["sum" if reduce == "mean" else reduce].at(result, places, values)
    if reduce == "mean":
        counts = np.full(result.shape, 1 if own else 0, np.int64)
        np.add.at(counts, places, 1)
        counts = np.maximum(counts, 1)
        result = result / counts if result.dtype.kind == "f" else result // counts
    return result.astype(array.dtype, copy=False).reshape(array.shape)


def _reduce_gradient(
    grad: Tensor, input: Tensor, dim: int, index: Tensor, src: Tensor, result: Tensor, how: Any
) -> tuple[Tensor, Tensor]:
    """Gradients of ``input`` and ``src`` in scatter_reduce; ``how`` is (reduce, include_self)."""
    reduce, own = how
    shape = src._array.shape
    ones = new_tensor(np.ones(index._array.shape, grad._array.dtype))
    if reduce == "sum":
        to_input, to_src = grad, _gather(grad, dim, index)
    elif reduce == "mean":
        start = np.ones if own else np.zeros
        counts = _added(start(input._array.shape, grad._array.dtype), dim, index._array,
                        ones._array)  # fmt: skip
        share = grad / new_tensor(np.maximum(counts, 1))
        to_input, to_src = share, _gather(share, dim, index)
    elif reduce == "prod":
        to_input = grad * result / input
        to_src = _gather(grad * result, dim, index) / _corner_of(src, index)
    else:
        same = _equal(input, result)
        chosen = _equal(_corner_of(src, index), _gather(result, dim, index))
        counts = _scatter_add(same if own else zeros_for(same), dim, index, chosen)
        share = grad / counts
        to_input, to_src = share * same, _gather(share, dim, index) * chosen
    if not own:
        to_input = _scatter_value(to_input, dim, index, 0.0)
    return to_input, _padded(to_src, shape)


def _equal(a: Tensor, b: Tensor) -> Tensor:
    """1 where two tensors are equal, else 0, in their dtype; not recorded."""
    return new_tensor((a._array == b._array).astype(a._array.dtype))


def _corner_of(src: Tensor, index: Tensor) -> Tensor:
    shape = index._array.shape
    if src._array.shape == shape:
        return src
    return _getitem(src, (*[slice(size) for size in shape], ...))


_scatter_reduce = TensorOperator(
    "scatter_reduce",
    lambda input, dim, index, src, how: _reduced(input, dim, index, src, *how),
    {
        "input": lambda grad, input, dim, index, src, result, how: _reduce_gradient(
            grad, input, dim, index, src, result, how
        )[0],
        "index": None,  # type: ignore[dict-item]
        "src": lambda grad, input, dim, index, src, result, how: _reduce_gradient(
            grad, input, dim, index, src, result, how
        )[1],
    },
)


@method()
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy in which ``src`` is reduced into ``input`` at the indices along ``dim``.

    ``reduce`` is "sum", "prod", "mean", "amax" or "amin"; ``include_self`` says whether elements of
    ``input`` that an index names take part.
    """
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "reduce argument must be either sum, prod, mean, amax or amin, got " + str(reduce)
        )
    dim = dimension(input._array.ndim, dim)
    array = _check_scatter("scatter", input, dim, index, src)
    return _scatter_reduce(input, dim, _long(index, array), src, (reduce, include_self))


@method()
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """``gather`` with the other dimensions broadcast; without ``dim`` over all elements."""
    if dim is None:
        return gather(reshape(input, -1), 0, reshape(indices, -1))
    own, given = input._array.shape, indices._array.shape
    if len(own) != len(given):
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {len(own)} dimensions for input, and {len(given)} dimensions for indices"
        )
    dim = dimension(len(own), dim)
    rest = common_shape([(*shape[:dim], 1, *shape[dim + 1 :]) for shape in (own, given)])
    spread = [(*rest[:dim], shape[dim], *rest[dim + 1 :]) for shape in (own, given)]
    return gather(expand(input, spread[0]), dim, expand(indices, spread[1]))


# --- one dimension, by a vector -------------------------------------------------------------------


def _vector(name: str, index: Tensor) -> Array:
    if index._array.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector")
    if index._array.dtype not in (np.int64, np.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32 or int64 for index")
    return index._array.astype(np.int64, copy=False).reshape(-1)


_index_select = TensorOperator(
    "index_select",
    lambda input, dim, index: executor.index_select(input, dim, index).reshape(
        (*input.shape[:dim], index.size, *input.shape[dim + 1 :]) if input.ndim else ()
    ),
    {
        "input": lambda grad, input_shape, dim, index: _index_add(
            new_tensor(np.zeros(input_shape, grad._array.dtype)), dim, index, grad
        ),
        "index": None,  # type: ignore[dict-item]
    },
)


def _rows_added(array: Array, dim: int, index: Array, source: Array) -> Array:
    result = array.copy("C")
    executor.index_add(result, dim, index, source)
    return result


_index_add = TensorOperator(
    "index_add",
    lambda input, dim, index, source: _rows_added(input, dim, index, source),
    {
        "input": lambda grad: grad,
        "index": None,  # type: ignore[dict-item]
        "source": lambda grad, dim, index: _index_select(grad, dim, index),
    },
)


@method()
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The entries of one dimension at the indices of a vector, as a copy.

    Raises:
        IndexError: if an index is out of range (negative ones are).
    """
    dim = dimension(input._array.ndim, dim)
    array = _vector("index_select", index)
    if array.size and np.maximum.reduce(array.view(np.uint64), None) >= _size(input._array, dim):
        raise IndexError("index out of range in self")
    return _index_select(input, dim, _long(index, array))


def _check_rows(name: str, input: Tensor, dim: int, index: Array, source: Tensor) -> None:
    own, given = input._array.shape, source._array.shape
    if index.size != _size(source._array, dim):
        kind = IndexError if name == "index_copy_" else RuntimeError
        end = f" ({given[dim]})" if name == "index_copy_" else f": ({given[dim]}), for dim: {dim}"
        raise kind(
            f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim){end}"
        )
    if source._array.dtype != input._array.dtype:
        raise RuntimeError(
            f"{name}(): self ({_scalar_name(input)}) and source ({_scalar_name(source)}) must have "
            "the same scalar type"
        )
    if (*own[:dim], *own[dim + 1 :]) != (*given[:dim], *given[dim + 1 :]):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(own)} source.shape = {list(given)}"
        )


@method()
def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1
) -> Tensor:
    """A copy with ``alpha * source`` added to the entries of one dimension at the indices."""
    dim = dimension(input._array.ndim, dim)
    array = _vector("index_add_", index)
    _check_rows("index_add_", input, dim, array, source)
    _check_range(array, dim, _size(input._array, dim))
    return _index_add(
        input, dim, _long(index, array), source if alpha == 1 else source * alpha
    )


@method("index_add_")
def _index_add_(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1
) -> Tensor:
    """``index_add`` in place."""
    dim = dimension(input._array.ndim, dim)
    array = _vector("index_add_", index)
    _check_rows("index_add_", input, dim, array, source)
    _check_range(array, dim, _size(input._array, dim))
    if alpha != 1:
        source = source * alpha
    return write_inplace(
        input,
        _index_add,
        lambda output: executor.index_add(output, dim, array, source._array),
        dim,
        _long(index, array),
        source,
    )


def _rows(dim: int, index: Array) -> Key:
    return (*(ALL,) * dim, index)


def _filled(array: Array, dim: int, index: Array, value: Any) -> Array:
    result = array.copy("C")
    if result.ndim:
        result[_rows(dim, index)] = value
    elif index.size:
        result[...] = value.reshape(()) if isinstance(value, np.ndarray) else value
    return result


_index_copy = TensorOperator(
    "index_copy",
    lambda input, dim, index, source: _filled(input, dim, index, source),
    {
        "input": lambda grad, dim, index: _index_fill(grad, dim, index, 0.0),
        "index": None,  # type: ignore[dict-item]
        "source": lambda grad, dim, index: _index_select(grad, dim, index),
    },
)
_index_fill = TensorOperator(
    "index_fill",
    lambda input, dim, index, value: _filled(input, dim, index, value),
    {
        "input": lambda grad, dim, index: _index_fill(grad, dim, index, 0.0),
        "index": None,  # type: ignore[dict-item]
    },
)
_index_fill_tensor = TensorOperator(
    "index_fill",
    lambda input, dim, index, value: _filled(input, dim, index, value),
    {
        "input": lambda grad, dim, index: _index_fill(grad, dim, index, 0.0),
        "index": None,  # type: ignore[dict-item]
        "value": lambda grad, dim, index: _index_select(grad, dim, index).sum(),
    },
    grad_fn="IndexFillBackward1",
)


@method()
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with the entries of ``source`` written at the indices of one dimension."""
    dim = dimension(input._array.ndim, dim)
    array = _vector("index_copy_", index)
    _check_rows("index_copy_", input, dim, array, source)
    size = _size(input._array, dim)
    array = wrap_indices(
        array,
        size,
        lambda bad: IndexError(
            f"index_copy_(): index {bad} is out of bounds for dimension {dim} with size {size}"
        ),
    )
    return _index_copy(input, dim, _long(index, array), source)


@method()
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy with one value written at the indices of one dimension."""
    dim = dimension(input._array.ndim, dim)
    size = _size(input._array, dim)
    array = wrap_indices(
        _vector("index_fill_", index),
        size,
        lambda bad: IndexError(
            f"index {bad} is out of bounds for dimension {dim} with size {size}"
        ),
    )
    if not isinstance(value, Tensor):
        return _index_fill(input, dim, _long(index, array), value)
    if value._array.ndim:
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value._array.ndim} dimension(s)."
        )
    return _index_fill_tensor(input, dim, _long(index, array), value)


_embedding = TensorOperator(
    "embedding",
    lambda weight, indices, padding: _taken(weight, (indices,)),
    {
        "weight": lambda grad, weight_shape, indices, padding: _embedding_gradient(
            grad, weight_shape, indices, padding
        ),
        "indices": None,  # type: ignore[dict-item]
    },
)


def _embedding_gradient(
    grad: Tensor, shape: tuple[int, ...], indices: Tensor, padding: int
) -> Tensor:
    if padding >= 0:
        mask = (indices._array == padding)[..., None]
        grad = pointwise("masked_fill")(grad, new_tensor(mask), 0)
    return _index_backward(grad, shape, (indices._array,))


def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of a matrix (n, d) at indices of any shape (...), to (..., d).

    The row ``padding_idx`` gets no gradient.

    Raises:
        IndexError: if an index is out of range.
        NotImplementedError: for sparse gradients and those scaled by frequency.
    """
    if sparse or scale_grad_by_freq:
        raise NotImplementedError(
            "embedding: sparse gradients and gradients scaled by frequency are not supported; "
            "leave sparse and scale_grad_by_freq False"
        )
    if weight._array.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    array = _index_of("embedding", indices)
    if array.size and np.maximum.reduce(array.view(np.uint64), None) >= weight._array.shape[0]:
        raise IndexError("index out of range in self")
    return _embedding(weight, _long(indices, array), padding_idx)


# --- all elements in a row, and masks -------------------------------------------------------------


@method()
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at ``index``, counted through the whole tensor; of the shape of ``index``."""
    count = input._array.size
    array = wrap_indices(
        _index_of("take", index).reshape(-1),
        count,
        lambda bad: IndexError(
            f"out of range: tried to access index {bad} on a tensor of {count} elements."
        ),
    )
    flat = _take(reshape(input, -1), 0, new_tensor(array))
    return reshape(flat, index._array.shape)


_take = TensorOperator(
    "take",
    lambda input, dim, index: executor.index_select(input, dim, index),
    dict(_index_select.gradient),
)


def _mask_of(name: str, mask: Tensor) -> Array:
    if mask._array.dtype.kind != "b":
        raise RuntimeError(f"{name}: expected BoolTensor for mask")
    return mask._array


@method()
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds, as a vector; both broadcast together."""
    array = _mask_of("masked_select", mask)
    shape = common_shape([input._array.shape, array.shape])
    if input._array.shape != shape:
        input = expand(input, shape)
    found = np.broadcast_to(array, shape).reshape(-1).nonzero()[0]
    return _masked_select(reshape(input, -1), 0, new_tensor(found))


_masked_select = TensorOperator(
    "masked_select",
    lambda input, dim, index: executor.index_select(input, dim, index),
    dict(_index_select.gradient),
)


def _mask_filled(array: Array, mask: Array, source: Array) -> Array:
    result = array.copy("C")
    count = int(mask.sum())
    result[mask] = source.reshape(-1)[:count]
    return result


def _source_gradient(grad: Tensor, mask: Array, shape: tuple[int, ...]) -> Tensor:
    """Gradient of the source of masked_scatter: what was read from it, zeros behind."""
    chosen = _index(grad, mask.nonzero())
    count = 1
    for size in shape:
        count *= size
    return reshape(_padded(chosen, (count,)), shape)


_masked_scatter = TensorOperator(
    "masked_scatter",
    lambda input, mask, source: _mask_filled(input, mask, source),
    {
        "input": lambda grad, mask: pointwise("masked_fill")(grad, new_tensor(mask), 0),
        "source": lambda grad, mask, source_shape: _source_gradient(grad, mask, source_shape),
    },
)


@method()
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with the elements of ``source``, in their order, written where the mask holds."""
    if mask._array.dtype.kind != "b":
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{_scalar_name(mask)}"
        )
    shape = common_shape([input._array.shape, mask._array.shape])
    chosen = np.broadcast_to(mask._array, shape).copy()
    if source._array.size < int(chosen.sum()):
        raise RuntimeError("Number of elements of source < number of ones in mask")
    if input._array.shape != shape:
        input = expand(input, shape)
    return _masked_scatter(input, chosen, source)


@method()
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Indices of the elements that are not zero: rows of a matrix, or a vector a dimension."""
    array = input._array
    if as_tuple:
        found = array.reshape(-1).nonzero() if array.ndim == 0 else array.nonzero()
        return tuple([new_tensor(places) for places in found])
    return new_tensor(np.argwhere(array))


@method()
def argwhere(input: Tensor) -> Tensor:
    """Indices of the elements that are not zero, as rows of a matrix."""
    return nonzero(input)


# --- the same in place ----------------------------------------------------------------------------


def _in_place(function: Callable[..., Tensor]) -> None:
    """The method with an underscore: it writes what the function returns."""

    def write(self: Tensor, *arguments: Any, **options: Any) -> Tensor:
        others = [x for x in (*arguments, *options.values()) if isinstance(x, Tensor)]
        return compute_then_write(
            self, lambda before: function(before, *arguments, **options), *others
        )

    write.__name__ = write.__qualname__ = f"{function.__name__}_"
    write.__doc__ = f"``{function.__name__}`` written into the tensor."
    method(write.__name__)(write)


for _function in (index_copy, index_fill, masked_scatter, scatter, scatter_reduce):
    _in_place(_function)
