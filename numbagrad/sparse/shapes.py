"""Sparse Tensors in other shapes: dimensions moved, chosen, joined and added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..executor.memory.arrays import values_on_host
from ..ops.views.join import cat as cat_of_dense
from ..tensor import Tensor
from ..tensor.sparse_array import Places, could_not_run
from . import places as of
from .conversion import coalesce, is_sparse, like
from .operators import take, values_of, with_values

__all__ = [
    "cat",
    "index_select",
    "permute",
    "select",
    "stack",
    "t",
    "transpose",
    "unbind",
    "unsqueeze",
]


def _dimension(self: Any, dim: int, more: int = 0) -> int:
    rank = self._array.ndim + more
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got "
            f"{dim})"
        )
    return dim % rank


def permute(self: Any, *dims: Any) -> Tensor:
    """Dimensions in another order, in which sparse ones stay before dense ones."""
    order = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    order = [_dimension(self, dim) for dim in order]
    if sorted(order) != list(range(self._array.ndim)):
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions, or one is there twice: {order}"
        )
    places, values = self._array.places, values_of(self)
    rank = len(places.sizes)
    if max(order[:rank], default=-1) >= rank:
        raise RuntimeError("transpose(): can't transpose a sparse dimension with a dense one")
    if rank < len(order):
        values = values.permute(0, *[dim - rank + 1 for dim in order[rank:]])
    return with_values(values, of.permuted(places, order[:rank]))


def transpose(self: Any, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged, both sparse or both dense."""
    order = list(range(self._array.ndim))
    one, two = _dimension(self, dim0), _dimension(self, dim1)
    order[one], order[two] = order[two], order[one]
    return permute(like(self, values_of(self).clone()), order)  # with memory of its own, as torch's


def t(self: Any) -> Tensor:
    """The transpose of a matrix."""
    rank = self._array.ndim
    if rank > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {rank}D")
    return transpose(self, 0, 1) if rank == 2 else self


def unsqueeze(self: Any, dim: int) -> Tensor:
    """A dimension of size 1 more."""
    dim = _dimension(self, dim, 1)
    places, values = self._array.places, values_of(self)
    rank = len(places.sizes)
    if dim > rank:
        return with_values(values.unsqueeze(dim - rank + 1), places)
    index = np.insert(places.indices, dim, 0, axis=0)
    sizes = (*places.sizes[:dim], 1, *places.sizes[dim:])
    return with_values(values, Places(np.ascontiguousarray(index), sizes, places.coalesced))


def index_select(self: Any, dim: int, index: Tensor) -> Tensor:
    """The parts at some indices of a dimension."""
    dim = _dimension(self, dim)
    places, values = self._array.places, values_of(self)
    rank = len(places.sizes)
    if dim >= rank:
        return with_values(values.index_select(dim - rank + 1, index), places)
    wanted = values_on_host(index._array, "index_select() of a sparse tensor").reshape(-1)
    wanted = wanted.astype(np.int64)
    if wanted.size and not (0 <= wanted.min() and wanted.max() < places.sizes[dim]):
        raise IndexError("index_select(): index out of range in self")
    found, position = of.selected(places, dim, wanted)
    return with_values(take(values, position), found)


def select(self: Any, dim: int, index: int) -> Tensor:
    """The part at one index of a dimension; dense if no sparse dimension is left."""
    dim = _dimension(self, dim)
    places, values = self._array.places, values_of(self)
    rank = len(places.sizes)
    if dim >= rank:
        return with_values(values.select(dim - rank + 1, index), places)
    size = places.sizes[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at "
            f"dimension {dim}"
        )
    position = np.flatnonzero(places.indices[dim] == index % size)
    chosen = take(values, position)
    if rank == 1:
        return chosen.sum(0)
    left = [each for each in range(rank) if each != dim]
    sizes = tuple([places.sizes[each] for each in left])
    return with_values(chosen, Places(places.indices[left][:, position], sizes, places.coalesced))


def item_of(self: Any, key: Any) -> Tensor:
    """``self[key]`` for integers; others are refused."""
    keys = key if isinstance(key, tuple) else (key,)
    if not all([isinstance(each, int) and not isinstance(each, bool) for each in keys]):
        raise could_not_run(self._array, "index")
    made = self
    for each in keys:
        made = select(made, 0, each) if is_sparse(made) else made[each]
    return made


def unbind(self: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts along a dimension."""
    return tuple([select(self, dim, i) for i in range(self._array.shape[_dimension(self, dim)])])


def cat(tensors: Sequence[Any], dim: int = 0) -> Tensor:
    """Sparse tensors one behind the other along a dimension.

    Raises:
        RuntimeError: for others among them, and for shapes that differ otherwise.
    """
    tensors = list(tensors)
    for position, each in enumerate(tensors):
        if not is_sparse(each):
            raise RuntimeError(
                "Concatenating sparse tensors, but a dense tensor was found at position "
                f"{position}."
            )
    first = tensors[0]
    dim = _dimension(first, dim)
    rank = len(first._array.places.sizes)
    for each in tensors[1:]:
        shapes = [list(x._array.shape) for x in (first, each)]
        ranks = rank, len(each._array.places.sizes)
        for shape in shapes:
            shape[dim : dim + 1] = [-1]
        if shapes[0] != shapes[1] or ranks[0] != ranks[1]:
            raise RuntimeError(
                "All tensors must have the same shape except in the concatenating dimension, and "
                f"as many sparse dimensions: {list(first.shape)} and {list(each.shape)}"
            )
    sizes = [each._array.shape[dim] for each in tensors]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    index = np.concatenate([each._array.places.indices for each in tensors], axis=1)
    whole = list(first._array.places.sizes)
    if dim < rank:
        counts = [each._array.places.count for each in tensors]
        index[dim] += np.repeat(starts[:-1], counts)
        whole[dim] = int(starts[-1])
        values = cat_of_dense([values_of(each) for each in tensors])
        made = with_values(values, Places(index, tuple(whole)))
        return made
    return _cat_of_dense_dimension(tensors, dim - rank + 1, index, starts)


def _cat_of_dense_dimension(
    tensors: list[Any], dim: int, index: np.ndarray[Any, Any], starts: np.ndarray[Any, Any]
) -> Tensor:
    parts = []
    for each, start in zip(tensors, starts, strict=False):
        values = values_of(each)
        shape = list(values.shape)
        before, behind = shape.copy(), shape.copy()
        before[dim] = int(start)
        behind[dim] = int(starts[-1]) - int(start) - shape[dim]
        parts.append(
            cat_of_dense([values.new_zeros(before), values, values.new_zeros(behind)], dim)
        )
    return with_values(cat_of_dense(parts), Places(index, tensors[0]._array.places.sizes))


def stack(tensors: Sequence[Any], dim: int = 0) -> Tensor:
    """Sparse tensors along a new dimension."""
    tensors = list(tensors)
    dim = _dimension(tensors[0], dim, 1)
    return cat([unsqueeze(each, dim) if is_sparse(each) else each for each in tensors], dim)


def ordered(self: Any) -> Tensor:
    """A clone: the same places with a copy of the values."""
    return with_values(values_of(self).clone(), self._array.places)


__all__ += ["coalesce", "item_of", "ordered"]
