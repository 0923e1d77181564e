"""Losses with a margin: what is right shall be better than what is wrong by some distance.

Called by users and by the layers of ``nn/loss.py``.
"""

from __future__ import annotations

from ...ops.functions import where
from ...tensor import Tensor
from .activation import softplus
from .distance import cosine_similarity, pairwise_distance
from .reduction import reduce_loss, reduction_name

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "soft_margin_loss",
    "triplet_margin_loss",
]  # fmt: skip


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
    return reduce_loss(apart + close, reduction)


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
    return reduce_loss((-target * (input1 - input2) + margin).clamp_min(0), reduction)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))``."""
    reduction = reduction_name(size_average, reduce, reduction)
    return reduce_loss(softplus(-target * input), reduction)


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
    return reduce_loss(close + apart, reduction)


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
    return reduce_loss((near - far + margin).clamp_min(0), reduction)
