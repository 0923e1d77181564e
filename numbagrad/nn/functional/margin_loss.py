"""Losses with a margin: what is right shall be better than what is wrong by some distance.

Called by users and by the layers of ``nn/loss.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...autograd.grad_mode import state as grad_mode
from ...backend import foreign
from ...dispatch.policies import autocasts
from ...executor.families.checks import check_inside
from ...ops.arguments.requirements import require_tensor
from ...ops.arguments.shapes import common_shape
from ...ops.arguments.shared_parameters import shares
from ...ops.conversion.dtypes import cast
from ...ops.operators.array_function import array_function
from ...ops.operators.composite import composite
from ...ops.operators.tensor_operator import TensorOperator
from ...ops.pointwise.selection import where
from ...tensor import Tensor
from ...transforms.batching import folded
from ...transforms.levels import is_transformed
from .activation import logsigmoid, softplus
from .checks import Reduction, not_differentiable, refuse_kinds, require_floats
from .distance import cosine_similarity, pairwise_distance
from .reduction import REDUCTION, checked_reduction, reduce_loss

Array = np.ndarray[Any, Any]

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "soft_margin_loss",
    "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip


@autocasts("float32")
@shares(REDUCTION)
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: Reduction = "mean"
) -> Tensor:
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1."""
    if reduction == "mean":
        require_floats("hinge_embedding_loss", input=input)
    return _hinge(input, target, float(margin), reduction)


@composite(promotes=True)
def _hinge(input: Tensor, target: Tensor, margin: float, reduction: str) -> Tensor:
    apart = where(target == 1, 0.0, (margin - input).clamp_min(0))
    close = where(target == -1, 0.0, input)
    return reduce_loss(apart + close, reduction)


@autocasts("float32")
@shares(REDUCTION)
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, reduction: Reduction = "mean"
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return _ranking(input1, input2, target, float(margin), reduction)


@composite(promotes=True)
def _ranking(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: str
) -> Tensor:
    return reduce_loss((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@autocasts("float32")
@shares(REDUCTION)
def soft_margin_loss(input: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """``log(1 + exp(-target * input))``."""
    require_floats("soft_margin_loss", input=input)
    refuse_kinds("soft_margin_loss", target, "c", "target")
    shape, own = input._array.shape, target._array.shape
    if common_shape([shape, own]) != shape:
        raise RuntimeError(
            f"soft_margin_loss(): argument 'target' of shape {list(own)} does not broadcast to the "
            f"shape of the input, {list(shape)}"
        )
    if target._requires_grad and grad_mode.enabled:
        raise not_differentiable("soft_margin_loss", "target")
    return _soft_margin(input, cast(target, input._array.dtype), reduction)


@composite(promotes=True)
def _soft_margin(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    return reduce_loss(softplus(-(target * input)), reduction)


@autocasts("float32")
@shares(REDUCTION)
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, reduction: Reduction = "mean"
) -> Tensor:
    """One minus the cosine where the target is 1, the cosine above the margin where it is -1."""
    rank = target._array.ndim
    if rank > 1:
        raise RuntimeError(
            "cosine_embedding_loss(): 0D or 1D target tensor expected, multi-target not supported, "
            f"but got a target of shape {list(target._array.shape)}"
        )
    if not input1._array.ndim == input2._array.ndim == rank + 1:
        raise RuntimeError(
            f"cosine_embedding_loss(): {rank}D target tensor expects {rank + 1}D input tensors, "
            f"but found inputs with sizes {list(input1._array.shape)} and "
            f"{list(input2._array.shape)}."
        )
    input1, input2 = [x if x._array.dtype.kind in "fcV" else x.float() for x in (input1, input2)]
    return _cosine_embedding(input1, input2, target, margin, reduction)


@composite(promotes=True)
def _cosine_embedding(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: str
) -> Tensor:
    dim = target._array.ndim
    cosine = cosine_similarity(input1, input2, dim)
    close = where(target == 1, 1 - cosine, 0.0)
    apart = where(target == -1, (cosine - margin).clamp_min(0), 0.0)
    return reduce_loss(close + apart, reduction)


@autocasts("float32")
@shares(REDUCTION)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: Reduction = "mean",
) -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_ranks(anchor, positive, negative)
    return _triplet_of_norms(anchor, positive, negative, margin, float(p), eps, swap, reduction)


def _check_ranks(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    """Raise unless the tensors of triplets have as many dimensions each."""
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
            f"{negative.ndim}D inputs"
        )


@composite(promotes=True)
def _triplet_of_norms(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, p: float, eps: float,
    swap: bool, reduction: str,
) -> Tensor:  # fmt: skip
    def distance(a: Tensor, b: Tensor) -> Tensor:
        return pairwise_distance(a, b, p, eps)

    return reduce_loss(_triplet(anchor, positive, negative, distance, margin, swap), reduction)


def _triplet(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance: Callable[[Tensor, Tensor], Tensor],
    margin: float,
    swap: bool,
) -> Tensor:
    """The loss of every triplet; ``swap`` measures from the positive where that is nearer."""
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return (near - far + margin).clamp_min(0)


def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: Reduction = "mean",
) -> Tensor:
    """``triplet_margin_loss`` with a distance of the caller's, else ``pairwise_distance``."""
    checked_reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    given = ("anchor", anchor), ("positive", positive), ("negative", negative)
    for position, (name, value) in enumerate(given, 1):
        if not hasattr(value, "ndim"):
            require_tensor("triplet_margin_with_distance_loss", value, name, position)
    _check_ranks(anchor, positive, negative)
    for position, (name, value) in enumerate(given, 1):
        if distance_function is None:
            require_tensor("triplet_margin_with_distance_loss", value, name, position)
    distance = distance_function or pairwise_distance
    return reduce_loss(_triplet(anchor, positive, negative, distance, margin, swap), reduction)


# --- of classes -----------------------------------------------------------------------------------


def _check_classes(classes: np.ndarray[Any, Any], count: int) -> None:
    if ((classes < 0) | (classes >= count)).any():
        raise RuntimeError("target out of range")


@autocasts("float32")
@shares(REDUCTION)
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: Any = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """Hinge loss of classes: the mean over the others of ``max(0, margin - x[y] + x[i])**p``.

    ``input`` holds scores (N, C) or (C), ``target`` classes (N) or ().
    """
    checked_reduction(reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight._array.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    refuse_kinds("multi_margin_loss", input, "biuc")
    single = input.ndim < 2  # one sample; a score alone is that of its only class
    scores = input.reshape(1, -1) if single else input
    classes = target.reshape(-1)
    samples, count = scores._array.shape
    if target.ndim > 1 or classes._array.size != samples:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{samples}], but got "
            f"{list(target.shape)}. Input has shape {list(input.shape)}."
        )
    if not is_transformed(classes):
        array = classes._array
        check_inside("multi_margin_loss(): a target", array, count, _check_classes, array, count)
    if weight is not None and weight._array.shape != (count,):
        raise RuntimeError(
            f"inconsistent weight size, expected {count} but got {list(weight.shape)}"
        )
    loss = _multi_margin(scores, classes, p, margin, weight)
    return reduce_loss(loss.squeeze(0) if single else loss, reduction)


def _multi_margin(
    scores: Tensor, classes: Tensor, p: int, margin: float, weight: Tensor | None
) -> Tensor:
    count, right = scores._array.shape[1], classes.unsqueeze(1)
    short = (margin - scores.gather(1, right) + scores).clamp_min(0)
    short = short if p == 1 else short * short
    if weight is not None:
        short = short * weight[classes].unsqueeze(1)
    return short.scatter(1, right, 0.0).sum(1) / count


@autocasts("float32")
@shares(REDUCTION)
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """Hinge loss of several classes a sample, between every right and every wrong one.

    ``target`` has the shape of ``input``, (N, C) or (C): the right classes, ended by -1.
    """
    checked_reduction(reduction)
    if target._array.shape != input._array.shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
    refuse_kinds("multilabel_margin_loss", input, "biuc")
    refuse_kinds("multilabel_margin_loss", target, "c", "target")
    if target._array.dtype != np.int64:
        raise RuntimeError(
            "multilabel_margin_loss(): argument 'target' must have dtype torch.int64, but it has "
            f"dtype {target.dtype}; convert it with .long()"
        )
    classes = target.reshape(-1, target._array.shape[-1] if target.ndim else 1)
    if not is_transformed(target):
        _check_lists(classes)
    scores = input.reshape(classes._array.shape)
    short = (1 - scores.unsqueeze(2) + scores.unsqueeze(1)).clamp_min(0)
    between = _between(classes)
    loss = (short.masked_fill(between == 0, 0.0) * between).sum((1, 2)) / classes._array.shape[1]
    return reduce_loss(loss if input.ndim == 2 else loss.squeeze(0), reduction)


def _check_lists(classes: Tensor) -> None:
    """Raise unless all elements are classes, or the -1 that ends a list."""
    array = classes._array
    if foreign(array) is None:
        _check_at_once(array)
        return
    subject, count = "multilabel_margin_loss(): a target, counted from -1,", array.shape[1] + 1
    check_inside(subject, (classes + 1)._array, count, _check_listed, array)


def _check_listed(classes: Array) -> None:
    if ((classes < -1) | (classes >= classes.shape[1])).any():
        raise RuntimeError("argument #2 'target' is out of range")


_check_at_once = array_function("check")(_check_listed)


def _right_and_wrong(classes: Array) -> Array:
    """How often the first of two classes is listed, if the second is not: (N, C, C)."""
    listed = np.cumprod(classes >= 0, 1).astype(bool)
    right = np.zeros(classes.shape, np.int64)
    rows = np.broadcast_to(np.arange(len(classes))[:, None], classes.shape)
    np.add.at(right, (rows[listed], classes[listed]), 1)
    made: Array = right[:, :, None] * (right[:, None, :] == 0)
    return made


_between = TensorOperator(
    "multilabel_margin_loss", lambda classes: _right_and_wrong(classes), {}, batch=folded
)


@shares(REDUCTION)
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: Reduction = "mean"
) -> Tensor:
    """Binary cross entropy of ``sigmoid(input)``, averaged over the classes, the last dimension."""
    if not input._array.ndim:
        raise IndexError(
            "multilabel_soft_margin_loss(): argument 'input' has no dimensions; its last one is "
            "that of the classes"
        )
    return _soft_margin_of_classes(input, target, weight, reduction)


@composite(promotes=True)
def _soft_margin_of_classes(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str
) -> Tensor:
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduce_loss(loss.mean(-1), reduction)
