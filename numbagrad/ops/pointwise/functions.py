"""Public functions of the pointwise family: torch's signatures over the table of formulas.

Most take Tensors by position and are made here from the table alone. Of those with options (alpha,
rounding modes, optional bounds) it is written which operator computes. Functions with ``out``,
methods and methods in place follow (``methods/variants.py``).
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dispatch import layers
from ...dtype import complex128, float64, python_number, scalar_type_name
from ...executor import capture
from ...executor.plan.dtypes import promoted
from ...number_range import check_bits, checked_number
from ...tensor import Tensor
from .. import pointwise as table  # noqa: F401 - fills the register
from ..arguments.requirements import require_tensor, require_tensor_or_number
from ..conversion.dtypes import cast
from ..methods.registry import method
from ..methods.variants import Choice, choosing_variant, operator_variant, variants
from ..operators.definition import POINTWISE
from ..operators.pointwise_operator import PointwiseOperator, pointwise, unary
from .arguments import check_alpha, check_value, not_a_rounding
from .arithmetic import NEIGHBORS_OF_HALF

if TYPE_CHECKING:
    from .derived_functions import *  # noqa: F403 - tools/write_stubs.py writes the file

__all__: list[str] = []

Number = bool | int | float


def is_one(factor: Any) -> bool:
    """Whether a factor is 1; not so one that a program is given anew at each run."""
    return not capture.varies(factor) and factor == 1


def _public(name: str, function: Any) -> None:
    globals()[name] = function
    __all__.append(name)


#: Operators whose public function is written out below, or has no public function.
WRITTEN_BY_HAND = {
    "add", "add_scaled", "sub", "sub_scaled", "rsub", "div", "rdiv", "div_floor", "div_trunc",
    "pow", "pow_scalar", "rpow", "pow_2", "pow_3", "pow_half", "pow_minus_half", "pow_minus_1",
    "pow_minus_2", "addcmul", "addcdiv", "lerp", "where", "masked_fill", "clamp", "clamp_tensor",
    "clamp_min", "clamp_min_tensor", "clamp_max", "clamp_max_tensor", "nan_to_num", "prelu",
    "logit", "logit_clamped", "polygamma_1", "polygamma_2", "round", "hardtanh", "leaky_relu",
    "threshold", "elu", "selu", "celu", "gelu", "gelu_tanh", "silu", "mish", "softplus", "softsign",
    "tanhshrink", "hardsigmoid", "hardswish", "hardshrink", "softshrink", "mse_loss", "l1_loss",
    "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "binary_cross_entropy_with_logits_weighted", "kl_div", "kl_div_log_target", "log_sigmoid",
    "isclose", "nextafter",
}  # fmt: skip


def _derive() -> None:
    """Functions and methods of every definition that needs nothing but its formula."""
    for name, definition in POINTWISE.items():
        if name in WRITTEN_BY_HAND or name.startswith("special_"):
            continue
        operator = pointwise(name)
        for public in (name, *definition.aliases):
            _public(public, operator_variant("function", public, operator))
            method(public)(operator_variant("method", public, operator))
            if definition.in_place and name != "abs":
                in_place = operator_variant("in place", f"{public}_", operator)
                method(f"{public}_")(in_place)
                if definition.formula.__code__.co_argcount == 1:
                    _public(f"{public}_", in_place)
    for name, operator_name in _PYTHON.items():
        method(name)(operator_variant("in place", name, pointwise(operator_name)))


#: Operators of Python that write the first operand.
_PYTHON = {
    "__iadd__": "add", "__isub__": "sub", "__imul__": "mul", "__itruediv__": "div",
    "__ifloordiv__": "floor_divide", "__imod__": "remainder", "__iand__": "bitwise_and",
    "__ior__": "bitwise_or", "__ixor__": "bitwise_xor", "__ilshift__": "bitwise_left_shift",
    "__irshift__": "bitwise_right_shift",
}  # fmt: skip

_derive()


@functools.cache
def renamed(name: str, grad_fn: str) -> PointwiseOperator:
    """An operator whose node has another name: torch has one for every way to call it."""
    return PointwiseOperator(dataclasses.replace(POINTWISE[name], grad_fn=grad_fn))


# --- arithmetic -------------------------------------------------------------------------------
#
# Definitions with options: which operator computes, on which operands (see ``variants``).


def _export(function: Any) -> Any:
    __all__.append(function.__name__)
    return function


def _abs(called: str, input: Tensor) -> Choice:
    """The absolute values, in place of real numbers alone."""
    if input._array.dtype.kind == "c":
        raise RuntimeError(
            "In-place abs is not supported for complex tensors; abs() has a real result"
        )
    return pointwise("abs"), (input,)


for _name in ("abs_", "absolute_"):
    _public(_name, choosing_variant("in place", _name, _abs))
    method(_name)(choosing_variant("in place", _name, _abs))


_add, _add_scaled = pointwise("add"), pointwise("add_scaled")
_sub, _sub_scaled = pointwise("sub"), pointwise("sub_scaled")


@_export
@variants(usual=_add)
def add(called: str, input: Any, other: Any, *older: Any, alpha: Number = 1) -> Choice:
    """``input + alpha * other``; ``add(a, 2, b)`` and ``add(a, b, result)`` as in 2017 too."""
    if alpha.__class__ is not float and alpha.__class__ is not int:
        check_alpha(called, alpha, input, other)
    return (_add, (input, other)) if is_one(alpha) else (_add_scaled, (input, other, alpha))


@_export
@variants("sub", "subtract", usual=_sub)
def sub(called: str, input: Any, other: Any, *older: Any, alpha: Number = 1) -> Choice:
    """``input - alpha * other``; ``sub(a, 2, b)`` and ``sub(a, b, result)`` as in 2017 too."""
    if alpha.__class__ is not float and alpha.__class__ is not int:
        check_alpha(called, alpha, input, other)
    return (_sub, (input, other)) if is_one(alpha) else (_sub_scaled, (input, other, alpha))


subtract = sub
__all__.append("subtract")


@_export
def rsub(input: Tensor, other: Any, *, alpha: Number = 1) -> Tensor:
    """``other - alpha * input``."""
    operator = pointwise("rsub") if isinstance(other, Tensor) else renamed("rsub", "RsubBackward1")
    return operator(input, other, alpha)


@_export
@variants("div", "divide", "true_divide", usual=pointwise("div"))
def div(called: str, input: Any, other: Any, *, rounding_mode: str | None = None) -> Choice:
    """``input / other``, rounded towards zero (``trunc``) or down (``floor``) if asked."""
    if rounding_mode is None:
        return pointwise("div"), (input, other)
    if rounding_mode not in ("floor", "trunc"):
        raise not_a_rounding(called, rounding_mode)
    return pointwise(f"div_{rounding_mode}"), (input, other)


divide = true_divide = div
__all__ += ["divide", "true_divide"]

_POWERS = {2: "pow_2", 3: "pow_3", 0.5: "pow_half", -0.5: "pow_minus_half", -1: "pow_minus_1",
           -2: "pow_minus_2"}  # fmt: skip
_pow_2 = pointwise("pow_2")
_square = unary(_pow_2)
#: Whether the first operand is a tensor of numbers.
_IS_NUMERIC = "isinstance(input, Tensor) and input._array.dtype.kind != 'b'"


@_export
@variants(
    usual=_pow_2,
    when="exponent.__class__ is int and exponent == 2 and " + _IS_NUMERIC,
    operands=("input",),
)
def pow(input: Any, exponent: Any) -> Choice:
    """``input`` to the power ``exponent``; either may be a number."""
    return power_operator(input, exponent)


@method("__pow__")
def __pow__(input: Any, exponent: Any) -> Any:
    """``input ** exponent``; an array of NumPy is left to NumPy."""
    if layers.everywhere and layers.asks(__pow__):
        return layers.descend(__pow__, (input, exponent), {})
    kind = exponent.__class__
    if kind is int and exponent == 2 and input._array.dtype.kind != "b":
        return _square(input)
    if kind is np.ndarray:
        return NotImplemented
    operator, operands = power_operator(input, exponent)
    return operator(*operands)


def power_operator(input: Any, exponent: Any) -> tuple[PointwiseOperator, tuple[Any, ...]]:
    """The operator for this exponent: common ones have formulas of their own."""
    if isinstance(exponent, Tensor):
        if isinstance(input, Tensor):
            return pointwise("pow"), (input, exponent)
        return pointwise("rpow"), (exponent, input)
    require_tensor("pow", input)
    if isinstance(exponent, np.generic):
        exponent = python_number(exponent)
    kind = input._array.dtype.kind
    integral = kind in "iub"
    if integral and isinstance(exponent, int) and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    name = None if isinstance(exponent, complex) and kind != "c" else _name_of_power(exponent)
    if name is not None and (exponent in (2, 3) or not integral) and kind != "b":
        if not (integral and isinstance(exponent, float)):
            return pointwise(name), (input,)
    return pointwise("pow_scalar"), (input, exponent)


def _name_of_power(exponent: Any) -> str | None:
    """The operator that has a formula of its own for a power, if there is one."""
    try:
        return _POWERS.get(exponent)
    except TypeError:  # what has no hash is no number
        require_tensor_or_number("pow", exponent, "exponent", 2)
        raise


@_export
@method()
def float_power(input: Any, exponent: Any) -> Tensor:
    """``input`` to the power ``exponent``, computed in float64, or complex128 if one is complex."""
    operands = (input, exponent)
    require_tensor_or_number("float_power", input, "input", 1)
    require_tensor_or_number("float_power", exponent, "exponent", 2)
    is_complex = any([
        x.is_complex() if isinstance(x, Tensor) else isinstance(x, complex) for x in operands
    ])  # fmt: skip
    kind, number = (complex128, complex) if is_complex else (float64, float)
    for x in operands:
        check_bits(x)
    wide = [cast(x, kind.numpy) if isinstance(x, Tensor) else number(x) for x in operands]
    return pow(*wide)


@_export
@variants(usual=_pow_2, when=_IS_NUMERIC)
def square(called: str, input: Tensor) -> Choice:
    """``input * input``."""
    require_tensor(called, input)
    return power_operator(input, 2) if input._array.dtype.kind == "b" else (_pow_2, (input,))


@_export
@variants()
def addcmul(
    called: str,
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *older: Any,
    value: Number = 1,
) -> Choice:
    """``input + value * tensor1 * tensor2``; ``addcmul(a, 2, b, c)`` as in 2017 too."""
    check_value(called, value, input, tensor1, tensor2)
    return pointwise("addcmul"), (input, tensor1, tensor2, value)


@_export
@variants()
def addcdiv(
    called: str,
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *older: Any,
    value: Number = 1,
) -> Choice:
    """``input + value * tensor1 / tensor2``; ``addcdiv(a, 2, b, c)`` as in 2017 too."""
    check_value(called, value, input, tensor1, tensor2)
    return pointwise("addcdiv"), (input, tensor1, tensor2, value)


@functools.cache
def _neighbors_of(dtype: str) -> PointwiseOperator:
    """``nextafter`` of a dtype of half precision."""
    formula = NEIGHBORS_OF_HALF[dtype]
    return PointwiseOperator(dataclasses.replace(POINTWISE["nextafter"], formula=formula))


_nextafter = pointwise("nextafter")


@_export
@variants()
def nextafter(input: Tensor, other: Tensor) -> Choice:
    """The neighbor of ``input`` on the way to ``other``, in the dtype that they have in common."""
    require_tensor("nextafter", input)
    require_tensor("nextafter", other, "other", 2)
    common = promoted((input._array, other._array))
    return _neighbors_of(common.name) if common.is_half else _nextafter, (input, other)


_lerp, _lerp_by_number = pointwise("lerp"), renamed("lerp", "LerpBackward0")


@_export
@variants()
def lerp(input: Tensor, end: Tensor, weight: Any) -> Choice:
    """``input + weight * (end - input)``."""
    kind = input._array.dtype
    if weight.__class__ is float and isinstance(end, Tensor) and end._array.dtype is kind:
        return _lerp_by_number, (input, end, weight)
    for name, value in (("end", end), ("weight", weight)):
        if isinstance(value, Tensor) and value._array.dtype is not kind:
            number = name == "weight" and not value._array.ndim
            if value._array.dtype != kind and not number:
                raise RuntimeError(
                    f"lerp: expected dtype {input.dtype} for `{name}` but got dtype {value.dtype}"
                )
    if weight.__class__ is complex and kind.kind != "c":
        weight = checked_number(weight, kind)
    return _lerp if isinstance(weight, Tensor) else _lerp_by_number, (input, end, weight)


def _rounded(input: Tensor, scale: float) -> Tensor:
    return pointwise("round")(input * scale) / scale


@_export
@variants(usual=pointwise("round"))
def round(input: Tensor, *, decimals: int = 0) -> Choice:
    """The nearest whole number, ties to even; or the nearest multiple of ``10**-decimals``."""
    if decimals == 0:
        return pointwise("round"), (input,)
    if input._array.dtype.kind in "biu":
        raise NotImplementedError(
            f"\"round_cpu\" not implemented for '{scalar_type_name(input.dtype)}' with decimals; "
            "convert it to floats"
        )
    return _rounded, (input, 10.0**decimals)


@_export
@method()
def positive(input: Tensor) -> Tensor:
    """``input`` itself; raises for bool."""
    require_tensor("positive", input)
    if input._array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input
