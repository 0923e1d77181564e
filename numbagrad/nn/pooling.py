"""Pooling layers: the functions of ``functional/pooling.py`` with their options kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from . import functional as F
from .module import Module

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "LPPool1d",
    "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d",
]  # fmt: skip


class Pool(Module):
    """A layer that calls one function with its options."""

    compute: Callable[..., Any]


class _MaxPool(Pool):
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

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        """Apply the layer."""
        return type(self).compute(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
            self.return_indices,
        )  # fmt: skip


class MaxPool1d(_MaxPool):
    """Maxima of windows of (N, C, L)."""

    compute = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPool):
    """Maxima of windows of images (N, C, H, W)."""

    compute = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPool):
    """Maxima of windows of volumes (N, C, D, H, W)."""

    compute = staticmethod(F.max_pool3d)


class _AvgPool(Pool):
    """Means of windows; options as of the maxima.

    ``count_include_pad`` says whether zeros of the padding count, ``divisor_override`` takes the
    place of the count of elements.
    """

    _repr_format = "kernel_size={0.kernel_size}, stride={0.stride}, padding={0.padding}"

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        return type(self).compute(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip


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

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad,
        )  # fmt: skip


class AvgPool2d(_AvgPool):
    """Means of windows of images (N, C, H, W)."""

    compute = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPool):
    """Means of windows of volumes (N, C, D, H, W)."""

    compute = staticmethod(F.avg_pool3d)


class _LPPool(Pool):
    """Norms of windows."""

    _repr_format = (
        "norm_type={0.norm_type}, kernel_size={0.kernel_size}, stride={0.stride}, "
        "ceil_mode={0.ceil_mode}"
    )

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        return type(self).compute(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool1d(_LPPool):
    """Norms of windows of (N, C, L)."""

    compute = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPool):
    """Norms of windows of images (N, C, H, W)."""

    compute = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPool):
    """Norms of windows of volumes (N, C, D, H, W)."""

    compute = staticmethod(F.lp_pool3d)


class _AdaptiveAvgPool(Pool):
    """Means of a given number of parts, ``output_size``; None keeps the size of a dimension."""

    _repr_format = "output_size={0.output_size}"

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        return type(self).compute(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means of parts of (N, C, L)."""

    compute = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Means of parts of images (N, C, H, W)."""

    compute = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Means of parts of volumes (N, C, D, H, W)."""

    compute = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMaxPool(Pool):
    """Maxima of a given number of parts, ``output_size``; None keeps the size of a dimension."""

    _repr_format = _AdaptiveAvgPool._repr_format

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        """Apply the layer."""
        return type(self).compute(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Maxima of parts of (N, C, L)."""

    compute = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Maxima of parts of images (N, C, H, W)."""

    compute = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Maxima of parts of volumes (N, C, D, H, W)."""

    compute = staticmethod(F.adaptive_max_pool3d)
