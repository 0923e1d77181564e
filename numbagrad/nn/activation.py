"""Activation layers: a class for each activation of ``functional/``.

A class keeps the arguments of its function as attributes and prints them as torch does.
"""

from __future__ import annotations

from typing import Any

from ..ops.arguments.requirements import require_tensor
from ..ops.creation.filled import full
from ..ops.reductions.softmax import log_softmax_of_guess as log_softmax
from ..ops.reductions.softmax import softmax_of_guess as softmax
from ..ops.reductions.softmax import softmin
from ..tensor import Tensor
from . import functional as F
from .function_layer import forward_of, layer
from .module import Module
from .parameter import Parameter

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU",
    "SiLU", "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign",
    "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip


class _InPlace(Module):
    """An activation that can write over its input; prints the option only where it is set."""

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        text = super().extra_repr()
        if not self.inplace:
            return text
        return f"{text}, inplace=True" if text else "inplace=True"


@forward_of(F.relu)
class ReLU(_InPlace):
    """``max(x, 0)``."""


@forward_of(F.selu)
class SELU(_InPlace):
    """Scaled ELU."""


@forward_of(F.silu)
class SiLU(_InPlace):
    """``x * sigmoid(x)``."""


@forward_of(F.mish)
class Mish(_InPlace):
    """``x * tanh(softplus(x))``."""


@forward_of(F.hardsigmoid)
class Hardsigmoid(_InPlace):
    """``x / 6 + 1 / 2`` limited to [0, 1]."""

    def extra_repr(self) -> str:
        return ""


@forward_of(F.hardswish)
class Hardswish(_InPlace):
    """``x * hardsigmoid(x)``."""

    def extra_repr(self) -> str:
        return ""


@forward_of(F.hardtanh)
class Hardtanh(_InPlace):
    """``x`` limited to [min_val, max_val]."""

    _repr_format = "min_val={0.min_val}, max_val={0.max_val}"

    min_val: float
    max_val: float

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val must be larger than min_val, got {self.max_val} and {self.min_val}"
            )


class ReLU6(Hardtanh):
    """``min(max(x, 0), 6)``."""

    _repr_format = ""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


@layer(F.threshold)
class Threshold(_InPlace):
    """``x`` where it is above the threshold, else ``value``."""

    _repr_format = "threshold={0.threshold}, value={0.value}"

    threshold: float
    value: float
    inplace: bool = False


@layer(F.elu)
class ELU(_InPlace):
    """``x`` where positive, else ``alpha * (exp(x) - 1)``."""

    _repr_format = "alpha={0.alpha}"

    alpha: float = 1.0
    inplace: bool = False


@forward_of(F.celu)
class CELU(ELU):
    """``max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)``."""


@layer(F.leaky_relu)
class LeakyReLU(_InPlace):
    """``x`` where positive, else ``negative_slope * x``."""

    _repr_format = "negative_slope={0.negative_slope}"

    negative_slope: float = 1e-2
    inplace: bool = False


@layer(F.rrelu)
class RReLU(_InPlace):
    """``x`` where positive, else ``x`` times a random slope in [lower, upper], or their mean."""

    _repr_format = "lower={0.lower}, upper={0.upper}"

    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False


@forward_of(F.sigmoid)
class Sigmoid(Module):
    """``1 / (1 + exp(-x))``."""


@forward_of(F.tanh)
class Tanh(Module):
    """The hyperbolic tangent."""


@forward_of(F.logsigmoid)
class LogSigmoid(Module):
    """``log(sigmoid(x))``."""


@forward_of(F.softsign)
class Softsign(Module):
    """``x / (1 + |x|)``."""


@forward_of(F.tanhshrink)
class Tanhshrink(Module):
    """``x - tanh(x)``."""


@layer(F.gelu)
class GELU(Module):
    """``x * Phi(x)``, Phi the normal distribution function."""

    _repr_format = "approximate={0.approximate!r}"

    approximate: str = "none"


@layer(F.softplus)
class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``."""

    _repr_format = "beta={0.beta}, threshold={0.threshold}"

    beta: float = 1.0
    threshold: float = 20.0


@layer(F.hardshrink)
class Hardshrink(Module):
    """``x`` outside [-lambd, lambd], else 0."""

    _repr_format = "{0.lambd}"

    lambd: float = 0.5


@forward_of(F.softshrink)
class Softshrink(Hardshrink):
    """``x`` moved towards 0 by ``lambd``."""


class PReLU(Module):
    """``x`` where positive, else ``weight * x`` with trained weights, one or one a channel."""

    _repr_format = "num_parameters={0.num_parameters}"

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(full((num_parameters,), float(init), device=device, dtype=dtype))

    def reset_parameters(self) -> None:
        """Write the initial value again."""
        self.weight.data.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.prelu(input, self.weight)


@layer()
class _AlongDimension(Module):
    """A function of the slices along one dimension."""

    _repr_format = "dim={0.dim}"

    dim: int | None = None


@forward_of(softmax)
class Softmax(_AlongDimension):
    """``exp(x)`` over its sum along a dimension."""


@forward_of(log_softmax)
class LogSoftmax(_AlongDimension):
    """The logarithm of softmax."""


@forward_of(softmin)
class Softmin(_AlongDimension):
    """Softmax of the negated input."""


@layer(F.glu)
class GLU(Module):
    """The first half of a dimension times the sigmoid of the second."""

    _repr_format = "dim={0.dim}"

    dim: int = -1


class Softmax2d(Module):
    """Softmax over the channels of every place of images, (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        require_tensor("Softmax2d", input)
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return softmax(input, -3)
