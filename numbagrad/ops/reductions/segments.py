"""Reductions of stretches of a dimension that lie one behind the other: ``segment_reduce``.

Called by users. It is made of ``scatter_reduce``, which has the gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtype import scalar_type_name
from ...executor.memory.arrays import constant_beside, values_on_host
from ...executor.plan.forms import with_sizes
from ...tensor import Tensor, new_tensor
from ...transforms.levels import is_batched
from ..arguments.shapes import dimension
from ..creation.filled import full
from ..indexing.scatter import scatter_reduce
from ..views.parts import narrow

__all__ = ["segment_reduce"]

Array = np.ndarray[Any, Any]

#: By torch's names those of ``scatter_reduce``, and what an empty segment is.
_KINDS = {
    "max": ("amax", -np.inf), "mean": ("sum", np.nan), "min": ("amin", np.inf),
    "prod": ("prod", 1.0), "sum": ("sum", 0.0),
}  # fmt: skip


def _lengths_of(lengths: Tensor | None, offsets: Tensor | None) -> tuple[Array, Array]:
    """The first place and the length of every segment."""
    given = offsets if lengths is None else lengths
    if given is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if given._array.dtype.kind != "i":
        raise RuntimeError(
            f"segment_reduce(): lengths and offsets are integers, but got {given.dtype}"
        )
    if is_batched(given):
        raise NotImplementedError(
            "segment_reduce(): lengths and offsets may not differ between the samples of vmap"
        )
    reader = "segment_reduce(), whose segments are values"
    found = values_on_host(given._array, reader).astype(np.int64)
    if lengths is None:
        return found[..., :-1], np.diff(found, axis=-1)
    return np.cumsum(found, -1) - found, found


def _check(shape: tuple[int, ...], starts: Array, counts: Array, axis: int, whole: bool) -> None:
    if axis >= len(shape) or counts.ndim != axis + 1 or counts.shape[:-1] != shape[:axis]:
        raise RuntimeError(
            f"segment_reduce(): expected lengths of {axis + 1} dimensions, the first ones those of "
            f"data before axis {axis}, but got lengths of shape {list(counts.shape)} for data of "
            f"shape {list(shape)}"
        )
    if counts.size and (counts.min() < 0 or starts.min() < 0):
        raise RuntimeError("segment_reduce(): lengths contains negative value!")
    length = shape[axis]
    if (starts + counts > length).any() or (whole and (counts.sum(-1) != length).any()):
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to "
            f"data.size(lengths.dim()-1) when !unsafe, which is {length}"
        )


def _segments_of(starts: Array, counts: Array, length: int) -> Array:
    """The segment of every element (..., length); one behind the last for what is in none."""
    positions = np.full((*counts.shape[:-1], length), counts.shape[-1])
    for row in np.ndindex(*counts.shape[:-1]):
        sizes = counts[row]
        shifts = np.repeat(starts[row] - (np.cumsum(sizes) - sizes), sizes)
        positions[row][shifts + np.arange(len(shifts))] = np.repeat(np.arange(len(sizes)), sizes)
    return positions


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Tensor:
    """One number for each segment of a dimension.

    Args:
        data: floats.
        reduce: "sum", "mean", "max", "min" or "prod".
        lengths: how long the segments are (..., segments), for every row before ``axis``.
        indices: is not supported, as in torch.
        offsets: where they start, and where the last one ends, instead of ``lengths``.
        axis: the dimension that is reduced; later ones stay.
        unsafe: whether lengths need not add up to the size of the dimension.
        initial: what every reduction starts with; without it an empty segment is the number that
            changes nothing, and NaN for a mean.

    Raises:
        RuntimeError: for lengths that do not fit, integers, or an unknown ``reduce``.
    """
    if reduce not in _KINDS:
        raise RuntimeError(
            f"segment_reduce(): reduce must be one of {', '.join(_KINDS)}, but got {reduce!r}"
        )
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if data._array.dtype.kind not in "fV":
        raise NotImplementedError(
            f"\"segment_reduce_cpu\" not implemented for '{scalar_type_name(data.dtype)}'"
        )
    shape = data._array.shape
    axis = dimension(len(shape), axis)
    starts, counts = _lengths_of(lengths, offsets)
    _check(shape, starts, counts, axis, lengths is not None and not unsafe)
    kind, neutral = _KINDS[reduce]
    segments, beyond = counts.shape[-1], [1] * (len(shape) - axis - 1)
    positions = _segments_of(starts, counts, shape[axis])
    index = new_tensor(constant_beside(data._array, positions))
    index = index.reshape(*shape[: axis + 1], *beyond)
    begin = neutral
    if reduce in ("sum", "prod", "mean"):
        begin = (0.0 if reduce == "mean" else neutral) if initial is None else initial
    sizes_of_start = with_sizes(shape, axis, segments + 1)
    start = full(sizes_of_start, begin, dtype=data.dtype, device=data.device)
    made = scatter_reduce(start, axis, index.expand(shape), data, kind)
    made = narrow(made, axis, 0, segments)
    if reduce == "mean":
        sizes = new_tensor(constant_beside(data._array, counts)).reshape(*counts.shape, *beyond)
        if initial is None:
            made = made.masked_fill(sizes == 0, neutral)
        return made / sizes.clamp(min=1)
    if kind in ("amax", "amin") and initial is not None:
        beaten = made < initial if kind == "amax" else made > initial
        made = made.masked_fill(beaten, initial)
    return made
