"""Layers that programs of earlier years use, under the names they had then."""

from __future__ import annotations

import warnings
from typing import Any

from ..ops.arguments.requirements import require_tensor
from ..tensor import Tensor
from .function_layer import layer
from .functional import pad
from .functional.checks import require_floats
from .loss import NLLLoss
from .module import Module

__all__ = ["Container", "CrossMapLRN2d", "NLLLoss2d"]


class Container(Module):
    """A module with the given modules as its own; today any ``Module`` is one."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in "
            "`nn.Module`. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class NLLLoss2d(NLLLoss):
    """``NLLLoss``, which today takes images too."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in "
            "replacement and see https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more "
            "details.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


@layer()
class CrossMapLRN2d(Module):
    """Images over a power of the squares of neighbouring channels (Krizhevsky et al., 2012).

    ``x / (k + alpha / size * sum(x²))**beta``, the sum over ``size`` channels, or one less if that
    is even. torch's layer of this name counts the first channel in every later sum as well.
    """

    _repr_format = "{0.size}, alpha={0.alpha}, beta={0.beta}, k={0.k}"

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer to (N, C, H, W).

        Raises:
            ValueError: for an input of other dimensions.
        """
        require_tensor("CrossMapLRN2d", input)
        if input._array.ndim != 4:
            raise ValueError(
                f"CrossMapLRN2d: Expected input to be 4D, got {input._array.ndim}D instead."
            )
        if input._array.dtype.kind in "iub":
            require_floats("CrossMapLRN2d", input=input)
        reach = (self.size - 1) // 2
        squares = pad(input.square(), (0, 0, 0, 0, reach, reach))
        sums = squares.unfold(1, 2 * reach + 1, 1).sum(-1)
        return input * (sums * (self.alpha / self.size) + self.k).pow(-self.beta)
