"""Places of sparse Tensors: sorted, merged, moved, chosen.

Everything is integers of NumPy, found once for each ``Places`` and kept there; what becomes of the
values, of which gradients are taken, follows from the positions that are returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..executor.plan.forms import with_sizes
from ..tensor.sparse_array import Places

__all__ = [
    "common", "coalesced", "flat", "grouped", "joined", "kept_dimensions", "permuted", "rows",
    "selected",
]  # fmt: skip

Array = np.ndarray[Any, Any]


def flat(places: Places) -> Array:
    """The number of each place, in the order of the indices."""

    def compute() -> Array:
        if not places.sizes:
            return np.zeros(places.count, np.int64)
        return numbers(places.indices, places.sizes)

    made: Array = places.keep("flat", compute)
    return made


def numbers(indices: Array, sizes: Sequence[int]) -> Array:
    """The numbers of columns of indices in the order of all indices of such sizes."""
    if prod(sizes) > np.iinfo(np.int64).max:
        raise RuntimeError(f"a sparse tensor of sizes {tuple(sizes)} has too many elements")
    made = np.zeros(indices.shape[1], np.int64)
    for row, size in zip(indices, sizes, strict=True):
        made *= size
        made += row
    return made


def coalesced(places: Places) -> tuple[Places, Array, bool]:
    """Places in order, each of them once; with a position among them for each that was there.

    The last result says whether no two fell together.
    """

    def compute() -> tuple[Places, Array, bool]:
        found = flat(places)
        order = np.argsort(found, kind="stable")
        in_order = found[order]
        first = np.ones(in_order.size, bool)
        first[1:] = in_order[1:] != in_order[:-1]
        position = np.empty(found.size, np.int64)
        position[order] = np.cumsum(first) - 1
        chosen = order[first]
        made = Places(np.ascontiguousarray(places.indices[:, chosen]), places.sizes, True)
        return made, position, chosen.size == found.size

    made: tuple[Places, Array, bool] = places.keep("coalesced", compute)
    return made


def rows(places: Places, transposed: bool) -> tuple[Array, Array, Array]:
    """A matrix row by row: positions of values, the column of each, and where rows begin."""

    def compute() -> tuple[Array, Array, Array]:
        row, column = places.indices[::-1] if transposed else places.indices
        count = places.sizes[transposed]
        if places.coalesced and not transposed:
            order = np.arange(row.size)
        else:
            order = np.argsort(row, kind="stable")
        starts = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(row, minlength=count), out=starts[1:])
        return order, np.ascontiguousarray(column[order]), starts

    made: tuple[Array, Array, Array] = places.keep(("rows", transposed), compute)
    return made


def permuted(places: Places, order: Sequence[int]) -> Places:
    """The places with their dimensions in another order."""

    def compute() -> Places:
        sizes = tuple([places.sizes[axis] for axis in order])
        same = tuple(order) == tuple(range(len(order)))
        return Places(places.indices[list(order)], sizes, places.coalesced and same)

    made: Places = places.keep(("permuted", *order), compute)
    return made


def kept_dimensions(places: Places, dims: Sequence[int]) -> Places:
    """The places in some of the dimensions only; several may fall together."""

    def compute() -> Places:
        return Places(places.indices[list(dims)], tuple([places.sizes[dim] for dim in dims]))

    made: Places = places.keep(("kept", *dims), compute)
    return made


def grouped(places: Places, dim: int) -> tuple[Array, int]:
    """For each place the number of its row along ``dim``, and how many rows there are."""
    others = [axis for axis in range(len(places.sizes)) if axis != dim]
    rest, position, _ = coalesced(kept_dimensions(places, others))
    return position, rest.count


def joined(first: Array, second: Array) -> tuple[Array, Array]:
    """Positions in two arrays of all pairs of equal numbers, sorted by those in the first."""
    order = np.argsort(second, kind="stable")
    in_order = second[order]
    low = np.searchsorted(in_order, first, "left")
    counts = np.searchsorted(in_order, first, "right") - low
    one = np.repeat(np.arange(first.size), counts)
    ends = np.cumsum(counts)
    within = np.arange(one.size) - np.repeat(ends - counts, counts)
    return one, order[np.repeat(low, counts) + within]


def common(first: Places, second: Places) -> tuple[Places, Array, Array]:
    """The places that two coalesced ones share, with the positions in both."""
    one, other = joined(flat(first), flat(second))
    made = Places(np.ascontiguousarray(first.indices[:, one]), first.sizes, True)
    return made, one, other


def selected(places: Places, dim: int, index: Array) -> tuple[Places, Array]:
    """The places at some indices of a dimension, as ``index_select`` numbers them; positions."""
    number, position = joined(index, places.indices[dim])
    indices = places.indices[:, position].copy()
    indices[dim] = number
    sizes = with_sizes(places.sizes, dim, index.size)
    return Places(indices, sizes), position
