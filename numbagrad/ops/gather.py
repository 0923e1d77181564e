"""Gather and scatter, selection by index and by mask, and the same in place.

The loops are those of ``executor/indexing.py``. What an index names more than once adds up in the
order of the indices, so that results have the same bits for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.inplace import compute_then_write, write_inplace
from ..executor import indexing as executor
from ..tensor import Tensor, new_tensor
from .indexing import getitem, index_backward, read_by_arrays, scalar_name, taken
from .inplace import zeros_for
from .operator import pointwise
from .registry import method
from .subscript import ALL, wrap_indices
from .tensor_operator import TensorOperator
from .view import common_shape, dimension, expand, reshape

__all__ = [
    "argwhere", "embedding", "gather", "index_add", "index_copy", "index_fill", "index_select",
    "masked_scatter", "masked_select", "nonzero", "scatter", "scatter_add", "scatter_reduce",
    "take", "take_along_dim",
]  # fmt: skip

Array = np.ndarray[Any, Any]
Key = tuple[Any, ...]


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


gather_operator = TensorOperator(
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
        "src": lambda grad, dim, index, src_shape: _padded(
            gather_operator(grad, dim, index), src_shape
        ),
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
        "input": lambda grad, input_shape: getitem(
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
    return gather_operator(input, dim, _long(index, array))


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
        "src": lambda grad, dim, index, src_shape: _padded(
            gather_operator(grad, dim, index), src_shape
        ),
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
        to_input, to_src = grad, gather_operator(grad, dim, index)
    elif reduce == "mean":
        start = np.ones if own else np.zeros
        counts = _added(start(input._array.shape, grad._array.dtype), dim, index._array,
                        ones._array)  # fmt: skip
        share = grad / new_tensor(np.maximum(counts, 1))
        to_input, to_src = share, gather_operator(share, dim, index)
    elif reduce == "prod":
        to_input = grad * result / input
        to_src = gather_operator(grad * result, dim, index) / _corner_of(src, index)
    else:
        same = _equal(input, result)
        chosen = _equal(_corner_of(src, index), gather_operator(result, dim, index))
        counts = _scatter_add(same if own else zeros_for(same), dim, index, chosen)
        share = grad / counts
        to_input, to_src = share * same, gather_operator(share, dim, index) * chosen
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
    return getitem(src, (*[slice(size) for size in shape], ...))


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
            f"{name}(): self ({scalar_name(input)}) and source ({scalar_name(source)}) must have "
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
    lambda weight, indices, padding: taken(weight, (indices,)),
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
    return index_backward(grad, shape, (indices._array,))


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
    chosen = read_by_arrays(grad, mask.nonzero())
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
            f"{scalar_name(mask)}"
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
