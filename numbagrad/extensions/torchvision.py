"""Operators of torchvision's extension: boxes that overlap, and pooling in regions of a picture.

Regions are rows ``(picture, x1, y1, x2, y2)``, in the coordinates of a picture that
``spatial_scale`` maps to those of the input. Deformable convolutions are in
``deformable_convolution.py``. Operators of quantised pictures are named and have no function.
"""

from __future__ import annotations

import math
from typing import Any

import numba

from ..dtype import bool_, int32
from ..library import Library, define
from ..ops.creation.filled import zeros
from ..ops.creation.sequences import arange
from ..ops.operators.user_kernel import kernel
from ..tensor import Tensor
from .deformable_convolution import deform_conv2d

__all__: list[str] = []

_library = Library("torchvision", "DEF")


def _operator(function: Any) -> Any:
    """Define the operator of a function whose own operations are differentiated."""
    define(f"torchvision::{function.__name__}", "")
    _library.impl(function.__name__, function, "CompositeImplicitAutograd")
    return function


# --- boxes --------------------------------------------------------------------------------------


@kernel(shapes=lambda boxes, threshold: boxes[:1], dtypes=bool_)
@numba.njit
def _kept(boxes, threshold, keep):
    count = boxes.shape[0]
    keep[:] = True
    for i in range(count):
        if not keep[i]:
            continue
        left, top, right, bottom = boxes[i, 0], boxes[i, 1], boxes[i, 2], boxes[i, 3]
        area = (right - left) * (bottom - top)
        for j in range(i + 1, count):
            width = min(right, boxes[j, 2]) - max(left, boxes[j, 0])
            height = min(bottom, boxes[j, 3]) - max(top, boxes[j, 1])
            if width > 0 and height > 0:
                both = width * height
                other = (boxes[j, 2] - boxes[j, 0]) * (boxes[j, 3] - boxes[j, 1])
                if both / (area + other - both) > threshold:
                    keep[j] = False


@_operator
def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Indices of boxes that no better one overlaps, the best first.

    Args:
        dets: boxes ``(x1, y1, x2, y2)``, of shape (n, 4).
        scores: of shape (n,).
        iou_threshold: the share of the area of both that boxes may have in common.

    Raises:
        RuntimeError: for other shapes, and for tensors of two dtypes.
    """
    if dets.dim() != 2:
        raise RuntimeError(f"boxes should be a 2d tensor, got {dets.dim()}D")
    if dets.size(1) != 4:
        raise RuntimeError(f"boxes should have 4 elements in dimension 1, got {dets.size(1)}")
    if scores.dim() != 1:
        raise RuntimeError(f"scores should be a 1d tensor, got {scores.dim()}D")
    if len(dets) != len(scores):
        raise RuntimeError(
            "boxes and scores should have same number of elements in dimension 0, got "
            f"{len(dets)} and {len(scores)}"
        )
    if dets.dtype != scores.dtype:
        raise RuntimeError("dets should have the same type as scores")
    order = scores.detach().argsort(descending=True, stable=True)
    return order[_kept(dets.detach()[order], float(iou_threshold))]


# --- regions ------------------------------------------------------------------------------------
# Loops run over the elements of the output; backward does what forward did, and adds where that
# read.


@numba.njit
def _corners(y, x, height, width):
    """Rows, columns and shares of the four elements around a point; shares of 0 outside."""
    zero = y - y
    if y < -1.0 or y > height or x < -1.0 or x > width:
        return 0, 0, 0, 0, zero, zero, zero, zero
    y, x = max(y, zero), max(x, zero)
    top, left = int(y), int(x)
    if top >= height - 1:
        top = bottom = height - 1
        y = zero + top
    else:
        bottom = top + 1
    if left >= width - 1:
        left = right = width - 1
        x = zero + left
    else:
        right = left + 1
    down, along = y - top, x - left
    up, back = 1.0 - down, 1.0 - along
    return top, bottom, left, right, up * back, up * along, down * back, down * along


@numba.njit
def _bins(region, sizes, sampling):
    """Start, size and count of samples of the bins of a region along both dimensions: y, then x."""
    scale, shift, least, pooled_height, pooled_width = sizes
    y, x = region[2] * scale - shift, region[1] * scale - shift
    height = max(region[4] * scale - shift - y, least) / pooled_height
    width = max(region[3] * scale - shift - x, least) / pooled_width
    rows = sampling if sampling > 0 else int(math.ceil(height))
    columns = sampling if sampling > 0 else int(math.ceil(width))
    return y, x, height, width, rows, columns


@numba.njit
def _align(input, rois, sizes, sampling, shape, out):
    height, width = input.shape[2:]
    by_place = out.shape[1] != input.shape[1]
    for n in range(rois.shape[0]):
        y0, x0, tall, wide, rows, columns = _bins(rois[n], sizes, sampling)
        picture, count = int(rois[n, 0]), rows * columns
        for c in range(out.shape[1]):
            for i in range(out.shape[2]):
                for j in range(out.shape[3]):
                    channel = (c * out.shape[2] + i) * out.shape[3] + j if by_place else c
                    source = input[picture, channel]
                    total = 0.0
                    for k in range(rows):
                        y = y0 + i * tall + (k + 0.5) * tall / rows
                        for m in range(columns):
                            x = x0 + j * wide + (m + 0.5) * wide / columns
                            t, b, le, r, w1, w2, w3, w4 = _corners(y, x, height, width)
                            upper = w1 * source[t, le] + w2 * source[t, r]
                            total += upper + w3 * source[b, le] + w4 * source[b, r]
                    if by_place and count == 0:
                        total = math.nan  # as in torchvision; without places there it is 0
                    out[n, c, i, j] = total / max(count, 1)


@numba.njit
def _align_backward(grad_out, rois, sizes, sampling, grad_input):
    grad_input[...] = 0
    height, width = grad_input.shape[2:]
    by_place = grad_out.shape[1] != grad_input.shape[1]
    for n in range(rois.shape[0]):
        y0, x0, tall, wide, rows, columns = _bins(rois[n], sizes, sampling)
        picture, count = int(rois[n, 0]), rows * columns
        for c in range(grad_out.shape[1]):
            for i in range(grad_out.shape[2]):
                for j in range(grad_out.shape[3]):
                    channel = (c * grad_out.shape[2] + i) * grad_out.shape[3] + j if by_place else c
                    into = grad_input[picture, channel]
                    share = grad_out[n, c, i, j] / max(count, 1)
                    for k in range(rows):
                        y = y0 + i * tall + (k + 0.5) * tall / rows
                        for m in range(columns):
                            x = x0 + j * wide + (m + 0.5) * wide / columns
                            t, b, le, r, w1, w2, w3, w4 = _corners(y, x, height, width)
                            into[t, le] += share * w1
                            into[t, r] += share * w2
                            into[b, le] += share * w3
                            into[b, r] += share * w4


@numba.njit
def _rounded(value):
    """To the nearest integer, halves away from zero."""
    return int(math.floor(abs(value) + 0.5)) * (1 if value >= 0 else -1)


@numba.njit
def _cells(region, sizes, i, j, last_row, last_column, extra):
    """First and last row, first and last column of a bin of whole elements.

    Regions end with the element that their corner is in, if ``extra`` is 1.
    """
    real = sizes.dtype.type
    scale = sizes[0]
    top, bottom = _rounded(region[2] * scale), _rounded(region[4] * scale) + extra
    left, right = _rounded(region[1] * scale), _rounded(region[3] * scale) + extra
    tall = real(max(bottom - top, 1)) / sizes[3]
    wide = real(max(right - left, 1)) / sizes[4]
    first = min(max(int(math.floor(real(i) * tall)) + top, 0), last_row)
    end = min(max(int(math.ceil(real(i + 1) * tall)) + top, 0), last_row)
    start = min(max(int(math.floor(real(j) * wide)) + left, 0), last_column)
    stop = min(max(int(math.ceil(real(j + 1) * wide)) + left, 0), last_column)
    return first, end, start, stop


@numba.njit
def _largest(input, rois, sizes, shape, out, position):
    height, width = input.shape[2:]
    for n in range(rois.shape[0]):
        picture = int(rois[n, 0])
        for i in range(out.shape[2]):
            for j in range(out.shape[3]):
                first, end, start, stop = _cells(rois[n], sizes, i, j, height, width, 1)
                for c in range(out.shape[1]):
                    place, most = -1, input.dtype.type(0)
                    for y in range(first, end):
                        for x in range(start, stop):
                            if place < 0 or input[picture, c, y, x] > most:
                                place, most = y * width + x, input[picture, c, y, x]
                    out[n, c, i, j] = most
                    position[n, c, i, j] = place


@numba.njit
def _largest_backward(grad_out, rois, position, grad_input):
    grad_input[...] = 0
    width = grad_input.shape[3]
    for n in range(rois.shape[0]):
        into = grad_input[int(rois[n, 0])]
        for c in range(grad_out.shape[1]):
            for i in range(grad_out.shape[2]):
                for j in range(grad_out.shape[3]):
                    place = position[n, c, i, j]
                    if place >= 0:
                        into[c, place // width, place % width] += grad_out[n, c, i, j]


@numba.njit
def _mean(input, rois, sizes, shape, out):
    height, width = input.shape[2:]
    for n in range(rois.shape[0]):
        picture = int(rois[n, 0])
        for i in range(out.shape[2]):
            for j in range(out.shape[3]):
                first, end, start, stop = _cells(rois[n], sizes, i, j, height - 1, width - 1, 0)
                count = (end - first) * (stop - start)
                for c in range(out.shape[1]):
                    channel = (c * out.shape[2] + i) * out.shape[3] + j
                    total = 0.0
                    for y in range(first, end):
                        for x in range(start, stop):
                            total += input[picture, channel, y, x]
                    out[n, c, i, j] = total / max(count, 1)


@numba.njit
def _mean_backward(grad_out, rois, sizes, grad_input):
    grad_input[...] = 0
    height, width = grad_input.shape[2:]  # one more than forward reads, as in torchvision
    for n in range(rois.shape[0]):
        into = grad_input[int(rois[n, 0])]
        for i in range(grad_out.shape[2]):
            for j in range(grad_out.shape[3]):
                first, end, start, stop = _cells(rois[n], sizes, i, j, height, width, 0)
                count = (end - first) * (stop - start)
                for c in range(grad_out.shape[1]):
                    channel = (c * grad_out.shape[2] + i) * grad_out.shape[3] + j
                    for y in range(first, end):
                        for x in range(start, stop):
                            into[channel, y, x] += grad_out[n, c, i, j] / count


# The last input has the shape of the result, and its elements are not read.
_aligned = kernel(
    _align,
    _align_backward,
    shapes=lambda input, rois, sizes, sampling, shape: shape,
    name="roi_align",
)
_averaged = kernel(
    _mean, _mean_backward, shapes=lambda input, rois, sizes, shape: shape, name="ps_roi_pool"
)
_maximal = kernel(
    _largest,
    _largest_backward,
    shapes=lambda input, rois, sizes, shape: [shape, shape],
    dtypes=lambda input, rois, sizes, shape: [input, int32],
    name="roi_pool",
)


def _regions(
    input: Tensor, rois: Tensor, scale: float, height: int, width: int, by_place: bool = False,
    shift: float = 0.0, least: float = -math.inf,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Regions, the numbers of their bins, and a tensor of the result's shape, without elements."""
    if rois.dim() != 2 or rois.size(1) != 5:
        raise RuntimeError("rois must have shape as Tensor[K, 5]")
    if input.dtype != rois.dtype:
        raise RuntimeError(
            "Expected tensor for input to have the same type as tensor for rois; but type "
            f"{input.dtype} does not equal {rois.dtype}"
        )
    channels = input.size(1)
    if by_place:
        if channels % (height * width):
            raise RuntimeError(
                "input channels must be a multiple of pooling height * pooling width"
            )
        channels //= height * width
    rois = rois.detach()
    sizes = rois.new_tensor([scale, shift, least, height, width])
    return rois, sizes, rois.new_zeros(()).expand(len(rois), channels, height, width)


def _channels(like: Tensor) -> Tensor:
    """The channel that each element of a result is from, whose bins have channels of their own."""
    _, channels, height, width = like.shape
    return arange(channels * height * width, dtype=int32).view(1, channels, height, width) + (
        zeros(like.shape, dtype=int32)
    )


@_operator
def roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """Means of samples in the bins of regions; of He et al., "Mask R-CNN".

    Args:
        input: of shape (n, channels, height, width).
        rois: of shape (k, 5).
        spatial_scale: from the coordinates of regions to those of the input.
        pooled_height: how many bins a region has, one over the other.
        pooled_width: and side by side.
        sampling_ratio: samples of a bin in each dimension; at most 0: one for each element.
        aligned: whether the middle of an element is half a step from its coordinate.

    Returns:
        Tensor: of shape (k, channels, pooled_height, pooled_width).
    """
    shift, least = (0.5, -math.inf) if aligned else (0.0, 1.0)
    regions = _regions(
        input, rois, spatial_scale, pooled_height, pooled_width, shift=shift, least=least
    )
    return _aligned(input, *regions[:2], sampling_ratio, regions[2])


@_operator
def ps_roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
) -> tuple[Tensor, Tensor]:
    """``roi_align`` where each bin has channels of its own; and which, as int32."""
    rois, sizes, like = _regions(
        input, rois, spatial_scale, pooled_height, pooled_width, by_place=True, shift=0.5
    )
    return _aligned(input, rois, sizes, sampling_ratio, like), _channels(like)


@_operator
def roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """Maxima of the bins of regions, and where they are, as int32; of Girshick, "Fast R-CNN"."""
    regions = _regions(input, rois, spatial_scale, pooled_height, pooled_width)
    found: tuple[Tensor, Tensor] = _maximal(input, *regions)
    return found


@_operator
def ps_roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """Means of the bins of regions, each of channels of its own; and which, as int32."""
    regions = _regions(input, rois, spatial_scale, pooled_height, pooled_width, by_place=True)
    return _averaged(input, *regions), _channels(regions[2])


_operator(deform_conv2d)


@_operator
def _cuda_version() -> int:
    """-1: built without CUDA."""
    return -1


for _name in ("qnms", "qroi_align", "box_iou_rotated"):
    define(f"torchvision::{_name}", "")
for _name in ("roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "deform_conv2d"):
    define(f"torchvision::_{_name}_backward", "")
