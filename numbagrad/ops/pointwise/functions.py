"""Public functions of the pointwise family: torch's signatures over the table of ``pointwise.py``.

Most take Tensors by position and are made here from the table alone; the ones with options (alpha,
rounding modes, optional bounds) are written out. Every function takes ``out``.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...autograd.grad_mode import state as grad_mode
from ...dispatch import layers
from ...dtype import complex128, float64, python_number
from ...executor import capture
from ...executor.builtin import LaunchMiss
from ...executor.plan.forms import ShapesDiffer, broadcast
from ...executor.plan.sharing import refuse_overlap
from ...number_range import check_bits, checked_number
from ...tensor import Tensor
from ...transforms.reading import refuse_tangents
from ...type_names import type_name
from .. import pointwise as table  # noqa: F401 - fills the register
from ..arguments.older_orders import rearranged
from ..arguments.requirements import require_tensor, require_tensor_or_number, resize_output
from ..conversion.dtypes import cast
from ..methods.registry import method
from ..operators.definition import POINTWISE
from ..operators.pointwise_operator import PointwiseOperator, binary, pointwise, unary
from .arguments import WITHOUT_OUT, check_alpha, check_out_dtype, check_value, not_a_rounding

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
    if (shape := _shape_of_output(shapes, out)) != out._array.shape:
        refuse_overlap(out._array, [x._array for x in operands if isinstance(x, Tensor)])
        resize_output(out, shape)
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
    def function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        if layers.everywhere and layers.asks(function):
            return layers.ask(function, [input], {"out": out})
        if out is not None:
            return write_out(operator, (input,), out)
        try:  # what ``unary`` does, without another call
            result = operator.launch(input, grad_mode.enabled)
        except LaunchMiss:
            return operator.compute((input,))
        if result._requires_grad and result._producer is None:
            operator.record(result, (input,))
        return result

    def without_out(input: Tensor) -> Tensor:
        if layers.everywhere and layers.asks(without_out):
            return layers.descend(without_out, (input,), {})
        return call(input)

    call = unary(operator)
    return _named(without_out if name in WITHOUT_OUT else function, name, operator)


def _binary_function(name: str, operator: PointwiseOperator) -> Callable[..., Tensor]:
    def function(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        if layers.everywhere and layers.asks(function):
            return layers.ask(function, [input, other], {"out": out})
        if out is not None:
            return write_out(operator, (input, other), out)
        try:  # what ``binary`` does, without another call
            result = operator.launch(input, other, grad_mode.enabled)
        except LaunchMiss:
            return operator.compute((input, other))
        if result._requires_grad and result._producer is None:
            operator.record(result, (input, other))
        return result

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
            _public(public, make(public, operator))
            method(public)(make(public, operator))


_derive()


@functools.cache
def renamed(name: str, grad_fn: str) -> PointwiseOperator:
    """An operator whose node has another name: torch has one for every way to call it."""
    return PointwiseOperator(dataclasses.replace(POINTWISE[name], grad_fn=grad_fn))


# --- arithmetic -------------------------------------------------------------------------------

_div = binary(pointwise("div"))


def _export(function: Any) -> Any:
    __all__.append(function.__name__)
    return function


def _sum_function(name: str, text: str) -> Callable[..., Tensor]:
    plain, scaled = pointwise(name), pointwise(f"{name}_scaled")
    call = binary(plain)

    def function(
        input: Any, other: Any, *older: Any, alpha: Number = 1, out: Tensor | None = None
    ) -> Tensor:
        if layers.everywhere and layers.asks(function):
            return layers.ask(function, [input, other], {"alpha": alpha, "out": out}, older)
        if older:
            keywords: dict[str, Any] = {"alpha": alpha} if alpha is not ONE else {}
            keywords |= {"out": out} if out is not None else {}
            return rearranged(function, name, (input, other, *older), keywords)
        if alpha is not ONE and alpha.__class__ is not float and alpha.__class__ is not int:
            check_alpha(name, alpha, input, other)
        if alpha is ONE or is_one(alpha):
            return call(input, other) if out is None else write_out(plain, (input, other), out)
        if out is not None:
            return write_out(scaled, (input, other, alpha), out)
        return scaled(input, other, alpha)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"``{text}``; ``{name}(a, 2, b)`` and ``{name}(a, b, result)`` as in 2017 too."
    )
    return function


def _members(make: Callable[..., Any], arguments: tuple[Any, ...], *names: str) -> Any:
    """A public function, its aliases, and the methods of these names, each one of its own."""
    for name in names:
        method(name)(make(*arguments))
    function = make(*arguments)
    __all__.extend(names)
    return function


add = _members(_sum_function, ("add", "input + alpha * other"), "add")
sub = subtract = _members(_sum_function, ("sub", "input - alpha * other"), "sub", "subtract")


@_export
def rsub(input: Tensor, other: Any, *, alpha: Number = 1) -> Tensor:
    """``other - alpha * input``."""
    return pointwise("rsub")(input, other, alpha)


def _divide_into(name: str, operator: PointwiseOperator) -> Callable[..., Tensor]:
    def function(
        input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None
    ) -> Tensor:
        if layers.everywhere and layers.asks(function):
            keywords = {"rounding_mode": rounding_mode, "out": out}
            return layers.ask(function, [input, other], keywords)
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


div = divide = true_divide = _members(
    _divide_into, ("div", pointwise("div")), "div", "divide", "true_divide"
)


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
    for x in operands:
        check_bits(x)
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
    *,
    value: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """``input + value * tensor1 * tensor2``; ``addcmul(a, 2, b, c)`` as in 2017 too."""
    check_value("addcmul", value, input, tensor1, tensor2)
    return with_options("addcmul", (input, tensor1, tensor2, value), out)


@_export
@method()
def addcdiv(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """``input + value * tensor1 / tensor2``; ``addcdiv(a, 2, b, c)`` as in 2017 too."""
    check_value("addcdiv", value, input, tensor1, tensor2)
    return with_options("addcdiv", (input, tensor1, tensor2, value), out)


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
    if weight.__class__ is complex and kind.kind != "c":
        weight = checked_number(weight, kind)
    return with_options("lerp", (input, end, weight), out)


def with_options(name: str, operands: tuple[Any, ...], out: Tensor | None = None) -> Tensor:
    operator = pointwise(name)
    return operator(*operands) if out is None else write_out(operator, operands, out)


def written(name: str, result: Tensor, out: Tensor | None, reads: Sequence[Tensor] = ()) -> Tensor:
    """A result that is new memory, or ``out`` with its elements, where ``reads`` may not lie."""
    if out is None:
        return result
    from ..arguments.output import write_result  # built on this file

    return write_result(name, result, out, reads=reads)


@_export
@method()
def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest whole number, ties to even; or the nearest multiple of ``10**-decimals``."""
    if decimals == 0:
        return with_options("round", (input,), out)
    scale = 10.0**decimals
    rounded = pointwise("round")(input * scale) / scale
    return written("round", rounded, out, (input,))


@_export
@method()
def positive(input: Tensor) -> Tensor:
    """``input`` itself; raises for bool."""
    require_tensor("positive", input)
    if input._array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input
