"""Writing by index tensors along one dimension: scatter, scatter_add, scatter_reduce.

Each returns a changed copy, and has a method with an underscore that changes the tensor itself. The
operator that adds at indices stands in ``gather.py``, beside those that read there; writes at a
vector of indices are in ``index_write.py``, those by masks in ``mask_write.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd import tensor_interface as tensors
from ...autograd.function.once_differentiable import failing_later
from ...autograd.grad_mode import state as grad_mode
from ...autograd.writes.inplace import write_inplace, written_at_once
from ...executor.families import indexing as executor
from ...executor.families.writing import writers
from ...executor.memory.arrays import copied, filled_like, values_on_host
from ...executor.plan.sharing import check_written_once, refuse_overlap
from ...number_range import checked_number
from ...tensor import Tensor, new_tensor
from ...transforms.batching import after_samples, stacked
from ...transforms.levels import of_all_samples
from ...transforms.tangents import additive
from ..arguments.requirements import refuse_complex, require_tensor_or_number
from ..arguments.shapes import dimension
from ..methods.registry import method
from ..methods.variants import install_in_place
from ..operators.array_function import array_function
from ..operators.pointwise_operator import pointwise
from ..operators.tensor_operator import TensorOperator
from ..views.view import clone, reshape
from ..writing.inplace import zeros_for
from .gather import (
    check_index,
    checking,
    gather_operator,
    index_of,
    index_tensor,
    padded,
    scatter_add_operator,
)
from .items import getitem

__all__ = ["scatter", "scatter_add", "scatter_reduce"]

Array = np.ndarray[Any, Any]
Key = tuple[Any, ...]


def _check_scatter(name: str, input: Tensor, dim: int, index: Tensor, src: Tensor | None) -> Array:
    """Check dtypes, ranks, sizes and range of the arguments of a scatter; int64 indices."""
    own = input._array.shape
    source = () if src is None else src._array.shape
    if src is not None and src._array.dtype != input._array.dtype:
        index_of(name, index)  # of which torch tells first
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    array = check_index(name, input, dim, index)
    if 0 in array.shape:
        return array
    if src is not None and max(len(source), 1) != max(array.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    for position, size in enumerate(array.shape if own else ()):
        outside = position != dim and size > own[position]
        if outside or (src is not None and size > (source[position] if source else 1)):
            text = f"Expected index {list(array.shape)} to be no larger than self {list(own)} apart"
            text += f" from dimension {dim}"
            if src is not None:
                text += f" and to be no larger size than src {list(source)}"
            raise RuntimeError(text)
    return array


def _names_nothing(input: Tensor, index: Tensor, src: Any) -> bool:
    """Whether an index has no elements, and not the rank of the others: then nothing is written.

    Raises:
        RuntimeError: for a source of another dtype than ``input``.
    """
    if index._array.size:
        return False
    given = (input, src) if isinstance(src, Tensor) else (input,)
    if all([x._array.ndim == index._array.ndim for x in given]):
        return False
    if given[-1]._array.dtype != input._array.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    return True


def _has_number(input: Tensor, index: Tensor, src: Any) -> bool:
    """Whether a tensor has no dimensions: it counts as a vector of one element."""
    if input._array.ndim and index._array.ndim:
        return isinstance(src, Tensor) and not src._array.ndim
    return max(input._array.ndim, index._array.ndim) < 2


def as_vector(given: Any) -> Any:
    """A tensor without dimensions as a vector; anything else as it is."""
    if isinstance(given, Tensor) and not given._array.ndim:
        return reshape(given, (1,))
    return given


@method()
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with ``src[i, j]`` added at ``[index[i, j], j]`` for dim 0, and so on."""
    dim = dimension(input._array.ndim, dim)
    if _names_nothing(input, index, src):
        return clone(input)
    if _has_number(input, index, src):
        made = scatter_add(as_vector(input), dim, as_vector(index), as_vector(src))
        return reshape(made, input._array.shape)
    array = _check_scatter("scatter", input, dim, index, src)
    return scatter_add_operator(input, dim, index_tensor(index, array), src)


_add_elements = array_function("write")(executor.scatter_add)


@method("scatter_add_")
def _scatter_add_(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """``scatter_add`` in place."""
    if dim.__class__ is int and written_at_once(input, writers["scatter_add"], dim, index, src):
        return input
    check_written_once(input._array)
    dim = dimension(input._array.ndim, dim)
    if _names_nothing(input, index, src):
        return input
    if _has_number(input, index, src):
        _scatter_add_(as_vector(input), dim, as_vector(index), as_vector(src))
        return input
    array = _check_scatter("scatter", input, dim, index, src)
    refuse_overlap(input._array, (index._array, src._array), whole=True)
    return write_inplace(
        input,
        scatter_add_operator,
        lambda output: _add_elements(output, dim, array, src._array),
        dim,
        index_tensor(index, array),
        src,
    )


def _scattered(array: Array, dim: int, index: Array, values: Any) -> Array:
    result: Array = copied(array)
    executor.scatter(result, dim, index, values)
    return result


scatter_source_operator = TensorOperator(
    "scatter",
    lambda input, dim, index, src: _scattered(input, dim, index, src),
    {
        "input": lambda grad, dim, index: scatter_value_operator(grad, dim, index, 0.0),
        "index": None,  # type: ignore[dict-item]
        "src": lambda grad, dim, index, src_shape: padded(
            gather_operator(grad, dim, index), src_shape
        ),
    },
    batch=checking(stacked(dim=after_samples)),
    tangent=additive,
    takes_half=True,
)
scatter_value_operator = TensorOperator(
    "scatter",
    lambda input, dim, index, value: _scattered(input, dim, index, value),
    {
        "input": lambda grad, dim, index: scatter_value_operator(grad, dim, index, 0.0),
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

    >>> torch.scatter(torch.zeros(2, 3), 1, torch.tensor([[2], [0]]), 1.0)
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    if src is None:
        src = value
    require_tensor_or_number("scatter", src, "src", 4)
    dim = dimension(input._array.ndim, dim)
    if _names_nothing(input, index, src):
        return clone(input)
    if _has_number(input, index, src):
        vectors = as_vector(input), dim, as_vector(index), as_vector(src)
        return reshape(scatter(*vectors, reduce=reduce), input._array.shape)
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError("reduce argument must be either add or multiply.")
        source = src
        if not isinstance(src, Tensor):
            number = checked_number(src, input._array.dtype)
            source = new_tensor(
                filled_like(input._array, index._array.shape, input._array.dtype, number)
            )
        return scatter_reduce(input, dim, index, source, {"add": "sum", "multiply": "prod"}[reduce])
    tensor = src if isinstance(src, Tensor) else None
    array = _check_scatter("scatter", input, dim, index, tensor)
    if tensor is None:
        number = checked_number(src, input._array.dtype)
        return scatter_value_operator(input, dim, index_tensor(index, array), number)
    return scatter_source_operator(input, dim, index_tensor(index, array), tensor)


def _neutral(reduce: str, kind: np.dtype[Any]) -> Any:
    """The element that a reduction into it leaves to the other one."""
    if reduce not in ("amax", "amin"):
        return int(reduce == "prod")
    if kind.kind == "b":
        return reduce == "amin"
    if kind.kind == "f":
        return -np.inf if reduce == "amax" else np.inf
    limits = np.iinfo(kind)
    return limits.min if reduce == "amax" else limits.max


def _reduced(array: Array, dim: int, index: Array, source: Array, reduce: str, own: bool) -> Array:
    result: Array = np.atleast_1d(copied(array))
    index, source = np.atleast_1d(index, source)
    source = source[tuple([slice(size) for size in index.shape])]
    rows = executor.rows_of(index, dim) if source.shape[:dim] == result.shape[:dim] else None
    if rows is None or source.shape[dim + 1 :] != result.shape[dim + 1 :]:
        rows, write, add = index, executor.scatter, executor.scatter_add
    else:
        write, add = executor.scatter_rows, executor.index_add
    if not own:
        write(result, dim, rows, _neutral(reduce, result.dtype))
    if reduce not in ("sum", "mean"):
        executor.reduce(result, dim, index, source, reduce)
        return result.reshape(array.shape)
    add(result, dim, rows, source)
    if reduce == "mean":
        counts = np.full(result.shape, int(own), np.int64)
        add(counts, dim, rows, np.ones(source.shape, np.int64))
        counts = np.maximum(counts, 1)
        made = result / counts if result.dtype.kind in "fV" else result // counts
        result = made.astype(array.dtype, copy=False)
    return result.reshape(array.shape)


def _reduce_gradient(
    grad: Tensor, input: Tensor, dim: int, index: Tensor, src: Tensor, result: Tensor, how: Any
) -> tuple[Tensor, Tensor]:
    """Gradients of ``input`` and ``src`` in scatter_reduce.

    ``how`` is (reduce, include_self, the name of the operator in messages).
    """
    reduce, own, _ = how
    shape = src._array.shape
    ones = new_tensor(filled_like(grad._array, index._array.shape, grad._array.dtype, 1))
    if reduce == "sum":
        to_input, to_src = grad, gather_operator(grad, dim, index)
    elif reduce == "mean":
        start = new_tensor(
            filled_like(grad._array, input._array.shape, grad._array.dtype, int(own))
        )
        share = grad / scatter_add_operator(start, dim, index, ones).clamp(min=1)
        to_input, to_src = share, gather_operator(share, dim, index)
    elif reduce == "prod":
        to_input, to_src = _product_gradient(grad, input, dim, index, src, result, how)
    else:
        same = _equal(input, result)
        chosen = _equal(_corner_of(src, index), gather_operator(result, dim, index))
        # Without the elements themselves there are none of them where something is scattered to.
        start = same if own else scatter_value_operator(same, dim, index, 0.0)
        counts = scatter_add_operator(start, dim, index, chosen)
        share = grad / counts
        to_input, to_src = share * same, gather_operator(share, dim, index) * chosen
    if not own:
        to_input = scatter_value_operator(to_input, dim, index, 0.0)
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
        reader = "the gradient of the gradient of a product, a branch on values"
        if (values_on_host(of_all_samples(zeros)._array, reader) > 1).any():
            to_src = _without_second_gradient(to_src, how[2])
    return to_input, to_src


def _without_second_gradient(gradient: Tensor, operator: str) -> Tensor:
    """The gradient of a product with several zeros, which raises when it is differentiated."""
    factor = "source" if operator == "index_reduce" else "src"
    (found,) = failing_later(
        f"{operator}(): Double backward is unsupported for {factor} when >1 zeros in {factor} are "
        "scattered to the same position in self",
        [gradient],
    )
    made: Tensor = found
    return made


def _equal(a: Tensor, b: Tensor) -> Tensor:
    """1 where two tensors are equal, else 0, in their dtype; not recorded."""
    return tensors.cast(pointwise("eq")(a.detach(), b.detach()), a._array.dtype)


def _corner_of(src: Tensor, index: Tensor) -> Tensor:
    shape = index._array.shape
    if src._array.shape == shape:
        return src
    return getitem(src, (*[slice(size) for size in shape], ...))


def reducing_operator(name: str) -> TensorOperator:
    """An operator that reduces elements of a source into those at indices, of this name."""
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


_scatter_reduce = reducing_operator("scatter_reduce")


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
    if _names_nothing(input, index, src):
        return clone(input)
    if _has_number(input, index, src):
        vectors = as_vector(input), dim, as_vector(index), as_vector(src)
        made = scatter_reduce(*vectors, reduce, include_self=include_self)
        return reshape(made, input._array.shape)
    array = _check_scatter("scatter", input, dim, index, src)
    how = (reduce, include_self, "scatter_reduce")
    return _scatter_reduce(input, dim, index_tensor(index, array), src, how)


def _scatter_at_once(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
) -> bool:
    if reduce is not None or dim.__class__ is not int or not isinstance(src, Tensor):
        return False
    return written_at_once(input, writers["scatter"], dim, index, src)


install_in_place(scatter, refused="whole", at_once=_scatter_at_once)
install_in_place(scatter_reduce, refused="whole")
