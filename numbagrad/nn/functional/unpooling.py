"""Max unpooling, max pooling over windows at random places, and names with indices.

Called by users and by the layers of ``nn/unpooling.py``.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...dtype import scalar_type_name
from ...executor.families.checks import check_inside
from ...ops.arguments.kinds import Sizes
from ...ops.creation.filled import zeros
from ...ops.creation.random import rand
from ...ops.indexing.scatter import scatter
from ...ops.operators.tensor_operator import TensorOperator
from ...tensor import Tensor
from ...transforms.batching import folded
from ...transforms.levels import is_transformed
from ...type_names import type_name
from .adaptive_pooling import adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d
from .checks import refuse_kinds, require_elements
from .pooling import max_pool1d, max_pool2d, max_pool3d, taken
from .windows import IMAGES, LINES, VOLUMES, named, per_dimension

__all__ = [
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d_with_indices",
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices", "max_pool1d_with_indices",
    "max_pool2d_with_indices", "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d",
    "max_unpool3d",
]  # fmt: skip

Array = np.ndarray[Any, Any]


# --- the inverse of max pooling -------------------------------------------------------------------


def _output_sizes(
    sizes: tuple[int, ...], kernel: tuple[int, ...], stride: tuple[int, ...],
    padding: tuple[int, ...], output_size: Any,
) -> tuple[int, ...]:  # fmt: skip
    """The spatial dimensions that were pooled: as small as they may be, unless given."""
    rank = len(kernel)
    default = [
        (n - 1) * s + k - 2 * p for n, s, k, p in zip(sizes, stride, kernel, padding, strict=True)
    ]
    for dim, size in enumerate(default):
        if not size >= 0:
            raise ValueError(
                "max_unpooling: output_size must contain non-negative spatial dimensions, but got "
                f"output_size[{dim}]={size}, of kernel_size={kernel}, stride={stride} and padding="
                f"{padding}"
            )
        if isinstance(size, float):
            raise TypeError(
                f"max_unpool{rank}d(): argument 'kernel_size' must be tuple of ints, but got "
                f"{kernel}"
            )
    if output_size is None:
        return tuple(default)
    given = tuple(output_size)
    if len(given) == rank + 2:
        given = given[2:]
    if len(given) != rank:
        raise ValueError(
            f"output_size should be a sequence containing {rank} or {rank + 2} elements, but it "
            f"has a length of '{len(given)}'"
        )
    for dim, (size, least, s) in enumerate(zip(given, default, stride, strict=True)):
        if not least - s < size < least + s:
            raise ValueError(
                f'invalid output_size "{given}" (dim {dim} must be between {least - s} and '
                f"{least + s})"
            )
    return given


def _kernel(rank: int, value: Any) -> tuple[Any, ...]:
    """The size of a window in each dimension: numbers, of which sizes are made first."""
    whole = isinstance(value, (list, tuple))
    found = tuple(value) if whole else (value,) * rank
    for entry in found:
        kinds = (int, np.integer) if whole else (int, float, np.integer)
        if not isinstance(entry, kinds) or (rank == 3 and isinstance(entry, bool)):
            raise TypeError(
                f"max_unpool{rank}d(): argument 'kernel_size' (position 3) must be tuple of ints, "
                f"not {type_name(value)}"
            )
    if len(found) == 1:
        found *= rank
    if len(found) != rank:
        raise RuntimeError(
            f"max_unpool{rank}d(): argument 'kernel_size' must be an int or {rank} of them, but "
            f"got {value}"
        )
    return found


def _check_positions(indices: Array, sizes: tuple[int, ...]) -> None:
    count = int(np.prod(sizes))
    outside = (indices < 0) | (indices >= count)
    if outside.any():
        volumes = "x".join(map(str, sizes))
        raise RuntimeError(
            f"Found an invalid max index: {indices[outside].flat[0]} (output volumes are of size "
            f"{volumes})"
        )


def _check_unpooled(rank: int, input: Tensor, indices: Tensor) -> None:
    if indices._array.dtype != np.int64:
        raise RuntimeError(
            f"elements in indices should be type int64 but got: {scalar_type_name(indices.dtype)}"
        )
    if input._array.ndim not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Input to max_unpooling{rank}d should be a {rank + 1}d or {rank + 2}d Tensor, but got "
            f"a tensor with {input._array.ndim} dimensions."
        )
    require_elements(f"max_unpool{rank}d", input, 1)
    if input._array.shape != indices._array.shape:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({list(input._array.shape)}) but got indices tensor with shape: "
            f"{list(indices._array.shape)}"
        )


def _max_unpool_of(rank: int, shapes: str) -> Callable[..., Tensor]:
    """``max_unpool1d`` and its kin."""

    def function(
        input: Tensor,
        indices: Tensor,
        kernel_size: object,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> Tensor:
        _check_unpooled(rank, input, indices)
        kernel = _kernel(rank, kernel_size)
        steps = kernel if stride is None else per_dimension(stride, rank, "stride")
        leading, sizes = input._array.shape[:-rank], input._array.shape[-rank:]
        sizes = _output_sizes(
            sizes, kernel, steps, per_dimension(padding, rank, "padding"), output_size
        )
        if not is_transformed(indices):  # of samples, scatter() checks them all
            positions, count = indices._array, int(np.prod(sizes))
            subject = f"max_unpool{rank}d(): an index"
            check_inside(subject, positions, count, _check_positions, positions, sizes)
        flat = zeros(*leading, int(np.prod(sizes)), dtype=input.dtype, device=input.device)
        made = scatter(flat, -1, indices.flatten(-rank), input.flatten(-rank))
        return made.reshape(*leading, *sizes)

    return named(
        function,
        f"max_unpool{rank}d",
        f"""Elements of {shapes} where ``max_pool{rank}d`` found them, and zeros elsewhere.

        ``indices`` are those that the pooling returned; ``output_size`` is the size that was
        pooled, where several would have led to the same.

        Raises:
            ValueError: for an output size that does not fit the windows.
            RuntimeError: for indices beyond it, or of another shape or dtype.
        """,
    )


max_unpool1d = _max_unpool_of(1, LINES)
max_unpool2d = _max_unpool_of(2, IMAGES)
max_unpool3d = _max_unpool_of(3, VOLUMES)


# --- windows of random places ---------------------------------------------------------------------


def _starts(samples: Array, size: int, count: int, width: int) -> Array:
    """Where the windows begin, for each of the random numbers: (..., count)."""
    if count == 1:
        return np.full((*samples.shape, 1), size - width)
    step = samples.dtype.type((size - width) / (count - 1))
    numbers = np.arange(count - 1, dtype=samples.dtype)
    first = (samples * step).astype(np.int64)[..., None]
    begun = ((samples[..., None] + numbers) * step).astype(np.int64) - first
    last = np.full((*samples.shape, 1), size - width)
    return np.concatenate([begun, last], -1)


def _largest_of_windows(
    array: Array, samples: Array, kernel: tuple[int, ...], counts: tuple[int, ...]
) -> Array:
    """Flat indices of the largest elements of the windows of (N, C, ...)."""
    rank = len(kernel)
    sizes = array.shape[2:]
    where: Any = 0
    # As in torch, the random numbers of images are those of the width first.
    numbers = (1, 0) if rank == 2 else (0, 1, 2)
    for axis, (size, count, width) in enumerate(zip(sizes, counts, kernel, strict=True)):
        starts = _starts(samples[..., numbers[axis]], size, count, width)
        positions = starts[..., None] + np.arange(width)
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = count, width
        where = where * size + positions.reshape(*array.shape[:2], *shape)
    batch, channels = array.shape[:2]
    where = where.reshape(batch, channels, *counts, math.prod(kernel))
    flat = array.reshape(batch, channels, math.prod(sizes))
    wanted = where.reshape(batch, channels, math.prod(counts) * math.prod(kernel))
    values = np.take_along_axis(flat, wanted, 2).reshape(where.shape)
    return np.take_along_axis(where, values.argmax(-1)[..., None], -1)[..., 0]


_positions_of_largest = TensorOperator(
    "fractional_max_pool",
    lambda input, samples, kernel, counts: _largest_of_windows(input, samples, kernel, counts),
    {},
    batch=folded,
)

_AXES = {2: ("height", "width"), 3: ("time", "height", "width")}


def _counts(rank: int, input: Tensor, output_size: Any, output_ratio: Any) -> tuple[int, ...]:
    """How many windows there are in each spatial dimension."""
    if output_size is None and output_ratio is None:
        raise ValueError(
            f"fractional_max_pool{rank}d requires specifying either an output_size or an "
            "output_ratio"
        )
    if output_size is not None:
        if isinstance(output_size, (list, tuple)) and len(output_size) != rank:
            raise RuntimeError(
                f"fractional_max_pool{rank}d: output_size must either be a single int or a tuple "
                f"of {rank} ints, but got {output_size}"
            )
        return per_dimension(output_size, rank, "output_size")
    ratios = (output_ratio,) * rank if isinstance(output_ratio, float) else tuple(output_ratio)
    sizes = input._array.shape[-rank:]
    return tuple([int(n * ratio) for n, ratio in zip(sizes, ratios, strict=True)])


def _fractional_max_pool(
    rank: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any,
    return_indices: bool, samples: Tensor | None,
) -> Any:  # fmt: skip
    name = f"fractional_max_pool{rank}d"
    counts = _counts(rank, input, output_size, output_ratio)
    kernel = per_dimension(kernel_size, rank, "kernel_size")
    if input._array.ndim not in (rank + 1, rank + 2):
        raise (RuntimeError if input._array.ndim else IndexError)(
            f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got "
            f"{list(input._array.shape)}"
        )
    batched = input._array.ndim == rank + 2
    require_elements(name, input, 1)
    refuse_kinds(name, input, "c")
    inputs = input if batched else input.unsqueeze(0)
    batch, channels, *sizes = inputs._array.shape
    if samples is None:
        samples = rand(batch, channels, rank, dtype=input.dtype, device=input.device)
    for position, (wanted, what) in enumerate(
        ((batch, "batch"), (channels, "channel"), (rank, "spatial"))
    ):
        if samples._array.shape[position] != wanted:
            raise RuntimeError(
                f"Expect _random_samples.size({position}) equals to input {what} size."
            )
    for axis, size, count, width in zip(_AXES[rank], sizes, counts, kernel, strict=True):
        if count + width - 1 > size:
            raise RuntimeError(
                f"{name}(): pool {axis} {width} too large relative to input {axis} {size}"
            )
    where = _positions_of_largest(inputs, samples, kernel, counts)
    return taken(f"FractionalMaxPool{rank}D", inputs, where, batched, return_indices)


def _fractional_max_pool_of(rank: int, shapes: str) -> Callable[..., Any]:
    """``fractional_max_pool2d`` and its kin."""

    def function(
        input: Tensor,
        kernel_size: Any,
        output_size: Sizes | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        return _fractional_max_pool(
            rank, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
        )

    return named(
        function,
        f"fractional_max_pool{rank}d",
        f"""The largest elements of windows of {shapes} at random places (Graham, 2015).

        There are ``output_size`` windows in each dimension, or that share of its size which
        ``output_ratio`` says. ``_random_samples`` (N, C, {rank}), from 0 to 1, takes the place of
        the random numbers of every channel.

        Raises:
            ValueError: without a size and a ratio.
            RuntimeError: for windows that do not fit.
        """,
    )


fractional_max_pool2d = _fractional_max_pool_of(2, IMAGES)
fractional_max_pool3d = _fractional_max_pool_of(3, VOLUMES)


# --- with indices ---------------------------------------------------------------------------------


def with_indices(pool: Callable[..., Any]) -> Callable[..., Any]:
    """The pooling that also returns where the elements were, under a name of its own."""

    def function(*arguments: Any, **options: Any) -> Any:
        bound = signature.bind(*arguments, **options).arguments
        return pool(**{**bound, "return_indices": True})

    signature = inspect.signature(pool)
    function.__signature__ = signature  # type: ignore[attr-defined]
    name = f"{pool.__name__}_with_indices"
    return named(
        function,
        name,
        f"``{pool.__name__}`` with ``return_indices``: elements, and where they were.",
    )


max_pool1d_with_indices = with_indices(max_pool1d)
max_pool2d_with_indices = with_indices(max_pool2d)
max_pool3d_with_indices = with_indices(max_pool3d)
adaptive_max_pool1d_with_indices = with_indices(adaptive_max_pool1d)
adaptive_max_pool2d_with_indices = with_indices(adaptive_max_pool2d)
adaptive_max_pool3d_with_indices = with_indices(adaptive_max_pool3d)
fractional_max_pool2d_with_indices = with_indices(fractional_max_pool2d)
fractional_max_pool3d_with_indices = with_indices(fractional_max_pool3d)
