"""Writing whole entries of one dimension at a vector of indices: index_add, index_copy, ...

Each returns a changed copy, and has a method with an underscore that changes the tensor itself. The
operator behind ``index_add`` stands in ``gather.py``, beside those that read at indices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import half_precision as half
from ...autograd.writes.inplace import write_inplace, written_at_once
from ...dispatch.policies import autocasts
from ...executor.families import copying
from ...executor.families import indexing as executor
from ...executor.families.checks import check_inside
from ...executor.families.writing import writers
from ...executor.memory.arrays import copied
from ...executor.plan.forms import with_sizes
from ...executor.plan.sharing import check_written_once, refuse_overlap
from ...number_range import checked_number
from ...tensor import Tensor
from ...transforms.batching import with_samples
from ...transforms.levels import is_transformed
from ..arguments.requirements import refuse_complex, require_tensor_or_number
from ..arguments.shapes import dimension
from ..conversion.dtypes import as_element
from ..methods.registry import method
from ..methods.variants import install_in_place
from ..operators.array_function import array_function
from ..operators.pointwise_operator import pointwise
from ..operators.tensor_operator import TensorOperator
from ..views.expand import expand
from ..views.view import dense_copy
from ..writing.inplace import zeros_for
from .gather import (
    checking,
    from_zero,
    index_add_operator,
    index_select_operator,
    index_tensor,
    one_row,
    rows_of_samples,
    size_along,
    vector_of,
)
from .items import scalar_name
from .scatter import as_vector, reducing_operator, scatter_source_operator, scatter_value_operator
from .subscript import ALL, wrap_indices

__all__ = ["index_add", "index_copy", "index_fill", "index_reduce"]

Array = np.ndarray[Any, Any]
Key = tuple[Any, ...]


def _check_rows(name: str, input: Tensor, dim: int, index: Array, source: Tensor) -> None:
    own, given = input._array.shape, source._array.shape
    if source._array.dtype != input._array.dtype:
        raise RuntimeError(
            f"{name}(): self ({scalar_name(input)}) and source ({scalar_name(source)}) must have "
            "the same scalar type"
        )
    if given and own and len(given) != len(own):
        raise RuntimeError(
            f"{name}(): When source and destination are not scalars, their dimensionality must "
            f"match. Source dimensionality ({len(given)}), destination dimensionality ({len(own)})"
        )
    if not given and dim:
        raise RuntimeError(
            f"{name}(): Indexing dim {dim} is out of bounds of the source tensor with dim 0"
        )
    if bool(given) != bool(own):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(own)} source.shape = {list(given)}"
        )
    if index.size != size_along(source._array, dim):
        raise RuntimeError(
            f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({given[dim]}), for dim: {dim}"
        )
    if with_sizes(own, dim) != with_sizes(given, dim):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(own)} source.shape = {list(given)}"
        )


def _check_copied(input: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    """Raise torch's error for an index or a source that does not fit in ``index_copy_``."""
    own, given, chosen = input._array.shape, source._array.shape, index._array
    if chosen.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {chosen.ndim})")
    if not given and chosen.size != 1:
        raise IndexError(
            "index_copy_(): When source is scalar, index should have one element (got "
            f"{chosen.size})"
        )
    if given and own and len(given) != len(own):
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must "
            f"match. Source dimensionality ({len(given)}), destination dimensionality ({len(own)})"
        )
    if chosen.dtype != np.int64:
        raise RuntimeError(
            f"index_copy_(): Expected a long tensor for index, but got {scalar_name(index)}"
        )
    if source._array.dtype != input._array.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{scalar_name(input)} and (source) {scalar_name(source)}"
        )
    entry, other = with_sizes(own, dim), with_sizes(given, dim)
    if entry != other:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            f"slice shape: {' '.join(map(str, entry))} at dimension {dim} and source slice shape: "
            f"{' '.join(map(str, other))} at dimension 0."
        )
    if given and chosen.size != given[dim]:
        raise IndexError(
            f"index_copy_(): Number of indices ({chosen.size}) should be equal to source.size(dim) "
            f"({given[dim]})"
        )


def _rows_inside(
    name: str, input: Tensor, dim: int, index: Tensor, source: Tensor
) -> tuple[int, Array]:
    """The dimension counted from 0, and the indices, which are checked to be inside of it."""
    dim = dimension(input._array.ndim, dim)
    if name == "index_copy_":
        _check_copied(input, dim, index, source)
        array = vector_of(name, index)
    else:
        _check_vector(name, index)
        array = vector_of(name, index)
        _check_rows(name, input, dim, array, source)
    size = size_along(input._array, dim)
    rank = input._array.ndim
    subject = f"{name}(): an index"
    check_inside(subject, array, size, _check_range, name, array, rank, dim, size)
    return dim, array


def _check_vector(name: str, index: Tensor) -> None:
    """Raise torch's error for an index that is no vector of integers."""
    array = index._array
    if array.ndim > 1:
        raise IndexError(
            f"{name}(): Index is supposed to be a vector, but got dim: {array.ndim} with type: "
            f"{scalar_name(index)} and size: {list(array.shape)}"
        )
    if array.dtype not in (np.int64, np.int32):
        raise RuntimeError(
            f"{name}(): Expected dtype int32/int64 for index but got: {scalar_name(index)}"
        )


def _check_range(name: str, index: Array, rank: int, dim: int, size: int) -> None:
    """Raise torch's error for an index below 0 or beyond ``size``; each function has its own."""
    if copying.are_inside(index, size):
        return
    bad = index[(index < 0) | (index >= size)][0]
    outside = f"index {bad} is out of bounds for dimension {dim} with size {size}"
    if name == "index_add_" and rank > 1:
        raise RuntimeError(outside)
    if name != "index_copy_":
        outside = f"index out of range in self: {outside}"
    raise IndexError(f"{name}(): {outside}")


_index_reduce = reducing_operator("index_reduce")


@method()
def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1
) -> Tensor:
    """A copy with ``alpha * source`` added to the entries of one dimension at the indices."""
    if not input._array.ndim and not source._array.ndim:  # the parts of a number have a dimension
        row = index_add(input.reshape(1), dim, index, source.reshape(1), alpha=alpha)
        return row.reshape(())
    dim, array = _rows_inside("index_add_", input, dim, index, source)
    return index_add_operator(input, dim, index_tensor(index, array), _times(source, alpha))


def _times(source: Tensor, alpha: float) -> Tensor:
    """``alpha * source`` in the dtype of the source, whose element the factor has to be."""
    return source if alpha == 1 else source * checked_number(alpha, source._array.dtype)


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
    dim, array = _rows_inside("index_reduce_", input, dim, index, source)
    shape = [1] * source._array.ndim
    if shape:
        shape[dim] = array.size
    spread = expand(index_tensor(index, array).reshape(shape), source._array.shape)
    return _index_reduce(input, dim, spread, source, (reduce, include_self, "index_reduce"))


_add_rows = array_function("write")(executor.index_add)


@method("index_add_")
def _index_add_(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1
) -> Tensor:
    """``index_add`` in place."""
    if alpha.__class__ is int and alpha == 1 and dim.__class__ is int:
        if written_at_once(input, writers["index_add"], dim, index, source):
            return input
    check_written_once(input._array)
    if not input._array.ndim and not source._array.ndim:
        _index_add_(input.view(1), dim, index, source.reshape(1), alpha=alpha)
        return input
    dim, array = _rows_inside("index_add_", input, dim, index, source)
    refuse_overlap(input._array, (index._array, source._array), whole=True)
    source = _times(source, alpha)
    return write_inplace(
        input,
        index_add_operator,
        lambda output: _add_rows(output, dim, array, source._array),
        dim,
        index_tensor(index, array),
        source,
    )


def _rows(dim: int, index: Array) -> Key:
    return (*(ALL,) * dim, index)


#: Into fewer elements NumPy writes a number in the time in which a kernel is called.
_FEW = 2048


def _filled(array: Array, dim: int, index: Array, value: Any) -> Array:
    result = dense_copy(array) if np.ndim(value) == 0 else copied(array)
    of_entries = np.ndim(value) > 0
    if result.flags.c_contiguous and result.ndim and (of_entries or result.size > _FEW):
        executor.scatter_rows(result, dim, index, value)
    elif result.ndim:
        half.assign(result, _rows(dim, index), np.asarray(value))
    elif index.size:
        half.assign(result, ..., np.reshape(value, ()))
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
        positions = rows_of_samples(with_samples(size, index, mapped[2]), input, dim + 1)
        made: Tensor
        if not isinstance(value, Tensor):
            made = scatter_value_operator(input, dim + 1, positions, value)
        else:
            value = value.expand(positions._array.shape)
            made = scatter_source_operator(input, dim + 1, positions, value)
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
    takes_half=True,
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
        "value": lambda grad, dim, index: _gradient_of_filled(grad, dim, index),
    },
    grad_fn="IndexFillBackward1",
    batch=checking(_fill_samples),
)


def _gradient_of_filled(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    """The sum of the gradient over the elements that were filled, each of them once."""
    filled = _index_fill(zeros_for(grad), dim, index, 1.0) != 0
    return pointwise("where")(filled, grad, 0).sum()


@method()
@autocasts("widest")
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with the entries of ``source`` written at the indices of one dimension."""
    dim, array = _rows_inside("index_copy_", input, dim, index, source)
    if not (input._array.ndim and source._array.ndim):
        made = index_copy(as_vector(input), 0, index, as_vector(source))
        return made.reshape(input._array.shape)
    return _index_copy(input, dim, index_tensor(index, array), source)


@method()
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy with one value written at the indices of one dimension."""
    if index._array.ndim > 1:
        raise RuntimeError(
            "index_fill(): Index has to be a vector/scalar, but has shape "
            f"{list(index._array.shape)}"
        )
    if index._array.dtype not in (np.int64, np.int32):
        raise IndexError(
            f"index_fill(): Expected dtype int64 for index, but got {index.dtype}; convert with "
            ".long()"
        )
    dim = dimension(input._array.ndim, dim)
    size = size_along(input._array, dim)
    array = vector_of("index_fill_", index)
    if is_transformed(index):
        positions = from_zero(index.reshape(-1), size)
    else:
        array = wrap_indices(
            array,
            size,
            lambda bad: IndexError(
                f"index {bad} is out of bounds for dimension {dim} with size {size}"
            ),
        )
        positions = index_tensor(index, array)
    if isinstance(value, Tensor) and value.is_complex() and not input.is_complex():
        raise RuntimeError(
            f"index_fill: a {value.dtype} value does not fit the {input.dtype} tensor"
        )
    if not isinstance(value, Tensor):
        require_tensor_or_number("index_fill", value, "value", 4)
        if value.__class__ is complex and input._array.dtype.kind != "c":
            raise RuntimeError(
                "index_fill_(): Converting complex Scalar to non-complex type is not supported; "
                "give its real part"
            )
    value = as_element(value, input._array.dtype)
    if not isinstance(value, Tensor):
        return _index_fill(input, dim, positions, value)
    if value._array.ndim:
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value._array.ndim} dimension(s)."
        )
    return _index_fill_tensor(input, dim, positions, value)


def _fill_repeated(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """``index_fill_`` of memory that several elements share: other entries stay unwritten."""
    dim = dimension(input._array.ndim, dim)
    vector_of("index_fill_", index)
    key = (*[slice(None)] * dim, index)
    input[key] = value
    return input


def _copy_at_once(input: Tensor, dim: int, index: Tensor, source: Tensor) -> bool:
    if dim.__class__ is not int:
        return False
    return written_at_once(input, writers["scatter_rows"], dim, index, source)


install_in_place(index_copy, refused="whole", at_once=_copy_at_once)
install_in_place(index_fill, repeats=_fill_repeated)
install_in_place(index_reduce, refused="whole")
