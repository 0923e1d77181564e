"""Loss layers: the functions of ``functional/`` with their options kept.

``size_average`` and ``reduce`` are how reductions were named before torch 0.4.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from . import functional as F
from .distance import PairwiseDistance
from .function_layer import forward_of, layer
from .module import Module

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss",
    "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss",
    "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss",
    "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]  # fmt: skip


class _Loss(Module):
    """A loss with a reduction: "mean", "sum" or "none"."""

    reduction: str

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        self.reduction = F.reduction_name(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    """A loss with a buffer of weights, or None."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


@forward_of(F.mse_loss)
class MSELoss(_Loss):
    """Squares of the differences."""


@forward_of(F.l1_loss)
class L1Loss(_Loss):
    """Absolute differences."""


@layer(F.smooth_l1_loss)
class SmoothL1Loss(_Loss):
    """Squares of differences below ``beta``, absolute values of large ones."""

    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"
    beta: float = 1.0


@layer(F.huber_loss)
class HuberLoss(_Loss):
    """Squares of small differences, linear in large ones, with one slope at ``delta``."""

    reduction: str = "mean"
    delta: float = 1.0


@forward_of(F.binary_cross_entropy)
class BCELoss(_WeightedLoss):
    """Binary cross entropy of probabilities."""


@layer(F.binary_cross_entropy_with_logits)
class BCEWithLogitsLoss(_WeightedLoss):
    """Binary cross entropy of ``sigmoid(input)``."""

    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"
    pos_weight: Tensor | None = None


@layer(F.nll_loss)
class NLLLoss(_WeightedLoss):
    """Negative log likelihood of classes, from logarithms of probabilities."""

    weight: Tensor | None = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"


@layer(F.cross_entropy)
class CrossEntropyLoss(_WeightedLoss):
    """Cross entropy of classes, or of probabilities of classes, from unnormalised scores."""

    weight: Tensor | None = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"
    label_smoothing: float = 0.0


@layer(F.ctc_loss)
class CTCLoss(_Loss):
    """Connectionist temporal classification: losses of sequences that are not aligned."""

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False


@layer(F.kl_div)
class KLDivLoss(_Loss):
    """Kullback-Leibler divergence, from logarithms of probabilities."""

    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"
    log_target: bool = False


@layer()
class PoissonNLLLoss(_Loss):
    """Negative log likelihood of Poisson counts."""

    log_input: bool = True
    full: bool = False
    size_average: bool | None = None
    eps: float = 1e-8
    reduce: bool | None = None
    reduction: str = "mean"

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.poisson_nll_loss(
            log_input, target, self.log_input, self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """Negative log likelihood of normal distributions with given variances."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Any) -> Tensor:
        """The loss."""
        return F.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


@layer()
class _MarginLoss(_Loss):
    """A loss with a margin."""

    margin: float = 0.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


@layer(F.hinge_embedding_loss)
class HingeEmbeddingLoss(_MarginLoss):
    """``x`` where the target is 1, ``max(0, margin - x)`` where it is -1."""

    margin: float = 1.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


@forward_of(F.margin_ranking_loss)
class MarginRankingLoss(_MarginLoss):
    """``max(0, -target * (input1 - input2) + margin)``."""


@forward_of(F.cosine_embedding_loss)
class CosineEmbeddingLoss(_MarginLoss):
    """One minus the cosine where the target is 1, the cosine above the margin where it is -1."""


@forward_of(F.soft_margin_loss)
class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target * input))``."""


def _require_margin(loss: Module, margin: float) -> None:
    if margin <= 0:
        raise ValueError(
            f"{loss._get_name()}: expected margin to be greater than 0, got {margin} instead"
        )


@layer(F.triplet_margin_loss)
class TripletMarginLoss(_Loss):
    """How much farther the negative should be from the anchor than the positive."""

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def __post_init__(self) -> None:
        _require_margin(self, self.margin)


class TripletMarginWithDistanceLoss(_Loss):
    """TripletMarginLoss with a distance of the caller's."""

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        _require_margin(self, margin)
        self.distance_function = distance_function or PairwiseDistance()
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """The loss."""
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function,
            margin=self.margin, swap=self.swap, reduction=self.reduction,
        )  # fmt: skip


@layer(F.multi_margin_loss)
class MultiMarginLoss(_WeightedLoss):
    """Hinge loss of classes."""

    p: int = 1
    margin: float = 1.0
    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def __post_init__(self) -> None:
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if self.weight is not None and self.weight.ndim != 1:
            raise ValueError(
                "MultiMarginLoss: expected weight to be None or 1D tensor, got "
                f"{self.weight.ndim}D instead"
            )


@forward_of(F.multilabel_margin_loss)
class MultiLabelMarginLoss(_Loss):
    """Hinge loss between every right and every wrong class."""


@forward_of(F.multilabel_soft_margin_loss)
class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Binary cross entropy of ``sigmoid(input)``, averaged over the classes."""
