"""Shapes, joining, indexing, searching, sorting and sets of the array API."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import numbagrad as torch

from ..tensor import Tensor
from .arguments import Axis, as_dtype, axes_of, promoted
from .creation import result_type

__all__ = [
    "argmax", "argmin", "argsort", "broadcast_arrays", "broadcast_to", "concat", "count_nonzero",
    "expand_dims", "flip", "moveaxis", "nonzero", "permute_dims", "repeat", "reshape", "roll",
    "searchsorted", "sort", "squeeze", "stack", "take", "take_along_axis", "tile", "unique_all",
    "unique_counts", "unique_inverse", "unique_values", "unstack", "where",
]  # fmt: skip

# --- shapes ---------------------------------------------------------------------------------------


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """The arrays in their common shape, as views."""
    return list(torch.broadcast_tensors(*arrays))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """The array in a larger shape, as a view."""
    return torch.broadcast_to(x, tuple(shape))


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Arrays one after another along an axis, or of None one after another as vectors."""
    kind = result_type(*arrays)
    parts = [as_dtype(x, kind) for x in arrays]
    if axis is None:
        return torch.cat([x.reshape(-1) for x in parts])
    return torch.cat(parts, axis)


def expand_dims(x: Tensor, /, axis: int | tuple[int, ...] = 0) -> Tensor:
    """The array with a dimension of size 1 at each ``axis`` of the result.

    Raises:
        IndexError: for an axis that the result has not.
    """
    rank = x.ndim + (1 if isinstance(axis, int) else len(axis))
    if isinstance(axis, int):
        if not -rank <= axis < rank:
            raise IndexError(f"axis {axis} is out of bounds for an array of {rank} dimensions")
        return x.unsqueeze(axis)
    for one in sorted([a % rank for a in axis]):
        x = x.unsqueeze(one)
    return x


def flip(x: Tensor, /, *, axis: Axis = None) -> Tensor:
    """The elements in reversed order along one, several or all axes."""
    return torch.flip(x, axes_of(x, axis))


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """The array with axes at other places, as a view."""
    return torch.moveaxis(x, source, destination)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """The array with its axes in another order, as a view."""
    return torch.permute(x, tuple(axes))


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element several times, along an axis or, of None, of the array as a vector."""
    return torch.repeat_interleave(x, repeats, axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """The elements in another shape.

    Raises:
        ValueError: if ``copy`` is False and the elements have to be copied.
    """
    if copy is False:
        try:
            return x.view(tuple(shape))
        except RuntimeError as error:
            raise ValueError(f"reshape(copy=False): {error}") from None
    return torch.reshape(x.clone() if copy else x, tuple(shape))


def roll(x: Tensor, /, shift: Any, *, axis: Axis = None) -> Tensor:
    """The elements moved on, from the end to the beginning."""
    return torch.roll(x, shift, axis)


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """The array without the given axes, which have size 1.

    Raises:
        ValueError: for an axis of another size.
    """
    axes = axes_of(x, axis)
    for one in axes:
        if x.shape[one] != 1:
            raise ValueError(f"squeeze: axis {one} has size {x.shape[one]}, not 1")
    return torch.squeeze(x, axes)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Arrays of one shape side by side along a new axis."""
    kind = result_type(*arrays)
    return torch.stack([as_dtype(x, kind) for x in arrays], axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """The array repeated along each axis."""
    return torch.tile(x, tuple(repetitions))


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The arrays along an axis, as views."""
    axes_of(x, axis)
    return torch.unbind(x, axis)


# --- indexing -------------------------------------------------------------------------------------


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The elements along an axis at the places in a vector of integers.

    Raises:
        ValueError: without an axis, for an array of several dimensions.
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError("take: axis must be given for an array of several dimensions")
        axis = 0
    size = x.shape[axis]
    positions = indices.long()
    return torch.index_select(x, axis, torch.where(positions < 0, positions + size, positions))


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """The elements along an axis at places that are given for each vector."""
    (along,) = axes_of(x, axis)
    shape = torch.broadcast_shapes(
        *[s[:along] + (1,) + s[along + 1 :] for s in (tuple(x.shape), tuple(indices.shape))]
    )
    x, positions = [
        t.expand(*shape[:along], t.shape[along], *shape[along + 1 :]) for t in (x, indices.long())
    ]
    positions = torch.where(positions < 0, positions + x.shape[along], positions)
    return torch.gather(x, along, positions)


# --- searching ------------------------------------------------------------------------------------


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place of the first of the largest elements."""
    return torch.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place of the first of the smallest elements."""
    return torch.argmin(x, axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """How many elements are not zero."""
    axes = axes_of(x, axis)
    return (x != 0).sum(axes, keepdims) if axes else (x != 0).long()


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The places of the elements that are not zero, a vector for each axis.

    Raises:
        ValueError: for an array without dimensions.
    """
    if not x.ndim:
        raise ValueError("nonzero: an array without dimensions has no places")
    return tuple(torch.nonzero(x, as_tuple=True))


def searchsorted(
    x1: Tensor, x2: Any, /, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """Where elements would have to be put into a sorted vector."""
    x1, x2 = promoted(x1, x2)
    return torch.searchsorted(x1, x2, side=side, sorter=sorter)


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """The elements of x1 where the condition is true, of x2 elsewhere."""
    x1, x2 = promoted(x1, x2)
    return torch.where(condition, x1, x2)


# --- sorting --------------------------------------------------------------------------------------


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The places of the elements in their order; equal ones keep theirs if ``stable``."""
    return torch.sort(x, stable=stable, dim=axis, descending=descending).indices


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in their order."""
    return torch.sort(x, stable=stable, dim=axis, descending=descending).values


# --- sets -----------------------------------------------------------------------------------------

_All = namedtuple("_All", ["values", "indices", "inverse_indices", "counts"])
_Counts = namedtuple("_Counts", ["values", "counts"])
_Inverse = namedtuple("_Inverse", ["values", "inverse_indices"])


def _distinct(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Different elements, the place of the first of each, for each element which it is, counts.

    Every NaN is different from the others. Complex numbers, which have no order, come by their
    real parts, of equal ones by the imaginary parts.
    """
    flat = x.reshape(-1)
    order = torch.arange(flat.shape[0])
    keys = [flat.imag, flat.real] if flat.is_complex() else [flat]
    for key in keys:
        key = key.int() if key.dtype is torch.bool else key
        order = order[torch.sort(key[order], stable=True).indices]
    arranged = flat[order]
    fresh = torch.ones(flat.shape[0], dtype=torch.bool)
    fresh[1:] = arranged[1:] != arranged[:-1]
    indices = order[fresh]
    inverse = torch.empty(flat.shape[0], dtype=torch.int64)
    inverse[order] = torch.cumsum(fresh.long(), 0) - 1
    ends = torch.cat([torch.nonzero(fresh)[:, 0], torch.tensor([flat.shape[0]])])
    return arranged[fresh], indices, inverse.reshape(x.shape), ends[1:] - ends[:-1]


def unique_all(x: Tensor, /) -> Any:
    """The different elements, where each is first, which each element is, and how often."""
    return _All(*_distinct(x))


def unique_counts(x: Tensor, /) -> Any:
    """The different elements, and how often each is there."""
    found = _distinct(x)
    return _Counts(found[0], found[3])


def unique_inverse(x: Tensor, /) -> Any:
    """The different elements, and for each element which of them it is."""
    found = _distinct(x)
    return _Inverse(found[0], found[2])


def unique_values(x: Tensor, /) -> Tensor:
    """The different elements."""
    return _distinct(x)[0]
