"""Sums, norms and softmax of sparse Tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..tensor import Tensor, new_tensor
from ..tensor.sparse_array import could_not_run
from . import places as of
from .conversion import coalesce, is_sparse, like
from .operators import take, values_of, with_values

__all__ = ["any_of", "log_softmax", "norm", "softmax", "sum"]


def _dimensions(self: Any, dim: Any) -> list[int]:
    rank = self._array.ndim
    found = [dim] if isinstance(dim, int) else list(dim)
    for each in found:
        if not -rank <= each < rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but "
                f"got {each})"
            )
    return [each % rank for each in found]


def sum(
    input: Any,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Tensor:
    """The sum of all elements, or along dimensions: dense if no sparse one is left.

    Raises:
        NotImplementedError: for ``keepdim``.
    """
    if not is_sparse(input):
        return input.sum() if dim is None else input.sum(dim)
    if keepdim and dim is not None:
        raise NotImplementedError("sum() of a sparse tensor: numbagrad has no keepdim for it")
    values = values_of(input)
    if dtype is not None:
        values = values.to(dtype)
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        return values.sum()
    dims = _dimensions(input, dim)
    places = input._array.places
    rank = len(places.sizes)
    inner = [each - rank + 1 for each in dims if each >= rank]
    if inner:
        values = values.sum(inner)
    elif values.dtype != values[:0].sum().dtype:
        values = values.to(values[:0].sum().dtype)  # integers are summed as int64
    left = [each for each in range(rank) if each not in dims]
    if not left:
        return values.sum(0)
    if len(left) == rank:
        return with_values(values, places)
    return coalesce(with_values(values, of.kept_dimensions(places, left)))


def norm(
    input: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Tensor:
    """The norm of all elements.

    Raises:
        RuntimeError: for that along some dimensions, which torch does not have either.
    """
    if dim is not None and len(_dimensions(input, dim)) != input._array.ndim:
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty "
            "or contain all dimensions of the input"
        )
    values = values_of(coalesce(input))
    return values.reshape(-1).norm(p) if dtype is None else values.to(dtype).reshape(-1).norm(p)


def any_of(input: Any) -> Tensor:
    """Whether a value is not 0."""
    return values_of(coalesce(input)).any()


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Tensor:
    """Softmax along a dimension over the elements that are there: others count as ``-inf``."""
    return _softmax(input, dim, dtype, False)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of :func:`softmax`."""
    return _softmax(input, dim, dtype, True)


def _softmax(input: Any, dim: int, dtype: Any, logarithm: bool) -> Tensor:
    if input._array.places.compressed is not None:
        raise could_not_run(input._array, "softmax")
    (dim,) = _dimensions(input, dim)
    input = coalesce(input)
    places, values = input._array.places, values_of(input)
    if dtype is not None:
        values = values.to(dtype)
    rank = len(places.sizes)
    if dim >= rank:
        inner = dim - rank + 1
        return like(input, values.log_softmax(inner) if logarithm else values.softmax(inner))
    group, count = of.grouped(places, dim)
    array = values.detach().float()._array if values._array.dtype.kind == "V" else values._array
    largest = np.full((count, *array.shape[1:]), -np.inf, array.dtype)
    np.maximum.at(largest, group, array)
    shifted = values - take(new_tensor(largest).to(values.dtype), group)
    powers = shifted.exp()
    totals = powers.new_zeros(largest.shape).index_add(0, new_tensor(group), powers)
    if logarithm:
        return like(input, shifted - take(totals.log(), group))
    return like(input, powers / take(totals, group))
