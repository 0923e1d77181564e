"""Losses of numbers against numbers: squares, absolute values, entropies and likelihoods.

Called by users and by the layers of ``nn/loss.py``. What is one node in torch is one here: the
operators made by ``reduced_loss``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...autograd.grad_mode import no_grad
from ...executor import checks
from ...ops.creation import full
from ...ops.operator import pointwise
from ...ops.shapes import common_shape
from ...ops.tensor_operator import TensorOperator
from ...tensor import Tensor, new_tensor
from ...warn_once import warn_caller
from .reduction import reduce_loss, reduction_name

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "gaussian_nll_loss",
    "huber_loss", "kl_div", "l1_loss", "mse_loss", "poisson_nll_loss", "smooth_l1_loss",
]  # fmt: skip

Array = np.ndarray[Any, Any]


def _gradient_of(name: str, place: int) -> Callable[..., Tensor]:
    """The gradient of a reduced pointwise loss with respect to one of its two tensors."""
    needed: list[int | None] = [None, None]
    needed[place] = 0

    def gradient(grad: Tensor, input: Tensor, target: Tensor, option: Any, mean: bool) -> Tensor:
        options = () if option is None else (option,)
        rule = pointwise(name).rule((*needed, *[None for _ in options]))
        operands = (input, target, *options)
        used = [operands[i] for i in rule.uses]
        scaled = grad / input._array.size if mean else grad
        assert rule.joint is not None
        return rule.joint(scaled, *used)

    return gradient


def _reduced_forward(name: str) -> Callable[..., Array]:
    def forward(input: Array, target: Array, option: Any, mean: bool) -> Array:
        options = () if option is None else (option,)
        loss = pointwise(name)(new_tensor(input), new_tensor(target), *options)
        return (loss.mean() if mean else loss.sum())._array

    return forward


@functools.cache
def reduced_loss(name: str) -> TensorOperator:
    """Mean or sum of a pointwise loss of two tensors of one shape and dtype, as one operator.

    Called with input, target, the option of the loss or None, and whether the mean is asked for.
    """
    return TensorOperator(
        name,
        _reduced_forward(name),
        {"input": _gradient_of(name, 0), "target": _gradient_of(name, 1)},
    )


def _pointwise_loss(
    name: str, input: Tensor, target: Tensor, reduction: str, option: float | None = None
) -> Tensor:
    """A pointwise loss, reduced: one node if both tensors have one shape and dtype."""
    x, y = input._array, target._array
    if reduction != "none" and x.shape == y.shape and x.dtype == y.dtype and x.dtype.kind == "f":
        if reduction not in ("mean", "sum"):
            raise ValueError(f"{reduction} is not a valid value for reduction")
        operator = reduced_loss(name)
        return operator(input, target, option, reduction == "mean")
    options = () if option is None else (option,)
    return reduce_loss(pointwise(name)(input, target, *options), reduction)


def _warn_sizes(input: Tensor, target: Tensor) -> None:
    if input._array.shape != target._array.shape:
        warn_caller(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
        )


def _weighted(name: str, input: Tensor, target: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """A pointwise loss of weighted elements; the mean is over the sum of the weights."""
    shape = common_shape([input._array.shape, target._array.shape])
    if weight._array.shape != shape:
        raise ValueError("Inputs and weight must have the same size.")
    loss = pointwise(name)(input, target) * weight
    return loss.sum() / weight.sum() if reduction == "mean" else reduce_loss(loss, reduction)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Squares of the differences, averaged, summed or as they are."""
    reduction = reduction_name(size_average, reduce, reduction)
    _warn_sizes(input, target)
    if weight is not None:
        return _weighted("mse_loss", input, target, weight, reduction)
    return _pointwise_loss("mse_loss", input, target, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Absolute differences, averaged, summed or as they are."""
    reduction = reduction_name(size_average, reduce, reduction)
    _warn_sizes(input, target)
    if weight is not None:
        return _weighted("l1_loss", input, target, weight, reduction)
    return reduce_loss(pointwise("l1_loss")(input, target), reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squares of small differences (below ``beta``), absolute values of large ones."""
    reduction = reduction_name(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    _warn_sizes(input, target)
    if beta == 0:
        return reduce_loss(pointwise("l1_loss")(input, target), reduction)
    return _pointwise_loss("smooth_l1_loss", input, target, reduction, float(beta))


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Squares of small differences, linear in large ones, with one slope at ``delta``."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    _warn_sizes(input, target)
    if weight is None:
        return _pointwise_loss("huber_loss", input, target, reduction, float(delta))
    loss = pointwise("huber_loss")(input, target, float(delta)) * weight
    return loss.sum() / weight.sum() if reduction == "mean" else reduce_loss(loss, reduction)


def _check_same_size(message: str, input: Tensor, target: Tensor) -> None:
    if input._array.shape != target._array.shape:
        raise ValueError(message.format(target=target.size(), input=input.size()))


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``-(t log x + (1 - t) log(1 - x))``, each logarithm at least -100, as in torch."""
    reduction = reduction_name(size_average, reduce, reduction)
    _check_same_size(
        "Using a target size ({target}) that is different to the input size ({input}) is "
        "deprecated. Please ensure they have the same size.",
        input,
        target,
    )
    checks.check_probabilities(input._array)
    if weight is None:
        return _pointwise_loss("binary_cross_entropy", input, target, reduction)
    return reduce_loss(pointwise("binary_cross_entropy")(input, target) * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of ``sigmoid(input)``, computed without overflow."""
    reduction = reduction_name(size_average, reduce, reduction)
    _check_same_size(
        "Target size ({target}) must be the same as input size ({input})", input, target
    )
    name = "binary_cross_entropy_with_logits"
    if weight is None and pos_weight is None:
        return _pointwise_loss(name, input, target, reduction)
    if pos_weight is None:
        loss = pointwise(name)(input, target)
    else:
        loss = pointwise(f"{name}_weighted")(input, target, pos_weight)
    return reduce_loss(loss if weight is None else loss * weight, reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """``target * (log target - input)``; "batchmean" divides the sum by the batch size."""
    reduction = reduction_name(size_average, reduce, reduction)
    if reduction == "mean":
        warn_caller(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next major "
            "release.",
        )
    loss = pointwise("kl_div_log_target" if log_target else "kl_div")(input, target)
    if reduction == "batchmean":
        return loss.sum() / input._array.shape[0]
    return reduce_loss(loss, reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of Poisson counts; ``full`` adds Stirling's term."""
    reduction = reduction_name(size_average, reduce, reduction)
    if log_input:
        loss = input.exp() - target * input
    else:
        loss = input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduce_loss(loss, reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of normal distributions of mean ``input`` and variance ``var``."""
    if not isinstance(var, Tensor):
        var = _full_of(input, var)
    checks.check_not_negative(var._array)
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif input.ndim != var.ndim or common_shape([input.shape, var.shape]) != input.shape:
            raise ValueError("var is of incorrect size")
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce_loss(loss, reduction)


def _full_of(input: Tensor, value: float) -> Tensor:
    """A tensor of the shape and dtype of ``input`` with one value."""
    return full(input._array.shape, value, dtype=input.dtype)
