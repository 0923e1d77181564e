"""Activations: a line each over an operator of the table in ``ops/pointwise/`` or a softmax.

Called by users and by the layers of ``nn/activation.py``.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend import foreign
from ...dtype import float64
from ...ops.arguments.check import checked
from ...ops.arguments.requirements import is_complex_number
from ...ops.creation.filled import empty, empty_like, zeros_like
from ...ops.methods.variants import Choice, activation
from ...ops.operators.pointwise_operator import pointwise
from ...ops.pointwise.functions import sigmoid, tanh
from ...ops.pointwise.selection import prelu, where
from ...ops.reductions.softmax import log_softmax_of_guess as log_softmax
from ...ops.reductions.softmax import softmax_of_guess as softmax
from ...ops.reductions.softmax import softmin
from ...tensor import Tensor, new_tensor
from ...type_names import type_name
from .checks import real_number, refuse_kinds

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink",
    "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_",
    "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6", "relu_", "rrelu", "rrelu_",
    "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink",
    "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
]  # fmt: skip


@activation(pointwise("relu"))
def relu(input: Tensor) -> Choice:
    """``max(x, 0)``."""
    return pointwise("relu"), (input,)


@activation(pointwise("hardtanh"), "input", "0.0", "6.0")
def relu6(input: Tensor) -> Choice:
    """``min(max(x, 0), 6)``."""
    return pointwise("hardtanh"), (input, 0.0, 6.0)


@activation()
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Choice:
    """``x`` limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return pointwise("hardtanh"), (input, float(min_val), float(max_val))


@activation(pointwise("leaky_relu"), when="negative_slope.__class__ is float")
def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Choice:
    """``x`` where positive, else ``negative_slope * x``."""
    slope = real_number("leaky_relu", negative_slope, "negative_slope", 2)
    return pointwise("leaky_relu"), (input, slope)


@activation()
def threshold(input: Tensor, threshold: float, value: float) -> Choice:
    """``x`` where it is above the threshold, else ``value``."""
    if is_complex_number(threshold):
        threshold = real_number("threshold", threshold, "threshold", 2)
    if is_complex_number(value):
        value = real_number("threshold", value, "value", 3)
    return pointwise("threshold"), (input, threshold, value)


@activation(pointwise("elu"), "input", "alpha", "1.0", "1.0", when="alpha.__class__ is float")
def elu(input: Tensor, alpha: float = 1.0) -> Choice:
    """``x`` where positive, else ``alpha * (exp(x) - 1)``."""
    return pointwise("elu"), (input, real_number("elu", alpha, "alpha", 2), 1.0, 1.0)


@activation(pointwise("selu"))
def selu(input: Tensor) -> Choice:
    """Scaled ELU with the constants of Klambauer et al., "Self-Normalizing Neural Networks"."""
    return pointwise("selu"), (input,)


@activation()
def celu(input: Tensor, alpha: float = 1.0) -> Choice:
    """``max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)``."""
    alpha = real_number("celu", alpha, "alpha", 2)
    if alpha == 0:
        raise RuntimeError("celu(): argument 'alpha' (position 2) cannot be 0 for CELU")
    return pointwise("celu"), (input, alpha)


@activation(pointwise("silu"))
def silu(input: Tensor) -> Choice:
    """``x * sigmoid(x)``."""
    return pointwise("silu"), (input,)


@activation(pointwise("mish"))
def mish(input: Tensor) -> Choice:
    """``x * tanh(softplus(x))``."""
    return pointwise("mish"), (input,)


@activation(pointwise("hardsigmoid"))
def hardsigmoid(input: Tensor) -> Choice:
    """``x / 6 + 1 / 2`` limited to [0, 1]."""
    return pointwise("hardsigmoid"), (input,)


@activation(pointwise("hardswish"))
def hardswish(input: Tensor) -> Choice:
    """``x * hardsigmoid(x)``."""
    return pointwise("hardswish"), (input,)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """``x * Phi(x)``, Phi the normal distribution function, or its approximation by "tanh"."""
    if approximate == "none":
        return pointwise("gelu")(input)
    if not isinstance(approximate, str):
        raise TypeError(f"gelu(): argument 'approximate' must be str, not {type_name(approximate)}")
    if approximate != "tanh":
        raise RuntimeError(
            f"gelu(): approximate argument must be either none or tanh, but got '{approximate}'"
        )
    return pointwise("gelu_tanh")(input)


@checked
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second."""
    if not input._array.ndim:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    size = input._array.shape[dim]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {size}")
    first, second = input.chunk(2, dim)
    return first * sigmoid(second)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x`` is above the threshold."""
    if beta.__class__ is not float:
        beta = real_number("softplus", beta, "beta", 2)
    if threshold.__class__ is not float:
        threshold = real_number("softplus", threshold, "threshold", 3)
    return pointwise("softplus")(input, beta, threshold)


def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(x))``."""
    return pointwise("log_sigmoid")(input)


def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``."""
    refuse_kinds("softsign", input, "b")
    if input.is_complex():
        made: Tensor = input / (input.abs() + 1)
        return made
    return pointwise("softsign")(input)


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``."""
    if input._array.dtype.kind == "b":
        raise RuntimeError(
            "tanhshrink(): Subtraction, the `-` operator, with a bool tensor is not supported; "
            "convert the input with .to(dtype)"
        )
    return pointwise("tanhshrink")(input)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``x`` outside [-lambd, lambd], else 0."""
    return pointwise("hardshrink")(input, real_number("hardshrink", lambd, "lambd", 2))


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``x`` moved towards 0 by ``lambd``."""
    lambd = real_number("softshrink", lambd, "lambd", 2)
    if not lambd >= 0:
        raise RuntimeError(
            f"softshrink(): lambda must be greater or equal to 0, but found to be {lambd}."
        )
    return pointwise("softshrink")(input, lambd)


# --- with noise -----------------------------------------------------------------------------------


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """``x`` where positive, else ``a * x``: ``a`` uniform in [lower, upper] in training, or mean.

    Raises:
        RuntimeError: if ``lower`` is larger than ``upper``.
    """
    lower = real_number("rrelu", lower, "lower", 2)
    upper = real_number("rrelu", upper, "upper", 3)
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    refuse_kinds("rrelu", input, "biuc")
    if foreign(input._array) is not None:
        noise = where(input <= 0, empty_like(input, requires_grad=False).uniform_(lower, upper), 1)
    else:
        slopes = np.ones_like(input._array)
        negative = input._array <= 0
        # A number for each element that needs one, as torch draws them.
        slopes[negative] = empty(int(negative.sum()), dtype=float64).uniform_(lower, upper)._array
        noise = new_tensor(slopes)
    return input.mul_(noise) if inplace else input * noise


@checked
def gumbel_softmax(
    logits: Tensor, tau: float | Tensor = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample of the Gumbel-softmax distribution (Jang et al., 2016) along ``dim``.

    With ``hard`` the sample is one-hot, and its gradient that of the soft one.
    """
    drawn = empty(logits._array.shape, dtype=logits.dtype, device=logits.device).exponential_()
    noise = -drawn.log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = soft.max(dim, keepdim=True)[1]
    return zeros_like(logits).scatter_(dim, chosen, 1.0) - soft.detach() + soft


# --- in place -------------------------------------------------------------------------------------


def _in_place_of(function: Callable[..., Tensor]) -> Any:
    """The function that writes the result of ``function`` over its input."""

    def write(*arguments: Any, **options: Any) -> Tensor:
        return function(*arguments, **options, inplace=True)

    signature = inspect.signature(function)
    taken = [x for name, x in signature.parameters.items() if name != "inplace"]
    write.__signature__ = signature.replace(parameters=taken)  # type: ignore[attr-defined]
    write.__annotations__ = {x: t for x, t in function.__annotations__.items() if x != "inplace"}
    write.__name__ = write.__qualname__ = f"{function.__name__}_"
    write.__doc__ = f"``{function.__name__}`` in place."
    return checked(write)


relu_ = _in_place_of(relu)
hardtanh_ = _in_place_of(hardtanh)
leaky_relu_ = _in_place_of(leaky_relu)
threshold_ = _in_place_of(threshold)
elu_ = _in_place_of(elu)
selu_ = _in_place_of(selu)
celu_ = _in_place_of(celu)
rrelu_ = _in_place_of(rrelu)
