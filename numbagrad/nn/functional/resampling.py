"""Resampling of images and other grids: ``interpolate``, and channels as pixels and back.

Called by users and by the layers of ``nn/resampling.py``. Linear interpolation is a product with a
matrix of two weights a row along each dimension.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...executor import capture
from ...tensor import Tensor, new_tensor
from .linear import along
from .pooling import adaptive_avg_pool

__all__ = [
    "channel_shuffle", "interpolate", "pixel_shuffle", "pixel_unshuffle", "upsample",
    "upsample_bilinear", "upsample_nearest",
]  # fmt: skip

Array = np.ndarray[Any, Any]

#: The modes that interpolate, and the number of dimensions of their input.
_LINEAR = {"linear": 3, "bilinear": 4, "trilinear": 5}
_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"


def _check(input: Tensor, mode: str, align_corners: bool | None) -> None:
    if mode in ("nearest", "nearest-exact", "area"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | "
                "bilinear | bicubic | trilinear"
            )
    elif mode in _LINEAR and input.ndim in (3, 4, 5) and input.ndim != _LINEAR[mode]:
        raise NotImplementedError(
            f"Got {input.ndim}D input, but {mode} mode needs {_LINEAR[mode]}D input"
        )
    if input.ndim not in (3, 4, 5) or mode not in (*_LINEAR, "nearest", "nearest-exact", "area"):
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.ndim}D) for the modes: {_MODES} (got {mode})"
        )


def _per_axis(value: Any, input: Tensor, name: str, symbols: str) -> list[Any]:
    rank = input.ndim - 2
    if not isinstance(value, Sequence):
        return [value] * rank
    if len(value) != rank:
        raise ValueError(
            f"Input and {name} must have the same number of spatial dimensions, but got input with "
            f"spatial dimensions of {list(input.shape[2:])} and {name} of shape {value}. Please "
            f"provide input tensor in (N, C, d1, d2, ...,dK) format and {name} in "
            f"({symbols}1, {symbols}2, ...,{symbols}K) format."
        )
    return list(value)


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
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
            of dimensions.
        align_corners: for linear modes, whether the centres of the outermost elements stay where
            they are, or their outer edges.
        recompute_scale_factor: whether coordinates follow from the sizes, not from given factors.
        antialias: not supported.

    Raises:
        ValueError: unless exactly one of ``size`` and ``scale_factor`` is given.
        NotImplementedError: for other modes.
    """
    _check(input, mode, align_corners)
    if antialias:
        raise NotImplementedError("interpolate: antialias is not supported")
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    sizes = input._array.shape[2:]
    factors: list[Any] = [None] * len(sizes)
    if size is not None:
        counts = _per_axis(size, input, "output size", "o")
    elif scale_factor is not None:
        factors = _per_axis(scale_factor, input, "scale_factor", "s")
        counts = [math.floor(n * factor) for n, factor in zip(sizes, factors, strict=True)]
        if recompute_scale_factor:
            factors = [None] * len(sizes)
    else:
        raise ValueError("either size or scale_factor should be defined")
    if mode == "area":
        return adaptive_avg_pool(len(sizes), input, counts)
    for dim, (count, factor) in enumerate(zip(counts, factors, strict=True), 2):
        n = input._array.shape[dim]
        step = n / count if factor is None else 1 / factor
        if mode in _LINEAR:
            weights = _linear_weights(n, count, step, bool(align_corners))
            matrix = capture.constant(weights.astype(input._array.dtype))
            input = along(input, dim - input.ndim, new_tensor(matrix))
        else:
            middle = 0.5 if mode == "nearest-exact" else 0.0
            places = np.floor((np.arange(count) + middle).astype(np.float32) * np.float32(step))
            places = capture.constant(np.minimum(places, n - 1).astype(np.int64))
            input = input.index_select(dim, new_tensor(places))
    return input


def _linear_weights(size: int, count: int, step: float, align_corners: bool) -> Array:
    """The matrix (count, size) of linear interpolation."""
    if align_corners:
        places = np.arange(count) * ((size - 1) / (count - 1) if count > 1 else 0.0)
    else:
        places = np.maximum((np.arange(count) + 0.5) * step - 0.5, 0.0)
    before = np.minimum(places.astype(np.int64), size - 1)
    after = np.minimum(before + 1, size - 1)
    share = places - before
    weights = np.zeros((count, size))
    rows = np.arange(count)
    np.add.at(weights, (rows, before), 1 - share)
    np.add.at(weights, (rows, after), share)
    return weights


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
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
    return split.permute(order).reshape(*batch, -1, height * factor, width * factor)


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
    for name, place, size in (("height", -2, height), ("width", -1, width)):
        if size % factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({place})={size} is not divisible by {factor}"
            )
    split = input.reshape(*batch, channels, height // factor, factor, width // factor, factor)
    rank = len(batch)
    order = [*range(rank + 1), rank + 2, rank + 4, rank + 1, rank + 3]
    return split.permute(order).reshape(*batch, -1, height // factor, width // factor)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of (N, C, ...) in groups, dealt out like cards.

    Raises:
        RuntimeError: if the channels cannot be divided by ``groups``.
    """
    channels = input.size(1)
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} "
            "groups."
        )
    split = input.unflatten(1, (groups, channels // groups))
    return split.transpose(1, 2).reshape(input.shape)
