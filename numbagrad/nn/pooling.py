"""Pooling layers: the functions of ``functional/pooling.py`` with their options kept."""

from __future__ import annotations

from typing import Any

from . import functional as F
from .function_layer import forward_of, layer
from .module import Module

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "LPPool1d",
    "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d",
]  # fmt: skip


@layer()
class _MaxPool(Module):
    """The largest element of every window.

    Args:
        kernel_size, stride, padding, dilation: numbers, or one for each spatial dimension; the
            stride is the size of the window unless given.
        return_indices: whether the layer also returns where the elements were.
        ceil_mode: whether the last window may reach beyond the end.
    """

    _repr_format = (
        "kernel_size={0.kernel_size}, stride={0.stride}, padding={0.padding}, "
        "dilation={0.dilation}, ceil_mode={0.ceil_mode}"
    )

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    dilation: Any = 1
    return_indices: bool = False
    ceil_mode: bool = False

    def __post_init__(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size


@forward_of(F.max_pool1d)
class MaxPool1d(_MaxPool):
    """Maxima of windows of (N, C, L)."""


@forward_of(F.max_pool2d)
class MaxPool2d(_MaxPool):
    """Maxima of windows of images (N, C, H, W)."""


@forward_of(F.max_pool3d)
class MaxPool3d(_MaxPool):
    """Maxima of windows of volumes (N, C, D, H, W)."""


@layer()
class _AvgPool(Module):
    """Means of windows; options as of the maxima.

    ``count_include_pad`` says whether zeros of the padding count, ``divisor_override`` takes the
    place of the count of elements.
    """

    _repr_format = "kernel_size={0.kernel_size}, stride={0.stride}, padding={0.padding}"

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None

    def __post_init__(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size


@forward_of(F.avg_pool1d)
class AvgPool1d(_AvgPool):
    """Means of windows of (N, C, L)."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        for name in ("kernel_size", "stride", "padding"):
            value = getattr(self, name)
            setattr(self, name, (value,) if isinstance(value, int) else value)


@forward_of(F.avg_pool2d)
class AvgPool2d(_AvgPool):
    """Means of windows of images (N, C, H, W)."""


@forward_of(F.avg_pool3d)
class AvgPool3d(_AvgPool):
    """Means of windows of volumes (N, C, D, H, W)."""


@layer()
class _LPPool(Module):
    """Norms of windows."""

    _repr_format = (
        "norm_type={0.norm_type}, kernel_size={0.kernel_size}, stride={0.stride}, "
        "ceil_mode={0.ceil_mode}"
    )

    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False


@forward_of(F.lp_pool1d)
class LPPool1d(_LPPool):
    """Norms of windows of (N, C, L)."""


@forward_of(F.lp_pool2d)
class LPPool2d(_LPPool):
    """Norms of windows of images (N, C, H, W)."""


@forward_of(F.lp_pool3d)
class LPPool3d(_LPPool):
    """Norms of windows of volumes (N, C, D, H, W)."""


@layer()
class _AdaptiveAvgPool(Module):
    """Means of a given number of parts, ``output_size``; None keeps the size of a dimension."""

    _repr_format = "output_size={0.output_size}"

    output_size: Any


@forward_of(F.adaptive_avg_pool1d)
class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means of parts of (N, C, L)."""


@forward_of(F.adaptive_avg_pool2d)
class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Means of parts of images (N, C, H, W)."""


@forward_of(F.adaptive_avg_pool3d)
class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Means of parts of volumes (N, C, D, H, W)."""


@layer()
class _AdaptiveMaxPool(Module):
    """Maxima of a given number of parts, ``output_size``; None keeps the size of a dimension."""

    _repr_format = _AdaptiveAvgPool._repr_format

    output_size: Any
    return_indices: bool = False


@forward_of(F.adaptive_max_pool1d)
class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Maxima of parts of (N, C, L)."""


@forward_of(F.adaptive_max_pool2d)
class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Maxima of parts of images (N, C, H, W)."""


@forward_of(F.adaptive_max_pool3d)
class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Maxima of parts of volumes (N, C, D, H, W)."""
