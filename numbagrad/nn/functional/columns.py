"""``unfold`` and ``fold``: the windows of images as columns, and the sum of columns into images."""

from __future__ import annotations

import math
from typing import Any

from ...ops.arguments.kinds import Sizes
from ...ops.operators.tensor_operator import TensorOperator
from ...tensor import Tensor
from ...transforms.batching import folded
from .checks import refuse_kinds, require_elements
from .convolution import Array, Blocks, Geometry, _columns
from .windows import (
    Windows,
    plain_option,
)

__all__ = ["fold", "unfold"]


_col2im: TensorOperator

_im2col = TensorOperator(
    "im2col",
    lambda input, geometry: _columns(input, geometry, (0, 1, 2, 3))[:, 0],
    {"input": lambda grad, geometry: _col2im(grad, geometry)},
    grad_fn="Im2ColBackward0",
    batch=folded,
)


_col2im = TensorOperator(
    "col2im",
    lambda input, geometry: _summed(input, geometry),
    {"input": lambda grad, geometry: _im2col(grad, geometry)},
    grad_fn="Col2ImBackward0",
    batch=folded,
)


def _summed(columns: Array, geometry: Geometry) -> Array:
    windows = geometry.windows
    channels = columns.shape[1] // math.prod(windows.kernel)
    shape = (len(columns), channels, *windows.kernel, *geometry.counts())
    return windows.scatter(columns.reshape(shape), geometry.sizes)


def _pair(function: str, value: Any, name: str, least: int) -> tuple[int, ...]:
    """An option of ``unfold`` and ``fold``, which are for images: an int, or two of them."""
    found = (value,) * 2 if isinstance(value, int) else plain_option(value)
    if len(found) != 2:
        raise RuntimeError(
            f"{function}(): It is expected {name} equals to 2, an int or two of them, but got size "
            f"{len(found)}"
        )
    if min(found) < least:
        raise RuntimeError(f"{function}(): {name} should be at least {least}, but got {found}")
    return found


def _pairs(function: str, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Windows:
    return Windows(
        _pair(function, kernel_size, "kernel_size", 1),
        _pair(function, stride, "stride", 1),
        _pair(function, padding, "padding", 0),
        _pair(function, dilation, "dilation", 1),
    )


def unfold(
    input: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Tensor:
    """The windows of (N, C, H, W) or (C, H, W) as columns: (N, C * kh * kw, windows)."""
    windows = _pairs("unfold", kernel_size, dilation, padding, stride)
    rank = input._array.ndim
    if rank < 3 and 0 not in input._array.shape[1:]:
        raise IndexError(f"unfold: expected a 3D or 4D input, but got {list(input.shape)}")
    if rank in (3, 4):
        require_elements("unfold", input, rank - 3)
    refuse_kinds("unfold", input, "iu")
    if rank == 3:
        return unfold(input.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
    if rank != 4:
        raise RuntimeError(f"unfold: expected a 3D or 4D input, but got {list(input.shape)}")
    sizes = tuple(input._array.shape[2:])
    counts = windows.counts(sizes)
    if min(counts) < 1:
        raise RuntimeError(
            f"Given input with spatial size {sizes}, kernel_size={windows.kernel}, dilation="
            f"{windows.dilation}, padding={windows.padding}, calculated shape of the array of "
            f"sliding blocks as {counts}, but its components must be at least one."
        )
    return _im2col(input, Blocks(windows, 1, sizes))


def fold(
    input: Tensor,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Tensor:
    """The adjoint of ``unfold``: columns (N, C * kh * kw, windows), summed to (N, C, H, W)."""
    windows = _pairs("fold", kernel_size, dilation, padding, stride)
    rank = input._array.ndim
    if rank not in (2, 3):
        raise RuntimeError(
            "fold(): Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size "
            f"and non-zero dimensions for input, but got: {list(input._array.shape)}"
        )
    require_elements("fold", input, rank - 2)
    refuse_kinds("fold", input, "iu")
    if rank == 2:
        single = fold(input.unsqueeze(0), output_size, kernel_size, dilation, padding, stride)
        return single.squeeze(0)
    sizes = _pair("fold", output_size, "output_size", 0)
    if input.size(1) % math.prod(windows.kernel):
        raise RuntimeError(
            "fold(): Expected size of input's dimension 1 to be divisible by the product of "
            f"kernel_size, but got input.size(1)={input.size(1)} and kernel_size={windows.kernel}."
        )
    rows, columns = windows.counts(sizes)
    if input.size(2) != rows * columns:
        raise RuntimeError(
            f"Given output_size={sizes}, kernel_size={windows.kernel}, dilation={windows.dilation},"
            f" padding={windows.padding}, stride={windows.stride}, expected size of input's "
            f"dimension 2 to match the calculated number of sliding blocks {rows} * {columns} = "
            f"{rows * columns}, but got input.size(2)={input.size(2)}."
        )
    return _col2im(input, Blocks(windows, 1, sizes))
