"""Subclasses of ``Function`` that programs written for torch find in ``autograd._functions``."""

from __future__ import annotations

import math
from typing import Any

from .function import Function


class Resize(Function):
    """A copy of a tensor in another shape of as many elements."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, sizes: Any) -> Any:
        """The elements in the shape ``sizes``.

        Raises:
            RuntimeError: if that has more or fewer elements.
        """
        shape = tuple(tensor.shape)
        if math.prod(sizes) != math.prod(shape):
            raise RuntimeError(
                f"Resize: a tensor of shape {list(shape)} has {math.prod(shape)} elements, but the "
                f"shape {list(sizes)} has {math.prod(sizes)}; the number of elements cannot change"
            )
        ctx.input_sizes = shape
        return tensor.contiguous().view(sizes).clone()

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> tuple[Any, None]:
        """The gradient in the shape of the input."""
        return grad_output.contiguous().view(ctx.input_sizes), None
