"""Normalization over features, groups and batches: mean and variance, then scale and shift.

Called by users and by the layers of ``nn/normalization.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...autograd.grad_mode import no_grad
from ...autograd.grad_mode import state as grad_mode
from ...dtype import finfo
from ...ops.arguments.kinds import Real
from ...ops.arguments.output import write_result
from ...ops.arguments.requirements import require_tensor
from ...ops.operators.composite import composite
from ...ops.views.view import unsafe_view
from ...tensor import Tensor
from ...transforms.levels import is_batched
from ...type_names import type_name
from .checks import not_differentiable, one_dtype, refuse_kinds, require_vector
from .padding import pad
from .pooling import avg_pool2d

__all__ = [
    "batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm",
    "normalize", "rms_norm",
]  # fmt: skip


def _standardised(input: Tensor, dims: list[int], eps: float) -> Tensor:
    """Zero mean and unit variance over ``dims``."""
    centred = input - input.mean(dims, keepdim=True)
    variance = centred.square().mean(dims, keepdim=True)
    return centred * (variance + eps).rsqrt()


def _affine(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    if weight is not None:
        input = input * weight
    return input if bias is None else input + bias


# The definitions of composite operators run when arguments have a form that was not met so far:
# what is checked there costs no call but the first.


def _check_normalized_shape(
    function: str, input: Tensor, normalized_shape: Sequence[int], eps: Any, **parameters: Any
) -> list[int]:
    """The dimensions that are normalized; parameters are of their shape."""
    whole = isinstance(normalized_shape, (list, tuple))
    for size in normalized_shape if whole else (normalized_shape,):
        if not whole or isinstance(size, bool) or not hasattr(size, "__index__"):
            found = "found element of type " if whole else ""
            raise TypeError(
                f"{function}(): argument 'normalized_shape' (position 2) must be tuple of ints, "
                f"not {found}{type_name(size)}"
            )
    if isinstance(eps, complex):
        raise TypeError(f"{function}(): argument 'eps' must be float, not complex")
    shape = list(normalized_shape)
    for name, value in parameters.items():
        if value is None:
            continue
        require_tensor(function, value, name, 3 if name == "weight" else 4)
        if list(value._array.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(value._array.shape)} and normalized_shape = {shape}"
            )
    if not shape or list(input._array.shape[-len(shape) :]) != shape:
        sizes = "".join(f", {size}" for size in shape)
        raise RuntimeError(
            f"Given normalized_shape={shape}, expected input with shape [*{sizes}], but got input "
            f"of size{list(input._array.shape)}"
        )
    return [-i for i in range(len(shape), 0, -1)]


@composite("NativeLayerNormBackward0", takes="parameters")
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Zero mean and unit variance over the last dimensions, then scale and shift."""
    dims = _check_normalized_shape(
        "layer_norm", input, normalized_shape, eps, weight=weight, bias=bias
    )
    one_dtype("layer_norm", input, weight=weight, bias=bias)
    refuse_kinds("layer_norm", input, "biuc")
    return _affine(_standardised(input, dims, eps), weight, bias)


@composite("RmsNormBackward0")
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Unit mean square over the last dimensions, then scale."""
    if not input._array.ndim and isinstance(normalized_shape, (list, tuple)) and normalized_shape:
        raise ValueError("rms_norm(): Input tensor must have at least 1 dimensions, but got 0")
    dims = _check_normalized_shape("rms_norm", input, normalized_shape, eps, weight=weight)
    refuse_kinds("rms_norm", input, "biu")
    if eps is None:
        eps = finfo(input.dtype).eps
    made = input * (input.square().mean(dims, keepdim=True) + eps).rsqrt()
    return _affine(made, weight, None).to(input.dtype)


def _per_channel(values: Tensor | None, rank: int) -> Tensor | None:
    return None if values is None else values.reshape(1, -1, *(1,) * (rank - 2))


def _positions(input: Tensor) -> Tensor:
    """(N, C, ...) as (N, C, places): means over the last dimension read rows of memory."""
    shape = input._array.shape
    return input.reshape(*shape[:2], math.prod(shape[2:]))


@composite("NativeGroupNormBackward0", takes="parameters")
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: Real = 1e-5,
) -> Tensor:
    """Zero mean and unit variance over groups of channels of (N, C, ...), then scale and shift."""
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {len(shape)}"
        )
    if num_groups <= 0:
        raise RuntimeError(
            f"group_norm(): Expected num groups to be greater than 0, got {num_groups}"
        )
    if shape[0] * shape[1] // num_groups * math.prod(shape[2:]) == 1:
        raise ValueError(
            "Expected more than 1 value per channel when training, got input size "
            f"{[shape[0] * shape[1] // num_groups, num_groups, *shape[2:]]}"
        )
    require_vector("group_norm", shape[1], weight=weight, bias=bias)
    one_dtype("group_norm", input, weight=weight, bias=bias)
    refuse_kinds("group_norm", input, "biuc")
    if shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(shape)} and num_groups={num_groups}"
        )
    in_group = shape[1] // num_groups * math.prod(shape[2:])
    grouped = input.reshape(shape[0], num_groups, in_group)
    if math.prod(shape[2:]) == 1:
        made = unsafe_view(_standardised(grouped, [-1], eps), shape)
        return _affine(made, _per_channel(weight, len(shape)), _per_channel(bias, len(shape)))
    mean = grouped.mean(-1, keepdim=True)
    variance = (grouped - mean).square().mean(-1, keepdim=True)
    scale = _of_channels((variance + eps).rsqrt(), shape[1])
    if weight is not None:
        scale = scale * weight.reshape(1, -1, 1)
    made = (_positions(input) - _of_channels(mean, shape[1])) * scale
    return unsafe_view(_affine(made, None, _per_channel(bias, 3)), shape)


def _of_channels(values: Tensor, channels: int) -> Tensor:
    """Values of groups (N, G, 1), repeated for the channels of each: (N, C, 1)."""
    batch, groups, _ = values._array.shape
    return values.expand(batch, groups, channels // groups).reshape(batch, channels, 1)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: Real = 0.1,
    eps: Real = 1e-5,
) -> Tensor:
    """Zero mean and unit variance of every channel of (N, C, ...), then scale and shift.

    In training over the batch, counted into the running averages in place; else by them.
    """
    for name, average in (("running_mean", running_mean), ("running_var", running_var)):
        if average is not None and average._requires_grad and grad_mode.enabled:
            raise not_differentiable("native_batch_norm", name)
    rank = input._array.ndim
    if training and rank == 1 and input._array.size == 1:
        raise _single(input)
    if not input._array.size and (rank == 1 or (not training and running_mean is None)):
        return input.clone()  # torch looks no further where there is nothing to compute
    if input._array.ndim < 2:
        raise (IndexError if training and running_mean is None else RuntimeError)(
            "batch_norm(): expected an input of 2 or more dimensions, the second that of channels, "
            f"but got shape {list(input._array.shape)}"
        )
    if training:
        _check_averages(input, running_mean, running_var, weight, bias)
        shape = input._array.shape
        count = shape[0] * math.prod(shape[2:])
        if count == 1:
            raise _single(input)
    if not input._array.size:  # there is nothing to take a mean of, nor to count
        return _affine(input.clone(), _per_channel(weight, rank), _per_channel(bias, rank))
    if training:
        made, mean, variance = _standardised_by_batch(input, weight, bias, eps)
        _count_into(running_mean, mean, momentum)
        _count_into(running_var, variance * (count / (count - 1)), momentum)
        return made
    if running_mean is None or running_var is None:
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when training=False"
        )
    differentiated = grad_mode.enabled and any([
        x is not None and x._requires_grad for x in (input, weight, bias)
    ])  # fmt: skip
    run = _standardised_by if differentiated else _standardised_in_shape
    return run(input, running_mean, running_var, weight, bias, eps)


def _single(input: Tensor) -> ValueError:
    return ValueError(
        f"Expected more than 1 value per channel when training, got input size {input.size()}"
    )


def _check_averages(
    input: Tensor, mean: Tensor | None, variance: Tensor | None, *parameters: Tensor | None
) -> None:
    """Raise torch's errors for averages that cannot be counted into."""
    if mean is None or variance is None:
        if mean is not variance:
            raise ValueError(
                "batch_norm(): running_mean and running_var must either both be None or neither be "
                "None"
            )
        return
    # The samples of a ``vmap`` would all write them.
    if is_batched(input) and not (is_batched(mean) and is_batched(variance)):
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which "
            "will be updated in place, were not batched.\nIf you are using modules and do not need "
            "eval mode, please set `track_running_stats` to be False.If you are using a prebuilt "
            "module and do not need eval mode, `func.replace_all_batch_norm_modules_` takes the "
            "averages out of all its layers"
        )
    size, kind = input._array.shape[1:2], input._array.dtype
    first, second = mean._array, variance._array
    if first.shape != size or second.shape != size:
        require_vector("batch_norm", *size, running_mean=mean, running_var=variance)
    if first.dtype != kind or second.dtype != kind:
        refuse_kinds("batch_norm", input, "biuc")
        if kind.itemsize > 2 or not first.dtype == second.dtype == np.float32:
            one_dtype("batch_norm", input, running_mean=mean, running_var=variance)
    others = [x.dtype for x in parameters if x is not None]
    if kind.itemsize == 2 and any([x is not mean.dtype for x in others]):
        raise RuntimeError(
            f"batch_norm(): an input of {input.dtype} with averages of {mean.dtype} needs a weight "
            f"and a bias of {mean.dtype}, but got {others[0]}; convert them with .to(dtype)"
        )


def _scale_of(
    input: Tensor, mean: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None,
    eps: float,
) -> Tensor:  # fmt: skip
    """The factor of every channel of (N, C, ...), after the checks of a batch norm."""
    channels = input._array.shape[1]
    parameters = {"running_mean": mean, "running_var": variance, "weight": weight, "bias": bias}
    require_vector("batch_norm", channels, **parameters)
    refuse_kinds("batch_norm", input, "biuc")
    one_dtype("batch_norm", input, **parameters)
    scale = (variance + eps).rsqrt()
    return scale if weight is None else scale * weight


def _by_channels(
    input: Tensor, mean: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None,
    eps: float,
) -> Tensor:  # fmt: skip
    """(N, C, ...) by a mean and a variance of every channel."""
    batch, channels, *sizes = input._array.shape
    scale = _scale_of(input, mean, variance, weight, bias, eps)
    positions = math.prod(sizes)
    # As rows: of the places of a channel of a sample, with a value each, or of all channels. They
    # have another shape than what the statistics read, lest the difference be kept from there.
    shape = (batch * channels, positions) if positions > 1 else (batch, 1, channels)

    def of_rows(values: Tensor) -> Tensor:
        return values.expand(batch, channels).reshape(-1, 1) if positions > 1 else values

    made = (input.reshape(shape) - of_rows(mean)) * of_rows(scale)
    made = _affine(made, None, None if bias is None else of_rows(bias))
    return unsafe_view(made, input._array.shape)  # nobody sees the rows


@composite("NativeBatchNormBackward0", takes="parameters")
def _standardised_in_shape(
    input: Tensor, mean: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None,
    eps: float,
) -> Tensor:  # fmt: skip
    """``_by_channels`` in the input's own shape, so that a program joins it with what is around.

    For calls that nothing differentiates: the sums of a gradient want rows.
    """
    rank = input._array.ndim
    scale = _per_channel(_scale_of(input, mean, variance, weight, bias, eps), rank)
    return _affine((input - _per_channel(mean, rank)) * scale, None, _per_channel(bias, rank))


_standardised_by = composite("NativeBatchNormBackward0", takes="parameters")(_by_channels)


@composite("NativeBatchNormBackward0", takes="parameters")
def _standardised_by_batch(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(N, C, ...) with zero mean and unit variance of channels; also those mean and variance.

    Means are taken over the places of each channel of each sample, which are a row of memory, and
    then over the samples.
    """
    batch, channels, *sizes = input._array.shape
    if math.prod(sizes) > 1:
        values = _positions(input)
        mean = values.mean(-1).mean(0)
        centred = values - mean.expand(batch, channels).reshape(-1).view(batch, channels, 1)
        variance = centred.square().mean(-1).mean(0)
    else:
        values = input.reshape(batch, channels)
        mean = values.mean(0)
        variance = (values - mean).square().mean(0)
    return _by_channels(input, mean, variance, weight, bias, eps), mean, variance


@no_grad()
def _count_into(average: Tensor | None, value: Tensor, momentum: float) -> None:
    if average is not None:
        average.mul_(1 - momentum).add_(value, alpha=momentum)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: Real = 0.1,
    eps: Real = 1e-5,
) -> Tensor:
    """Zero mean and unit variance of every channel of every sample of (N, C, ...).

    The running averages, if given, are those over the samples.
    """
    if use_input_stats and math.prod(input._array.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.size()}"
        )
    if input._array.ndim < 2:
        raise RuntimeError(
            "instance_norm(): expected an input of 2 or more dimensions, the second that of "
            f"channels, but got shape {list(input._array.shape)}"
        )
    batch, channels, *sizes = input._array.shape
    if not (running_mean is weight is bias is None):
        require_vector(
            "instance_norm", channels,
            running_mean=running_mean, running_var=running_var, weight=weight, bias=bias,
        )  # fmt: skip
    if not batch and running_mean is not None:
        raise IndexError(
            "instance_norm(): there is no sample whose mean running_mean could count: the input "
            f"has shape {list(input._array.shape)}"
        )

    def repeated(values: Tensor | None) -> Tensor | None:
        return None if values is None else values.repeat(batch)

    mean, variance = repeated(running_mean), repeated(running_var)
    made = batch_norm(
        input.reshape(1, batch * channels, *sizes), mean, variance, repeated(weight),
        repeated(bias), use_input_stats, momentum, eps,
    )  # fmt: skip
    if use_input_stats:
        for average, each in ((running_mean, mean), (running_var, variance)):
            if average is not None and each is not None and batch:
                average.copy_(each.view(batch, channels).mean(0))
    return made.reshape(input.shape)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """``x / (k + alpha * mean(x²))**beta``, the mean over ``size`` neighbouring channels."""
    if input.ndim < 3:
        # The text of torch, spaces included.
        gap = " " * 26
        raise ValueError(
            f"Expected 3D or higher dimensionality{gap}input (got {input.ndim} dimensions)"
        )
    if input._array.size == 0:
        return input
    if size <= 0:
        raise RuntimeError(
            f"local_response_norm(): size should be greater than zero, but is {size}"
        )
    squares = (input * input).reshape(
        input.size(0), 1, input.size(1), math.prod(input._array.shape[2:])
    )
    squares = pad(squares, (0, 0, size // 2, (size - 1) // 2))
    mean = avg_pool2d(squares, (size, 1), stride=1).reshape(input.shape)
    return input / (mean * alpha + k).pow(beta)


def normalize(
    input: Tensor, p: Any = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """``input`` over its norm along ``dim``, or over ``eps`` where that is larger."""
    if isinstance(p, Tensor) and not p._array.ndim and p._array.dtype.kind != "c":
        p = float(p)
    if not isinstance(p, (int, float, np.integer, np.floating)):
        kind = RuntimeError if isinstance(p, (str, complex)) else TypeError
        raise kind(
            "normalize(): argument 'p' (position 2), the order of the norm, must be a real "
            f"number, not {type_name(p)}"
        )
    length = input.norm(float(p), dim, keepdim=True).clamp_min(eps)
    made = input / length
    return write_result("normalize", made, out, casts=True)
