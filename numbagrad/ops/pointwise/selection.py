"""Pointwise functions that choose between elements, or bound them: ``where``, ``clamp``, others."""

from __future__ import annotations

from typing import Any

from ...dispatch.policies import autocasts
from ...dtype import finfo, uint8
from ...number_range import checked_number
from ...tensor import Tensor
from ..arguments.kinds import Real
from ..arguments.requirements import require_tensor, require_tensor_or_number
from ..conversion.dtypes import as_element
from ..methods.registry import method
from ..operators.pointwise_operator import PointwiseOperator, pointwise
from .functions import renamed, with_options, write_out, written

__all__ = [
    "clamp", "clamp_max", "clamp_min", "clip", "isclose", "logit", "masked_fill", "nan_to_num",
    "prelu", "where",
]  # fmt: skip


def where(
    condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None
) -> Any:
    """``input`` where the condition holds, else ``other``; with one argument, ``nonzero``.

    >>> x = torch.tensor([1.0, -2.0, 3.0])
    >>> torch.where(x > 0, x, 0.0)
    tensor([1., 0., 3.])
    """
    require_tensor("where", condition, "condition")
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if condition._array.dtype.kind != "b" and condition.dtype is not uint8:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{condition.dtype}"
        )
    made = pointwise("where")(condition, input, other)
    if out is None:
        return made
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        raise TypeError("where() takes 'out' with Tensors only; make them of numbers with tensor()")
    return written("where", made, out, (condition, input, other))


@method("where")
def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """This tensor where ``condition`` holds, else ``other``; see :func:`where`."""
    return where(condition, self, other)


def refuse_imaginary_part(value: Any, input: Tensor) -> None:
    """Raise a RuntimeError for a complex Tensor that is to be an element of a real one."""
    if isinstance(value, Tensor) and value.is_complex() and not input.is_complex():
        checked_number(value.item(), input._array.dtype)


@method()
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """``value`` where the mask holds, else ``input``; the dtype of ``input`` is kept."""
    require_tensor("masked_fill", input)
    require_tensor("masked_fill", mask, "mask", 2)
    if mask._array.dtype.kind != "b":
        raise RuntimeError(
            f"masked_fill only supports boolean masks, but got mask with dtype {mask.dtype}"
        )
    if isinstance(value, Tensor) and value._array.ndim > 0:
        raise RuntimeError(
            "masked_fill only supports a 0-dimensional value tensor, but got tensor with "
            f"{value._array.ndim} dimension(s)."
        )
    require_tensor_or_number("masked_fill", value, "value", 3)
    refuse_imaginary_part(value, input)
    name = "MaskedFillBackward1" if isinstance(value, Tensor) else "MaskedFillBackward0"
    return renamed("masked_fill", name)(input, mask, as_element(value, input._array.dtype))


@method()
def clamp(input: Tensor, min: Any = None, max: Any = None, out: Tensor | None = None) -> Tensor:
    """``input`` limited to [min, max]; a bound may be a number, a Tensor or None."""
    operator, operands = clamp_operator(input, min, max)
    return operator(*operands) if out is None else write_out(operator, operands, out)


def clamp_operator(input: Tensor, low: Any, high: Any) -> tuple[PointwiseOperator, tuple[Any, ...]]:
    """The operator of ``clamp`` for the bounds that are given, and its operands."""
    tensors = isinstance(low, Tensor) or isinstance(high, Tensor)
    suffix = "_tensor" if tensors else ""
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    grad_fn = "ClampBackward0" if tensors else "ClampBackward1"
    if high is None:
        return renamed("clamp_min" + suffix, grad_fn), (input, low)
    if low is None:
        return renamed("clamp_max" + suffix, grad_fn), (input, high)
    return pointwise("clamp" + suffix), (input, low, high)


clip = clamp
__all__.append("clip")
method("clip")(clamp)


@method()
def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """``input``, but not below ``min``."""
    suffix = "_tensor" if isinstance(min, Tensor) else ""
    return with_options("clamp_min" + suffix, (input, min), out)


@method()
def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """``input``, but not above ``max``."""
    suffix = "_tensor" if isinstance(max, Tensor) else ""
    return with_options("clamp_max" + suffix, (input, max), out)


@method()
def nan_to_num(
    input: Tensor,
    nan: Real | None = None,
    posinf: Real | None = None,
    neginf: Real | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """``input`` with NaN and infinities replaced, by default by 0 and the extremes of the dtype.

    Of complex numbers both parts.
    """
    require_tensor("nan_to_num", input)
    if input._array.dtype.kind == "c":
        from ..complex.complex_numbers import view_as_complex, view_as_real  # built on this file

        made = view_as_complex(nan_to_num(view_as_real(input), nan, posinf, neginf))
        return written("nan_to_num", made, out, (input,))
    if input._array.dtype.kind not in "fV":
        return written("nan_to_num", input.clone(), out, (input,))
    limits = finfo(input.dtype)
    operands = (
        input,
        0.0 if nan is None else nan,
        limits.max if posinf is None else posinf,
        limits.min if neginf is None else neginf,
    )
    return with_options("nan_to_num", operands, out)


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


@method()
def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """``log(x / (1 - x))``; of the input within [eps, 1 - eps] if there is an eps and eps >= 0."""
    if eps is None or eps < 0:
        return with_options("logit", (input,), out)
    return with_options("logit_clamped", (input, float(eps)), out)


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
