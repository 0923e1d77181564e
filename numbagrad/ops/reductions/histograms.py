"""Histograms over bins whose edges are found or given: ``histogram`` and ``histogramdd``.

Called by users; ``histc`` in ``counting.py`` is the older one, which gives counts alone. The first
is the second for points of one coordinate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import return_types
from ...dtype import scalar_type_name
from ...executor.memory.arrays import values_on_host
from ...tensor import Tensor, new_tensor
from ..arguments.kinds import takes
from ..methods.registry import method

__all__ = ["histogram", "histogramdd"]

Array = np.ndarray[Any, Any]
_NAME = "torch.histogramdd"


def _limits(column: Array, given: Sequence[float] | None, dim: int) -> tuple[Any, Any]:
    """The first and the last edge of a dimension."""
    if given is not None:
        low, high = given
    else:
        low, high = (column.min(), column.max()) if column.size else (0.0, 1.0)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"{_NAME}: dimension {dim}'s range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(
            f"{_NAME}: min should not exceed max, but got min {low:g} max {high:g} for dimension "
            f"{dim}"
        )
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _edges(name: str, points: Array, bins: Sequence[Any], limits: Any) -> list[Array]:
    """The edges of the bins along every coordinate of the points (N, D)."""
    made = []
    for dim, (column, given) in enumerate(zip(points.T, bins, strict=True)):
        if isinstance(given, Tensor):
            edges = given._array
            if edges.ndim != 1 or not edges.size:
                raise RuntimeError(
                    f"{_NAME}: bins tensor should have one dimension and at least 1 element, but "
                    f"it has shape {list(edges.shape)} for dimension {dim}"
                )
            if edges.dtype != points.dtype:
                raise RuntimeError(
                    f"{_NAME}: input and bins should have one dtype, but got {points.dtype} and "
                    f"{edges.dtype} for dimension {dim}"
                )
            if (edges[1:] < edges[:-1]).any():
                raise RuntimeError(f"{_NAME}: edges must not decrease, for dimension {dim}")
        elif given < 1:
            raise RuntimeError(
                f"torch.{name}(): bins must be > 0, but got {given} for dimension {dim}"
            )
        else:
            own = None if limits is None else limits[2 * dim : 2 * dim + 2]
            low, high = _limits(column, own, dim)
            edges = np.linspace(low, high, given + 1).astype(points.dtype)
        made.append(edges)
    return made


def _counts(points: Array, edges: list[Array], weights: Array | None, density: bool) -> Array:
    """The counts of the points in every bin; the last edge is in the last bin."""
    shape = tuple([len(edge) - 1 for edge in edges])
    inside = np.ones(len(points), bool)
    positions = []
    for column, edge in zip(points.T, edges, strict=True):
        position = np.searchsorted(edge, column, "right") - 1
        position[column == edge[-1]] = len(edge) - 2
        inside &= (column >= edge[0]) & (column <= edge[-1])
        positions.append(position)
    total = math.prod(shape)
    flat = np.zeros(0, np.int64)
    if total:
        flat = np.ravel_multi_index([position[inside] for position in positions], shape)
    counted = None if weights is None or not total else weights[inside]
    made = np.bincount(flat, counted, total)[:total].reshape(shape).astype(np.float64)
    return (_density(made, edges) if density else made).astype(points.dtype)


@np.errstate(divide="ignore", invalid="ignore")
def _density(counts: Array, edges: list[Array]) -> Array:
    """Shares of all, by the volumes of the bins."""
    made = counts / counts.sum()
    for dim, edge in enumerate(edges):
        sizes = np.diff(edge.astype(np.float64))
        made /= sizes.reshape([-1 if d == dim else 1 for d in range(len(edges))])
    return made


def _require_floats(input: Tensor) -> None:
    if input._array.dtype not in (np.float32, np.float64):
        raise NotImplementedError(
            f"\"histogramdd\" not implemented for '{scalar_type_name(input.dtype)}'"
        )


def _weights(input: Tensor, shape: tuple[int, ...], weight: Tensor | None) -> Array | None:
    if weight is None:
        return None
    if weight._array.dtype != input._array.dtype:
        raise RuntimeError(
            f"{_NAME}: if weight tensor is provided, input tensor and weight tensor should have "
            f"the same dtype, but got input {input.dtype} and weight {weight.dtype}"
        )
    if weight._array.shape != shape:
        raise RuntimeError(
            f"{_NAME}: if weight tensor is provided it should have the same shape as the input "
            f"tensor excluding its innermost dimension, but got input with shape "
            f"{list(input._array.shape)} and weight with shape {list(weight._array.shape)}"
        )
    return weight._array.reshape(-1)


@method()
@takes("input: Tensor, bins: Tensor", "input: Tensor, bins?: int")
def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: tuple[float, float] | None = None,  # noqa: A002 - torch's name
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """How many elements, or what weight of them, lie in each bin; and the edges of the bins.

    Args:
        input: floats of any shape.
        bins: how many bins of one size, or their edges.
        range: the first and the last edge; the least and the largest element unless given.
        weight: what each element counts.
        density: whether to divide by the total and the size of each bin.

    Raises:
        RuntimeError: for ranges and numbers of bins that there are not.
        NotImplementedError: for integers.
    """
    _require_floats(input)
    points = values_on_host(input._array, "histogram(), whose edges are values").reshape(-1, 1)
    edges = _edges("histogram", points, (bins,), range)
    weights = _weights(input, input._array.shape, weight)
    counts = new_tensor(_counts(points, edges, weights, density))
    return return_types.histogram(counts, new_tensor(edges[0].copy()))


@takes(
    "input: Tensor, bins: int", "input: Tensor, bins: Ints", "input: Tensor, bins: Sequence[Tensor]"
)
def histogramdd(
    input: Tensor,
    bins: Any,
    range: Sequence[float] | None = None,  # noqa: A002 - torch's name
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """How many points, or what weight of them, lie in each bin of a space; and all edges.

    Args:
        input: points (..., D), floats.
        bins: for all coordinates or each of them how many bins of one size; or the edges of each.
        range: the first and the last edge of every coordinate, one after another.
        weight: what each point counts (...).
        density: whether to divide by the total and the volume of each bin.

    Returns:
        hist, of D dimensions, and bin_edges, a tuple of D tensors.

    Raises:
        RuntimeError: for shapes, ranges and numbers of bins that there are not.
        NotImplementedError: for integers.
    """
    shape = input._array.shape
    if not shape:
        raise IndexError(f"{_NAME}: input tensor has no dimensions, but should have at least 2")
    if len(shape) < 2:
        raise RuntimeError(f"{_NAME}: input tensor should have at least 2 dimensions")
    count = shape[-1]
    every = [bins] * count if isinstance(bins, (int, np.integer)) else list(bins)
    if len(every) != count:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    if range is not None and len(range) != 2 * count:
        raise RuntimeError(
            f"{_NAME}: for a {count}-dimensional histogram range should have {2 * count} elements, "
            f"but got {len(range)}"
        )
    _require_floats(input)
    values = values_on_host(input._array, "histogramdd(), whose edges are values")
    points = values.reshape(-1, count)
    edges = _edges("histogramdd", points, every, range)
    weights = _weights(input, shape[:-1], weight)
    hist = new_tensor(_counts(points, edges, weights, density))
    return return_types.histogramdd(hist, tuple([new_tensor(edge.copy()) for edge in edges]))
