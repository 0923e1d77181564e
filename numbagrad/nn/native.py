"""The functions of layers and losses in torch's top namespace, whose arguments stand as in C++.

Each computes what the function of ``nn.functional`` of its name does. Reductions are numbers: 0 for
none, which they are unless given, 1 for the mean, 2 for the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ops.arguments.kinds import Real, Sizes
from ..ops.creation.filled import ones_like
from ..tensor import Tensor, new_tensor
from ..type_names import type_name
from . import functional as layers
from .functional.checks import option, real_number, require_vector
from .functional.windows import named

__all__ = [
    "adaptive_avg_pool1d", "adaptive_max_pool1d", "alpha_dropout", "alpha_dropout_", "avg_pool1d",
    "batch_norm", "binary_cross_entropy_with_logits", "constant_pad_nd", "convolution",
    "cosine_embedding_loss", "ctc_loss", "dropout", "dropout_", "embedding_bag",
    "feature_alpha_dropout", "feature_alpha_dropout_", "feature_dropout", "feature_dropout_",
    "grid_sampler", "grid_sampler_2d", "grid_sampler_3d",
    "group_norm", "hinge_embedding_loss", "instance_norm", "kl_div", "layer_norm",
    "margin_ranking_loss", "max_pool1d", "max_pool1d_with_indices", "max_pool2d",
    "max_pool3d", "native_batch_norm", "native_channel_shuffle",
    "native_dropout", "native_group_norm", "native_layer_norm",
    "poisson_nll_loss", "rms_norm", "triplet_margin_loss",
]  # fmt: skip


def _reduction(number: int) -> str:
    """The name of a reduction; what is neither mean nor sum is none."""
    return {1: "mean", 2: "sum"}.get(number, "none")


# --- samples of images ---


_GRID_MODES = ("bilinear", "nearest", "bicubic")
_GRID_PADDINGS = ("zeros", "border", "reflection")


def _sampled(
    name: str, input: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool
) -> Tensor:
    if mode not in range(3) or padding not in range(3):
        raise RuntimeError(
            f"{name}(): interpolation_mode and padding_mode are 0, 1 or 2, but got {mode} and "
            f"{padding}"
        )
    return layers.grid_sample(
        input, grid, _GRID_MODES[mode], _GRID_PADDINGS[padding], bool(align_corners)
    )


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """``nn.functional.grid_sample`` with numbers for its modes.

    Args:
        input: images (N, C, H, W) or volumes (N, C, D, H, W).
        grid: places (..., 2) or (..., 3) from -1 to 1.
        interpolation_mode: 0 bilinear, 1 nearest, 2 bicubic.
        padding_mode: 0 zeros, 1 border, 2 reflection.
        align_corners: whether -1 and 1 are the centres of the outermost elements.

    Raises:
        RuntimeError: for other modes.
    """
    return _sampled("grid_sampler", input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """``grid_sampler`` of images (N, C, H, W).

    Raises:
        RuntimeError: for an input of other dimensions; an IndexError for one without any.
    """
    if input.ndim != 4:
        error = RuntimeError if input.ndim else IndexError
        raise error(f"grid_sampler_2d(): expected 4 dimensions, but got {input.ndim}")
    return _sampled("grid_sampler_2d", input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """``grid_sampler`` of volumes (N, C, D, H, W).

    Raises:
        RuntimeError: for an input of other dimensions; an IndexError for one without any.
    """
    if input.ndim != 5:
        error = RuntimeError if input.ndim else IndexError
        raise error(f"grid_sampler_3d(): expected 5 dimensions, but got {input.ndim}")
    return _sampled("grid_sampler_3d", input, grid, interpolation_mode, padding_mode, align_corners)


# --- dropout --------------------------------------------------------------------------------------


def _dropping(name: str, drop: Callable[..., Tensor], inplace: bool) -> Callable[..., Tensor]:
    """``dropout(input, p, train)`` and its kin."""

    def function(input: Tensor, p: float, train: bool) -> Tensor:
        if p < 0 or p > 1:
            raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
        return drop(input, p, train, inplace)

    written = " written into ``input``" if inplace else ""
    return named(
        function, name,
        f"""``nn.functional.{drop.__name__}``{written}: in training with probability ``p``.

        Raises:
            RuntimeError: for another probability.
        """,
    )  # fmt: skip


dropout = _dropping("dropout", layers.dropout, False)
dropout_ = _dropping("dropout_", layers.dropout, True)
alpha_dropout = _dropping("alpha_dropout", layers.alpha_dropout, False)
alpha_dropout_ = _dropping("alpha_dropout_", layers.alpha_dropout, True)
feature_dropout = _dropping("feature_dropout", layers.dropout2d, False)
feature_dropout_ = _dropping("feature_dropout_", layers.dropout2d, True)
feature_alpha_dropout = _dropping("feature_alpha_dropout", layers.feature_alpha_dropout, False)
feature_alpha_dropout_ = _dropping("feature_alpha_dropout_", layers.feature_alpha_dropout, True)


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Dropout, and a mask of what was kept."""
    ones = ones_like(input)
    kept = dropout(ones, p, train is None or train)
    mask = kept != 0
    return input * kept, mask


# --- normalization --------------------------------------------------------------------------------


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """Zero mean and unit variance over the last dimensions, then scale and shift."""
    if cudnn_enable.__class__ is not bool:
        option("layer_norm", cudnn_enable, "cudnn_enable", bool, 6)
    return layers.layer_norm(input, normalized_shape, weight, bias, eps)


def native_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: Real,
) -> tuple[Tensor, Tensor, Tensor]:
    """``layer_norm``, the means, and the reciprocals of the standard deviations."""
    made = layers.layer_norm(input, normalized_shape, weight, bias, eps)
    dims = list(range(-len(normalized_shape), 0))
    mean = input.mean(dims, keepdim=True)
    variance = (input - mean).square().mean(dims, keepdim=True)
    return made, mean, (variance + eps).rsqrt()


def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: Real,
) -> tuple[Tensor, Tensor, Tensor]:
    """``group_norm``, and for each group the mean and the reciprocal of the standard deviation.

    Args:
        input: (N, C, ...), HxW elements in each channel.
        weight, bias: (C), or None.
        group: how many groups the channels are in.
        eps: what is added to variances.

    Returns:
        The result, and two tensors (N, group).
    """
    made = layers.group_norm(input, group, weight, bias, eps)
    groups = input.reshape(N, group, C // group * HxW)
    mean = groups.mean(-1, keepdim=True)
    variance = (groups - mean).square().mean(-1)
    return made, mean.squeeze(-1), (variance + eps).rsqrt()


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: Real,
    eps: Real,
) -> tuple[Tensor, Tensor, Tensor]:
    """``batch_norm``, and in training the means and the reciprocals of the standard deviations.

    Returns:
        The result, and two tensors (C) without gradients; empty ones unless ``training``.
    """
    made = layers.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    if not training:
        return made, input.new_empty(0), input.new_empty(0)
    dims = [0, *range(2, input.ndim)]
    seen = input.detach()
    return made, seen.mean(dims), (seen.var(dims, correction=0) + eps).rsqrt()


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Unit mean square over the last dimensions, then scale."""
    return layers.rms_norm(input, normalized_shape, weight, eps)


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: Real,
    eps: Real,
    cudnn_enabled: bool,
) -> Tensor:
    """Zero mean and unit variance of every channel of (N, C, ...), then scale and shift."""
    return layers.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: Real,
    eps: Real,
    cudnn_enabled: bool,
) -> Tensor:
    """Zero mean and unit variance of every channel of every sample of (N, C, ...)."""
    shape = input._array.shape
    if not shape:
        raise IndexError("instance_norm(): argument 'input' has no dimensions")
    require_vector(
        "instance_norm", shape[1] if len(shape) > 1 else 0,
        weight=weight, bias=bias, running_mean=running_mean, running_var=running_var,
    )  # fmt: skip
    return layers.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: Real = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Zero mean and unit variance over groups of channels of (N, C, ...), then scale and shift."""
    if not input._array.ndim:
        raise IndexError("group_norm(): argument 'input' has no dimensions")
    return layers.group_norm(input, num_groups, weight, bias, eps)


# --- windows --------------------------------------------------------------------------------------


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of every window of (N, C, L) or (C, L)."""
    return layers.avg_pool1d(
        input, kernel_size, tuple_of(stride), padding, ceil_mode, count_include_pad
    )


def tuple_of(value: Any) -> Any:
    """A list of C++ as a tuple, in which an empty one stands for nothing given."""
    return tuple(value) if isinstance(value, (list, tuple)) else value


def _pooling(rank: int, indices: bool = False) -> Callable[..., Any]:
    pool = getattr(layers, f"max_pool{rank}d")

    def function(
        input: Tensor,
        kernel_size: Any,
        stride: Any = (),
        padding: Sizes = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Any:
        return pool(input, kernel_size, tuple_of(stride), padding, dilation, ceil_mode, indices)

    also = ", and where in the flattened spatial dimensions it was" if indices else ""
    return named(
        function,
        f"max_pool{rank}d{'_with_indices' if indices else ''}",
        f"The largest element of every window of {rank} dimensions{also}.",
    )


max_pool1d, max_pool2d, max_pool3d = (_pooling(rank) for rank in (1, 2, 3))
max_pool1d_with_indices = _pooling(1, indices=True)


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The means of ``output_size`` parts of lines (N, C, L) or (C, L)."""
    return layers.adaptive_avg_pool1d(input, output_size)


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """The largest elements of ``output_size`` parts of lines, and where they were."""
    made: tuple[Tensor, Tensor] = layers.adaptive_max_pool1d(input, output_size, True)
    return made


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """``input`` with a number added before and after, given for the last dimension first.

    Raises:
        RuntimeError: for an odd number of widths.
    """
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if input._array.dtype.kind != "c":
        value = real_number("constant_pad_nd", value, "value", 3)
    return layers.pad(input, pad, "constant", value)


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of (N, C, ...) in groups, dealt out like cards."""
    return layers.channel_shuffle(input, groups)


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Sizes,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Tensor:
    """The convolution, or the transposed one, of as many dimensions as ``input`` has."""
    rank = input._array.ndim - 2
    options = {"stride": stride, "padding": padding, "dilation": dilation}
    for position, (name, value) in enumerate({**options, "output_padding": output_padding}.items()):
        if not isinstance(value, (list, tuple)):
            raise TypeError(
                f"convolution(): argument '{name}' "
                f"(position {position + 4 + (position == 3)}) must be "
                f"tuple of ints, not {type_name(value)}"
            )
        if len(value) != rank:
            raise RuntimeError(
                f"convolution(): expected {name} to be a list of {rank} values to match the "
                f"convolution dimensions, but got {name}={list(value)}"
            )
    if rank not in (1, 2, 3):
        raise RuntimeError(
            "convolution(): argument 'input' must have 3 to 5 dimensions, but it has shape "
            f"{list(input.shape)}"
        )
    made: Tensor
    if transposed:
        function = getattr(layers, f"conv_transpose{rank}d")
        made = function(input, weight, bias, stride, padding, output_padding, groups, dilation)
    else:
        if min(output_padding) < 0:
            raise RuntimeError(
                f"convolution(): negative output_padding is not supported: {list(output_padding)}"
            )
        made = getattr(layers, f"conv{rank}d")(
            input, weight, bias, stride, padding, dilation, groups
        )
    return made


# --- tables ---------------------------------------------------------------------------------------


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums (``mode`` 0), means (1) or maxima (2) of rows of ``weight`` in bags of indices.

    Returns:
        The results (bags, d), the bag of every index, the size of every bag, and for maxima which
        row each element is from (bags, d), else the sizes again. What counts for nothing because of
        ``padding_idx`` counts in no size.
    """
    for name, value, ranks in (
        ("weight", weight, (2,)), ("indices", indices, (1, 2)), ("offsets", offsets, (1,)),
    ):  # fmt: skip
        if value._array.ndim not in ranks:
            wanted = " or ".join([f"{rank}D" for rank in ranks])
            raise RuntimeError(
                f"embedding_bag(): {name} has to be a {wanted} Tensor, but got Tensor of dimension "
                f"{value._array.ndim}"
            )
    if indices._array.ndim == 2:
        raise RuntimeError(
            "embedding_bag(): indices with offsets have to be a 1D Tensor, but they have shape "
            f"{list(indices._array.shape)}; nn.functional.embedding_bag() takes bags as rows"
        )
    if mode not in (0, 1, 2):
        raise RuntimeError(
            f"embedding_bag(): mode must be 0 for sums, 1 for means or 2 for maxima, but is {mode}"
        )
    made = layers.embedding_bag(
        indices, weight, offsets, scale_grad_by_freq=scale_grad_by_freq,
        mode=("sum", "mean", "max")[mode], sparse=sparse, per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset, padding_idx=padding_idx,
    )  # fmt: skip
    positions, table = indices._array, weight._array
    starts = offsets._array[:-1] if include_last_offset else offsets._array
    bags = np.searchsorted(starts, np.arange(len(positions)), "right") - 1
    counted = np.ones(len(positions), bool) if padding_idx is None else positions != padding_idx
    sizes = np.bincount(bags[counted], minlength=len(starts))
    largest = sizes
    if mode == 2:
        largest = np.zeros((len(starts), table.shape[1]), np.int64)
        for bag in np.flatnonzero(sizes):
            rows = positions[(bags == bag) & counted]
            largest[bag] = rows[table[rows].argmax(0)]
    return made, new_tensor(bags), new_tensor(sizes), new_tensor(largest.copy())


# --- losses ---------------------------------------------------------------------------------------


def kl_div(
    input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False
) -> Tensor:
    """The Kullback-Leibler divergence of logarithms of probabilities from ``target``."""
    if reduction == 1:
        return layers.kl_div(input, target, reduction="none", log_target=log_target).mean()
    return layers.kl_div(input, target, reduction=_reduction(reduction), log_target=log_target)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 0,
) -> Tensor:
    """Minus the logarithm of the probability of a binary target, from logits."""
    shape, own = input._array.shape, target._array.shape
    if shape != own:
        raise RuntimeError(
            "binary_cross_entropy_with_logits(): argument 'target' must have the shape of the "
            f"input, {list(shape)}, but it has shape {list(own)}"
        )
    return layers.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_reduction(reduction), pos_weight=pos_weight
    )


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0
) -> Tensor:
    """The input where the target is 1, what it lacks to the margin where it is -1."""
    return layers.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """One minus the cosine where the target is 1, the cosine above the margin where it is -1."""
    return layers.cosine_embedding_loss(
        input1, input2, target, margin, reduction=_reduction(reduction)
    )


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``."""
    return layers.margin_ranking_loss(
        input1, input2, target, margin, reduction=_reduction(reduction)
    )


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``."""
    return layers.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction)
    )


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: Real, reduction: int
) -> Tensor:
    """Minus the logarithm of Poisson probabilities."""
    return layers.poisson_nll_loss(
        input, target, log_input, full, eps=eps, reduction=_reduction(reduction)
    )


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the logarithm of the probability of a sequence of labels, however it is aligned."""
    return layers.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction),
        zero_infinity,
    )  # fmt: skip
