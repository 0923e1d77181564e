"""``torch.nn.grad``: gradients of convolutions as functions, without a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd import grad
from ..autograd.grad_mode import enable_grad
from ..ops.creation.filled import zeros
from ..tensor import Tensor
from . import functional as F

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input",
           "conv3d_weight"]  # fmt: skip

_CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


def _input_gradient(dimensions: int) -> Callable[..., Tensor]:
    def gradient(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        """The gradient of the input, of the shape ``input_size``: it depends on no value of it."""
        with enable_grad():
            input = zeros(*input_size, dtype=weight.dtype, device=weight.device, requires_grad=True)
            convolve = _CONVOLUTIONS[dimensions]
            out = convolve(input, weight.detach(), None, stride, padding, dilation, groups)
            return grad(out, input, grad_output)[0]

    gradient.__name__ = gradient.__qualname__ = f"conv{dimensions}d_input"
    return gradient


def _weight_gradient(dimensions: int) -> Callable[..., Tensor]:
    def gradient(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        """The gradient of the weight, of the shape ``weight_size``."""
        with enable_grad():
            weight = zeros(*weight_size, dtype=input.dtype, device=input.device, requires_grad=True)
            convolve = _CONVOLUTIONS[dimensions]
            out = convolve(input.detach(), weight, None, stride, padding, dilation, groups)
            return grad(out, weight, grad_output)[0]

    gradient.__name__ = gradient.__qualname__ = f"conv{dimensions}d_weight"
    return gradient


conv1d_input, conv2d_input, conv3d_input = [_input_gradient(n) for n in (1, 2, 3)]
conv1d_weight, conv2d_weight, conv3d_weight = [_weight_gradient(n) for n in (1, 2, 3)]
