"""Reading by index tensors: gather, index_select, take, embedding.

The loops are those of ``executor/families/indexing.py``. The gradient of reading is adding up, in
the order of the indices, so that results have the same bits for any number of threads; that of
adding is reading. The functions that write by index are in ``scatter.py``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...autograd.grad_mode import state as grad_mode
from ...backend import may_share
from ...dtype import scalar_type_name
from ...executor import capture
from ...executor.families import copying
from ...executor.families import indexing as executor
from ...executor.families.checks import check_inside
from ...executor.families.copying import copies
from ...executor.memory.arrays import constant_beside, copied, embedded, filled_like, values_on_host
from ...executor.plan.forms import with_sizes
from ...native.array_launch_layout import ALL_IN_A_ROW
from ...tensor import Tensor, new_tensor
from ...tensor.sparse_array import require_cpu
from ...transforms.batching import after_samples, samples_first, stacked, with_samples
from ...transforms.levels import Transformed, is_transformed, of_all_samples
from ...transforms.tangents import additive, multilinear
from ..arguments.shapes import common_shape, dimension
from ..conversion.dtypes import cast
from ..methods.registry import method
from ..operators.pointwise_operator import pointwise
from ..operators.tensor_operator import TensorOperator
from ..views.expand import expand
from ..views.view import reshape
from .index_arrays import check_rows, embedded_rows
from .items import getitem, index_backward
from .subscript import INT64, widened, wrap_indices

__all__ = [
    "embedding", "gather", "index_select", "take", "take_along_dim",
]  # fmt: skip

Array = np.ndarray[Any, Any]


# --- checks of indices ----------------------------------------------------------------------------


def index_of(name: str, index: Tensor) -> Array:
    if index._array.dtype not in (np.int64, np.int32):
        if not index._array.size:  # as torch, which looks at the dtype of places alone
            return np.zeros(index._array.shape, np.int64)
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    return widened(index._array)


def _int64(name: str, index: Tensor) -> Tensor:
    """An index tensor of int64 with the values of one of int32 or int64."""
    if index._array.dtype == INT64:
        return index
    if index._array.dtype == np.int32 and is_transformed(index):
        return cast(index, INT64)
    return index_tensor(index, index_of(name, index))


def check_range(index: Array, dim: int, size: int) -> None:
    """Raise torch's error for an index below 0 or beyond ``size``.

    That of samples is looked at when memory is read.
    """
    if index.__class__ is not Transformed and not copying.are_inside(index, size):
        bad = index[(index < 0) | (index >= size)][0]
        raise RuntimeError(f"index {bad} is out of bounds for dimension {dim} with size {size}")


def size_along(array: Array, dim: int) -> int:
    """Size of a dimension; a scalar counts as one element."""
    return array.shape[dim] if array.ndim else 1


def index_tensor(index: Tensor, array: Array) -> Tensor:
    """A Tensor of the checked int64 indices: of the memory of ``index`` if they are in it.

    Then a node that saves it notices writes.
    """
    if index._array is array:
        return index
    if is_transformed(index) or may_share(index._array, array):
        return reshape(index, array.shape)
    return new_tensor(array)


def check_index(name: str, input: Tensor, dim: int, index: Tensor) -> Array:
    """Check shapes, dtype and range of an index of gather or scatter; int64 indices."""
    if is_transformed(index):
        return index._array
    array = index_of(name, index)
    _check_positions(name, input._array, dim, array)
    return array


def _check_positions(name: str, array: Array, dim: int, index: Array) -> None:
    """Raise torch's errors for an index of another rank than the array, or out of range."""
    if max(array.ndim, 1) != max(index.ndim, 1):
        other = "input" if name == "gather" else "self"
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as {other} tensor"
        )
    size = size_along(array, dim)
    check_inside(f"{name}(): an index", index, size, check_range, index, dim, size)


def vector_of(name: str, index: Tensor) -> Array:
    """The int64 indices of a vector (or a single one)."""
    if index._array.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector")
    if index._array.dtype not in (np.int64, np.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32 or int64 for index")
    if is_transformed(index):
        return index._array.reshape(-1)
    array = widened(index._array)
    return array if array.ndim == 1 else array.reshape(-1)


# --- one dimension, by an index of the same rank --------------------------------------------------


def _gathered(array: Array, dim: int, index: Array) -> Array:
    made = copies.read_elements(array, dim, index)
    if made is not None:
        return made
    _check_positions("gather", array, dim, index)
    for position, (size, limit) in enumerate(zip(index.shape, array.shape, strict=False)):
        if position != dim and size > limit:
            raise RuntimeError(
                f"Size does not match at dimension {position} expected index {list(index.shape)} "
                f"to be no larger than self {list(array.shape)} apart from dimension {dim}"
            )
    return executor.gather(array, dim, index)


gather_operator = TensorOperator(
    "gather",
    lambda input, dim, index: _gathered(input, dim, index),
    {
        "input": lambda grad, input_shape, dim, index: scatter_add_operator(
            _zeros(input_shape, grad), dim, index, grad
        ),
        "index": None,  # type: ignore[dict-item]
    },
    batch=stacked("index", dim=after_samples),
    tangent=multilinear,
    takes_half=True,
    portable=True,
)


def checking(rule: Any) -> Any:
    """A rule that looks at the range of the indices, which the checks of samples passed over.

    For operators of ``(input, dim, index, ...)``, which write without looking.
    """

    def checked(operator: Any, size: int, arguments: Any, mapped: Any) -> Any:
        input, dim, index = arguments[:3]
        if mapped[2] and not is_transformed(index):
            sizes = input._array.shape[1:] if mapped[0] else input._array.shape
            array, size_of_dim = index._array, sizes[dim] if sizes else 1
            subject = f"{operator.name}(): an index"
            check_inside(subject, array, size_of_dim, check_range, array, dim, size_of_dim)
        return rule(operator, size, arguments, mapped)

    return checked


def _zeros(shape: tuple[int, ...], like: Tensor) -> Tensor:
    return new_tensor(filled_like(like._array, shape, like._array.dtype, 0))


def added(array: Array, dim: int, index: Array, source: Array) -> Array:
    """A copy of ``array`` with ``source`` added at the indices."""
    result = copied(array)
    executor.scatter_add(result, dim, index, source)
    return result


scatter_add_operator = TensorOperator(
    "scatter_add",
    lambda input, dim, index, src: added(input, dim, index, src),
    {
        "input": lambda grad: grad,
        "index": None,  # type: ignore[dict-item]
        "src": lambda grad, dim, index, src_shape: padded(
            gather_operator(grad, dim, index), src_shape
        ),
    },
    batch=checking(stacked(dim=after_samples)),
    tangent=additive,
    portable=True,
)


def padded(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """``grad`` with zeros behind it in every dimension, up to ``shape``."""
    own = grad._array.shape
    if not shape:  # a number counts as a vector of one element
        return reshape(grad, ())
    return grad if own == shape else _pad(grad, shape)


def _padded(array: Array, shape: tuple[int, ...]) -> Array:
    first: Any = (*[slice(size) for size in array.shape], ...)
    return embedded(array, shape, lambda zeros: zeros[first])


_pad = TensorOperator(
    "pad",
    lambda input, shape: _padded(input, shape),
    {
        "input": lambda grad, input_shape: getitem(
            grad, (*[slice(size) for size in input_shape], ...)
        )
    },
    batch=stacked(shape=samples_first),
    tangent=multilinear,
    takes_half=True,
    portable=True,
)


@method()
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """``out[i, j] = input[index[i, j], j]`` for dim 0, and so on for the others.

    The gradient is dense; ``sparse_grad`` is for programs that ask torch for a sparse one.

    Raises:
        RuntimeError: if the ranks differ, an index is out of range, or ``index`` is larger than
            ``input`` in another dimension.

    >>> scores = torch.tensor([[0.1, 0.9], [0.7, 0.3]])
    >>> torch.gather(scores, 1, torch.tensor([[1], [0]]))
    tensor([[0.9000],
            [0.7000]])
    """
    dim = dimension(input._array.ndim, dim)
    if not index._array.size:  # of any rank, as in torch
        return _nothing_of(input, index)
    return gather_operator.launch(input, dim, _int64("gather", index))


def _nothing_of(input: Tensor, index: Tensor) -> Tensor:
    """No elements of ``input``, with its history, in the shape of the index."""
    flat = reshape(input, -1)
    none = new_tensor(constant_beside(input._array, np.zeros(0, np.int64)))
    return reshape(gather_operator(flat, 0, none), index._array.shape)


@method()
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """``gather`` with the other dimensions broadcast; without ``dim`` over all elements.

    Indices below 0 count from the end of ``dim``.
    """
    if indices._array.dtype != np.int64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got "
            f"{scalar_type_name(indices.dtype)}; convert with .long()"
        )
    if dim is None:
        return gather(reshape(input, -1), 0, reshape(indices, -1))
    own, given = input._array.shape, indices._array.shape
    if len(own) != len(given):
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {len(own)} dimensions for input, and {len(given)} dimensions for indices"
        )
    dim = dimension(len(own), dim)
    rest = common_shape([with_sizes(shape, dim, 1) for shape in (own, given)])
    spread = [with_sizes(rest, dim, shape[dim]) for shape in (own, given)]
    positions = from_zero(expand(indices, spread[1]), own[dim])
    return gather(expand(input, spread[0]), dim, positions)


# --- one dimension, by a vector -------------------------------------------------------------------


def _selected(array: Array, dim: int, index: Array) -> Array:
    made = copies.read_rows(array, dim, index)
    if made is not None:
        return made
    size = size_along(array, dim)
    check_inside("index_select(): an index", index, size, check_rows, index, size)
    shape = with_sizes(array.shape, dim, index.size) if array.ndim else ()
    return executor.index_select(array, dim, index).reshape(shape)


index_select_operator = TensorOperator(
    "index_select",
    lambda input, dim, index: _selected(input, dim, index),
    {
        "input": lambda grad, input_shape, dim, index: index_add_operator(
            _zeros(input_shape, grad), dim, index, grad
        ),
        "index": None,  # type: ignore[dict-item]
    },
    batch=lambda operator, size, arguments, mapped: select_samples(
        operator, size, arguments, mapped
    ),
    tangent=multilinear,
    takes_half=True,
    portable=True,
)


def one_row(input: Tensor) -> Tensor:
    """Samples without dimensions as rows of one element."""
    return input.unsqueeze(1) if input._array.ndim == 1 else input


def rows_of_samples(index: Tensor, input: Tensor, dim: int) -> Tensor:
    """A vector of indices for each sample, repeated to index ``dim`` of ``input`` in a gather."""
    shape = input._array.shape
    sizes = (shape[0], *(1,) * (dim - 1), index._array.shape[1], *(1,) * (len(shape) - dim - 1))
    whole = with_sizes(shape, dim, index._array.shape[1])
    return reshape(index, sizes).expand(whole)


def select_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    input, dim, index = arguments
    scalar = input._array.ndim == mapped[0]
    input = one_row(with_samples(size, input, mapped[0]))
    if not mapped[2]:
        made: Tensor = operator(input, dim + 1, index)
    else:
        made = gather_operator(input, dim + 1, rows_of_samples(index, input, dim + 1))
    return made.squeeze(1) if scalar else made


def _add_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    input, dim, index, source = arguments
    scalar = input._array.ndim == mapped[0]
    input = one_row(with_samples(size, input, mapped[0]))
    source = one_row(with_samples(size, source, mapped[3]))
    if not mapped[2]:
        made: Tensor = operator(input, dim + 1, index, source)
    else:
        positions = rows_of_samples(index, source, dim + 1)
        made = scatter_add_operator(input, dim + 1, positions, source)
    return made.squeeze(1) if scalar else made


def _rows_added(array: Array, dim: int, index: Array, source: Array) -> Array:
    result = copied(array)
    executor.index_add(result, dim, index, source)
    return result


index_add_operator = TensorOperator(
    "index_add",
    lambda input, dim, index, source: _rows_added(input, dim, index, source),
    {
        "input": lambda grad: grad,
        "index": None,  # type: ignore[dict-item]
        "source": lambda grad, dim, index: index_select_operator(grad, dim, index),
    },
    batch=checking(_add_samples),
    tangent=additive,
    portable=True,
)


@method()
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The entries of one dimension at the indices of a vector, as a copy.

    Raises:
        IndexError: if an index is out of range (negative ones are).
    """
    rank = input._array.ndim
    if rank == 0 and input._array.dtype.kind == "c":  # the parts of a number have a dimension
        return reshape(index_select(reshape(input, 1), dim, index), ())
    dim = dimension(rank, dim)
    if index._array.ndim != 1 or index._array.dtype != INT64:
        index = index_tensor(index, vector_of("index_select", index))
    if rank == 0 and index._array.size != 1:
        raise RuntimeError(
            "index_select(): Index to scalar can have only 1 value, got "
            f"{index._array.size} value(s)"
        )
    return index_select_operator.launch(input, dim, index)


_embedding = TensorOperator(
    "embedding",
    lambda weight, indices, padding: embedded_rows(weight, indices),
    {
        "weight": lambda grad, weight_shape, indices, padding: embedding_gradient(
            grad, weight_shape, indices, padding
        ),
        "indices": None,  # type: ignore[dict-item]
    },
    batch=lambda operator, size, arguments, mapped: _rows_of_tables(
        operator, size, arguments, mapped
    ),
    tangent=multilinear,
    takes_half=True,
    portable=True,
)


def _rows_of_tables(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    """Rows of one table, or of a table for each sample: these are put below one another."""
    weight, indices, padding = arguments
    if not mapped[0]:
        made: Tensor = operator(weight, indices, padding)
        return made
    rows = weight._array.shape[1]
    indices = with_samples(size, indices, mapped[1])
    array = of_all_samples(indices)._array
    # Behind the start of its table an index could be one of another sample's table.
    check_inside("embedding(): an index", array, rows, check_rows, array, rows)
    starts = constant_beside(indices._array, np.arange(0, size * rows, rows))
    starts = new_tensor(starts).reshape(-1, *(1,) * (indices.ndim - 1))
    made = operator(weight.flatten(0, 1), indices + starts, -1)
    if padding < 0:
        return made
    return pointwise("where")((indices == padding).unsqueeze(-1), made.detach(), made)


def embedding_gradient(
    grad: Tensor, shape: tuple[int, ...], indices: Tensor, padding: int
) -> Tensor:
    """The gradient of a table of that shape, from that of its rows at the indices."""
    if is_transformed(indices):
        if padding >= 0:
            grad = pointwise("masked_fill")(grad, (indices == padding).unsqueeze(-1), 0)
        rows = reshape(grad, (-1, shape[1]))
        return index_add_operator(_zeros(shape, grad), 0, reshape(indices, -1), rows)
    if padding >= 0:
        mask = pointwise("eq")(indices, padding).unsqueeze(-1)
        grad = pointwise("masked_fill")(grad, mask, 0)
    return index_backward(grad, shape, (indices._array,))


def has_sparse_gradient(weight: Tensor, sparse: bool) -> bool:
    """Whether the gradient of a table that is recorded is to be sparse."""
    if not (sparse and weight._requires_grad and grad_mode.enabled):
        return False
    require_cpu("embedding", weight._array)
    return True


def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of a matrix (n, d) at indices of any shape (...), to (..., d).

    The row ``padding_idx`` gets no gradient. With ``scale_grad_by_freq`` the gradient of a row is
    divided by how often it was looked up. With ``sparse`` it is a sparse Tensor.

    Raises:
        IndexError: if an index is out of range.
    """
    if weight._array.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    kind = indices._array.dtype
    if kind not in (INT64, np.int32):  # equal ones: those of pickled arrays are no others
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got torch.{scalar_type_name(indices.dtype)}Tensor instead (while "
            "checking arguments for embedding)"
        )
    positions = _int64("embedding", indices)
    if sparse and has_sparse_gradient(weight, sparse):
        from ...sparse.gradients import embedding_of_rows  # which few programs need

        capture.refuse("embedding() with a sparse gradient")
        return embedding_of_rows(weight, positions, padding_idx, scale_grad_by_freq)
    found = _embedding.launch(weight, positions, padding_idx)
    return _shared_by_frequency(found, positions) if scale_grad_by_freq else found


_with_shares = TensorOperator(
    "embedding",
    lambda input, shares: input.copy(),
    {"input": lambda grad, shares: grad * shares},
    batch=stacked(shares=samples_first),
)


def _shared_by_frequency(rows: Tensor, positions: Tensor) -> Tensor:
    """The rows themselves; the gradient of each is divided by how often its place is there."""
    values = values_on_host(
        positions._array, "embedding() with scale_grad_by_freq, which counts indices"
    )
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    shares = (1 / counts)[inverse].reshape(*positions._array.shape, 1)
    made: Tensor = _with_shares(rows, new_tensor(shares).to(rows.dtype))
    return made


# --- all elements in a row, and masks -------------------------------------------------------------


def _taken(array: Array, index: Array) -> Array:
    made = copies.read_rows(array, ALL_IN_A_ROW, index)
    if made is not None:
        return made
    wrapped = _wrapped(index, array.size).reshape(-1)
    return executor.index_select(array.reshape(-1), 0, wrapped).reshape(index.shape)


def _wrapped(index: Array, count: int) -> Array:
    """Indices into ``count`` elements in a row, counted from 0."""
    return wrap_indices(
        index,
        count,
        lambda bad: IndexError(
            f"out of range: tried to access index {bad} on a tensor of {count} elements."
        ),
    )


_take = TensorOperator(
    "take",
    lambda input, index: _taken(input, index),
    {
        "input": lambda grad, input_shape, index: _put_back(grad, input_shape, index),
        "index": None,  # type: ignore[dict-item]
    },
    batch=lambda operator, size, arguments, mapped: _take_samples(
        operator, size, arguments, mapped
    ),
    tangent=multilinear,
    takes_half=True,
    portable=True,
)


def from_zero(index: Tensor, count: int) -> Tensor:
    """Indices into ``count`` elements in a row, of which those below 0 are counted from the end."""
    return pointwise("where")(index < 0, index + count, index)


def _take_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    input, index = arguments
    if not mapped[0]:
        made: Tensor = operator(input, index)
        return made
    rows = input.reshape(size, -1)
    positions = from_zero(with_samples(size, index, mapped[1]), rows._array.shape[1])
    return gather_operator(rows, 1, positions.reshape(size, -1)).view(positions._array.shape)


def _put_back(grad: Tensor, shape: tuple[int, ...], index: Tensor) -> Tensor:
    """The gradient of ``take``: zeros with ``grad`` added at the places in a row of all."""
    zeros = _zeros((math.prod(shape),), grad)
    if is_transformed(index):
        positions = reshape(from_zero(index, math.prod(shape)), -1)
    else:
        positions = new_tensor(_wrapped(index._array, math.prod(shape)).reshape(-1))
    added = index_add_operator(zeros, 0, positions, reshape(grad, -1))
    return reshape(added, shape)


@method()
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at ``index``, counted through the whole tensor; of the shape of ``index``."""
    return _take.launch(input, _int64("take", index))
