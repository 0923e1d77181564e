"""The layer of ``nn.functional.linear_cross_entropy``: a linear layer and its loss in one."""

from __future__ import annotations

import math
from typing import Any

from ..tensor import Tensor
from . import functional as F
from .functional.linear_loss import LinearCrossEntropyOptions
from .linear import Linear
from .loss import _WeightedLoss

__all__ = ["LinearCrossEntropyLoss", "LinearCrossEntropyOptions"]


class LinearCrossEntropyLoss(_WeightedLoss):
    """Cross entropy of scores that a linear layer makes of the input.

    The layer is ``linear``, whose rows are all classes at all places.

    Args:
        in_features: the size of an input.
        num_classes: how many classes there are.
        out_features: sizes (d1, ...) of places that have a class each.
        bias: whether the layer has a bias.
        weight: of every class.
        reduction: "mean", "sum" or "none".
        ignore_index: the class that counts for nothing, -100 by default.
        label_smoothing: how much of the uniform distribution is mixed into the target.
        options: how samples are divided into chunks, as for the function.
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        rows = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of inputs (N, in_features) or (in_features)."""
        positions = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*positions, self.linear.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(positions),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
