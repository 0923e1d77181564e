"""Operators of Python on Tensors: ``+``, ``-``, ``<`` and the others, reflected ones included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...autograd.grad_mode import state as grad_mode
from ...dispatch import layers
from ...executor.builtin import LaunchMiss
from ...tensor import Tensor
from ...type_names import type_name
from ..methods.registry import method
from ..operators.pointwise_operator import (
    PointwiseOperator,
    binary,
    pointwise,
    python_operator,
    unary,
)
from .functions import pow, renamed

__all__: list[str] = []


def _reflected(operator: PointwiseOperator, name: str) -> Callable[[Any, Any], Any]:
    function = python_operator(operator, name)

    def reflected(self: Tensor, other: Any) -> Any:
        if layers.everywhere and layers.asks(reflected):
            return layers.descend(reflected, (self, other), {})
        try:
            self._requires_grad  # noqa: B018 - a slot, read faster than a class is looked at
        except AttributeError:
            raise TypeError(
                "a reflected operator of Tensor doesn't apply to a "
                f"{type_name(self)!r} object: write the operator, or call a Tensor's method"
            ) from None
        return function(other, self)

    reflected.__name__ = reflected.__qualname__ = name
    return reflected


def _install(name: str, operator: str, reflected: PointwiseOperator | None = None) -> None:
    """The methods of an operator of Python; ``reflected`` has a node of another name."""
    chosen = pointwise(operator)
    setattr(Tensor, f"__{name}__", python_operator(chosen, f"__{name}__", operator == "eq"))
    if name not in _NOT_REFLECTED:
        setattr(Tensor, f"__r{name}__", _reflected(reflected or chosen, f"__r{name}__"))


#: Comparisons are reflected by one another, and a division of a number is written out below.
_NOT_REFLECTED = frozenset(("lt", "le", "gt", "ge", "eq", "ne", "truediv"))
for _name in """
    add mul truediv:div floordiv:floor_divide mod:remainder lt le gt ge eq ne and:bitwise_and
    or:bitwise_or xor:bitwise_xor lshift:bitwise_left_shift rshift:bitwise_right_shift
""".split():
    _python, _, _operator = _name.partition(":")
    _install(_python, _operator or _python)
_install("sub", "sub", renamed("sub", "RsubBackward1"))

_bitwise_not = unary(pointwise("bitwise_not"))
_reciprocal, _times = unary(pointwise("reciprocal")), binary(pointwise("mul"))
_number_over = binary(pointwise("rdiv"))
_over = python_operator(pointwise("div"), "__truediv__")


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


@method("__rpow__")
def _reflected_power(self: Tensor, other: Any) -> Any:
    return NotImplemented if isinstance(other, np.ndarray) else pow(other, self)


def _sign_method(operator: PointwiseOperator, name: str) -> None:
    def call(self: Tensor) -> Tensor:
        if layers.everywhere and layers.asks(call):
            return layers.descend(call, (self,), {})
        try:  # what ``unary`` does, without another call
            result = operator.launch(self, grad_mode.enabled)
        except LaunchMiss:
            return operator.compute((self,))
        if result._requires_grad and result._producer is None:
            operator.record(result, (self,))
        return result

    call.__name__ = call.__qualname__ = name
    setattr(Tensor, name, call)


_sign_method(pointwise("neg"), "__neg__")
_sign_method(pointwise("abs"), "__abs__")


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
