"""Writing by index tensors and masks: scatter, scatter_reduce, index_add, masked_scatter, ...

Each returns a changed copy, and has a method with an underscore that changes the tensor itself. The
operators that add at indices stand in ``gather.py``, beside those that read there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..autograd import tensor_interface as tensors
from ..autograd.grad_mode import state as grad_mode
from ..autograd.inplace import write_inplace
from ..autograd.node import Node, edge_of
from ..autograd.once_differentiable import with_history
from ..executor import capture
from ..executor import indexing as executor
from ..executor.arrays import filled
from ..executor.checks import check_inside
from ..executor.pointwise import check_written_once
from ..tensor import Tensor, new_tensor
from ..transforms.batching import after_samples, stacked, with_samples
from ..transforms.levels import Batched, is_transformed, state_of
from .arguments import checked_number, refuse_complex, require_tensor_or_number
from .conversion import as_element
from .expand import expand
from .gather import (
    check_index,
    check_range,
    checking,
    from_zero,
    gather_operator,
    index_add_operator,
    index_select_operator,
    index_tensor,
    one_row,
    padded,
    rows_of_samples,
    scatter_add_operator,
    size_along,
    vector_of,
)
from .indexing import getitem, scalar_name
from .inplace import install_in_place, zeros_for
from .operator import pointwise
from .registry import method
from .shapes import common_shape, dimension
from .subscript import ALL, wrap_indices
from .tensor_operator import TensorOperator
from .view import dense_copy

__all__ = [
    "index_add", "index_copy", "index_fill", "index_reduce", "masked_scatter", "scatter",
    "scatter_add", "scatter_reduce",
]  # fmt: skip

Array = np.ndarray[Any, Any]
Key = tuple[Any, ...]


# --- one dimension, by an index of the same rank --------------------------------------------------


def _check_scatter(name: str, input: Tensor, dim: int, index: Tensor, src: Tensor | None) -> Array:
    own = input._array.shape
    source = () if src is None else src._array.shape
    if src is not None and src._array.dtype != input._array.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    array = check_index(name, input, dim, index)
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
    return scatter_add_operator(input, dim, index_tensor(index, array), src)


@method("scatter_add_")
def _scatter_add_(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """``scatter_add`` in place."""
    check_written_once(input._array)
    dim = dimension(input._array.ndim, dim)
    array = _check_scatter("scatter", input, dim, index, src)
    return write_inplace(
        input,
        scatter_add_operator,
        lambda output: capture.write(executor.scatter_add, output, dim, array, src._array),
        dim,
        index_tensor(index, array),
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
        "src": lambda grad, dim, index, src_shape: padded(
            gather_operator(grad, dim, index), src_shape
        ),
    },
    batch=checking(stacked(dim=after_samples)),
)
_scatter_value = TensorOperator(
    "scatter",
    lambda input, dim, index, value: _scattered(input, dim, index, value),
    {
        "input": lambda grad, dim, index: _scatter_value(grad, dim, index, 0.0),
        "index": None,  # type: ignore[dict-item]
    },
    grad_fn="ScatterBackward1",
    batch=checking(stacked(dim=after_samples)),
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
    require_tensor_or_number("scatter", src, "src", 4)
    dim = dimension(input._array.ndim, dim)
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError("reduce argument must be either add or multiply.")
        source = src
        if not isinstance(src, Tensor):
            source = new_tensor(filled(index._array.shape, input._array.dtype, src))
        return scatter_reduce(input, dim, index, source, {"add": "sum", "multiply": "prod"}[reduce])
    tensor = src if isinstance(src, Tensor) else None
    array = _check_scatter("scatter", input, dim, index, tensor)
    if tensor is None:
        number = checked_number(src, input._array.dtype)
        return _scatter_value(input, dim, index_tensor(index, array), number)
    return _scatter_src(input, dim, index_tensor(index, array), tensor)


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
    """Gradients of ``input`` and ``src`` in scatter_reduce.

    ``how`` is (reduce, include_self, the name of the operator in messages).
    """
    reduce, own, _ = how
    shape = src._array.shape
    ones = new_tensor(filled(index._array.shape, grad._array.dtype, 1))
    if reduce == "sum":
        to_input, to_src = grad, gather_operator(grad, dim, index)
    elif reduce == "mean":
        start = new_tensor(filled(input._array.shape, grad._array.dtype, int(own)))
        share = grad / scatter_add_operator(start, dim, index, ones).clamp(min=1)
        to_input, to_src = share, gather_operator(share, dim, index)
    elif reduce == "prod":
        to_input, to_src = _product_gradient(grad, input, dim, index, src, result, how)
    else:
        same = _equal(input, result)
        chosen = _equal(_corner_of(src, index), gather_operator(result, dim, index))
        counts = scatter_add_operator(same if own else zeros_for(same), dim, index, chosen)
        share = grad / counts
        to_input, to_src = share * same, gather_operator(share, dim, index) * chosen
    if not own:
        to_input = _scatter_value(to_input, dim, index, 0.0)
    return to_input, padded(to_src, shape)


def _product_gradient(
    grad: Tensor, input: Tensor, dim: int, index: Tensor, src: Tensor, result: Tensor, how: Any
) -> tuple[Tensor, Tensor]:
    """Gradients of a product: that of the other factors, also where a factor is zero.

    A factor that is the only zero of its product is left out of it. If there are several, every
    gradient is zero, but has no gradient in turn that could be computed from these products.
    """
    fill, dtype = pointwise("masked_fill"), input._array.dtype
    factors = _corner_of(src, index)
    none = zeros_for(input)
    own_zero = pointwise("eq")(input.detach(), 0)
    zero = pointwise("eq")(factors.detach(), 0)
    zeros = gather_operator(
        scatter_add_operator(none, dim, index, tensors.cast(zero, dtype)), dim, index
    )
    single = pointwise("logical_and")(zero, pointwise("eq")(zeros, 1))
    others = fill(input, own_zero, 1)
    to_input = grad * _scatter_reduce(others, dim, index, src, how) / others
    without = _scatter_reduce(input, dim, index, fill(factors, single, 1), how)
    to_src = pointwise("where")(
        single,
        gather_operator(grad * without, dim, index),
        gather_operator(grad * result, dim, index) / fill(factors, zero, 1),
    )
    if grad_mode.enabled and to_src._requires_grad:
        capture.refuse("the gradient of the gradient of a product, a branch on values")
        if (_of_all_samples(zeros)._array > 1).any():
            to_src = with_history(to_src, _SeveralZeros((edge_of(to_src),), how[2]))
    return to_input, to_src


def _of_all_samples(tensor: Tensor) -> Tensor:
    """The memory that a Tensor under transformations shows a part of."""
    while is_transformed(tensor):
        state = state_of(tensor)
        tensor = state.value if state.__class__ is Batched else state.primal
    return tensor


class _SeveralZeros(Node):
    """Node of the gradient of a product with several zeros: raises when it is differentiated."""

    __slots__ = ("operator",)

    def __init__(self, next_edges: tuple[Any, ...], operator: str):
        self.operator = operator
        super().__init__(next_edges)

    def backward(self, *grads: Any) -> tuple[Any, ...]:
        factor = "source" if self.operator == "index_reduce" else "src"
        raise RuntimeError(
            f"{self.operator}(): Double backward is unsupported for {factor} when >1 zeros in "
            f"{factor} are scattered to the same position in self"
        )


def _equal(a: Tensor, b: Tensor) -> Tensor:
    """1 where two tensors are equal, else 0, in their dtype; not recorded."""
    return tensors.cast(pointwise("eq")(a.detach(), b.detach()), a._array.dtype)


def _corner_of(src: Tensor, index: Tensor) -> Tensor:
    shape = index._array.shape
    if src._array.shape == shape:
        return src
    return getitem(src, (*[slice(size) for size in shape], ...))


def _reducing(name: str) -> TensorOperator:
    return TensorOperator(
        name,
        lambda input, dim, index, src, how: _reduced(input, dim, index, src, *how[:2]),
        {
            "input": lambda grad, input, dim, index, src, result, how: _reduce_gradient(
                grad, input, dim, index, src, result, how
            )[0],
            "index": None,  # type: ignore[dict-item]
            "src": lambda grad, input, dim, index, src, result, how: _reduce_gradient(
                grad, input, dim, index, src, result, how
            )[1],
        },
        batch=checking(stacked(dim=after_samples)),
    )


_scatter_reduce, _index_reduce = _reducing("scatter_reduce"), _reducing("index_reduce")


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
    if reduce != "sum":
        refuse_complex(f"scatter_reduce_{reduce}", input._array)
    dim = dimension(input._array.ndim, dim)
    array = _check_scatter("scatter", input, dim, index, src)
    how = (reduce, include_self, "scatter_reduce")
    return _scatter_reduce(input, dim, index_tensor(index, array), src, how)


# --- one dimension, by a vector -------------------------------------------------------------------


def _check_rows(name: str, input: Tensor, dim: int, index: Array, source: Tensor) -> None:
    own, given = input._array.shape, source._array.shape
    if index.size != size_along(source._array, dim):
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
    array = vector_of("index_add_", index)
    _check_rows("index_add_", input, dim, array, source)
    size = size_along(input._array, dim)
    check_inside(array, size, check_range, array, dim, size)
    return index_add_operator(
        input, dim, index_tensor(index, array), source if alpha == 1 else source * alpha
    )


@method()
def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """A copy in which the entries of ``source`` are reduced into those at the indices of ``dim``.

    ``reduce`` is "prod", "mean", "amax" or "amin"; ``include_self`` says whether the entries of
    ``input`` that an index names take part.
    """
    refuse_complex(f"index_reduce_{reduce}", input._array)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    dim = dimension(input._array.ndim, dim)
    array = vector_of("index_reduce_", index)
    _check_rows("index_reduce_", input, dim, array, source)
    size = size_along(input._array, dim)
    check_inside(array, size, check_range, array, dim, size)
    shape = [1] * source._array.ndim
    if shape:
        shape[dim] = array.size
    spread = expand(index_tensor(index, array).reshape(shape), source._array.shape)
    return _index_reduce(input, dim, spread, source, (reduce, include_self, "index_reduce"))


@method("index_add_")
def _index_add_(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1
) -> Tensor:
    """``index_add`` in place."""
    check_written_once(input._array)
    dim = dimension(input._array.ndim, dim)
    array = vector_of("index_add_", index)
    _check_rows("index_add_", input, dim, array, source)
    size = size_along(input._array, dim)
    check_inside(array, size, check_range, array, dim, size)
    if alpha != 1:
        source = source * alpha
    return write_inplace(
        input,
        index_add_operator,
        lambda output: capture.write(executor.index_add, output, dim, array, source._array),
        dim,
        index_tensor(index, array),
        source,
    )


def _rows(dim: int, index: Array) -> Key:
    return (*(ALL,) * dim, index)


def _filled(array: Array, dim: int, index: Array, value: Any) -> Array:
    result = dense_copy(array) if np.ndim(value) == 0 else array.copy("C")
    if result.ndim:
        result[_rows(dim, index)] = value
    elif index.size:
        result[...] = value.reshape(()) if isinstance(value, np.ndarray) else value
    return result


def _fill_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    """The rule of writing a source, a number or a Tensor of one element at a vector of indices."""
    input, dim, index, value = arguments
    scalar = input._array.ndim == mapped[0]
    input = one_row(with_samples(size, input, mapped[0]))
    if mapped[3]:
        if operator is not _index_copy:  # one value for each sample
            whole = list(input._array.shape)
            whole[dim + 1] = index._array.shape[-1]
            value = value.view(size, *(1,) * (len(whole) - 1)).expand(whole)
        value = one_row(value)
    elif operator is _index_copy:
        value = one_row(with_samples(size, value, False))
    if mapped[2] or (mapped[3] and operator is not _index_copy):
        places = rows_of_samples(with_samples(size, index, mapped[2]), input, dim + 1)
        made: Tensor
        if not isinstance(value, Tensor):
            made = _scatter_value(input, dim + 1, places, value)
        else:
            made = _scatter_src(input, dim + 1, places, value.expand(places._array.shape))
    else:
        made = operator(input, dim + 1, index, value)
    return made.squeeze(1) if scalar else made


_index_copy = TensorOperator(
    "index_copy",
    lambda input, dim, index, source: _filled(input, dim, index, source),
    {
        "input": lambda grad, dim, index: _index_fill(grad, dim, index, 0.0),
        "index": None,  # type: ignore[dict-item]
        "source": lambda grad, dim, index: index_select_operator(grad, dim, index),
    },
    batch=checking(_fill_samples),
)
_index_fill = TensorOperator(
    "index_fill",
    lambda input, dim, index, value: _filled(input, dim, index, value),
    {
        "input": lambda grad, dim, index: _index_fill(grad, dim, index, 0.0),
        "index": None,  # type: ignore[dict-item]
    },
    batch=checking(_fill_samples),
)
_index_fill_tensor = TensorOperator(
    "index_fill",
    lambda input, dim, index, value: _filled(input, dim, index, value),
    {
        "input": lambda grad, dim, index: _index_fill(grad, dim, index, 0.0),
        "index": None,  # type: ignore[dict-item]
        "value": lambda grad, dim, index: index_select_operator(grad, dim, index).sum(),
    },
    grad_fn="IndexFillBackward1",
    batch=checking(_fill_samples),
)


@method()
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with the entries of ``source`` written at the indices of one dimension."""
    dim = dimension(input._array.ndim, dim)
    array = vector_of("index_copy_", index)
    _check_rows("index_copy_", input, dim, array, source)
    size = size_along(input._array, dim)
    if is_transformed(index):
        return _index_copy(input, dim, from_zero(index.reshape(-1), size), source)
    array = wrap_indices(
        array,
        size,
        lambda bad: IndexError(
            f"index_copy_(): index {bad} is out of bounds for dimension {dim} with size {size}"
        ),
    )
    return _index_copy(input, dim, index_tensor(index, array), source)


@method()
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy with one value written at the indices of one dimension."""
    dim = dimension(input._array.ndim, dim)
    size = size_along(input._array, dim)
    array = vector_of("index_fill_", index)
    if is_transformed(index):
        places = from_zero(index.reshape(-1), size)
    else:
        array = wrap_indices(
            array,
            size,
            lambda bad: IndexError(
                f"index {bad} is out of bounds for dimension {dim} with size {size}"
            ),
        )
        places = index_tensor(index, array)
    value = as_element(value, input._array.dtype)
    if not isinstance(value, Tensor):
        return _index_fill(input, dim, places, value)
    if value._array.ndim:
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value._array.ndim} dimension(s)."
        )
    return _index_fill_tensor(input, dim, places, value)


# --- masks ----------------------------------------------------------------------------------------


def _mask_filled(array: Array, mask: Array, source: Array) -> Array:
    result = array.copy("C")
    count = int(mask.sum())
    result[mask] = source.reshape(-1)[:count]
    return result


def _chosen_first(array: Array, mask: Array, shape: tuple[int, ...]) -> Array:
    """The elements where the mask holds, in order, and zeros behind them."""
    result = np.zeros(math.prod(shape), array.dtype)
    chosen = array[mask]
    result[: chosen.size] = chosen
    return result.reshape(shape)


_read_by_mask = TensorOperator(
    "masked_scatter_backward",
    lambda input, mask, shape: _chosen_first(input, mask, shape),
    {
        "input": lambda grad, input_shape, mask: _masked_scatter(
            new_tensor(filled(input_shape, grad._array.dtype, 0)), mask, grad
        )
    },
)
_masked_scatter = TensorOperator(
    "masked_scatter",
    lambda input, mask, source: _mask_filled(input, mask, source),
    {
        "input": lambda grad, mask: pointwise("masked_fill")(grad, new_tensor(mask), 0),
        "source": lambda grad, mask, source_shape: _read_by_mask(grad, mask, source_shape),
    },
)


def _check_source(mask: Array, size: int) -> None:
    if size < int(mask.sum()):
        raise RuntimeError("Number of elements of source < number of ones in mask")


@method()
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with the elements of ``source``, in their order, written where the mask holds."""
    if mask._array.dtype.kind != "b":
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{scalar_name(mask)}"
        )
    shape = common_shape([input._array.shape, mask._array.shape])
    if is_transformed((input, mask, source)):
        return _scattered_by_mask(input, mask, source, shape)
    chosen = capture.copied(np.broadcast_to(mask._array, shape))
    capture.check(_check_source, chosen, source._array.size)
    if input._array.shape != shape:
        input = expand(input, shape)
    return _masked_scatter(input, chosen, source)


def _scattered_by_mask(input: Tensor, mask: Tensor, source: Tensor, shape: Any) -> Tensor:
    """The same by operators: each element that is written reads the source at its number."""
    mask = expand(mask, shape)
    numbers = mask.reshape(-1).cumsum(0) - 1
    chosen = gather_operator(source.reshape(-1), 0, numbers.clamp_min(0))
    return pointwise("where")(mask, chosen.reshape(shape), input)


# --- the same in place ----------------------------------------------------------------------------

for _function in (index_copy, index_reduce, masked_scatter, scatter, scatter_reduce):
    install_in_place(_function)
install_in_place(index_fill, repeats=True)
