"""``Variable``: what code written before torch 0.4 calls a Tensor that autograd sees."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from . import tensor_interface as interface
from .grad_mode import state as grad_mode
from .legacy.volatile import make_volatile

__all__ = ["ExecutionEngine", "Variable", "VariableMeta"]


class ExecutionEngine:
    """The interface of torch's engine that programs use: questions to the walk of this thread."""

    def is_checkpoint_valid(self) -> bool:
        """Whether a node may start a walk of its own that accumulates in leaves.

        It may not where gradients of chosen inputs are computed, in this walk or one around it:
        the leaves would get gradients that nobody asked for.
        """
        walk = grad_mode.walk
        return walk is None or walk.leads_to_all

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Call ``callback()`` once the backward that this thread is in has run all nodes.

        Raises:
            RuntimeError: outside of a backward.
        """
        walk = grad_mode.walk
        if walk is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        if walk.callbacks is None:
            walk.callbacks = []
        walk.callbacks.append(callback)


class _VariableMeta(type):
    """Makes every Tensor an instance of ``Variable``."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, interface.Tensor)


class Variable(metaclass=_VariableMeta):
    """``Variable(tensor)`` returns a Tensor that shares the memory of ``tensor``.

    Args:
        data: a tensor; its history is left behind.
        requires_grad: whether the result requires grad.
        volatile: record nothing that is computed from the result. Use ``no_grad()`` instead.

    Raises:
        TypeError: if ``data`` is not a tensor.
        ValueError: for a volatile Variable that requires grad.
        RuntimeError: if integers are to require grad.
    """

    _execution_engine = ExecutionEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        if data is None:
            return interface.Tensor()
        if not isinstance(data, interface.Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if requires_grad and volatile:
            raise ValueError("Variable can't be volatile and require_grad at the same time!")
        if requires_grad and data._array.dtype.kind not in "fcV":
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        result = interface.alias(data)
        result._requires_grad = requires_grad
        if volatile:
            warnings.warn(
                "volatile=True is what torch had before 0.4: nothing that is computed from this "
                "Variable is recorded. Use `with torch.no_grad():` instead.",
                UserWarning,
                stacklevel=2,
            )
            make_volatile(result)
        return result


#: The class of ``Variable``, under torch's name.
VariableMeta = _VariableMeta
