"""Activations: a line each over an operator of the table in ``ops/pointwise.py`` or a softmax.

Called by users and by the layers of ``nn/activation.py``.
"""

from __future__ import annotations

from typing import Any

from ...autograd.inplace import apply_inplace
from ...ops.functions import sigmoid, tanh
from ...ops.operator import pointwise
from ...ops.softmax import log_softmax, softmax, softmin
from ...tensor import Tensor

__all__ = [
    "celu", "elu", "gelu", "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "leaky_relu", "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6", "selu",
    "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh",
    "tanhshrink", "threshold",
]  # fmt: skip


def _activation(name: str, input: Tensor, *scalars: Any, inplace: bool = False) -> Tensor:
    """The operator ``name``; ``inplace`` writes the result over the input."""
    if inplace:
        return apply_inplace(input, pointwise(name), (input, *scalars))
    return pointwise(name)(input, *scalars)


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
