"""Adaptive pooling: the largest element or the mean of parts, of which a number is given.

Called by users and by the layers of ``nn/pooling.py``. Means are sums by weights, as those of
resampling, whose kernels they share.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...dispatch.policies import autocasts
from ...executor.families import interpolation as resampling
from ...executor.families import pooling as executor
from ...executor.memory.arrays import filled_like
from ...half_precision import converted
from ...ops.operators.tensor_operator import TensorOperator
from ...tensor import Tensor
from ...transforms.batching import folded
from ...transforms.tangents import multilinear
from ...type_names import type_name
from .checks import refuse_kinds, require_elements
from .pooling import batched, taken
from .windows import IMAGES, LINES, VOLUMES, named

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d",
]  # fmt: skip

Array = np.ndarray[Any, Any]

_largest_of_all_parts = TensorOperator(
    "adaptive_max_pool",
    lambda input, counts: executor.largest_of_parts(input, counts),
    {},
    batch=folded,
    takes_half=True,
)


def _parts(size: int, count: int) -> tuple[Array, Array]:
    """Starts and ends of nearly equal parts, which may overlap."""
    numbers = np.arange(count)
    return numbers * size // count, -(-(numbers + 1) * size // count)


def _output_sizes(name: str, rank: int, input: Tensor, output_size: Any) -> tuple[int, ...]:
    """The sizes that ``output_size`` asks for, with those of the input for None."""
    if rank > 1 and isinstance(output_size, (list, tuple, str)) and len(output_size) >= input.ndim:
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    if isinstance(output_size, int) and not isinstance(output_size, bool):
        given: tuple[Any, ...] = (output_size,) * rank
    else:
        whole = isinstance(output_size, (list, tuple))
        given = tuple(output_size) if whole else (output_size,)
        for size in given:
            if not (_is_length(size) or (size is None and whole and rank > 1)):
                raise TypeError(
                    f"{name}(): argument 'output_size' (position 2) must be tuple of ints, but "
                    f"found {'element of ' if whole else ''}type {type_name(size)}"
                )
        if not whole:
            given *= rank
    if len(given) != rank:
        raise RuntimeError(
            f"{name}(): output_size must be {rank}, an int or as many of them, but got "
            f"{output_size}"
        )
    for size in given:
        if size is not None and size < 0:
            raise RuntimeError(
                f"{name}(): elements of output_size must be greater than or equal to 0, but got "
                f"{size}"
            )
    sizes = input._array.shape[-rank:]
    return tuple([n if wanted is None else wanted for wanted, n in zip(given, sizes, strict=True)])


def _is_length(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value._array.size == 1 and value._array.dtype.kind in "iu"
    return not isinstance(value, bool) and hasattr(value, "__index__")


@functools.lru_cache(maxsize=256)
def _bands_of_parts(size: int, count: int, kind: Any, adjoint: bool) -> resampling.Bands:
    """The matrix (count, size) of means of parts, or its transpose, by what is not zero in it.

    A product with all of it would spread an infinity of one part over all others.
    """
    weights = np.zeros((count, size))
    for row, start, end in zip(weights, *_parts(size, count), strict=True):
        row[start:end] = 1 / (end - start)
    weights = converted(weights, kind)
    return resampling.bands_of(weights.T if adjoint else weights)


def _means(array: Array, counts: tuple[int, ...], adjoint: bool) -> Array:
    """Means of ``counts`` parts of the dimensions from the third on, or the adjoint from these."""
    if 0 in counts or 0 in array.shape[2:]:  # of no parts
        return filled_like(array, (*array.shape[:2], *counts), array.dtype, 0)
    for dim in reversed(range(2, array.ndim)):
        size, count = array.shape[dim], counts[dim - 2]
        bands = _bands_of_parts(*(count, size) if adjoint else (size, count), array.dtype, adjoint)
        array = resampling.weighted(array, dim, bands)
    return array


@functools.cache
def _averaging(rank: int) -> TensorOperator:
    """Means of parts (N, C, *counts) of ``rank`` dimensions, by torch's name of the node."""
    adjoint = TensorOperator(
        "adaptive_avg_pool_backward",
        lambda grad_output, sizes: _means(grad_output, sizes, True),
        {
            "grad_output": lambda grad, grad_output_shape: means(grad, grad_output_shape[2:]),
            "sizes": None,  # type: ignore[dict-item]
        },
        grad_fn=f"AdaptiveAvgPool{rank}DBackwardBackward0",
        batch=folded,
        tangent=multilinear,
        portable=True,
    )
    means = TensorOperator(
        "adaptive_avg_pool",
        lambda input, counts: _means(input, counts, False),
        {
            "input": lambda grad, input_shape: adjoint(grad, input_shape[2:]),
            "counts": None,  # type: ignore[dict-item]
        },
        grad_fn=f"AdaptiveAvgPool{rank}DBackward0",
        batch=folded,
        tangent=multilinear,
        portable=True,
    )
    return means


def adaptive_avg_pool(rank: int, input: Tensor, output_size: Any) -> Tensor:
    """The means of parts of the last ``rank`` dimensions."""
    name = f"adaptive_avg_pool{rank}d"
    counts = _output_sizes(name, rank, input, output_size)
    inputs = batched(rank, input, name)
    require_elements(name, input, 1 if rank == 3 else input._array.ndim - rank)
    if max(counts) == 1:
        return input.mean(list(range(-rank, 0)), keepdim=True)
    refuse_kinds(name, input, "biuc")
    if rank == 1:  # as an image of one line, by torch's nodes
        made: Tensor = _averaging(2)(inputs.unsqueeze(-2), (1, *counts)).squeeze(-2)
    else:
        made = _averaging(rank)(inputs, counts)
    return made if inputs is input else made.squeeze(0)


def _means_of_parts(rank: int, shapes: str) -> Callable[..., Tensor]:
    """``adaptive_avg_pool1d`` and its kin."""

    def function(input: Tensor, output_size: Any) -> Tensor:
        return adaptive_avg_pool(rank, input, output_size)

    return named(
        function,
        f"adaptive_avg_pool{rank}d",
        f"""The means of ``output_size`` parts of {shapes}, which may overlap.

        A size of None keeps that of the input.
        """,
    )


def _largest_of_parts(rank: int, shapes: str) -> Callable[..., Any]:
    """``adaptive_max_pool1d`` and its kin."""

    def function(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        name = f"adaptive_max_pool{rank}d"
        counts = _output_sizes(name, rank, input, output_size)
        inputs = batched(rank, input, name)
        refuse_kinds(name, input, "biuc")
        require_elements(name, input, input._array.ndim - rank - (inputs is input))
        where = _largest_of_all_parts(inputs, counts)
        return taken(f"AdaptiveMaxPool{rank}D", inputs, where, inputs is input, return_indices)

    return named(
        function,
        f"adaptive_max_pool{rank}d",
        f"""The largest elements of ``output_size`` parts of {shapes}, which may overlap.

        A size of None keeps that of the input; with ``return_indices`` also where they were.
        """,
    )


adaptive_avg_pool1d = autocasts("unchanged")(_means_of_parts(1, LINES))
adaptive_avg_pool2d = autocasts("unchanged")(_means_of_parts(2, IMAGES))
adaptive_avg_pool3d = autocasts("float32")(_means_of_parts(3, VOLUMES))
adaptive_max_pool1d = _largest_of_parts(1, LINES)
adaptive_max_pool2d = _largest_of_parts(2, IMAGES)
adaptive_max_pool3d = autocasts("float32")(_largest_of_parts(3, VOLUMES))
