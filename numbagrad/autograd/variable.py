"""``Variable``: what code written before torch 0.4 calls a Tensor that autograd sees."""

from __future__ import annotations

from typing import Any

from . import tensor_interface as interface

__all__ = ["Variable"]


class _VariableMeta(type):
    """Makes every Tensor an instance of ``Variable``."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, interface.Tensor)


class Variable(metaclass=_VariableMeta):
    """``Variable(tensor)`` returns a Tensor that shares the memory of ``tensor``.

    Args:
        data: a tensor; its history is left behind.
        requires_grad: whether the result requires grad.
        volatile: accepted for old code; use ``no_grad()`` instead.
    """

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        if not isinstance(data, interface.Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        result = interface.alias(data)
        if requires_grad and data._array.dtype.kind not in "fc":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        result._requires_grad = requires_grad
        return result
