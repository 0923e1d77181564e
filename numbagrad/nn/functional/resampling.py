"""Resampling of images and other grids: ``interpolate``, and channels as pixels and back.

Called by users and by the layers of ``nn/resampling.py``. Linear interpolation is a product with a
matrix of two weights a row along each dimension. It has kernels, as the nearest elements have
(``executor/families/interpolation.py``); on other devices it is a product, and what the kernels
know no dtype of is read by its places.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...dispatch.policies import autocasts
from ...executor import capture
from ...executor.families import indexing
from ...executor.families import interpolation as nearest
from ...executor.memory.arrays import constant_beside, filled_like
from ...ops.operators.tensor_operator import TensorOperator
from ...tensor import Tensor
from ...transforms.batching import folded
from ...transforms.tangents import multilinear
from ...type_names import type_name
from .adaptive_pooling import adaptive_avg_pool
from .checks import refuse_kinds, require_elements

__all__ = [
    "channel_shuffle", "interpolate", "pixel_shuffle", "pixel_unshuffle", "upsample",
    "upsample_bilinear", "upsample_nearest",
]  # fmt: skip

Array = np.ndarray[Any, Any]

#: The modes that interpolate, and the number of dimensions of their input.
_LINEAR = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}
_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"


def _check(input: Tensor, mode: str, align_corners: bool | None) -> None:
    if mode in ("nearest", "nearest-exact", "area"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | "
                "bilinear | bicubic | trilinear"
            )
    elif mode in tuple(_LINEAR) and input.ndim in (3, 4, 5) and input.ndim != _LINEAR[mode]:
        raise NotImplementedError(
            f"Got {input.ndim}D input, but {mode} mode needs {_LINEAR[mode]}D input"
        )
    if input.ndim not in (3, 4, 5) or mode not in (*_LINEAR, "nearest", "nearest-exact", "area"):
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.ndim}D) for the modes: {_MODES} (got {mode})"
        )


def _per_axis(
    value: Any, input: Tensor, name: str, symbols: str, accepts: Callable[[Any], bool]
) -> list[Any]:
    """An option for each spatial dimension, from one number or a sequence of them."""
    rank = max(input.ndim - 2, 0)
    whole = isinstance(value, (list, tuple))
    if whole and len(value) != rank:
        raise ValueError(
            f"Input and {name} must have the same number of spatial dimensions, but got input with "
            f"spatial dimensions of {list(input.shape[2:])} and {name} of shape {value}. Please "
            f"provide input tensor in (N, C, d1, d2, ...,dK) format and {name} in "
            f"({symbols}1, {symbols}2, ...,{symbols}K) format."
        )
    for entry in value if whole else (value,):
        if not accepts(entry):
            kind = f"element of type {type_name(entry)}" if whole else type_name(entry)
            raise TypeError(
                f"interpolate(): argument '{name.rpartition(' ')[2]}' must be a number, or a tuple "
                f"of one for each spatial dimension, not {kind}"
            )
    return list(value) if whole else [value] * rank


def _is_size(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value._array.size == 1 and value._array.dtype.kind in "iu"
    return not isinstance(value, bool) and hasattr(value, "__index__")


def _is_factor(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating))


@autocasts("unchanged")
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: Any = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Another number of elements in the spatial dimensions of (N, C, ...).

    Args:
        input: one to three spatial dimensions.
        size: the new sizes, or
        scale_factor: the factors of the sizes.
        mode: "nearest", "nearest-exact", "area", or "linear", "bilinear", "trilinear" by the number
            of dimensions; "bicubic" for two.
        align_corners: for linear modes, whether the centres of the outermost elements stay where
            they are, or their outer edges.
        recompute_scale_factor: whether coordinates follow from the sizes, not from given factors.
        antialias: whether fewer elements are weighted means of all that they stand for; for
            "bilinear" and "bicubic".

    Raises:
        ValueError: unless exactly one of ``size`` and ``scale_factor`` is given.
        NotImplementedError: for other modes.
    """
    if antialias and not (input.ndim == 4 and mode in ("bilinear", "bicubic")):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D "
            f"tensor as input, but got {input.ndim} dimensions and {mode}"
        )
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    sizes = input._array.shape[2:]
    factors: list[Any] = [None] * len(sizes)
    if size is not None:
        counts = [int(n) for n in _per_axis(size, input, "output size", "o", _is_size)]
    elif scale_factor is not None:
        factors = _per_axis(scale_factor, input, "scale_factor", "s", _is_factor)
        if not all([math.isfinite(factor) for factor in factors]):
            raise RuntimeError(f"interpolate: scale_factor should be finite, but got {factors}")
        counts = [math.floor(n * factor) for n, factor in zip(sizes, factors, strict=True)]
        if recompute_scale_factor:
            factors = [None] * len(sizes)
    else:
        raise ValueError("either size or scale_factor should be defined")
    _check(input, mode, align_corners)
    return resampled(
        input, tuple(counts), tuple(factors), mode, bool(align_corners), bool(antialias)
    )


def resampled(
    input: Tensor,
    counts: tuple[int, ...],
    factors: tuple[float | None, ...],
    mode: str,
    align_corners: bool,
    antialias: bool,
) -> Tensor:
    """``interpolate`` to sizes, by factors where they are not None, of a mode that was checked.

    Raises:
        RuntimeError: for sizes without elements.
    """
    sizes = input._array.shape[2:]
    takes_bytes = mode in ("nearest", "nearest-exact", "bilinear", "bicubic")
    if not (takes_bytes and input._array.dtype == np.uint8):
        refuse_kinds("interpolate", input, "biuc")
    if 0 in sizes or (counts and min(counts) <= 0):
        raise RuntimeError(
            "interpolate: Input and output sizes should be greater than 0, but got input "
            f"{list(sizes)} and output {list(counts)}"
        )
    if mode == "area":
        return adaptive_avg_pool(len(sizes), input, counts)
    require_elements("interpolate", input, 1)
    grid = Grid(sizes, counts, factors, mode, align_corners, antialias)
    made: Tensor = _OPERATORS[f"{mode} aa" if antialias else mode, len(sizes)](input, grid)
    return made


class Grid(NamedTuple):
    """The options of a resampling; sizes are those of the spatial dimensions."""

    sizes: tuple[int, ...]
    counts: tuple[int, ...]
    #: The factors that were given, None where the sizes say it.
    factors: tuple[float | None, ...]
    mode: str
    align_corners: bool
    antialias: bool = False

    def steps(self) -> list[float]:
        """The distance of two new elements, counted in old ones, in each dimension."""
        return [
            n / count if factor is None else self._step(n, count, factor)
            for n, count, factor in zip(self.sizes, self.counts, self.factors, strict=True)
        ]

    def _step(self, size: int, count: int, factor: float) -> float:
        """By a factor; torch leaves it out of account where that changes no size, in most modes."""
        if self.mode == "nearest":
            if len(self.sizes) == 2 and count in (size, 2 * size):
                return size / count
        elif count == size and (self.antialias or self.mode not in ("nearest-exact", "bicubic")):
            return 1.0
        return 1 / factor

    def shown(self) -> dict[str, Any]:
        """How nodes show it: under torch's names."""
        names = ("scales",) if len(self.sizes) == 1 else ("scales_d", "scales_h", "scales_w")
        fields: dict[str, Any] = dict(zip(names[-len(self.sizes) :], self.factors, strict=True))
        fields["output_size"] = self.counts
        if self.mode in _LINEAR:
            fields["align_corners"] = self.align_corners
        return fields


@functools.lru_cache(maxsize=256)
def _linear_weights(size: int, count: int, step: float, align_corners: bool, dtype: Any) -> Array:
    """The matrix (count, size) of linear interpolation."""
    if align_corners:
        positions = np.arange(count) * ((size - 1) / (count - 1) if count > 1 else 0.0)
    else:
        positions = np.maximum((np.arange(count) + 0.5) * step - 0.5, 0.0)
    before = np.minimum(positions.astype(np.int64), size - 1)
    after = np.minimum(before + 1, size - 1)
    share = positions - before
    weights = np.zeros((count, size))
    rows = np.arange(count)
    np.add.at(weights, (rows, before), 1 - share)
    np.add.at(weights, (rows, after), share)
    return weights.astype(dtype)


#: The parameter of the cubic kernel: torch's, and with antialias that of Keys.
_SHARP, _KEYS = -0.75, -0.5


def _cubic(distance: Array, a: float) -> Array:
    """The cubic convolution kernel (R. Keys, *Cubic convolution interpolation*, 1981)."""
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


@functools.lru_cache(maxsize=256)
def _cubic_weights(size: int, count: int, step: float, align_corners: bool, dtype: Any) -> Array:
    """The matrix (count, size) of cubic interpolation; beyond the border the last one repeats."""
    if align_corners:
        positions = np.arange(count) * ((size - 1) / (count - 1) if count > 1 else 0.0)
    else:
        positions = (np.arange(count) + 0.5) * step - 0.5
    before = np.floor(positions).astype(np.int64)
    weights = np.zeros((count, size))
    for offset in (-1, 0, 1, 2):
        taps = before + offset
        rows = np.arange(count)
        np.add.at(weights, (rows, np.clip(taps, 0, size - 1)), _cubic(positions - taps, _SHARP))
    return weights.astype(dtype)


@functools.lru_cache(maxsize=256)
def _smoothed_weights(
    size: int, count: int, step: float, align_corners: bool, dtype: Any, cubic: bool
) -> Array:
    """The matrix (count, size) of means whose kernel is as wide as what an element stands for."""
    if align_corners:
        step = (size - 1) / (count - 1) if count > 1 else 0.0
    wide = max(step, 1.0)
    support = (2 if cubic else 1) * wide
    centers = step * (np.arange(count) + 0.5)
    first = np.maximum((centers - support + 0.5).astype(np.int64), 0)
    end = np.minimum((centers + support + 0.5).astype(np.int64), size)
    positions = np.arange(size)
    distances = (positions + 0.5 - centers[:, None]) / wide
    weights = _cubic(distances, _KEYS) if cubic else np.maximum(1 - np.abs(distances), 0)
    weights = np.where((positions >= first[:, None]) & (positions < end[:, None]), weights, 0)
    made: Array = weights / weights.sum(1, keepdims=True)
    return made.astype(dtype)


def _weights(grid: Grid, size: int, count: int, step: float, dtype: Any) -> Array:
    """The matrix (count, size) of one dimension of a resampling."""
    arguments = size, count, step, grid.align_corners, dtype
    if grid.antialias:
        return _smoothed_weights(*arguments, grid.mode == "bicubic")
    return (_cubic_weights if grid.mode == "bicubic" else _linear_weights)(*arguments)


@functools.lru_cache(maxsize=256)
def _nearest_positions(size: int, count: int, step: float, middle: float) -> Array:
    """For each new element the place of the old one that it repeats."""
    positions = np.floor((np.arange(count) + middle).astype(np.float32) * np.float32(step))
    return np.minimum(positions, size - 1).astype(np.int64)


def _positions(grid: Grid) -> list[Array]:
    """The places of the nearest elements in each dimension."""
    middle = 0.5 if grid.mode == "nearest-exact" else 0.0
    return [
        _nearest_positions(n, count, step, middle)
        for n, count, step in zip(grid.sizes, grid.counts, grid.steps(), strict=True)
    ]


@functools.lru_cache(maxsize=256)
def _nearest_words(grid: Grid, adjoint: bool) -> Array:
    words = nearest.ends_words if adjoint else nearest.positions_words
    return words(grid.sizes, _positions(grid))


def _nearest(array: Array, grid: Grid, adjoint: bool) -> Array:
    """``_resampled`` by the nearest element."""
    if nearest.has_kernels(array):
        words = _nearest_words(grid, adjoint)
        if adjoint:
            return nearest.gathered_back(array, grid.sizes, words)
        return nearest.repeated(array, grid.counts, words)
    for dim, (n, positions) in enumerate(zip(grid.sizes, _positions(grid), strict=True)):
        positions = constant_beside(array, positions)
        if not adjoint:
            array = indexing.index_select(array, dim + 2, positions)
            continue
        shape = (*array.shape[: dim + 2], n, *array.shape[dim + 3 :])
        summed = filled_like(array, shape, array.dtype, 0)
        indexing.index_add(summed, dim + 2, positions, array)
        array = summed
    return array


@functools.lru_cache(maxsize=256)
def _bands(grid: Grid, dim: int, dtype: Any, adjoint: bool) -> nearest.Bands:
    """The weights of one dimension, as the kernel takes them."""
    matrix = _weights(grid, grid.sizes[dim], grid.counts[dim], grid.steps()[dim], dtype)
    return nearest.bands_of(matrix.T if adjoint else matrix)


#: Bits of the largest weight of an image of bytes, and the most that any weight is shifted by.
_WEIGHT_BITS, _MOST_PRECISE = 15, 22


@functools.lru_cache(maxsize=256)
def _byte_bands(grid: Grid, dim: int) -> tuple[nearest.Bands, int]:
    """The weights of one dimension in whole numbers of 16 bits, and the bits behind the point."""
    step = grid.steps()[dim]
    matrix = _weights(grid, grid.sizes[dim], grid.counts[dim], step, np.float64)
    largest = float(matrix.max())
    bits = 0
    while bits < _MOST_PRECISE and int(0.5 + largest * 2 ** (bits + 1)) < 2**_WEIGHT_BITS:
        bits += 1
    scaled = matrix * 2.0**bits
    return nearest.bands_of(np.trunc(scaled + np.copysign(0.5, scaled))), bits


def _resampled_bytes(array: Array, grid: Grid) -> Array:
    """Images (N, C, H, W) of uint8, rounded to such after each dimension, as in torch and Pillow.

    Sums of whole numbers are exact in float64. A dimension whose size stays is left as it is.
    """
    made = array.astype(np.float64)
    for dim in (1, 0):
        if grid.sizes[dim] == grid.counts[dim]:
            continue
        bands, bits = _byte_bands(grid, dim)
        made = nearest.weighted(made, dim + 2, bands)
        made += 2.0 ** (bits - 1)
        made *= 2.0**-bits
        np.floor(made, out=made)
        np.clip(made, 0, 255, out=made)
    return made.astype(np.uint8)


def _resampled(array: Array, grid: Grid, adjoint: bool) -> Array:
    """The new elements; or, as the adjoint, for each old element the sum over where it went."""
    if grid.mode not in _LINEAR:
        return _nearest(array, grid, adjoint)
    if array.dtype == np.uint8:
        made: Array = capture.call(_resampled_bytes, array, grid)
        return made
    rank = len(grid.sizes)
    # A line of the last dimension is read element by element: as long as there are few.
    grows = (math.prod(grid.counts) > math.prod(grid.sizes)) != adjoint
    for dim in reversed(range(rank)) if grows else range(rank):
        array = nearest.weighted(array, dim + 2, _bands(grid, dim, array.dtype, adjoint))
    return array


def _operator(name: str) -> TensorOperator:
    """A resampling whose nodes have torch's names."""
    operator = TensorOperator(
        "upsample",
        lambda input, geometry: _resampled(input, geometry, False),
        # The shape is for those who look at the node.
        {"input": lambda grad, input_shape, geometry: backward(grad, geometry)},
        grad_fn=f"Upsample{name}Backward0",
        batch=folded,
        tangent=multilinear,
        portable=True,
    )
    backward = TensorOperator(
        "upsample_backward",
        lambda grad_output, geometry: _resampled(grad_output, geometry, True),
        {"grad_output": lambda grad, geometry: operator(grad, geometry)},
        grad_fn=f"Upsample{name}BackwardBackward0",
        batch=folded,
        tangent=multilinear,
        portable=True,
    )
    return operator


_OPERATORS = {
    ("linear", 1): _operator("Linear1D"),
    ("bilinear", 2): _operator("Bilinear2D"),
    ("bicubic", 2): _operator("Bicubic2D"),
    ("bilinear aa", 2): _operator("Bilinear2DAa"),
    ("bicubic aa", 2): _operator("Bicubic2DAa"),
    ("trilinear", 3): _operator("Trilinear3D"),
    **{("nearest", rank): _operator(f"Nearest{rank}D") for rank in (1, 2, 3)},
    **{("nearest-exact", rank): _operator(f"NearestExact{rank}D") for rank in (1, 2, 3)},
}


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: Any = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """``interpolate`` under its old name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` by the nearest element."""
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` of images, linear in both directions, corners aligned."""
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)


# --- channels -------------------------------------------------------------------------------------


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels as pixels: (..., C * r², H, W) to (..., C, H * r, W * r).

    Raises:
        RuntimeError: if the channels cannot be divided by r².
    """
    if input.ndim < 3:
        raise RuntimeError(
            "pixel_shuffle expects input to have at least 3 dimensions, but got input with "
            f"{input.ndim} dimension(s)"
        )
    *batch, channels, height, width = input.shape
    factor = upscale_factor
    if channels % factor**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={channels} is not divisible by {factor**2}"
        )
    split = input.reshape(*batch, channels // factor**2, factor, factor, height, width)
    rank = len(batch)
    order = [*range(rank + 1), rank + 3, rank + 1, rank + 4, rank + 2]
    made = (*batch, channels // factor**2, height * factor, width * factor)
    return split.permute(order).reshape(made)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The inverse of ``pixel_shuffle``: (..., C, H * r, W * r) to (..., C * r², H, W).

    Raises:
        RuntimeError: if height or width cannot be divided by r.
    """
    if input.ndim < 3:
        raise RuntimeError(
            "pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
            f"{input.ndim} dimension(s)"
        )
    *batch, channels, height, width = input.shape
    factor = downscale_factor
    for name, position, size in (("height", -2, height), ("width", -1, width)):
        if size % factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({position})={size} is not divisible by {factor}"
            )
    split = input.reshape(*batch, channels, height // factor, factor, width // factor, factor)
    rank = len(batch)
    order = [*range(rank + 1), rank + 2, rank + 4, rank + 1, rank + 3]
    made = (*batch, channels * factor**2, height // factor, width // factor)
    return split.permute(order).reshape(made)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of (N, C, ...) in groups, dealt out like cards.

    Raises:
        RuntimeError: if the channels cannot be divided by ``groups``.
    """
    if input._array.ndim < 3:
        raise RuntimeError(
            "channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(input._array.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    channels = input.size(1)
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} "
            "groups."
        )
    split = input.unflatten(1, (groups, channels // groups))
    return split.transpose(1, 2).reshape(input.shape)
