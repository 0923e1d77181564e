"""Checks and questions that torch has for programs that are compiled, and libraries call as well.

``torch._check`` and its kin raise what is asked for if a condition does not hold; ``sym_max`` and
its kin are Python's functions, since sizes are numbers here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .device import device as Device
from .tensor import Tensor

__all__ = ["get_device_module", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not"]

Message = Callable[[], Any] | None


def _raised(kind: type[Exception], condition: Any, message: Message) -> None:
    if type(condition) is not bool:
        if isinstance(condition, Tensor):
            raise TypeError(
                f"cond must be a bool, but got {type(condition)}; torch._check_tensor_all takes "
                "tensors"
            )
        raise TypeError(f"cond must be a bool, but got {type(condition)}")
    if condition:
        return
    if message is None:
        raise kind(
            "Expected cond to be True, but got False. (Could this error message be improved?)"
        )
    if not callable(message):
        raise TypeError("message must be a callable")
    raise kind(str(message()))


def _check(cond: Any, message: Message = None) -> None:
    """Raise RuntimeError with ``message()`` unless ``cond`` is True."""
    _raised(RuntimeError, cond, message)


def _check_index(cond: Any, message: Message = None) -> None:
    """``_check`` with IndexError."""
    _raised(IndexError, cond, message)


def _check_value(cond: Any, message: Message = None) -> None:
    """``_check`` with ValueError."""
    _raised(ValueError, cond, message)


def _check_type(cond: Any, message: Message = None) -> None:
    """``_check`` with TypeError."""
    _raised(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Message = None) -> None:
    """``_check`` with NotImplementedError."""
    _raised(NotImplementedError, cond, message)


def _check_is_size(i: Any, message: Message = None, *, max: Any = None) -> None:
    """Raise RuntimeError for what is no size."""
    _raised(RuntimeError, bool(i >= 0), message)
    if max is not None:
        _raised(RuntimeError, bool(i <= max), message)


def _check_tensor_all(cond: Tensor, message: Message = None) -> None:
    """``_check`` of all elements of a tensor of booleans."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    _raised(RuntimeError, bool(cond.all()), message)


def _assert(condition: Any, message: str = "") -> None:
    """``assert``, as a function."""
    assert condition, message


def _assert_async(input: Tensor, assert_msg: str = "") -> None:
    """Raise RuntimeError unless the one element is true; at once, since nothing runs later here."""
    if not input:
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _has_compatible_shallow_copy_type(input: Tensor, from_: Tensor) -> bool:
    """Whether ``input.data = from_`` can be: tensors of one kind of device hold the same things."""
    return input.device.type == from_.device.type


def _shape_as_tensor(input: Tensor) -> Tensor:
    """The sizes of a tensor, int64."""
    from . import int64, tensor

    return tensor(list(input.shape), dtype=int64)


def sym_max(a: Any, b: Any) -> Any:
    """The greater of two numbers; a float if one of them is."""
    return max(a, b) if type(a) is type(b) else float(max(a, b))


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; a float if one of them is."""
    return min(a, b) if type(a) is type(b) else float(min(a, b))


def sym_int(a: Any) -> int:
    """A number cut off to an integer."""
    return math.trunc(a)


def sym_float(a: Any) -> float:
    """A number as a float."""
    return float(a)


def sym_not(a: Any) -> bool:
    """``not a``."""
    return not a


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """``t if b else f``."""
    return t if b else f


def get_device_module(device: Any = None) -> ModuleType:
    """The module of a type of devices, as ``torch.cuda``; that of the CPU by default.

    Raises:
        RuntimeError: for a type of devices that has none.
    """
    import importlib

    kind = "cpu" if device is None else Device(device).type
    try:
        return importlib.import_module(f".{kind}", __package__)
    except ModuleNotFoundError:
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'."
        ) from None
