"""Public functions of the pointwise family: torch's signatures over the table of ``pointwise.py``.

Most take Tensors by position and are made here from the table alone; the ones with options (alpha,
rounding modes, optional bounds) are written out. Every function takes ``out``.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.grad_mode import state as grad_mode
from ..dispatch.policies import autocasts
from ..dtype import complex128, finfo, float64, python_number, uint8
from ..executor import capture
from ..executor.plan.forms import ShapesDiffer, broadcast
from ..number_range import checked_number
from ..tensor import Tensor
from ..transforms.reading import refuse_tangents
from ..type_names import type_name
from ..warn_once import warn_caller
from . import pointwise as table  # noqa: F401 - fills the register
from .argument_kinds import Real
from .arguments import (
    require_tensor,
    require_tensor_or_number,
    resize_output,
)
from .conversion import as_element, cast
from .definition import POINTWISE
from .operator import PointwiseOperator, binary, pointwise, unary
from .pointwise_arguments import (
    WITHOUT_OUT,
    check_alpha,
    check_out_dtype,
    check_value,
    not_a_rounding,
)
from .registry import method

if TYPE_CHECKING:
    from .derived_functions import *  # noqa: F403 - tools/write_stubs.py writes the file

__all__: list[str] = []

Number = bool | int | float

#: The factor that most sums have.
ONE = 1


def is_one(factor: Any) -> bool:
    """Whether a factor is 1; not so one that a program is given anew at each run."""
    return not capture.varies(factor) and factor == 1


#: Functions whose ``out`` may have no dtype but bool, which others convert to.
_TRUTH_ALONE = frozenset(("signbit", "isposinf", "isneginf"))


def write_out(operator: PointwiseOperator, operands: tuple[Any, ...], out: Tensor) -> Tensor:
    """Write the result into ``out``, which is resized if it has another shape, as in torch."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{operator.name}(): argument 'out' must be Tensor, not {type_name(out)}")
    if grad_mode.enabled and any(
        [isinstance(x, Tensor) and x.requires_grad for x in (out, *operands)]
    ):
        raise RuntimeError(
            f"{operator.definition.name}(): functions with out=... arguments don't support "
            "automatic differentiation, but one of the arguments requires grad."
        )
    check_out_dtype(operator.name, operands, out)
    refuse_tangents(operator.name, (out, *operands))
    operands = tuple(operator.with_tensor(operands))
    shapes = [x._array.shape for x in operands if isinstance(x, Tensor)]
    if operator.name in _TRUTH_ALONE and out._array.dtype.kind != "b":
        raise RuntimeError(
            f"{operator.name} does not support non-boolean outputs, but out is of {out.dtype}"
        )
    resize_output(out, _shape_of_output(shapes, out))
    operator.into(out, operands)
    return out


def _shape_of_output(shapes: list[tuple[int, ...]], out: Tensor) -> tuple[int, ...]:
    try:
        return broadcast(shapes)
    except ShapesDiffer:
        return out._array.shape  # the launcher names the shapes at fault


def _public(name: str, function: Any) -> None:
    globals()[name] = function
    __all__.append(name)


def _signature_of(operator: PointwiseOperator) -> inspect.Signature:
    """As torch spells it: ``input`` first, ``other`` second, ``out`` by keyword."""
    names = operator.definition.formula.__code__.co_varnames
    count = operator.definition.formula.__code__.co_argcount
    public = ["input", "other"] if count == 2 else ["input", *names[1:count]]
    parameters = [
        inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in public[:count]
    ]
    if operator.name in WITHOUT_OUT:
        return inspect.Signature(parameters)
    out = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
    return inspect.Signature([*parameters, out])


def _unary_function(name: str, operator: PointwiseOperator) -> Callable[..., Tensor]:
    call = unary(operator)
    if name in WITHOUT_OUT:

        def alone(input: Tensor) -> Tensor:
            return call(input)

        return _named(alone, name, operator)

    def function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        return call(input) if out is None else write_out(operator, (input,), out)

    return _named(function, name, operator)


def _binary_function(name: str, operator: PointwiseOperator) -> Callable[..., Tensor]:
    call = binary(operator)

    def function(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        return call(input, other) if out is None else write_out(operator, (input, other), out)

    return _named(function, name, operator)


def _named(function: Any, name: str, operator: PointwiseOperator) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__module__ = "numbagrad"
    function.__signature__ = _signature_of(operator)
    first, *_ = (operator.definition.formula.__doc__ or "").splitlines() or [""]
    function.__doc__ = first or (
        f"Pointwise ``{name}``; defined as one formula in ``ops/pointwise/``. Operands broadcast."
    )
    return function


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
    "isclose", "special_ndtr", "special_entr", "special_xlog1py",
}  # fmt: skip


def _derive() -> None:
    """Functions and methods of every definition that needs nothing but its formula."""
    for name, definition in POINTWISE.items():
        if name in WRITTEN_BY_HAND:
            continue
        count = definition.formula.__code__.co_argcount
        make = _unary_function if count == 1 else _binary_function
        operator = pointwise(name)
        for public in (name, *definition.aliases):
            function = make(public, operator)
            _public(public, function)
            method(public)(function)


_derive()


@functools.cache
def _renamed(name: str, grad_fn: str) -> PointwiseOperator:
    """An operator whose node has another name: torch has one for every way to call it."""
    return PointwiseOperator(dataclasses.replace(POINTWISE[name], grad_fn=grad_fn))


# --- arithmetic -------------------------------------------------------------------------------

_add, _sub, _div = (binary(pointwise(n)) for n in ("add", "sub", "div"))


def _export(function: Any) -> Any:
    __all__.append(function.__name__)
    return function


def older_order(
    function: Callable[..., Tensor], scale: str, count: int, arguments: tuple[Any, ...]
) -> Tensor:
    """Call a function of ``count`` operands whose arguments stand as in 2017.

    Its factor, today the keyword ``scale``, came second then: ``add(a, 2, b)``. The output, today
    ``out``, came last: ``add(a, b, result)``.
    """
    name = function.__name__.removeprefix("_")
    operands = arguments
    keywords: dict[str, Any] = {}
    if not isinstance(arguments[1], Tensor):
        operands = (arguments[0], *arguments[2:])
        keywords[scale] = arguments[1]
        warn_caller(
            f"{name}() with {scale} before the last operands is deprecated; pass it by keyword: "
            f"{name}(..., {scale}={arguments[1]})",
        )
    if len(operands) == count + 1 and isinstance(operands[-1], Tensor) and not name.endswith("_"):
        keywords["out"] = operands[-1]
    elif len(operands) != count or not isinstance(operands[-1], Tensor):
        raise TypeError(
            f"{name}() takes {count} operands and by keyword {scale} and out, but {len(arguments)} "
            "positional arguments were given"
        )
    return function(*operands[:count], **keywords)


@_export
@method()
def add(
    input: Any, other: Any, *older: Any, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """``input + alpha * other``; ``add(a, 2, b)`` and ``add(a, b, result)`` as in 2017 too."""
    if older:
        return older_order(add, "alpha", 2, (input, other, *older))
    if alpha is not ONE and alpha.__class__ is not float and alpha.__class__ is not int:
        check_alpha("add", alpha, input, other)
    if alpha is ONE or is_one(alpha):
        if out is None:
            return _add(input, other)
        return write_out(pointwise("add"), (input, other), out)
    operator = pointwise("add_scaled")
    if out is not None:
        return write_out(operator, (input, other, alpha), out)
    return operator(input, other, alpha)


@_export
@method("sub", "subtract")
def sub(
    input: Any, other: Any, *older: Any, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """``input - alpha * other``; ``sub(a, 2, b)`` and ``sub(a, b, result)`` as in 2017 too."""
    if older:
        return older_order(sub, "alpha", 2, (input, other, *older))
    if alpha is not ONE and alpha.__class__ is not float and alpha.__class__ is not int:
        check_alpha("sub", alpha, input, other)
    if alpha is ONE or is_one(alpha):
        if out is None:
            return _sub(input, other)
        return write_out(pointwise("sub"), (input, other), out)
    operator = pointwise("sub_scaled")
    if out is not None:
        return write_out(operator, (input, other, alpha), out)
    return operator(input, other, alpha)


subtract = sub
__all__.append("subtract")


@_export
def rsub(input: Tensor, other: Any, *, alpha: Number = 1) -> Tensor:
    """``other - alpha * input``."""
    return pointwise("rsub")(input, other, alpha)


def _divide_into(name: str, operator: PointwiseOperator) -> Callable[..., Tensor]:
    def function(
        input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None
    ) -> Tensor:
        if rounding_mode is None:
            chosen = operator
        elif rounding_mode in ("floor", "trunc"):
            chosen = pointwise(f"div_{rounding_mode}")
        else:
            raise not_a_rounding(name, rounding_mode)
        if out is not None:
            return write_out(chosen, (input, other), out)
        return _div(input, other) if chosen is operator else chosen(input, other)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "``input / other``, rounded towards zero or down if asked."
    return function


div = _divide_into("div", pointwise("div"))
divide = true_divide = div
method("div", "divide", "true_divide")(div)
__all__ += ["div", "divide", "true_divide"]


_POWERS = {2: "pow_2", 3: "pow_3", 0.5: "pow_half", -0.5: "pow_minus_half", -1: "pow_minus_1",
           -2: "pow_minus_2"}  # fmt: skip
_square = unary(pointwise("pow_2"))


@_export
@method()
def pow(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """``input`` to the power ``exponent``; either may be a number."""
    if exponent.__class__ is int and exponent == 2 and out is None and isinstance(input, Tensor):
        if input._array.dtype.kind != "b":
            return _square(input)
    operator, operands = power_operator(input, exponent)
    return operator(*operands) if out is None else write_out(operator, operands, out)


@method("__pow__")
def _python_power(input: Any, exponent: Any) -> Any:
    """``input ** exponent``; an array of NumPy is left to NumPy."""
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
def float_power(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    """``input`` to the power ``exponent``, computed in float64, or complex128 if one is complex."""
    operands = (input, exponent)
    require_tensor_or_number("float_power", input, "input", 1)
    require_tensor_or_number("float_power", exponent, "exponent", 2)
    is_complex = any([
        x.is_complex() if isinstance(x, Tensor) else isinstance(x, complex) for x in operands
    ])  # fmt: skip
    kind, number = (complex128, complex) if is_complex else (float64, float)
    if isinstance(out, Tensor) and out.dtype is not kind:
        raise RuntimeError(
            f"float_power(): the output given has dtype {out.dtype} but the operation's result "
            f"requires dtype {kind}"
        )
    wide = [cast(x, kind.numpy) if isinstance(x, Tensor) else number(x) for x in operands]
    return pow(*wide, out=out)


@_export
@method()
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input * input``."""
    require_tensor("square", input)
    return pow(input, 2, out=out)


@_export
@method()
def addcmul(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *older: Any,
    value: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """``input + value * tensor1 * tensor2``; ``addcmul(a, 2, b, c)`` as in 2017 too."""
    if older:
        return older_order(addcmul, "value", 3, (input, tensor1, tensor2, *older))
    check_value("addcmul", value, input, tensor1, tensor2)
    return _with_options("addcmul", (input, tensor1, tensor2, value), out)


@_export
@method()
def addcdiv(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *older: Any,
    value: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """``input + value * tensor1 / tensor2``; ``addcdiv(a, 2, b, c)`` as in 2017 too."""
    if older:
        return older_order(addcdiv, "value", 3, (input, tensor1, tensor2, *older))
    check_value("addcdiv", value, input, tensor1, tensor2)
    return _with_options("addcdiv", (input, tensor1, tensor2, value), out)


@_export
@method()
def lerp(input: Tensor, end: Tensor, weight: Any, *, out: Tensor | None = None) -> Tensor:
    """``input + weight * (end - input)``."""
    kind = input._array.dtype
    for name, value in (("end", end), ("weight", weight)):
        if isinstance(value, Tensor) and value._array.dtype is not kind:
            number = name == "weight" and not value._array.ndim
            if value._array.dtype != kind and not number:
                raise RuntimeError(
                    f"lerp: expected dtype {input.dtype} for `{name}` but got dtype {value.dtype}"
                )
    return _with_options("lerp", (input, end, weight), out)


def _with_options(name: str, operands: tuple[Any, ...], out: Tensor | None = None) -> Tensor:
    operator = pointwise(name)
    return operator(*operands) if out is None else write_out(operator, operands, out)


def _written(name: str, result: Tensor, out: Tensor | None) -> Tensor:
    """A result that is new memory, or ``out`` with its elements."""
    if out is None:
        return result
    from .output import write_result  # built on this file

    return write_result(name, result, out)


@_export
@method()
def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest whole number, ties to even; or the nearest multiple of ``10**-decimals``."""
    if decimals == 0:
        return _with_options("round", (input,), out)
    scale = 10.0**decimals
    rounded = pointwise("round")(input * scale) / scale
    return _written("round", rounded, out)


# --- selection --------------------------------------------------------------------------------


@_export
def where(
    condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None
) -> Any:
    """``input`` where the condition holds, else ``other``; with one argument, ``nonzero``."""
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
    return _written("where", made, out)


@method("where")
def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    return where(condition, self, other)


def refuse_imaginary_part(value: Any, input: Tensor) -> None:
    """Raise a RuntimeError for a complex Tensor that is to be an element of a real one."""
    if isinstance(value, Tensor) and value.is_complex() and not input.is_complex():
        checked_number(value.item(), input._array.dtype)


@_export
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
    return _renamed("masked_fill", name)(input, mask, as_element(value, input._array.dtype))


@_export
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
        return _renamed("clamp_min" + suffix, grad_fn), (input, low)
    if low is None:
        return _renamed("clamp_max" + suffix, grad_fn), (input, high)
    return pointwise("clamp" + suffix), (input, low, high)


clip = clamp
__all__.append("clip")
method("clip")(clamp)


@_export
@method()
def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """``input``, but not below ``min``."""
    suffix = "_tensor" if isinstance(min, Tensor) else ""
    return _with_options("clamp_min" + suffix, (input, min), out)


@_export
@method()
def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """``input``, but not above ``max``."""
    suffix = "_tensor" if isinstance(max, Tensor) else ""
    return _with_options("clamp_max" + suffix, (input, max), out)


@_export
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
        from .complex_numbers import view_as_complex, view_as_real  # built on this file

        made = view_as_complex(nan_to_num(view_as_real(input), nan, posinf, neginf))
        return _written("nan_to_num", made, out)
    if input._array.dtype.kind not in "fV":
        return _written("nan_to_num", input.clone(), out)
    limits = finfo(input.dtype)
    operands = (
        input,
        0.0 if nan is None else nan,
        limits.max if posinf is None else posinf,
        limits.min if neginf is None else neginf,
    )
    return _with_options("nan_to_num", operands, out)


@_export
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


@_export
@method()
def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """``log(x / (1 - x))``; of the input within [eps, 1 - eps] if there is an eps and eps >= 0."""
    if eps is None or eps < 0:
        return _with_options("logit", (input,), out)
    return _with_options("logit_clamped", (input, float(eps)), out)


@_export
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


# --- operators of Python ----------------------------------------------------------------------


def _dunder(name: str, function: Callable[[Any, Any], Any]) -> None:
    method(name)(function)


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def reflected(self: Tensor, other: Any) -> Any:
        return function(other, self)

    return reflected


for _name in ("add", "mul", "truediv:div", "floordiv:floor_divide", "mod:remainder"):
    _python, _, _operator = _name.partition(":")
    _function = binary(pointwise(_operator or _python), python_operator=True)
    _dunder(f"__{_python}__", _function)
    if _name != "truediv:div":
        _dunder(f"__r{_python}__", _reflected(_function))

_bitwise_not = unary(pointwise("bitwise_not"))
_reciprocal, _times = unary(pointwise("reciprocal")), binary(pointwise("mul"))
_number_over = binary(pointwise("rdiv"))
_over = binary(pointwise("div"), python_operator=True)


@method("__rtruediv__")
def _divide_number(self: Tensor, other: Any) -> Tensor:
    """``other / self``: the reciprocal, times a number. The input may be written afterwards."""
    if not isinstance(other, (int, float)):
        if isinstance(other, np.ndarray):
            return _reciprocal(self) * other
        return _over(other, self)
    if self._requires_grad and grad_mode.enabled:
        return _times(_reciprocal(self), other)
    return _number_over(self, other)


_dunder("__sub__", binary(pointwise("sub"), python_operator=True))
_dunder("__rsub__", _reflected(binary(_renamed("sub", "RsubBackward1"), python_operator=True)))


@method("__rpow__")
def _reflected_power(self: Tensor, other: Any) -> Any:
    return NotImplemented if isinstance(other, np.ndarray) else pow(other, self)


for _name, _operator in {
    "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge", "__eq__": "eq", "__ne__": "ne",
    "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor",
    "__lshift__": "bitwise_left_shift", "__rshift__": "bitwise_right_shift",
}.items():  # fmt: skip
    setattr(Tensor, _name, binary(pointwise(_operator), True, takes_arrays=_operator == "eq"))
for _name, _operator in {
    "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor",
    "__rlshift__": "bitwise_left_shift", "__rrshift__": "bitwise_right_shift",
}.items():  # fmt: skip
    setattr(Tensor, _name, _reflected(binary(pointwise(_operator), True)))
for _name, _operator in {"__neg__": "neg", "__abs__": "abs"}.items():
    method(_name)(unary(pointwise(_operator)))


@method("__invert__")
def _invert(self: Tensor) -> Tensor:
    if self._array.dtype.kind in "fcV":
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return _bitwise_not(self)


@method("__pos__")
def _positive(self: Tensor) -> Tensor:
    return self


@_export
@method()
def positive(input: Tensor) -> Tensor:
    """``input`` itself; raises for bool."""
    require_tensor("positive", input)
    if input._array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input
