"""Pointwise functions that choose between elements, or bound them: ``where``, ``clamp``, others."""

from __future__ import annotations

from typing import Any

from ...dispatch.policies import autocasts
from ...dtype import finfo, uint8
from ...number_range import checked_number
from ...tensor import Tensor
from ...warn_once import warn_once
from ..arguments.kinds import NOT_GIVEN, Real
from ..arguments.requirements import require_tensor, require_tensor_or_number
from ..conversion.dtypes import as_element
from ..methods.registry import method
from ..methods.variants import Choice, variants
from ..operators.pointwise_operator import pointwise
from .functions import renamed

__all__ = [
    "clamp", "clamp_max", "clamp_min", "clip", "isclose", "logit", "masked_fill", "nan_to_num",
    "prelu", "where",
]  # fmt: skip


def where(condition: Tensor, input: Any = NOT_GIVEN, other: Any = NOT_GIVEN) -> Any:
    """``input`` where the condition holds, else ``other``; with one argument, ``nonzero``.

    >>> x = torch.tensor([1.0, -2.0, 3.0])
    >>> torch.where(x > 0, x, 0.0)
    tensor([1., 0., 3.])
    """
    require_tensor("where", condition, "condition")
    if other is NOT_GIVEN:
        if input is not NOT_GIVEN:
            raise TypeError("where() takes 1 or 3 arguments, but 2 were given")
        return condition.nonzero(as_tuple=True)
    if condition._array.dtype.kind != "b" and condition.dtype is not uint8:
        require_tensor_or_number("where", input, "input", 2)
        require_tensor_or_number("where", other, "other", 3)
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{condition.dtype}"
        )
    if condition.dtype is uint8:
        warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be "
            "removed. Use a boolean condition instead."
        )
    return pointwise("where")(condition, input, other)


@method("where")
def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """This tensor where ``condition`` holds, else ``other``; see :func:`where`."""
    return where(condition, self, other)


def refuse_imaginary_part(value: Any, input: Tensor) -> None:
    """Raise a RuntimeError for a complex Tensor that is to be an element of a real one."""
    if isinstance(value, Tensor) and value.is_complex() and not input.is_complex():
        checked_number(value.item(), input._array.dtype)


@variants(out=False)
def masked_fill(called: str, input: Tensor, mask: Tensor, value: Any) -> Choice:
    """``value`` where the mask holds, else ``input``; the dtype of ``input`` is kept."""
    require_tensor(called, input)
    require_tensor(called, mask, "mask", 2)
    if mask._array.dtype.kind != "b":
        raise RuntimeError(
            f"{called} only supports boolean masks, but got mask with dtype {mask.dtype}"
        )
    if isinstance(value, Tensor) and value._array.ndim > 0:
        raise RuntimeError(
            f"{called} only supports a 0-dimensional value tensor, but got tensor with "
            f"{value._array.ndim} dimension(s)."
        )
    require_tensor_or_number(called, value, "value", 2 if called[-1] == "_" else 3)
    refuse_imaginary_part(value, input)
    name = "MaskedFillBackward1" if isinstance(value, Tensor) else "MaskedFillBackward0"
    value = as_element(value, input._array.dtype)
    return renamed("masked_fill", name), (input, mask, value)


@variants("clamp", "clip")
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Choice:
    """``input`` limited to [min, max]; a bound may be a number, a Tensor or None."""
    tensors = isinstance(min, Tensor) or isinstance(max, Tensor)
    suffix = "_tensor" if tensors else ""
    if min is None and max is None:
        require_tensor("clamp", input)
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    grad_fn = "ClampBackward0" if tensors else "ClampBackward1"
    if max is None:
        return renamed("clamp_min" + suffix, grad_fn), (input, min)
    if min is None:
        return renamed("clamp_max" + suffix, grad_fn), (input, max)
    return pointwise("clamp" + suffix), (input, min, max)


clip = clamp


@variants()
def clamp_min(called: str, input: Tensor, min: Any) -> Choice:
    """``input``, but not below ``min``."""
    return _bounded(called, input, "min", min)


@variants()
def clamp_max(called: str, input: Tensor, max: Any) -> Choice:
    """``input``, but not above ``max``."""
    return _bounded(called, input, "max", max)


def _bounded(called: str, input: Tensor, side: str, bound: Any) -> Choice:
    if called[-1] == "_":
        require_tensor_or_number(called, bound, side, 1)
    suffix = "_tensor" if isinstance(bound, Tensor) else ""
    return pointwise(f"clamp_{side}{suffix}"), (input, bound)


def _parts_without_nan(
    input: Tensor, nan: Real | None, posinf: Real | None, neginf: Real | None
) -> Tensor:
    from ..complex.complex_numbers import view_as_complex, view_as_real  # built on this file

    return view_as_complex(nan_to_num(view_as_real(input), nan, posinf, neginf))


@variants()
def nan_to_num(
    input: Tensor,
    nan: Real | None = None,
    posinf: Real | None = None,
    neginf: Real | None = None,
) -> Choice:
    """``input`` with NaN and infinities replaced, by default by 0 and the extremes of the dtype.

    Of complex numbers both parts.
    """
    require_tensor("nan_to_num", input)
    if input._array.dtype.kind == "c":
        return _parts_without_nan, (input, nan, posinf, neginf)
    if input._array.dtype.kind not in "fV":
        return Tensor.clone, (input,)
    limits = finfo(input.dtype)
    return pointwise("nan_to_num"), (
        input,
        0.0 if nan is None else nan,
        limits.max if posinf is None else posinf,
        limits.min if neginf is None else neginf,
    )


@method()
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether ``|input - other| <= atol + rtol * |other|``."""
    require_tensor("isclose", input)
    require_tensor("isclose", other, "other", 2)
    if input._array.dtype != other._array.dtype:
        raise RuntimeError(
            f"isclose: {input.dtype} did not match {other.dtype}; convert one with .to(dtype)"
        )
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise RuntimeError(
                f"isclose(): {name} must be greater than or equal to zero, but got {tolerance}"
            )
    close = pointwise("isclose")(input, other, float(rtol), float(atol))
    if equal_nan:
        isnan = pointwise("isnan")
        close = close | (isnan(input) & isnan(other))
    return close


@variants()
def logit(input: Tensor, eps: float | None = None) -> Choice:
    """``log(x / (1 - x))``; of the input within [eps, 1 - eps] if there is an eps and eps >= 0."""
    if eps is None or eps < 0:
        return pointwise("logit"), (input,)
    return pointwise("logit_clamped"), (input, float(eps))


@method()
@autocasts("lower")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``x`` where positive, else ``weight * x``, with one weight or one a channel (dimension 1)."""
    require_tensor("prelu", input)
    require_tensor("prelu", weight, "weight", 2)
    sizes, count = input._array.shape, weight._array.size
    if input._array.dtype != weight._array.dtype:
        raise RuntimeError(
            f"prelu: the weight must be of the input's dtype. Got {input.dtype} and {weight.dtype}"
        )
    if count != 1:
        channels = sizes[1] if len(sizes) > 1 else 1
        if not sizes or count != channels:
            raise RuntimeError(
                f"prelu: a weight for each channel is needed, or a single one. Got {count} and "
                f"{channels if sizes else 'no'} channels in an input of shape {list(sizes)}"
            )
    if weight._array.ndim > 1:
        raise RuntimeError(
            "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = "
            f"{weight._array.ndim}"
        )
    if weight._array.ndim:
        weight = weight.reshape([count if k == 1 else 1 for k in range(len(sizes))])
    return pointwise("prelu")(input, weight)
