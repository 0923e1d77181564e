"""Deformable convolution: torchvision's, put together of Tensor operations.

Each element of a window is read beside its place, by offsets that are an input, between the four
elements around; the windows are multiplied with the weight as those of any convolution.
"""

from __future__ import annotations

import itertools
from typing import Any

from ..ops.creation.sequences import arange
from ..tensor import Tensor

__all__ = ["deform_conv2d"]


def deform_conv2d(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> Tensor:
    """Convolution by windows that are bent; of Dai et al., "Deformable Convolutional Networks".

    Args:
        input: of shape (n, channels, height, width).
        weight: of shape (out channels, channels / groups, rows, columns).
        offset: of shape (n, 2 * offset_groups * rows * columns, out height, out width): how far
            down and to the right each element of each window is read.
        mask: of shape (n, offset_groups * rows * columns, out height, out width): factors.
        bias: of shape (out channels,).
        stride_h: the distance of windows; ``stride_w`` along rows.
        stride_w: see ``stride_h``.
        pad_h: rows of zeros above and below; ``pad_w`` columns.
        pad_w: see ``pad_h``.
        dilation_h: the distance of a window's elements; ``dilation_w`` along rows.
        dilation_w: see ``dilation_h``.
        groups: of channels that have weights of their own.
        offset_groups: of channels that have offsets of their own.
        use_mask: whether ``mask`` is one.

    Returns:
        Tensor: of shape (n, out channels, out height, out width).

    Raises:
        RuntimeError: if the shapes do not fit together.
    """
    n, channels, height, width = input.shape
    out_channels, _, rows, columns = weight.shape
    out_height, out_width = [
        (size + 2 * pad - (dilation * (window - 1) + 1)) // stride + 1
        for size, pad, dilation, window, stride in (
            (height, pad_h, dilation_h, rows, stride_h),
            (width, pad_w, dilation_w, columns, stride_w),
        )
    ]
    window = rows * columns
    if tuple(offset.shape) != (n, 2 * offset_groups * window, out_height, out_width):
        raise RuntimeError(
            f"offset output dims: expected ({n}, {2 * offset_groups * window}, {out_height}, "
            f"{out_width}), but got {tuple(offset.shape)}"
        )
    kind: dict[str, Any] = {"dtype": offset.dtype, "device": offset.device}
    bent = offset.view(n, offset_groups, rows, columns, 2, out_height, out_width)
    down = dilation_h * arange(rows, **kind).view(-1, 1, 1, 1)
    along = dilation_w * arange(columns, **kind).view(-1, 1, 1)
    y = bent[:, :, :, :, 0] + down + (stride_h * arange(out_height, **kind) - pad_h).view(-1, 1)
    x = bent[:, :, :, :, 1] + along + (stride_w * arange(out_width, **kind) - pad_w)
    shape = (n, offset_groups, 1, window * out_height * out_width)
    read = _between(
        input.reshape(n, offset_groups, channels // offset_groups, height * width),
        y.reshape(shape),
        x.reshape(shape),
        height,
        width,
    )
    if use_mask:
        read = read * mask.reshape(shape)
    windows = read.reshape(n, groups, channels // groups * window, out_height * out_width)
    result = weight.reshape(groups, out_channels // groups, -1) @ windows
    return result.reshape(n, out_channels, out_height, out_width) + bias.view(-1, 1, 1)


def _between(pictures: Tensor, y: Tensor, x: Tensor, height: int, width: int) -> Tensor:
    """Values of pictures between their elements; zeros outside.

    Args:
        pictures: of shape (n, groups, channels, height * width).
        y: rows, of shape (n, groups, 1, points).
        x: columns, of the same shape.
        height: of the pictures.
        width: of the pictures.
    """
    top, left = y.detach().floor(), x.detach().floor()
    shape = (*pictures.shape[:3], y.shape[3])
    total = None
    for below, right in itertools.product((0, 1), (0, 1)):
        row, column = top + below, left + right
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        share = (1 - (y - row).abs()) * (1 - (x - column).abs()) * inside
        place = row.clamp(0, height - 1) * width + column.clamp(0, width - 1)
        found = pictures.gather(3, place.long().expand(shape)) * share
        total = found if total is None else total + found
    assert total is not None
    return total
