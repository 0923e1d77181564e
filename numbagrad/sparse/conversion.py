"""Into sparse layouts and out of them: ``sparse_coo_tensor``, ``to_sparse``, ``to_dense``, CSR."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..executor.memory.arrays import values_on_host
from ..ops.arguments.requirements import require_strided
from ..ops.creation.filled import zeros
from ..ops.creation.from_data import tensor as make_tensor
from ..tensor import Tensor, new_tensor
from ..tensor.sparse_array import Places, SparseArray, require_cpu
from ..type_names import type_name
from . import places as of
from .operators import take, values_of, with_values
from .tensor import SparseTensor

__all__ = [
    "coalesce", "is_sparse", "sparse_coo_tensor", "sparse_csr_tensor", "sparse_mask", "to_dense",
    "to_sparse", "to_sparse_csr",
]  # fmt: skip

_MAKING = "the making of a sparse tensor"


def is_sparse(value: Any) -> bool:
    """Whether a value is a sparse Tensor."""
    return isinstance(value, Tensor) and value._array.__class__ is SparseArray


#: The default of an argument that may not be None.
_NOT_GIVEN: Any = inspect.Parameter.empty


def _as_size(function: str, size: Any) -> tuple[int, ...]:
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"{function}(): argument 'size' must be tuple of ints, not {type_name(size)}"
        )
    return tuple([int(x) for x in size])


def sparse_coo_tensor(
    indices: Any,
    values: Any = _NOT_GIVEN,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A sparse tensor with values at indices, (sparse dimensions, nnz); equal ones are added up.

    Args:
        indices: a tensor of integers, or a list; a size alone makes a tensor without values.
        values: (nnz, dense sizes).
        size: of all dimensions; the smallest that holds the indices if it is not given.
        is_coalesced: whether the caller answers for the places being in order and each there once.

    Raises:
        RuntimeError: for indices that are no matrix of integers, or that do not fit to the values
            or into the size.
    """
    require_strided("sparse_coo_tensor", None, pin_memory)
    if values is _NOT_GIVEN:
        size = _as_size("sparse_coo_tensor", indices if size is None else size)
        values = zeros(0, dtype=dtype, device=device)
        indices = np.zeros((len(size), 0), np.int64)
        return _requiring(with_values(values, Places(indices, size, True)), requires_grad)
    values = _as_values(values, dtype, device)
    index = _as_indices(indices)
    rank, count = index.shape
    shape = values._array.shape
    if not shape and count == 1:
        values = values.reshape(1)
        shape = (1,)
    if not shape or shape[0] != count:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {count}, nnz from "
            f"values: {shape[0] if shape else 1}"
        )
    sizes = _sizes_for(index, shape[1:], size)
    made = with_values(values, Places(index, sizes))
    return _requiring(known_coalesced(made) if is_coalesced else made, requires_grad)


def _as_values(values: Any, dtype: Any, device: Any) -> Tensor:
    if not isinstance(values, Tensor):
        values = make_tensor(values, dtype=dtype, device=device)
    if device is not None:
        values = values.to(device)
    return values if dtype is None else values.to(dtype)


def _as_indices(indices: Any) -> np.ndarray[Any, Any]:
    """Indices as a matrix of int64 that nobody else writes."""
    if not isinstance(indices, (Tensor, np.ndarray, list, tuple, int, float)):
        raise TypeError(
            "sparse_coo_tensor(): argument 'indices' must be a Tensor or a list, not "
            f"{type_name(indices)}"
        )
    if not isinstance(indices, Tensor):
        indices = make_tensor(indices)
    array = values_on_host(indices.detach().long()._array, _MAKING)
    if not array.ndim:
        raise IndexError("indices must be sparse_dim x nnz, but got: []")
    if array.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(array.shape)}")
    return np.array(array, order="C")


def _sizes_for(
    index: np.ndarray[Any, Any], dense: tuple[int, ...], size: Sequence[int] | None
) -> tuple[int, ...]:
    """The sparse sizes, checked against the indices and the values."""
    rank = index.shape[0]
    low = index.min(1, initial=0)
    high = index.max(1, initial=-1)
    if low.size and low.min() < 0:
        raise RuntimeError(f"found negative index {int(low.min())} for dim {int(low.argmin())}")
    if size is None:
        return tuple([int(x) + 1 for x in high])
    shape = _as_size("sparse_coo_tensor", size)
    if len(shape) != rank + len(dense):
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({rank}) + dense_dim ({len(dense)}), but "
            f"got {len(shape)}"
        )
    if shape[rank:] != dense:
        raise RuntimeError(
            f"values has incorrect size, expected {list(shape[rank:])}, got {list(dense)}"
        )
    for dim, most in enumerate(high):
        if most >= shape[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {shape[dim]} but found "
                f"index {int(most)}"
            )
    return shape[:rank]


def _requiring(tensor: Any, requires_grad: bool) -> Tensor:
    """Torch makes a leaf of values that have no history."""
    if requires_grad:
        tensor = tensor.detach().requires_grad_()
    return tensor


# --- between layouts ------------------------------------------------------------------------------


def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool = True) -> Tensor:
    """The elements of a sparse tensor in dense memory."""
    if not is_sparse(self):
        return self if dtype is None else self.to(dtype)
    places = self._array.places
    values = values_of(self)
    if dtype is not None:
        values = values.to(dtype)
    shape = self._array.shape
    dense = shape[len(places.sizes) :]
    everything = values.new_zeros((int(np.prod(places.sizes, dtype=np.int64)), *dense))
    return everything.index_add(0, new_tensor(of.flat(places)), values).reshape(shape)


def to_sparse(
    self: Any,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """The nonzero elements of a tensor as a sparse one; with ``sparse_dim``, blocks of them."""
    name = None if layout is None else repr(layout)
    if name == "torch.sparse_csr":
        return to_sparse_csr(self)
    if name not in (None, "torch.sparse_coo"):
        raise NotImplementedError(f"to_sparse(): numbagrad has no tensors of the layout {name}")
    if is_sparse(self):
        return to_coo(self)
    rank = self.ndim
    count = rank if sparse_dim is None else sparse_dim
    if not (0 <= count <= rank and (count or not rank)):
        raise RuntimeError(
            f"sparse_dim must be in range (0, {rank}] if the tensor has dimensions, got {count}"
        )
    require_cpu("to_sparse", self._array)
    array = values_on_host(self._array, "to_sparse(), which looks at elements")
    there = array != 0 if array.dtype.kind != "V" else values_on_host(self.ne(0)._array, _MAKING)
    some = there.any(axis=tuple(range(count, rank))) if count < rank else there
    sizes = array.shape[:count]
    index = (
        np.ascontiguousarray(np.stack(np.nonzero(some))) if count else np.zeros((0, 1), np.int64)
    )
    places = Places(index.astype(np.int64), sizes, True)
    values = take(self.reshape(-1, *array.shape[count:]), of.flat(places))
    return with_values(values, places)


def to_coo(self: Any) -> Tensor:
    """A sparse tensor in the layout COO."""
    places = self._array.places
    if places.compressed is None:
        return self
    return with_values(values_of(self), Places(places.indices, places.sizes, True))


def known_coalesced(self: Any) -> Tensor:
    """The same, known to be in order if it is: whoever says so need not be right."""
    numbers = of.flat(self._array.places)
    if (numbers[1:] <= numbers[:-1]).any():
        return self
    places = self._array.places
    return with_values(values_of(self), Places(places.indices, places.sizes, True))


def coalesce(self: Any) -> Tensor:
    """The same with places in order and values of equal ones added up."""
    if self._array.places.coalesced:
        return self
    places, position, distinct = of.coalesced(self._array.places)
    values = values_of(self)
    if distinct:
        order = np.empty_like(position)
        order[position] = np.arange(position.size)
        return with_values(take(values, order), places)
    if values.dtype == make_tensor(True).dtype:
        summed = values.int().new_zeros((places.count, *values.shape[1:]))
        summed = summed.index_add(0, new_tensor(position), values.int()) != 0
        return with_values(summed, places)
    summed = values.new_zeros((places.count, *values.shape[1:]))
    return with_values(summed.index_add(0, new_tensor(position), values), places)


def sparse_mask(self: Any, mask: Any) -> Tensor:
    """The elements of a tensor at the places of a sparse one.

    Raises:
        RuntimeError: if the shapes differ.
    """
    if not is_sparse(mask):
        raise RuntimeError("sparse_mask(): expected mask to be a sparse tensor")
    if self._array.shape != mask._array.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} "
            f"but mask has size {list(mask.shape)}"
        )
    from .operators import _values_at

    require_cpu("sparse_mask", self._array)
    return with_values(_values_at(self, mask._array.places), mask._array.places)


# --- CSR ------------------------------------------------------------------------------------------


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A matrix with values row by row: where rows begin among them, and the column of each.

    Raises:
        RuntimeError: if rows do not begin in order, columns do not lie in them or in order, or if
            the sizes do not fit together.
    """
    require_strided("sparse_csr_tensor", None, pin_memory)
    values = _as_values(values, dtype, device)
    crow, column = [
        values_on_host((x if isinstance(x, Tensor) else make_tensor(x))._array, _MAKING)
        for x in (crow_indices, col_indices)
    ]
    if crow.ndim != 1 or column.ndim != 1 or values.ndim != 1:
        raise NotImplementedError(
            "sparse_csr_tensor(): numbagrad has no batches of matrices and no dense dimensions in "
            "this layout: crow_indices, col_indices and values have one dimension each"
        )
    if crow.dtype != column.dtype or crow.dtype not in (np.int32, np.int64):
        raise RuntimeError(
            "crow_indices and col_indices must be an int32 or int64 type, and the same one, but "
            f"got {crow.dtype} and {column.dtype}"
        )
    count = column.size
    if not crow.size or crow[0] != 0 or crow[-1] != count or (np.diff(crow) < 0).any():
        raise RuntimeError(
            "sparse_csr_tensor(): crow_indices must begin with 0, end with the number of values "
            f"({count}) and not decrease"
        )
    if values.shape[0] != count:
        raise RuntimeError(
            f"sparse_csr_tensor(): number of values ({values.shape[0]}) and of col_indices "
            f"({count}) must be equal"
        )
    rows = crow.size - 1
    width = int(column.max(initial=-1)) + 1
    sizes = (rows, width) if size is None else _as_size("sparse_csr_tensor", size)
    if len(sizes) != 2 or sizes[0] != rows or sizes[1] < width or column.min(initial=0) < 0:
        raise RuntimeError(
            f"sparse_csr_tensor(): a matrix of size {list(sizes)} has not the {rows} rows of "
            f"crow_indices, or a column outside of it ({width - 1})"
        )
    row = np.repeat(np.arange(rows), np.diff(crow))
    step = np.diff(column) <= 0
    if (step & (np.diff(row) == 0)).any():
        raise RuntimeError(
            "sparse_csr_tensor(): col_indices must be sorted and distinct along each row"
        )
    index = np.stack([row, column]).astype(np.int64)
    places = Places(index, sizes, True, (crow.copy(), column.copy()))
    return _requiring(with_values(values, places), requires_grad)


def to_sparse_csr(self: Any, dense_dim: int | None = None) -> Tensor:
    """A matrix in the layout CSR.

    Raises:
        RuntimeError: for what is no matrix of numbers.
    """
    if is_sparse(self) and self._array.places.compressed is not None:
        return self
    if self.ndim != 2 or dense_dim or (is_sparse(self) and len(self._array.places.sizes) != 2):
        raise RuntimeError(
            "to_sparse_csr(): only 2-dimensional tensors without dense dimensions are taken"
        )
    coo: Any = coalesce(self if is_sparse(self) else to_sparse(self))
    places = coo._array.places
    _, column, starts = of.rows(places, False)
    made = Places(places.indices, places.sizes, True, (starts, column))
    return with_values(values_of(coo), made)


def like(self: Any, values: Tensor) -> Tensor:
    """A sparse tensor with other values at the same places."""
    return with_values(values, self._array.places)


def empty_like(
    self: Any, *, dtype: Any = None, requires_grad: bool = False, **options: Any
) -> Tensor:
    """A sparse tensor of the same sizes without values."""
    array = self._array
    rank = len(array.places.sizes)
    if isinstance(self, SparseTensor) and array.places.compressed is not None:
        return like(self, values_of(self).detach().to(dtype or self.dtype) * 0)
    values = new_tensor(np.zeros((0, *array.shape[rank:]), array.dtype))
    places = Places(np.zeros((rank, 0), np.int64), array.places.sizes, True)
    made = with_values(values if dtype is None else values.to(dtype), places)
    return _requiring(made, requires_grad)
