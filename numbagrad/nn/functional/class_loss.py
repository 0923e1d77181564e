"""Losses of scores against classes: negative log likelihood and cross entropy.

Called by users and by the layers of ``nn/loss.py``. Picking the entry of the class, and the sum of
what was picked, are the operators at the top; ``executor/families/nll_loss.py`` runs their kernels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...autograd.grad_mode import state as grad_mode
from ...dispatch.policies import autocasts
from ...dtype import scalar_type_name
from ...executor.families import checks
from ...executor.families import nll_loss as class_loss
from ...executor.memory.arrays import filled_like
from ...ops.operators.composite import composite
from ...ops.operators.tensor_operator import TensorOperator
from ...ops.pointwise.selection import where
from ...ops.reductions.softmax import log_softmax
from ...tensor import Tensor, new_tensor
from ...transforms.levels import is_batched, is_transformed
from .checks import Reduction, not_differentiable, one_dtype, refuse_kinds
from .reduction import checked_reduction, reduce_loss, reduction_name

__all__ = ["cross_entropy", "nll_loss"]

_REDUCTIONS = ("none", "mean", "sum")
_MEAN = _REDUCTIONS.index("mean")  # as the operators below are given it


def _pick_samples(operator: TensorOperator, size: int, arguments: Any, mapped: Any) -> Tensor:
    """Entries of samples (B, N, C, ...) whose targets are the same for all."""
    input, classes_of, factor, ignored = arguments[:4]
    is_ignored = classes_of == ignored
    classes = where(is_ignored, 0, classes_of).unsqueeze(1)
    rows = classes.expand((size, *classes._array.shape))
    factors = new_tensor(factor)
    picked = -input.gather(2, rows).squeeze(2) * factors
    picked = where(is_ignored, factors, picked)
    return picked.flatten(1).sum(1) if operator.name == "nll_total" else picked


def _position_samples(operator: TensorOperator, size: int, arguments: Any, mapped: Any) -> Tensor:
    """The adjoint: linear in the gradients, so those of ones times theirs."""
    grad, target, factor, ignored, shape = arguments
    ones = new_tensor(filled_like(grad._array, grad._array.shape[1:], grad._array.dtype, 1))
    placed = operator(ones, target, factor, ignored, shape)
    own = grad._array.shape
    if len(own) == 1:
        return placed * grad.reshape((size, *(1,) * len(shape)))
    return placed * grad.unsqueeze(2)


def _tangent_of_picked(operator: Any, primals: Any, tangents: Any, results: Any) -> Any:
    """The operator is linear in what it picks from, and knows weights by the factor alone."""
    return (None if tangents[0] is None else operator(tangents[0], *primals[1:]),)


def _picking(name: str, forward: Any) -> tuple[TensorOperator, TensorOperator]:
    """An operator that picks entries, by torch's name of its node for (N, C) and for (N, C, ...).

    It is linear, so the gradient of its gradient is the operator again.
    """

    def operator(grad_fn: str) -> TensorOperator:
        return TensorOperator(
            name,
            forward,
            {
                # The weight and the reduction are in the factor, and for those who ask the node.
                "input": lambda grad, target, factor, ignored, input_shape, weight, reduction: (
                    gradient(grad.contiguous(), target, factor, ignored, input_shape)
                ),
                "target": None,  # type: ignore[dict-item]
                "weight": None,  # type: ignore[dict-item]
            },
            grad_fn=grad_fn,
            batch=_pick_samples,
            tangent=_tangent_of_picked,
            portable=True,
        )

    plain, of_positions = operator("NllLossBackward0"), operator("NllLoss2DBackward0")
    gradient = TensorOperator(
        "nll_loss_backward",
        lambda grad_output, target, factor, ignored, shape: class_loss.placed(
            grad_output, target, factor, ignored, shape
        ),
        {
            "grad_output": lambda grad, target, factor, ignored: plain(
                grad.contiguous(), target, factor, ignored, None, None
            ),
            "target": None,  # type: ignore[dict-item]
        },
        batch=_position_samples,
        tangent=_tangent_of_picked,
        portable=True,
    )
    return plain, of_positions


#: Minus the entry of the class of every element, times a factor; classes are dimension 1.
nll_elements, nll_elements_2d = _picking(
    "nll_elements",
    lambda input, target, factor, ignored, weight, reduction: class_loss.elements(
        input, target, factor, ignored
    ),
)
#: The sum of the above.
nll_total, nll_total_2d = _picking(
    "nll_total",
    lambda input, target, factor, ignored, weight, reduction: class_loss.total(
        input, target, factor, ignored, reduction == _MEAN
    ),
)


def _check_nll(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> None:
    """The errors of nll_loss for input (N, C, ...) and target (N, ...)."""
    x, classes = input._array, target._array
    if classes.dtype not in (np.int64, np.uint8):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {scalar_type_name(target.dtype)}"
        )
    batch = classes.shape[0] if classes.ndim else 0
    if x.shape[0] != batch:
        raise ValueError(
            f"Expected input batch_size ({x.shape[0]}) to match target batch_size ({batch})."
        )
    if x.shape[2:] != classes.shape[1:]:
        raise RuntimeError(
            f"Expected target size {[x.shape[0], *x.shape[2:]]}, got {list(target.size())}"
        )
    if x.ndim not in (2, 4) and classes.size and not x.size:  # as torch makes four dimensions of it
        raise RuntimeError(
            f"size mismatch (got input: {[*x.shape[:2], 0, 0]} , target: "
            f"{[batch, 1, classes.size // batch]}"
        )
    if weight is not None and weight._array.shape != (x.shape[1],):
        raise RuntimeError(
            f"weight tensor should be defined either for all {x.shape[1]} classes or no classes "
            f"but got weight tensor of shape: {list(weight._array.shape)}"
        )
    if x.dtype.kind in "biuc":
        refuse_kinds("nll_loss", input, "biuc")
    if weight is not None:
        one_dtype("nll_loss", input, weight=weight)
    if weight is not None and weight._requires_grad and grad_mode.enabled:
        name = "nll_loss_forward" if x.ndim == 2 else "nll_loss2d_forward"
        raise not_differentiable(name, "weight")


@autocasts("float32")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """Negative log likelihood: minus the entry of its class, of every element.

    Args:
        input: logarithms of probabilities, (N, C), (N, C, ...) or (C).
        target: classes, (N), (N, ...) or ().
        weight: a weight a class; "mean" divides by the sum of the weights of the elements.
        ignore_index: the class of elements that do not count.
    """
    reduction = reduction_name(size_average, reduce, reduction)
    checked_reduction(reduction)
    if not input._array.ndim:
        raise ValueError("nll_loss: Expected 1 or more dimensions (got 0)")
    if input._array.ndim == 1:
        single = input.unsqueeze(0)
        if target._array.ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target._array.size != 1:
            raise ValueError(
                "For 1D input, 1D target must have size 1, but got target size: "
                f"{target._array.size}"
            )
        loss = nll_loss(single, target.reshape(1), weight, None, ignore_index, None, reduction)
        return loss.squeeze(0) if reduction == "none" else loss
    _check_nll(input, target, weight, ignore_index)
    if is_batched(input) or is_transformed((target, weight)):
        return _nll_of_samples(input, target.long(), weight, ignore_index, reduction)
    target = target.long().contiguous()
    classes = target._array
    checks.check_classes(classes, input._array.shape[1], ignore_index)
    kind = input._array.dtype
    if weight is not None:
        weight = weight.to(input.dtype).contiguous()
    weights = None if weight is None else weight._array
    factor = class_loss.factors(classes, weights, ignore_index, reduction == "mean", kind)
    plain = input._array.ndim == 2
    if reduction == "none":
        operator = nll_elements if plain else nll_elements_2d
    else:
        operator = nll_total if plain else nll_total_2d
    number = _REDUCTIONS.index(reduction)
    return operator(input.contiguous(), target, factor, ignore_index, weight, number)


def _nll_of_samples(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str
) -> Tensor:
    """The loss by operators that take any Tensors, for those under a transformation."""
    ignored = target == ignore_index
    known = target.masked_fill(ignored, 0)
    loss = -input.gather(1, known.unsqueeze(1)).squeeze(1)
    if weight is None:
        factors = (~ignored).to(input.dtype)
    else:
        rows = weight.detach().to(input.dtype).index_select(0, known.reshape(-1))
        chosen = rows.reshape(target._array.shape)
        factors = chosen.masked_fill(ignored, 0.0)
    loss = (loss * factors).masked_fill(ignored, 0.0)
    if reduction == "none":
        return loss
    return loss.sum() / factors.sum() if reduction == "mean" else loss.sum()


@autocasts("float32")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: Reduction = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy of unnormalised scores (N, C, ...) or (C).

    ``target`` holds classes, (N, ...), or probabilities of them in the shape of ``input``.
    ``label_smoothing`` mixes the target with the uniform distribution.

    >>> scores = torch.tensor([[2.0, 0.0], [0.0, 2.0]])
    >>> nn.functional.cross_entropy(scores, torch.tensor([0, 1]))
    tensor(0.1269)
    """
    reduction = reduction_name(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if target._array.dtype.kind not in "fV":
        if target._array.shape == input._array.shape:
            raise RuntimeError(
                "Expected floating point type for target with class probabilities, got "
                f"{target.dtype}"
            )
        plain = input._array.ndim <= 2
        if label_smoothing:
            operator = _smoothed_class_loss
        else:
            operator = _class_loss if plain else _class_loss_2d
        return operator(input, target, weight, ignore_index, reduction, label_smoothing)
    if target._array.shape == input._array.shape and target._array.dtype.kind in "fV":
        return _probability_loss(input, target, weight, reduction, label_smoothing)
    if target._array.ndim == input._array.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    logarithms = log_softmax(input, 0 if input._array.ndim == 1 else 1)
    return nll_loss(logarithms, target, weight, None, ignore_index, None, reduction)


def _cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Tensor:
    """Cross entropy of scores (N, C, ...) or (C) and classes."""
    dim = 0 if input._array.ndim == 1 else 1
    logarithms = log_softmax(input, dim)
    loss = nll_loss(logarithms, target, weight, None, ignore_index, None, reduction)
    if label_smoothing == 0:
        return loss
    uniform = _smooth_loss(logarithms, target, weight, ignore_index, reduction)
    classes = input._array.shape[dim]
    return loss * (1 - label_smoothing) + uniform * _share(label_smoothing, classes)


_class_loss = composite("NllLossBackward0", takes="one dtype")(_cross_entropy)
_class_loss_2d = composite("NllLoss2DBackward0", takes="one dtype")(_cross_entropy)
_smoothed_class_loss = composite("AddBackward0", takes="one dtype")(_cross_entropy)


def _share(smoothing: float, classes: int) -> float:
    """The share of each of the classes; infinity where there are none, as torch divides."""
    return smoothing / classes if classes else math.inf


def _class_weights(weight: Tensor, rank: int) -> Tensor:
    """Weights of classes, to be multiplied with (N, C, ...) or (C)."""
    return weight if rank == 1 else weight.reshape(1, -1, *(1,) * (rank - 2))


def _smooth_loss(
    logarithms: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str
) -> Tensor:
    """The loss against the uniform distribution, times the number of classes."""
    rank = logarithms._array.ndim
    dim = 0 if rank == 1 else 1
    weighted = logarithms if weight is None else logarithms * _class_weights(weight, rank)
    loss = -weighted.sum(dim)
    ignored = target == ignore_index
    loss = loss.masked_fill(ignored, 0.0)
    if reduction != "mean":
        return reduce_loss(loss, reduction)
    if weight is None:
        return loss.sum() / (~ignored).sum()
    if not weight._array.size:
        return loss.sum() / 0.0  # all elements are ignored
    counted = weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0.0)
    return loss.sum() / counted.sum()


@composite(promotes=True)
def _probability_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float
) -> Tensor:
    """Cross entropy of scores (N, C, ...) or (C) and probabilities in their shape."""
    rank = input._array.ndim
    dim = 0 if rank == 1 else 1
    logarithms = log_softmax(input, dim)
    if smoothing > 0:
        target = target * (1 - smoothing) + _share(smoothing, logarithms._array.shape[dim])
    terms = logarithms * target
    if weight is not None:
        terms = terms * _class_weights(weight, rank)
    if reduction == "none":
        return -terms.sum(dim)
    total = -terms.sum()
    if reduction == "sum":
        return total
    checked_reduction(reduction)
    if not logarithms._array.size:
        return total / 0.0  # NaN, also where there are elements that have no classes
    return total / (logarithms._array.size // logarithms._array.shape[dim])
