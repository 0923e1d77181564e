"""Operators of Python on Tensors: ``+``, ``-``, ``<`` and the others, reflected ones included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...autograd.grad_mode import state as grad_mode
from ...tensor import Tensor
from ...type_names import type_name
from ..methods.registry import method
from ..operators.pointwise_operator import binary, pointwise, unary
from .functions import pow, renamed

__all__: list[str] = []


def _dunder(name: str, function: Callable[[Any, Any], Any]) -> None:
    method(name)(function)


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def reflected(self: Tensor, other: Any) -> Any:
        try:
            self._requires_grad  # noqa: B018 - a slot, read faster than a class is looked at
        except AttributeError:
            raise TypeError(
                "a reflected operator of Tensor doesn't apply to a "
                f"{type_name(self)!r} object: write the operator, or call a Tensor's method"
            ) from None
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
_dunder("__rsub__", _reflected(binary(renamed("sub", "RsubBackward1"), python_operator=True)))


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
