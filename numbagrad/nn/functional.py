"""The functions of ``torch.nn.functional``: layers, activations, normalization and losses.

Most are a line over an operator of the table in ``ops/pointwise.py``, a reduction or a product;
what is one node in the graph of torch comes from ``operators.py``. The layers call this file.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..autograd.inplace import apply_inplace
from ..executor.pointwise import scalar_type_name
from ..ops import gather, matmul
from ..ops.creation import empty, full, zeros
from ..ops.functions import sigmoid, tanh, where
from ..ops.operator import pointwise
from ..ops.softmax import log_softmax, softmax, softmin
from ..ops.tensor_operator import TensorOperator
from ..ops.view import common_shape
from ..tensor import Tensor, new_tensor
from . import operators

__all__ = [
    "alpha_dropout", "batch_norm", "bilinear", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "celu", "cosine_embedding_loss", "cosine_similarity",
    "cross_entropy", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "embedding",
    "feature_alpha_dropout", "gaussian_nll_loss", "gelu", "glu", "group_norm", "hardshrink",
    "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss", "huber_loss", "kl_div",
    "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid",
    "margin_ranking_loss", "mish", "mse_loss", "nll_loss", "normalize", "one_hot", "pad",
    "pairwise_distance", "poisson_nll_loss", "prelu", "relu", "relu6", "rms_norm", "selu",
    "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softplus",
    "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "triplet_margin_loss",
]  # fmt: skip


def _activation(name: str, input: Tensor, *scalars: Any, inplace: bool = False) -> Tensor:
    """The operator ``name``; ``inplace`` writes the result over the input."""
    if inplace:
        return apply_inplace(input, pointwise(name), (input, *scalars))
    return pointwise(name)(input, *scalars)


# --- activations ------------------------------------------------------------------------------


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(x, 0)``."""
    return _activation("relu", input, inplace=inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(x, 0), 6)``."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """``x`` limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _activation("hardtanh", input, float(min_val), float(max_val), inplace=inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``x`` where positive, else ``negative_slope * x``."""
    return _activation("leaky_relu", input, float(negative_slope), inplace=inplace)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``x`` where positive, else ``weight * x``, with one weight or one a channel (dimension 1)."""
    if weight._array.size > 1 and input._array.ndim > 1:
        shape = [1] * input._array.ndim
        shape[1] = weight._array.size
        weight = weight.reshape(shape)
    return pointwise("prelu")(input, weight)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``x`` where it is above the threshold, else ``value``."""
    return _activation("threshold", input, threshold, value, inplace=inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where positive, else ``alpha * (exp(x) - 1)``."""
    return _activation("elu", input, float(alpha), 1.0, 1.0, inplace=inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Scaled ELU with the constants of Klambauer et al., "Self-Normalizing Neural Networks"."""
    return _activation("selu", input, inplace=inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)``."""
    return _activation("celu", input, float(alpha), inplace=inplace)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """``x * Phi(x)``, Phi the normal distribution function, or its approximation by "tanh"."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return pointwise("gelu" if approximate == "none" else "gelu_tanh")(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second."""
    size = input._array.shape[dim]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {size}")
    first, second = input.chunk(2, dim)
    return first * sigmoid(second)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``."""
    return _activation("silu", input, inplace=inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``."""
    return _activation("mish", input, inplace=inplace)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x`` is above the threshold."""
    return pointwise("softplus")(input, float(beta), float(threshold))


def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(x))``."""
    return pointwise("log_sigmoid")(input)


def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``."""
    return pointwise("softsign")(input)


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``."""
    return pointwise("tanhshrink")(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``x / 6 + 1 / 2`` limited to [0, 1]."""
    return _activation("hardsigmoid", input, inplace=inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * hardsigmoid(x)``."""
    return _activation("hardswish", input, inplace=inplace)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``x`` outside [-lambd, lambd], else 0."""
    return pointwise("hardshrink")(input, float(lambd))


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``x`` moved towards 0 by ``lambd``."""
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return pointwise("softshrink")(input, float(lambd))


# --- layers -----------------------------------------------------------------------------------


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias`` for weight (out, in) and input (..., in).

    Raises:
        RuntimeError: if the sizes do not match.
    """
    x, w = input._array, weight._array
    if x.dtype != w.dtype:
        names = f"{scalar_type_name(input.dtype)} and {scalar_type_name(weight.dtype)}"
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {names}; convert one with .to(dtype)"
        )
    if w.ndim != 2 or bias is None or x.ndim == 0 or bias._array.dtype != x.dtype:
        return matmul.linear(input, weight, bias)
    if x.shape[-1] != w.shape[1]:
        rows = x.size // max(x.shape[-1], 1)
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x.shape[-1]} and "
            f"{w.shape[1]}x{w.shape[0]})"
        )
    if x.ndim == 2:
        return operators.linear_2d(bias, input, weight)
    flat = operators.linear_2d(bias, input.reshape(-1, x.shape[-1]), weight)
    return flat.view(*x.shape[:-1], w.shape[0])


def bilinear(
    input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for weight (out, in1, in2)."""
    outputs, first, second = weight._array.shape
    leading = input1._array.shape[:-1]
    x1, x2 = input1.reshape(-1, first), input2.reshape(-1, second)
    middle = x1.matmul(weight.transpose(0, 1).reshape(first, outputs * second))
    made = (middle.reshape(-1, outputs, second) * x2.unsqueeze(1)).sum(-1)
    made = made.reshape(*leading, outputs)
    return made if bias is None else made + bias


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of ``weight`` (n, d) at the indices ``input`` (...), to (..., d).

    The row ``padding_idx`` gets no gradient. With ``max_norm``, rows that are looked up and longer
    are first shortened in place.

    Raises:
        AssertionError: if ``padding_idx`` is no row.
    """
    rows = weight._array.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    padding_idx = -1 if padding_idx is None else padding_idx % rows
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    return gather.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


@no_grad()
def _shorten_rows(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    used = new_tensor(np.unique(indices._array))
    rows = weight[used]
    length = rows.norm(norm_type, 1, keepdim=True)
    factor = where(length > max_norm, max_norm / (length + 1e-7), 1.0)
    weight[used] = rows * factor


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Rows of zeros with a one at the index, int64, from (...) to (..., num_classes)."""
    index = tensor._array
    if index.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if index.size == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if index.size and index.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(index.max()) + 1
    elif index.size and index.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return zeros(*index.shape, num_classes, dtype=tensor.dtype).scatter_(
        -1, tensor.unsqueeze(-1), 1
    )


_pad_constant = TensorOperator(
    "constant_pad_nd",
    lambda input, widths, value: np.pad(input, widths, constant_values=input.dtype.type(value)),
    {"input": lambda grad, widths, input_shape: _unpad(grad, widths, input_shape)},
)


def _unpad(grad: Tensor, widths: Any, shape: tuple[int, ...]) -> Tensor:
    return grad[tuple([slice(w[0], w[0] + n) for w, n in zip(widths, shape, strict=True)])]


#: How torch names what NumPy calls otherwise.
_PAD_MODES: dict[str, Any] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """``input`` with elements added before and after, given for the last dimension first.

    Negative numbers take elements away. Modes are "constant", "reflect", "replicate", "circular".
    """
    rank = input._array.ndim
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * rank:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {rank}"
        )
    pairs = [(0, 0)] * (rank - len(pad) // 2)
    pairs += [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    cut = tuple(
        [slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, input.shape, strict=True)]
    )
    if any(a < 0 or b < 0 for a, b in pairs):
        input = input[cut]
    widths = tuple([(max(a, 0), max(b, 0)) for a, b in pairs])
    if mode == "constant":
        return _pad_constant(input, widths, value or 0)
    if mode not in _PAD_MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    for dim, width in enumerate(widths):
        if any(width):
            source = np.pad(np.arange(input._array.shape[dim]), width, _PAD_MODES[mode])
            input = input.index_select(dim, new_tensor(source))
    return input


# --- dropout ----------------------------------------------------------------------------------


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _noise(input: Tensor, p: float, shape: tuple[int, ...]) -> Tensor:
    """Zeros with probability ``p``, else ones."""
    return empty(shape, dtype=input.dtype).bernoulli_(1 - p)


def _drop(input: Tensor, p: float, training: bool, inplace: bool, channels: bool) -> Tensor:
    _check_probability(p)
    if p == 0 or not training or input._array.size == 0:
        return input
    shape = _channel_shape(input) if channels else input._array.shape
    if p == 1:
        noise = zeros(shape, dtype=input.dtype)
    else:
        noise = _noise(input, p, shape).div_(1 - p)
    return input.mul_(noise) if inplace else input * noise


def _channel_shape(input: Tensor) -> tuple[int, ...]:
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*shape[:2], *(1,) * (len(shape) - 2))


def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zeros with probability ``p`` in training; what remains is divided by ``1 - p``."""
    return _drop(input, p, training, inplace, channels=False)


def _drop_channels(
    input: Tensor, p: float, training: bool, inplace: bool, unbatched: int | None
) -> Tensor:
    _check_probability(p)
    if input._array.ndim != unbatched:
        return _drop(input, p, training, inplace, channels=True)
    made = _drop(input.unsqueeze_(0) if inplace else input.unsqueeze(0), p, training, inplace, True)
    return made.squeeze_(0) if inplace else made.squeeze(0)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of (N, C, L) or (C, L)."""
    return _drop_channels(input, p, training, inplace, 2)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of (N, C, H, W)."""
    return _drop_channels(input, p, training, inplace, None)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    return _drop_channels(input, p, training, inplace, 4)


#: What SELU returns for large negative numbers.
_SELU_SATURATION = -1.7580993408473766


def _alpha_drop(input: Tensor, p: float, training: bool, inplace: bool, channels: bool) -> Tensor:
    _check_probability(p)
    if p == 0 or not training or input._array.size == 0:
        return input
    shape = _channel_shape(input) if channels else input._array.shape
    if p == 1:
        noise = zeros(shape, dtype=input.dtype)
        return input.mul_(noise) if inplace else input * noise
    kept = _noise(input, p, shape)
    saturation = -_SELU_SATURATION
    scale = 1.0 / math.sqrt((saturation * saturation * p + 1) * (1 - p))
    shift = (kept - 1).mul_(saturation * scale).add_(saturation * scale * p)
    kept.mul_(scale)
    return input.mul_(kept).add_(shift) if inplace else input * kept + shift


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps mean and variance of what SELU returns (Klambauer et al.)."""
    return _alpha_drop(input, p, training, inplace, channels=False)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """``alpha_dropout`` of whole channels."""
    return _alpha_drop(input, p, training, inplace, channels=True)


# --- normalization ----------------------------------------------------------------------------


def _standardised(input: Tensor, dims: list[int], eps: float) -> Tensor:
    """Zero mean and unit variance over ``dims``."""
    centred = input - input.mean(dims, keepdim=True)
    variance = centred.square().mean(dims, keepdim=True)
    return centred * (variance + eps).rsqrt()


def _affine(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    if weight is not None:
        input = input * weight
    return input if bias is None else input + bias


def _check_normalized_shape(input: Tensor, normalized_shape: Sequence[int]) -> list[int]:
    shape = list(normalized_shape)
    if not shape or list(input._array.shape[-len(shape) :]) != shape:
        sizes = "".join(f", {size}" for size in shape)
        raise RuntimeError(
            f"Given normalized_shape={shape}, expected input with shape [*{sizes}], but got input "
            f"of size{list(input._array.shape)}"
        )
    return [-i for i in range(len(shape), 0, -1)]


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Zero mean and unit variance over the last dimensions, then scale and shift."""
    dims = _check_normalized_shape(input, normalized_shape)
    return _affine(_standardised(input, dims, eps), weight, bias)


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Unit mean square over the last dimensions, then scale."""
    dims = _check_normalized_shape(input, normalized_shape)
    if eps is None:
        eps = float(np.finfo(input._array.dtype).eps)
    made = input * (input.square().mean(dims, keepdim=True) + eps).rsqrt()
    return _affine(made, weight, None)


def _per_channel(values: Tensor | None, rank: int) -> Tensor | None:
    return None if values is None else values.reshape(1, -1, *(1,) * (rank - 2))


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Zero mean and unit variance over groups of channels of (N, C, ...), then scale and shift."""
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {len(shape)}"
        )
    if shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(shape)} and num_groups={num_groups}"
        )
    grouped = input.reshape(shape[0], num_groups, -1)
    made = _standardised(grouped, [-1], eps).reshape(shape)
    return _affine(made, _per_channel(weight, len(shape)), _per_channel(bias, len(shape)))


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Zero mean and unit variance of every channel of (N, C, ...), then scale and shift.

    In training over the batch, counted into the running averages in place; else by them.
    """
    rank = input._array.ndim
    dims = [d for d in range(rank) if d != 1]
    if training:
        count = input._array.size // max(input._array.shape[1], 1)
        if count == 1:
            raise ValueError(
                "Expected more than 1 value per channel when training, got input size "
                f"{input.size()}"
            )
        _count_into(running_mean, running_var, input, dims, momentum)
        made = _standardised(input, dims, eps)
    elif running_mean is None or running_var is None:
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when training=False"
        )
    else:
        mean = running_mean.reshape(1, -1, *(1,) * (rank - 2))
        variance = running_var.reshape(mean.shape)
        made = (input - mean) * (variance + eps).rsqrt()
    return _affine(made, _per_channel(weight, rank), _per_channel(bias, rank))


@no_grad()
def _count_into(
    running_mean: Tensor | None, running_var: Tensor | None, input: Tensor, dims: list[int],
    momentum: float,
) -> None:  # fmt: skip
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(input.mean(dims), alpha=momentum)
    if running_var is not None:
        running_var.mul_(1 - momentum).add_(input.var(dims, unbiased=True), alpha=momentum)


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """``input`` over its norm along ``dim``, or over ``eps`` where that is larger."""
    length = input.norm(p, dim, keepdim=True).clamp_min(eps)
    made = input / length
    return made if out is None else out.copy_(made)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Cosine of the angle between vectors along ``dim``."""
    shape = common_shape([x1._array.shape, x2._array.shape])
    x1, x2 = x1.expand(shape), x2.expand(shape)
    first = x1.norm(2, dim, keepdim=True).clamp_min(eps)
    second = x2.norm(2, dim, keepdim=True).clamp_min(eps)
    return ((x1 / first) * (x2 / second)).sum(dim)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """Norm of the differences of vectors along the last dimension."""
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)


# --- losses -----------------------------------------------------------------------------------


def reduction_name(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction, or what the two flags of the time before torch 0.4.1 say."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is not None and not reduce:
        name = "none"
    else:
        name = "mean" if size_average is None or size_average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.",
        stacklevel=3,
    )
    return name


def _reduce(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


def _pointwise_loss(
    name: str, input: Tensor, target: Tensor, reduction: str, option: float | None = None
) -> Tensor:
    """A pointwise loss, reduced: one node if both tensors have one shape and dtype."""
    x, y = input._array, target._array
    if reduction != "none" and x.shape == y.shape and x.dtype == y.dtype and x.dtype.kind == "f":
        if reduction not in ("mean", "sum"):
            raise ValueError(f"{reduction} is not a valid value for reduction")
        operator = operators.reduced_loss(name)
        return operator(input, target, option, reduction == "mean")
    options = () if option is None else (option,)
    return _reduce(pointwise(name)(input, target, *options), reduction)


def _warn_sizes(input: Tensor, target: Tensor) -> None:
    if input._array.shape != target._array.shape:
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )


def _weighted(name: str, input: Tensor, target: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """A pointwise loss of weighted elements; the mean is over the sum of the weights."""
    shape = common_shape([input._array.shape, target._array.shape])
    if weight._array.shape != shape:
        raise ValueError("Inputs and weight must have the same size.")
    loss = pointwise(name)(input, target) * weight
    return loss.sum() / weight.sum() if reduction == "mean" else _reduce(loss, reduction)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Squares of the differences, averaged, summed or as they are."""
    reduction = reduction_name(size_average, reduce, reduction)
    _warn_sizes(input, target)
    if weight is not None:
        return _weighted("mse_loss", input, target, weight, reduction)
    return _pointwise_loss("mse_loss", input, target, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Absolute differences, averaged, summed or as they are."""
    reduction = reduction_name(size_average, reduce, reduction)
    _warn_sizes(input, target)
    if weight is not None:
        return _weighted("l1_loss", input, target, weight, reduction)
    return _reduce(pointwise("l1_loss")(input, target), reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squares of small differences (below ``beta``), absolute values of large ones."""
    reduction = reduction_name(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    _warn_sizes(input, target)
    if beta == 0:
        return _reduce(pointwise("l1_loss")(input, target), reduction)
    return _pointwise_loss("smooth_l1_loss", input, target, reduction, float(beta))


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Squares of small differences, linear in large ones, with one slope at ``delta``."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    _warn_sizes(input, target)
    if weight is None:
        return _pointwise_loss("huber_loss", input, target, reduction, float(delta))
    loss = pointwise("huber_loss")(input, target, float(delta)) * weight
    return loss.sum() / weight.sum() if reduction == "mean" else _reduce(loss, reduction)


def _check_same_size(message: str, input: Tensor, target: Tensor) -> None:
    if input._array.shape != target._array.shape:
        raise ValueError(message.format(target=target.size(), input=input.size()))


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``-(t log x + (1 - t) log(1 - x))``, each logarithm at least -100, as in torch."""
    reduction = reduction_name(size_average, reduce, reduction)
    _check_same_size(
        "Using a target size ({target}) that is different to the input size ({input}) is "
        "deprecated. Please ensure they have the same size.",
        input,
        target,
    )
    if input._array.size and not ((input._array >= 0) & (input._array <= 1)).all():
        raise RuntimeError("all elements of input should be between 0 and 1")
    if weight is None:
        return _pointwise_loss("binary_cross_entropy", input, target, reduction)
    return _reduce(pointwise("binary_cross_entropy")(input, target) * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of ``sigmoid(input)``, computed without overflow."""
    reduction = reduction_name(size_average, reduce, reduction)
    _check_same_size(
        "Target size ({target}) must be the same as input size ({input})", input, target
    )
    name = "binary_cross_entropy_with_logits"
    if weight is None and pos_weight is None:
        return _pointwise_loss(name, input, target, reduction)
    if pos_weight is None:
        loss = pointwise(name)(input, target)
    else:
        loss = pointwise(f"{name}_weighted")(input, target, pos_weight)
    return _reduce(loss if weight is None else loss * weight, reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """``target * (log target - input)``; "batchmean" divides the sum by the batch size."""
    reduction = reduction_name(size_average, reduce, reduction)
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next major "
            "release.",
            stacklevel=2,
        )
    loss = pointwise("kl_div_log_target" if log_target else "kl_div")(input, target)
    if reduction == "batchmean":
        return loss.sum() / input._array.shape[0]
    return _reduce(loss, reduction)


# --- classes ----------------------------------------------------------------------------------


def _check_nll(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> None:
    """The errors of nll_loss for input (N, C, ...) and target (N, ...)."""
    x, classes = input._array, target._array
    if classes.dtype not in (np.int64, np.uint8):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {scalar_type_name(target.dtype)}"
        )
    if x.shape[0] != classes.shape[0]:
        raise ValueError(
            f"Expected input batch_size ({x.shape[0]}) to match target batch_size "
            f"({classes.shape[0]})."
        )
    if x.shape[2:] != classes.shape[1:]:
        raise ValueError(f"Expected target size {[x.shape[0], *x.shape[2:]]}, got {target.size()}")
    if weight is not None and weight._array.shape != (x.shape[1],):
        raise RuntimeError(
            f"weight tensor should be defined either for all {x.shape[1]} classes or no classes "
            f"but got weight tensor of shape: {list(weight._array.shape)}"
        )
    wrong = (classes != ignore_index) & ((classes < 0) | (classes >= x.shape[1]))
    if wrong.any():
        raise IndexError(f"Target {classes[wrong].flat[0]} is out of bounds.")


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood: minus the entry of its class, of every element.

    Args:
        input: logarithms of probabilities, (N, C), (N, C, ...) or (C).
        target: classes, (N), (N, ...) or ().
        weight: a weight a class; "mean" divides by the sum of the weights of the elements.
        ignore_index: the class of elements that do not count.
    """
    reduction = reduction_name(size_average, reduce, reduction)
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if input._array.ndim == 1:
        single = input.unsqueeze(0)
        if target._array.ndim:
            raise ValueError(
                f"Expected input batch_size ({input._array.shape[0]}) to match target batch_size "
                f"({target._array.shape[0]})."
            )
        loss = nll_loss(
            single, target.unsqueeze(0), weight, None, ignore_index, None, reduction
        )
        return loss.squeeze(0) if reduction == "none" else loss
    _check_nll(input, target, weight, ignore_index)
    classes = target._array.astype(np.int64, copy=False)
    ignored = classes == ignore_index
    if weight is None:
        factor = np.ones(classes.shape, input._array.dtype)
    else:
        factor = weight._array[np.where(ignored, 0, classes)]
    if ignored.any():
        classes = np.where(ignored, 0, classes)
        factor = np.where(ignored, 0, factor)
    if reduction == "mean":
        with np.errstate(invalid="ignore", divide="ignore"):
            factor = (factor / factor.sum(dtype=np.float64)).astype(input._array.dtype)
    plain = input._array.ndim == 2
    if reduction == "none":
        operator = operators.nll_elements if plain else operators.nll_elements_2d
    else:
        operator = operators.nll_total if plain else operators.nll_total_2d
    return operator(input, classes, factor)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy of unnormalised scores (N, C, ...) or (C).

    ``target`` holds classes, (N, ...), or probabilities of them in the shape of ``input``.
    ``label_smoothing`` mixes the target with the uniform distribution.
    """
    reduction = reduction_name(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(
            f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}"
        )
    logarithms = log_softmax(input, 0 if input._array.ndim == 1 else 1)
    if target._array.shape == input._array.shape and target._array.dtype.kind == "f":
        return _probability_loss(logarithms, target, weight, reduction, label_smoothing)
    if target._array.dtype.kind == "f" and target._array.ndim == input._array.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    loss = nll_loss(logarithms, target, weight, None, ignore_index, None, reduction)
    if label_smoothing == 0:
        return loss
    uniform = _smooth_loss(logarithms, target, weight, ignore_index, reduction)
    classes = input._array.shape[0 if input._array.ndim == 1 else 1]
    return loss * (1 - label_smoothing) + uniform * (label_smoothing / classes)


def _class_weights(weight: Tensor, rank: int) -> Tensor:
    """Weights of classes, to be multiplied with (N, C, ...) or (C)."""
    return weight if rank == 1 else weight.reshape(1, -1, *(1,) * (rank - 2))


def _smooth_loss(
    logarithms: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str
) -> Tensor:
    """The loss against the uniform distribution, times the number of classes."""
    rank = logarithms._array.ndim
    dim = 0 if rank == 1 else 1
    weighted = logarithms if weight is None else logarithms * _class_weights(weight, rank)
    loss = -weighted.sum(dim)
    ignored = target == ignore_index
    loss = loss.masked_fill(ignored, 0.0)
    if reduction != "mean":
        return _reduce(loss, reduction)
    if weight is None:
        return loss.sum() / float((~ignored).sum())
    counted = weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0.0)
    return loss.sum() / counted.sum()


def _probability_loss(
    logarithms: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float
) -> Tensor:
    rank = logarithms._array.ndim
    dim = 0 if rank == 1 else 1
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / logarithms._array.shape[dim]
    terms = logarithms * target
    if weight is not None:
        terms = terms * _class_weights(weight, rank)
    if reduction == "none":
        return -terms.sum(dim)
    total = -terms.sum()
    if reduction == "sum":
        return total
    if reduction != "mean":
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return total / max(logarithms._array.size // logarithms._array.shape[dim], 1)


# --- other losses -----------------------------------------------------------------------------


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of Poisson counts; ``full`` adds Stirling's term."""
    reduction = reduction_name(size_average, reduce, reduction)
    if log_input:
        loss = input.exp() - target * input
    else:
        loss = input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return _reduce(loss, reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of normal distributions of mean ``input`` and variance ``var``."""
    if not isinstance(var, Tensor):
        var = _full_of(input, var)
    if (var < 0).any():
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif input.ndim != var.ndim or common_shape([input.shape, var.shape]) != input.shape:
            raise ValueError("var is of incorrect size")
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduce(loss, reduction)


def _full_of(input: Tensor, value: float) -> Tensor:
    """A tensor of the shape and dtype of ``input`` with one value."""
    return full(input._array.shape, value, dtype=input.dtype)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1."""
    reduction = reduction_name(size_average, reduce, reduction)
    apart = where(target == 1, 0.0, (margin - input).clamp_min(0))
    close = where(target == -1, 0.0, input)
    return _reduce(apart + close, reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``."""
    reduction = reduction_name(size_average, reduce, reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return _reduce((-target * (input1 - input2) + margin).clamp_min(0), reduction)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))``."""
    reduction = reduction_name(size_average, reduce, reduction)
    return _reduce(softplus(-target * input), reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """One minus the cosine where the target is 1, the cosine above the margin where it is -1."""
    reduction = reduction_name(size_average, reduce, reduction)
    dim = target._array.ndim
    cosine = cosine_similarity(input1, input2, dim)
    close = where(target == 1, 1 - cosine, 0.0)
    apart = where(target == -1, (cosine - margin).clamp_min(0), 0.0)
    return _reduce(close + apart, reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``."""
    reduction = reduction_name(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = pairwise_distance(positive, negative, p, eps).minimum(far)
    return _reduce((near - far + margin).clamp_min(0), reduction)
