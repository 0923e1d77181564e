"""Methods that write a tensor in place: those of all pointwise operators, fill, copy and shapes.

Driven by ``in_place`` in the definitions of ``pointwise.py``; what a write does to histories is in
``autograd/writes/inplace.py``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import half_precision as half
from ...autograd.grad_mode import enable_grad
from ...autograd.grad_mode import state as grad_mode
from ...autograd.hooks import tensor_hooks as hooks
from ...autograd.tensor_interface import bump_version
from ...autograd.writes.inplace import (
    apply_inplace,
    before_write,
    check_inplace,
    compute_then_write,
    recording,
    take_history,
    write_inplace,
)
from ...backend import foreign
from ...dispatch import layers
from ...dtype import can_cast, scalar_type_name
from ...executor import capture
from ...executor.memory.arrays import fill_elements, filled_like, new_array
from ...executor.plan.sharing import check_written_once, refuse_overlap
from ...tensor import Tensor, new_tensor
from ...transforms.batching import aligned, stacked
from ...transforms.levels import is_transformed
from ...type_names import type_name
from .. import pointwise as table  # noqa: F401 - fills the register
from ..arguments.kinds import FORMS, NOT_GIVEN
from ..arguments.older_orders import rearranged
from ..arguments.requirements import require_tensor, require_tensor_or_number
from ..arguments.shapes import check_broadcast, nothing_given, sizes_of
from ..conversion.dtypes import as_element, cast
from ..methods.registry import method
from ..operators.definition import POINTWISE
from ..operators.pointwise_operator import PointwiseOperator, pointwise
from ..operators.tensor_operator import TensorOperator
from ..pointwise.arguments import check_alpha, check_value, not_a_rounding
from ..pointwise.functions import ONE, WRITTEN_BY_HAND, is_one, power_operator, round
from ..pointwise.selection import clamp_operator, logit, nan_to_num, refuse_imaginary_part
from ..views.expand import sum_to_size
from ..views.view import squeeze, t, transpose, unsqueeze

__all__: list[str] = []

Number = bool | int | float


# --- pointwise operators --------------------------------------------------------------------------


def _unary(operator: PointwiseOperator) -> Callable[[Tensor], Tensor]:
    into = operator.into
    is_abs = operator.name == "abs"

    def write(self: Tensor) -> Tensor:
        if layers.everywhere and layers.asks(write):
            return layers.descend(write, (self,), {})
        if is_abs and self.is_complex():
            raise RuntimeError(
                "In-place abs is not supported for complex tensors; abs() has a real result"
            )
        if grad_mode.enabled:
            return apply_inplace(self, operator, (self,))
        into(self, (self,))
        return self

    return write


def _binary(operator: PointwiseOperator) -> Callable[[Tensor, Any], Tensor]:
    """The method of an operator of two operands that writes the first."""
    into = operator.into

    def write(self: Tensor, other: Any) -> Tensor:
        if layers.everywhere and layers.asks(write):
            return layers.descend(write, (self, other), {})
        if grad_mode.enabled:
            return apply_inplace(self, operator, (self, other))
        into(self, (self, other))
        return self

    return write


def _python_operator(operator: PointwiseOperator) -> Callable[[Tensor, Any], Any]:
    """The same for ``+=`` and its like, which leave arrays of NumPy to NumPy."""
    into = operator.into
    is_array = np.ndarray

    def write(self: Tensor, other: Any) -> Any:
        if layers.everywhere and layers.asks(write):
            return layers.descend(write, (self, other), {})
        if other.__class__ is is_array:
            return NotImplemented
        if grad_mode.enabled:
            return apply_inplace(self, operator, (self, other))
        into(self, (self, other))
        return self

    return write


def _named(function: Any, name: str, text: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def _derive() -> None:
    """Methods of every definition that needs nothing but its formula."""
    for name, definition in POINTWISE.items():
        if not definition.in_place or name in WRITTEN_BY_HAND:
            continue
        unary = definition.formula.__code__.co_argcount == 1
        operator = pointwise(name)
        for public in (f"{x}_" for x in (name, *definition.aliases)):
            function = _named(
                _unary(operator) if unary else _binary(operator),
                public,
                f"``{public[:-1]}`` written into the tensor.",
            )
            method(public)(function)
            if unary:
                globals()[public] = function
                __all__.append(public)


_derive()

_div = _binary(pointwise("div"))


def _sum_method(name: str, text: str) -> Callable[..., Tensor]:
    write, scaled = _binary(pointwise(name)), pointwise(f"{name}_scaled")

    def function(self: Tensor, other: Any, *older: Any, alpha: Number = 1) -> Tensor:
        if layers.everywhere and layers.asks(function):
            return layers.ask(function, [self, other], {"alpha": alpha}, older)
        if older:
            keywords = {"alpha": alpha} if alpha is not ONE else {}
            return rearranged(function, f"{name}_", (self, other, *older), keywords)
        if alpha is not ONE:
            check_alpha(f"{name}_", alpha, self, other)
        if alpha is ONE or is_one(alpha):
            return write(self, other)
        return apply_inplace(self, scaled, (self, other, alpha))

    return _named(function, f"{name}_", f"``{text}``; ``{name}_(2, b)`` as in 2017 too.")


method("add_")(_sum_method("add", "self += alpha * other"))
method("sub_", "subtract_")(_sum_method("sub", "self -= alpha * other"))


@method("div_", "divide_", "true_divide_")
def _div_(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """``self /= other``, rounded towards zero (``trunc``) or down (``floor``) if asked."""
    if rounding_mode is None:
        return _div(self, other)
    if rounding_mode not in ("floor", "trunc"):
        raise not_a_rounding("div_", rounding_mode)
    return apply_inplace(self, pointwise(f"div_{rounding_mode}"), (self, other))


@method("__ipow__")
def _python_pow_(self: Tensor, exponent: Any) -> Any:
    """``self **= exponent``; an array of NumPy is left to NumPy."""
    return NotImplemented if exponent.__class__ is np.ndarray else _pow_(self, exponent)


@method("pow_")
def _pow_(self: Tensor, exponent: Any) -> Tensor:
    """``self`` to the power ``exponent``, in place."""
    operator, operands = power_operator(self, exponent)
    return apply_inplace(self, operator, operands)


@method("square_")
def _square_(self: Tensor) -> Tensor:
    """``self *= self``."""
    return apply_inplace(self, pointwise("pow_2"), (self,))


@method("addcmul_")
def _addcmul_(
    self: Tensor, tensor1: Tensor, tensor2: Tensor, *older: Any, value: Number = ONE
) -> Tensor:
    """``self += value * tensor1 * tensor2``; ``addcmul_(2, b, c)`` as in 2017 too."""
    if older:
        keywords = {"value": value} if value is not ONE else {}
        return rearranged(_addcmul_, "addcmul_", (self, tensor1, tensor2, *older), keywords)
    check_value("addcmul_", value, self, tensor1, tensor2)
    return apply_inplace(self, pointwise("addcmul"), (self, tensor1, tensor2, value))


@method("addcdiv_")
def _addcdiv_(
    self: Tensor, tensor1: Tensor, tensor2: Tensor, *older: Any, value: Number = ONE
) -> Tensor:
    """``self += value * tensor1 / tensor2``; ``addcdiv_(2, b, c)`` as in 2017 too."""
    if older:
        keywords = {"value": value} if value is not ONE else {}
        return rearranged(_addcdiv_, "addcdiv_", (self, tensor1, tensor2, *older), keywords)
    check_value("addcdiv_", value, self, tensor1, tensor2)
    return apply_inplace(self, pointwise("addcdiv"), (self, tensor1, tensor2, value))


@method("lerp_")
def _lerp_(self: Tensor, end: Tensor, weight: Any) -> Tensor:
    """``self += weight * (end - self)``."""
    return apply_inplace(self, pointwise("lerp"), (self, end, weight))


@method("clamp_", "clip_")
def _clamp_(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Limit the elements to [min, max]; a bound may be a number, a Tensor or None."""
    operator, operands = clamp_operator(self, min, max)
    return apply_inplace(self, operator, operands)


@method("clamp_min_")
def _clamp_min_(self: Tensor, min: Any) -> Tensor:
    """Raise the elements below ``min`` to it."""
    require_tensor_or_number("clamp_min_", min, "min", 1)
    return _clamp_(self, min=min)


@method("clamp_max_")
def _clamp_max_(self: Tensor, max: Any) -> Tensor:
    """Lower the elements above ``max`` to it."""
    require_tensor_or_number("clamp_max_", max, "max", 1)
    return _clamp_(self, max=max)


@method("masked_fill_")
def _masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Write ``value`` where the mask holds."""
    if not isinstance(value, Tensor):
        require_tensor_or_number("masked_fill_", value, "value", 2)
    if mask._array.dtype.kind != "b":
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}"
        )
    if isinstance(value, Tensor) and value._array.ndim > 0:
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value._array.ndim} dimension(s)."
        )
    refuse_imaginary_part(value, self)
    value = as_element(value, self._array.dtype)
    return apply_inplace(self, pointwise("masked_fill"), (self, mask, value))


def install_in_place(
    function: Callable[..., Tensor],
    *,
    repeats: bool | Callable[..., Tensor] = False,
    refused: str | None = "partly",
) -> None:
    """Install the method with an underscore, which writes what ``function`` returns.

    Raises, when called, for memory that several elements share, unless ``repeats`` says that torch
    writes it, or is a function that does; for a result that the dtype of the tensor cannot hold;
    and for another operand in the memory of the tensor: one that lies "partly" in it, or one that
    is the "whole" as well, or, with None, for none.
    """

    def write(self: Tensor, *arguments: Any, **options: Any) -> Tensor:
        if 0 in self._array.strides:
            if callable(repeats):
                return repeats(self, *arguments, **options)
            if not repeats:
                check_written_once(self._array)

        def compute(before: Tensor) -> Tensor:
            value = function(before, *arguments, **options)
            if not can_cast(value.dtype, self.dtype):
                raise RuntimeError(
                    f"{public}: result type {scalar_type_name(value.dtype)} can't be cast to the "
                    f"desired output type {scalar_type_name(self.dtype)}"
                )
            if refused is not None:  # after the errors of operands that do not fit
                refuse_overlap(self._array, [x._array for x in others], whole=refused == "whole")
            return value

        others = [x for x in (*arguments, *options.values()) if isinstance(x, Tensor)]
        return compute_then_write(self, compute, *others)

    public = f"{function.__name__}_"
    # Its arguments are those of the function, and are checked as such.
    write.__annotations__ = function.__annotations__
    signature = inspect.signature(function)
    taken = [x for name, x in signature.parameters.items() if name != "out"]
    write.__signature__ = signature.replace(parameters=taken)  # type: ignore[attr-defined]
    if hasattr(function, FORMS):
        setattr(write, FORMS, getattr(function, FORMS))
    method(public)(_named(write, public, f"``{function.__name__}`` written into the tensor."))


for _function in (round, nan_to_num, logit):
    install_in_place(_function)


for _name, _operator in {
    "__iadd__": "add", "__isub__": "sub", "__imul__": "mul", "__itruediv__": "div",
    "__ifloordiv__": "floor_divide", "__imod__": "remainder", "__iand__": "bitwise_and",
    "__ior__": "bitwise_or", "__ixor__": "bitwise_xor", "__ilshift__": "bitwise_left_shift",
    "__irshift__": "bitwise_right_shift",
}.items():  # fmt: skip
    method(_name)(_named(_python_operator(pointwise(_operator)), _name, ""))


_ndarray = np.ndarray

# --- fill and copy --------------------------------------------------------------------------------


def zeros_for(grad: Tensor) -> Tensor:
    """The gradient of what was overwritten."""
    array = grad._array
    return new_tensor(filled_like(array, array.shape, array.dtype, 0))


_zero = TensorOperator(
    "zero",
    lambda input: filled_like(input, input.shape, input.dtype, 0),
    {"input": lambda grad: zeros_for(grad)},
    batch=stacked(),
    takes_half=True,
    portable=True,
)
_fill = TensorOperator(
    "fill",
    lambda input, value: np.full_like(input, value),
    {"input": lambda grad: zeros_for(grad), "value": lambda grad: grad.sum()},
    # A value of samples is copied instead.
    batch=lambda operator, size, arguments, mapped: operator(*arguments),
)


def is_elsewhere(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are on different devices."""
    return foreign(one._array) is not foreign(other._array)


def _copied(input: np.ndarray[Any, Any], src: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    where = foreign(input)
    if where is None:
        return np.array(half.converted(np.broadcast_to(src, input.shape), input.dtype))
    made = new_array(input.shape, input.dtype, where)
    where.copy(made, src)
    return made


def _copy_of_samples(operator: Any, size: int, arguments: list[Any], mapped: list[bool]) -> Tensor:
    """The result of ``_copy`` for all samples: the source, repeated to the shape of the input."""
    input, source, _ = arguments
    shape = input._array.shape[mapped[0] :]
    source = aligned(source, mapped[1], len(shape))
    return cast(source.expand((size, *shape)), input._array.dtype, copy=True)


_copy = TensorOperator(
    "copy",
    lambda input, src, kind: _copied(input, src),
    {
        "input": lambda grad: zeros_for(grad),
        "src": lambda grad, src_shape, kind: cast(sum_to_size(grad, src_shape), kind),
    },
    grad_fn="CopyBackwards",
    batch=_copy_of_samples,
    takes_half=True,
    portable=True,
)
_copy._node._namespace = "torch::autograd::"


def _set_all(array: np.ndarray[Any, Any], number: Any) -> None:
    fill_elements(array, number)
    if capture.active is not None:
        capture.note_fill(array, number, made=False)


def _copy_into(array: np.ndarray[Any, Any], source: np.ndarray[Any, Any]) -> None:
    if (where := foreign(array)) is not None:
        where.copy(array, source)
        return
    if source.dtype.kind == "c" and array.dtype.kind not in "cb":
        source = source.real
    half.copy_into(array, source)


def _copy_noted(array: np.ndarray[Any, Any], source: np.ndarray[Any, Any]) -> None:
    """The same; a program has it as a loop if that reads nothing that was written."""
    if foreign(array) is not None:
        _copy_into(array, source)
        capture.note_copy(source, array)
    elif array.dtype == source.dtype and not np.may_share_memory(array, source):
        _copy_into(array, source)
        capture.note_copy(source, array)
    else:
        capture.write(_copy_into, array, source)


@method("zero_")
def zero_(input: Tensor) -> Tensor:
    """Write zeros."""
    if layers.everywhere and layers.asks(zero_):
        return layers.descend(zero_, (input,), {})
    if not recording(input) and not is_transformed(input):
        before_write(input)
        _set_all(input._array, 0)
        bump_version(input)
        return input
    return write_inplace(input, _zero, lambda array: _set_all(array, 0))


@method("fill_")
def fill_(input: Tensor, value: Any) -> Tensor:
    """Write one value, a number or a tensor without dimensions."""
    if isinstance(value, Tensor) and value._array.ndim:
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{value._array.ndim} dimensions."
        )
    if not isinstance(value, Tensor):
        require_tensor_or_number("fill_", value, "value", 2)
    value = as_element(value, input._array.dtype)
    if isinstance(value, Tensor):
        capture.refuse("fill_() with the value of a tensor")
    if isinstance(value, Tensor) and is_transformed(value):
        return copy_(input, value)
    number = value._values()[()] if isinstance(value, Tensor) else value
    return write_inplace(input, _fill, lambda array: _set_all(array, number), value)


@method("copy_")
def copy_(input: Tensor, src: Tensor | Number, non_blocking: bool = False) -> Tensor:
    """Write the elements of ``src``, broadcast and cast to the dtype of this tensor."""
    if non_blocking is not False and non_blocking is not True:
        raise TypeError(
            "copy_(): argument 'non_blocking' (position 2) must be bool, not "
            f"{type_name(non_blocking)}"
        )
    if src.__class__ is not Tensor and not isinstance(src, Tensor):
        if not isinstance(src, (bool, int, float, complex)):
            require_tensor("copy_", src, "other")
        src = new_tensor(np.array(src))
    source = src._array
    if source.__class__ is not _ndarray or input._array.__class__ is not _ndarray:
        if is_elsewhere(src, input):
            src = src.to(input.device)
            source = src._array
    if source.shape != input._array.shape:
        check_broadcast(source.shape, input._array.shape)
    if 0 in input._array.strides and src is not input:
        check_written_once(input._array)
    if source.base is not None or input._array.base is not None:
        refuse_overlap(input._array, (source,))
    if not recording(input, src) and not is_transformed((input, src)):
        before_write(input)
        if (
            capture.active is not None
            or source.__class__ is not _ndarray
            or source.dtype != input._array.dtype
        ):
            _copy_noted(input._array, source)
        else:
            input._array[...] = source
        bump_version(input)
        return input
    return write_inplace(input, _copy, lambda array: _copy_noted(array, source), src, source.dtype)


# --- shape ----------------------------------------------------------------------------------------


def reshape_in_place(tensor: Tensor, view: Callable[[Tensor], Tensor]) -> Tensor:
    """Give ``tensor`` the shape of ``view(tensor)``; its memory stays."""
    recorded = recording(tensor)
    before_write(tensor)
    if recorded:
        check_inplace(tensor)
    elif tensor._producer is not None and not tensor._is_view():
        hooks.fit_gradients(tensor)
    # A view knows where it lies in its base, also if it was given another shape unrecorded.
    follows = recorded or (tensor._producer is not None and tensor._is_view())
    before = new_tensor(tensor._array, tensor._requires_grad, tensor._producer, tensor._output_nr)
    if follows and not recorded:
        with enable_grad():
            made = view(before)
    else:
        made = view(before)
    tensor._array = made._array
    bump_version(tensor)
    if follows:
        take_history(tensor, made._producer, made._output_nr)
    return tensor


@method()
def t_(self: Tensor) -> Tensor:
    """``t`` in place."""
    return reshape_in_place(self, t)


@method("transpose_", "swapaxes_", "swapdims_")
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """``transpose`` in place."""
    return reshape_in_place(self, lambda x: transpose(x, dim0, dim1))


@method()
def squeeze_(self: Tensor, dim: Any = NOT_GIVEN, *more: int) -> Tensor:
    """``squeeze`` in place."""
    return reshape_in_place(self, lambda x: squeeze(x, dim, *more))


@method()
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """``unsqueeze`` in place."""
    return reshape_in_place(self, lambda x: unsqueeze(x, dim))


@method()
def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Change the shape; memory grows if it must, and new elements have any value.

    Raises:
        RuntimeError: if the tensor requires grad, outside of ``inference_mode``.
    """
    if self._requires_grad and not grad_mode.inference:
        raise RuntimeError("cannot resize variables that require grad")
    before_write(self)
    if not sizes:
        raise nothing_given("resize_")
    shape = sizes_of(sizes)
    if min(shape, default=0) < 0:
        raise RuntimeError(f"resize_(): sizes must not be negative, but got {list(shape)}")
    count = int(np.prod(shape, dtype=np.int64))
    array = self._array
    if array.shape == shape:
        return self
    bump_version(self)
    if not array.flags.c_contiguous:
        array = array.copy("C")
    flat = array.reshape(-1)
    if count > flat.size:
        grown = np.empty(count, array.dtype)
        grown[: flat.size] = flat
        flat = grown
    self._array = flat[:count].reshape(shape)
    return self


@method()
def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """``resize_`` to the shape of another tensor."""
    return resize_(self, the_template._array.shape)


@method()
def set_data(self: Tensor, new_data: Tensor) -> None:
    """Let the tensor refer to the memory of ``new_data``."""
    self._array = new_data._array
