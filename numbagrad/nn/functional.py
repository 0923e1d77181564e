"""Activations and losses with torch's names and arguments.

Every function here is a line over an operator of the table in ``ops/pointwise.py``, a reduction or
a product; nothing is computed in this file.
"""

from __future__ import annotations

import warnings
from typing import Any

from ..autograd.inplace import apply_inplace
from ..ops.functions import sigmoid, tanh
from ..ops.matmul import linear
from ..ops.operator import pointwise
from ..tensor import Tensor

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "elu", "gelu", "glu",
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "huber_loss", "kl_div", "l1_loss",
    "leaky_relu", "linear", "logsigmoid", "mish", "mse_loss", "prelu", "relu", "relu6", "selu",
    "sigmoid", "silu", "smooth_l1_loss", "softplus", "softshrink", "softsign", "tanh",
    "tanhshrink", "threshold",
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


# --- losses -----------------------------------------------------------------------------------


def _reduce(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


def _warn_sizes(input: Tensor, target: Tensor) -> None:
    if input._array.shape != target._array.shape:
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Squares of the differences, averaged, summed or as they are."""
    _warn_sizes(input, target)
    return _reduce(pointwise("mse_loss")(input, target), reduction)


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Absolute differences, averaged, summed or as they are."""
    _warn_sizes(input, target)
    return _reduce(pointwise("l1_loss")(input, target), reduction)


def smooth_l1_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Squares of small differences (below ``beta``), absolute values of large ones."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    _warn_sizes(input, target)
    if beta == 0:
        return l1_loss(input, target, reduction)
    return _reduce(pointwise("smooth_l1_loss")(input, target, float(beta)), reduction)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0
) -> Tensor:
    """Squares of small differences, linear in large ones, with one slope at ``delta``."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    _warn_sizes(input, target)
    return _reduce(pointwise("huber_loss")(input, target, float(delta)), reduction)


def _check_same_size(name: str, input: Tensor, target: Tensor) -> None:
    if input._array.shape != target._array.shape:
        raise ValueError(
            f"{name}: target size ({target.size()}) must be the same as input size ({input.size()})"
        )


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """``-(t log x + (1 - t) log(1 - x))``, each logarithm at least -100, as in torch."""
    _check_same_size("binary_cross_entropy", input, target)
    loss = pointwise("binary_cross_entropy")(input, target)
    return _reduce(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of ``sigmoid(input)``, computed without overflow."""
    _check_same_size("binary_cross_entropy_with_logits", input, target)
    name = "binary_cross_entropy_with_logits"
    if pos_weight is None:
        loss = pointwise(name)(input, target)
    else:
        loss = pointwise(f"{name}_weighted")(input, target, pos_weight)
    return _reduce(loss if weight is None else loss * weight, reduction)


def kl_div(
    input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """``target * (log target - input)``; "batchmean" divides the sum by the batch size."""
    loss = pointwise("kl_div_log_target" if log_target else "kl_div")(input, target)
    if reduction == "batchmean":
        return loss.sum() / input._array.shape[0]
    return _reduce(loss, reduction)
