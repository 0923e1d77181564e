"""Losses of numbers against numbers: squares, absolute values, entropies and likelihoods.

Called by users and by the layers of ``nn/loss.py``. They are composite operators: one node each,
one pass over the elements forward, one backward. What warns, or looks at elements, is outside.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ...dispatch.policies import autocasts
from ...dtype import promote_types
from ...executor.families import checks
from ...ops.arguments.kinds import Real
from ...ops.arguments.shapes import common_shape
from ...ops.arguments.shared_parameters import shares
from ...ops.conversion.dtypes import cast
from ...ops.creation.filled import full
from ...ops.operators.composite import composite
from ...ops.operators.pointwise_operator import pointwise
from ...ops.pointwise.selection import where
from ...tensor import Tensor
from ...warn_once import warn_caller
from .checks import (
    Reduction,
    not_differentiable,
    one_dtype,
    option,
    refuse_kinds,
    require_floats,
)
from .reduction import REDUCTION, checked_reduction, reduce_loss, reduction_name

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "gaussian_nll_loss",
    "huber_loss", "kl_div", "l1_loss", "mse_loss", "poisson_nll_loss", "smooth_l1_loss",
]  # fmt: skip


@functools.cache
def _reduced(name: str) -> Callable[..., Tensor]:
    """The mean or the sum of a pointwise loss, as one operator.

    Called with input, target, reduction, and the option of the loss or None.
    """

    def loss(input: Tensor, target: Tensor, reduction: str, option: float | None) -> Tensor:
        options = () if option is None else (option,)
        _check_dtypes(name, input, target)
        return reduce_loss(pointwise(name)(input, target, *options), reduction)

    loss.__name__ = name
    return composite(_NODES.get(name), promotes=name != "huber_loss")(loss)


#: Losses that are one node in torch; of the others it is the last of their operators.
_NODES = {
    "binary_cross_entropy": "BinaryCrossEntropyBackward0",
    "binary_cross_entropy_with_logits": "BinaryCrossEntropyWithLogitsBackward0",
    "huber_loss": "HuberLossBackward0",
    "mse_loss": "MseLossBackward0",
    "smooth_l1_loss": "SmoothL1LossBackward0",
}


#: Losses that refuse dtypes though their formulas would promote them.
_REFUSED = frozenset(("l1_loss", "binary_cross_entropy_with_logits"))


def _check_dtypes(name: str, input: Tensor, target: Tensor) -> None:
    """Raise torch's errors of dtypes; called where a form of arguments is met for the first time.

    That is in the definitions of composite operators, and where the loss is one pointwise operator.
    """
    kinds = input._array.dtype.kind + target._array.dtype.kind
    if name == "l1_loss" and "b" in kinds:
        raise RuntimeError(
            "l1_loss(): Subtraction, the `-` operator, with a bool tensor is not supported, but "
            f"got {input.dtype} and {target.dtype}; convert them with .to(dtype)"
        )
    if name == "binary_cross_entropy_with_logits":
        refuse_kinds(name, input, "iub")
        if kinds[1] in "iub":
            require_floats(name, target=target)


#: Losses whose operands torch expands to one shape first, so that one without dimensions counts as
#: much as the other for the dtype of the result.
_BROADCASTS = frozenset(("mse_loss", "l1_loss", "smooth_l1_loss"))


def _promoted(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both in their common dtype, if promotion would not find it for one without dimensions."""
    one, other = input._array, target._array
    if one.dtype == other.dtype or (one.ndim == 0) is (other.ndim == 0):
        return input, target
    kind = promote_types(input.dtype, target.dtype).numpy
    return cast(input, kind), cast(target, kind)


def _in_its_dtype(name: str, loss: Tensor, input: Tensor, target: Tensor) -> Tensor:
    """A loss in the dtype that torch writes it in: of the input or of the target, not of both."""
    if name == "huber_loss":
        return cast(loss, input._array.dtype)
    if name == "binary_cross_entropy_with_logits":
        return cast(loss, target._array.dtype)
    return loss


def _pointwise_loss(
    name: str, input: Tensor, target: Tensor, reduction: str, option: float | None = None
) -> Tensor:
    """A pointwise loss, reduced."""
    if input._array.dtype != target._array.dtype:
        _check_dtypes(name, input, target)
        if name in _BROADCASTS:
            input, target = _promoted(input, target)
    if reduction != "none":
        loss = _reduced(name)(input, target, reduction, option)
    else:
        options = () if option is None else (option,)
        if name in _REFUSED:
            _check_dtypes(name, input, target)
        loss = pointwise(name)(input, target, *options)
    return _in_its_dtype(name, loss, input, target)


@composite(promotes=True)
def _weighted_loss(
    name: str, input: Tensor, target: Tensor, weight: Tensor, reduction: str, option: float | None
) -> Tensor:
    """A pointwise loss of weighted elements; the mean is over the sum of the weights."""
    options = () if option is None else (option,)
    _check_dtypes(name, input, target)
    loss = pointwise(name)(input, target, *options) * weight
    return loss.sum() / weight.sum() if reduction == "mean" else reduce_loss(loss, reduction)


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
    return _weighted_loss(name, input, target, weight, reduction, None)


@autocasts("float32")
@shares(REDUCTION)
def mse_loss(
    input: Tensor, target: Tensor, reduction: Reduction = "mean", weight: Tensor | None = None
) -> Tensor:
    """Squares of the differences, averaged, summed or as they are."""
    _warn_sizes(input, target)
    if weight is not None:
        return _weighted("mse_loss", input, target, weight, reduction)
    return _pointwise_loss("mse_loss", input, target, reduction)


@autocasts("float32")
@shares(REDUCTION)
def l1_loss(
    input: Tensor, target: Tensor, reduction: Reduction = "mean", weight: Tensor | None = None
) -> Tensor:
    """Absolute differences, averaged, summed or as they are."""
    _warn_sizes(input, target)
    if weight is not None:
        return _weighted("l1_loss", input, target, weight, reduction)
    if "c" in (input._array.dtype.kind, target._array.dtype.kind):
        return reduce_loss((input - target).abs(), checked_reduction(reduction))
    return _pointwise_loss("l1_loss", input, target, reduction)


@autocasts("float32")
@shares(REDUCTION)
def smooth_l1_loss(
    input: Tensor, target: Tensor, reduction: Reduction = "mean", beta: float = 1.0
) -> Tensor:
    """Squares of small differences (below ``beta``), absolute values of large ones."""
    if not beta >= 0:
        raise RuntimeError(
            f"smooth_l1_loss does not support negative values for beta, but got {beta}."
        )
    _warn_sizes(input, target)
    if beta == 0:
        return _pointwise_loss("l1_loss", input, target, reduction)
    return _pointwise_loss("smooth_l1_loss", input, target, reduction, float(beta))


@autocasts("float32")
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: Reduction = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Squares of small differences, linear in large ones, with one slope at ``delta``."""
    if not delta > 0:
        raise RuntimeError(
            f"huber_loss does not support non-positive values for delta, but got {delta}."
        )
    kind = input._array.dtype.kind
    if kind in "iub" and target._array.dtype.kind not in "iub":
        raise RuntimeError(
            f"huber_loss: result type {target.dtype} can't be cast to the desired output type "
            f"{input.dtype}; convert the input with .to(dtype)"
        )
    _warn_sizes(input, target)
    if weight is None:
        return _pointwise_loss("huber_loss", input, target, reduction, float(delta))
    return _weighted_loss("huber_loss", input, target, weight, reduction, float(delta))


def _check_same_size(message: str, input: Tensor, target: Tensor) -> None:
    if input._array.shape != target._array.shape:
        raise ValueError(message.format(target=target.size(), input=input.size()))


@autocasts("float32")
@shares(REDUCTION)
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: Reduction = "mean"
) -> Tensor:
    """``-(t log x + (1 - t) log(1 - x))``, each logarithm at least -100, as in torch."""
    _check_same_size(
        "Using a target size ({target}) that is different to the input size ({input}) is "
        "deprecated. Please ensure they have the same size.",
        input,
        target,
    )
    require_floats("binary_cross_entropy", input=input, target=target)
    one_dtype("binary_cross_entropy", input, target=target)
    checks.check_probabilities(input._array)
    checks.check_probabilities(target._array, "target")
    if weight is None:
        return _pointwise_loss("binary_cross_entropy", input, target, reduction)
    _check_weight("binary_cross_entropy", "weight", input, weight)
    weight = cast(weight, input._array.dtype)
    return _rescaled_loss("binary_cross_entropy", input, target, weight, None, reduction)


@autocasts("float32")
@shares(REDUCTION)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: Reduction = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of ``sigmoid(input)``, computed without overflow."""
    _check_same_size(
        "Target size ({target}) must be the same as input size ({input})", input, target
    )
    name = "binary_cross_entropy_with_logits"
    if weight is not None:
        _check_weight(name, "weight", input, weight)
        if weight.requires_grad:
            raise not_differentiable(name, "weight")
    if pos_weight is not None:
        refuse_kinds(name, pos_weight, "b", "pos_weight")
        pos_weight = cast(pos_weight, input._array.dtype) if _is_int(pos_weight) else pos_weight
        _check_weight(name, "pos_weight", input, pos_weight)
    if pos_weight is not None and pos_weight.requires_grad:
        raise not_differentiable(name, "pos_weight")
    if weight is None and pos_weight is None:
        return _pointwise_loss(name, input, target, reduction)
    loss = _rescaled_loss(name, input, target, weight, pos_weight, reduction)
    return _in_its_dtype(name, loss, input, target)


def _is_int(value: Tensor) -> bool:
    return value._array.dtype.kind in "iu"


def _check_weight(name: str, argument: str, input: Tensor, weight: Tensor) -> None:
    """Raise if weights are complex, or do not broadcast to the shape of the input."""
    refuse_kinds(name, weight, "c", argument)
    shape, own = input._array.shape, weight._array.shape
    if common_shape([shape, own]) != shape:
        raise RuntimeError(
            f"{name}(): argument '{argument}' of shape {list(own)} does not broadcast to the shape "
            f"of the input, {list(shape)}"
        )


@composite(promotes=True)
def _rescaled_loss(
    name: str, input: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None,
    reduction: str,
) -> Tensor:  # fmt: skip
    """A pointwise loss times a weight; the mean is over the elements, whatever their weights."""
    _check_dtypes(name, input, target)
    if pos_weight is None:
        loss = pointwise(name)(input, target)
    else:
        loss = pointwise(f"{name}_weighted")(input, target, pos_weight)
    if weight is not None:
        loss = loss * weight
    return reduce_loss(loss, reduction)


@autocasts("float32")
@shares(REDUCTION)
def kl_div(
    input: Tensor, target: Tensor, reduction: Reduction = "mean", log_target: bool = False
) -> Tensor:
    """``target * (log target - input)``; "batchmean" divides the sum by the batch size."""
    if input._array.dtype.kind in "iub" or target._array.dtype.kind in "iub":
        raise RuntimeError(
            f"kl_div: Integral inputs not supported, got {input.dtype} and {target.dtype}"
        )
    if reduction == "mean":
        warn_caller(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next major "
            "release.",
        )
    return _kl_div(input, target, reduction, log_target)


@composite(promotes=True)
def _kl_div(input: Tensor, target: Tensor, reduction: str, log_target: bool) -> Tensor:
    loss = pointwise("kl_div_log_target" if log_target else "kl_div")(input, target)
    if reduction == "batchmean":
        return loss.sum() / input._array.shape[0]
    return reduce_loss(loss, reduction)


@autocasts("float32")
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: Real = 1e-8,
    reduce: bool | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """Negative log likelihood of Poisson counts; ``full`` adds Stirling's term."""
    reduction = reduction_name(size_average, reduce, reduction)
    return _poisson_loss(input, target, log_input, full, eps, reduction)


@composite(promotes=True)
def _poisson_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: str
) -> Tensor:
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
    reduction: Reduction = "mean",
) -> Tensor:
    """Negative log likelihood of normal distributions of mean ``input`` and variance ``var``."""
    if not isinstance(var, Tensor):
        option("gaussian_nll_loss", var, "var", float, 3)
        var = _full_of(input, var)
    elif var._array.dtype.kind in "iub" and input._array.dtype.kind in "fV":
        require_floats("gaussian_nll_loss", var=var)
    checks.check_not_negative(var._array)
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif input.ndim != var.ndim or any(
            [size not in (1, wanted) for size, wanted in zip(var.shape, input.shape, strict=True)]
        ):
            raise ValueError("var is of incorrect size")
    return _gaussian_loss(input, target, var, full, eps, reduction)


@composite(promotes=True)
def _gaussian_loss(
    input: Tensor, target: Tensor, var: Tensor, full: bool, eps: float, reduction: str
) -> Tensor:
    # At least eps, with the gradient of what was given: only the values are cut off.
    var = where(var < eps, var - var.detach() + eps, var)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce_loss(loss, reduction)


def _full_of(input: Tensor, value: float) -> Tensor:
    """A tensor of the shape and dtype of ``input`` with one value."""
    return full(input._array.shape, value, dtype=input.dtype, device=input.device)
