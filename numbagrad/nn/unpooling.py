"""Layers that undo max pooling, and max pooling over windows at random places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from . import functional as F
from .function_layer import forward_of
from .functional.windows import per_dimension
from .module import Module

__all__ = [
    "FractionalMaxPool2d", "FractionalMaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip


class _MaxUnpool(Module):
    """Elements where a max pooling found them, and zeros elsewhere.

    Args:
        kernel_size, stride, padding: those of the pooling; numbers, or one for each dimension.
    """

    _repr_format = "kernel_size={0.kernel_size}, stride={0.stride}, padding={0.padding}"

    rank: int
    compute: Callable[..., Tensor]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = per_dimension(kernel_size, self.rank, "kernel_size")
        self.stride = (
            self.kernel_size if stride is None else per_dimension(stride, self.rank, "stride")
        )
        self.padding = per_dimension(padding, self.rank, "padding")

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """The tensor that was pooled, but for what was not the largest of a window."""
        return type(self).compute(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool1d(_MaxUnpool):
    """The inverse of ``MaxPool1d``, given its indices."""

    rank = 1
    compute = staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    """The inverse of ``MaxPool2d``, given its indices."""

    rank = 2
    compute = staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    """The inverse of ``MaxPool3d``, given its indices."""

    rank = 3
    compute = staticmethod(F.max_unpool3d)


class _FractionalMaxPool(Module):
    """The largest elements of windows at random places.

    Args:
        kernel_size: the size of a window; a number, or one for each dimension.
        output_size: how many windows there are, or
        output_ratio: their number as a share of the size, between 0 and 1.
        return_indices: whether the layer also returns where the elements were.
        _random_samples: (N, C, dimensions), from 0 to 1, in the place of random numbers.

    Raises:
        ValueError: unless exactly one of size and ratio is given, and for other ratios.
    """

    rank: int
    return_indices: bool
    kernel_size: tuple[int, ...]
    output_size: tuple[int, ...] | None
    output_ratio: tuple[float, ...] | None
    _random_samples: Tensor | None

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{type(self).__name__} requires specifying either an output size, or a pooling "
                "ratio"
            )
        self.kernel_size = per_dimension(kernel_size, self.rank, "kernel_size")
        if min(self.kernel_size) <= 0:
            raise ValueError(
                f"{type(self).__name__}: kernel_size must be greater than zero, but got "
                f"{kernel_size}"
            )
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = self.output_ratio = None
        if output_size is not None:
            self.output_size = per_dimension(output_size, self.rank, "output_size")
        if output_ratio is not None:
            ratios = (output_ratio,) * self.rank
            self.output_ratio = ratios if isinstance(output_ratio, float) else tuple(output_ratio)
        if self.output_ratio is not None and not all(0 < x < 1 for x in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")


@forward_of(F.fractional_max_pool2d)
class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima of windows of images at random places."""

    rank = 2


@forward_of(F.fractional_max_pool3d)
class FractionalMaxPool3d(_FractionalMaxPool):
    """Maxima of windows of volumes at random places."""

    rank = 3
