"""Volatile tensors, as of 2017: what is computed from one is not recorded, and is volatile too.

Today one writes ``with no_grad():`` instead. Operators know nothing of volatile tensors: the first
one puts a guard around the public functions and methods, and until then nothing is paid for them.
Functions that a program bound to names of its own before that (``from torch import mm``) stay as
they were; ``Function.apply`` asks ``touched`` itself.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable
from typing import Any

from . import tensor_interface as interface
from .grad_mode import state as grad_mode

__all__ = ["is_volatile", "make_volatile", "touched"]

_lock = threading.RLock()
_guarded: dict[Any, Any] = {}
#: Whether there ever was a volatile tensor.
in_use = False


def is_volatile(tensor: Any) -> bool:
    """Whether operations on ``tensor`` are not recorded, whatever their other operands."""
    return "_volatile" in vars(tensor)


def make_volatile(tensor: Any) -> None:
    """Make ``tensor``, which does not require grad, volatile."""
    global in_use
    with _lock:
        if not in_use:
            _guard_everything()
            in_use = True
    tensor._volatile = True


def touched(values: Iterable[Any]) -> bool:
    """Whether there is a volatile tensor among ``values`` or in a sequence among them."""
    for value in values:
        if isinstance(value, interface.Tensor):
            if is_volatile(value):
                return True
        elif isinstance(value, (list, tuple)) and touched(value):
            return True
    return False


def mark(result: Any) -> Any:
    """Make the tensors that an unrecorded call returned volatile; parameters stay what they are."""
    if isinstance(result, interface.Tensor):
        if not result._requires_grad:
            result._volatile = True
    elif isinstance(result, (list, tuple)):
        for one in result:
            mark(one)
    return result


def _guard(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, unrecorded and with volatile results if an argument is volatile."""
    if function in _guarded:
        return _guarded[function]

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if not (touched(args) or (kwargs and touched(kwargs.values()))):
            return function(*args, **kwargs)
        recording = grad_mode.enabled
        grad_mode.enabled = False
        try:
            return mark(function(*args, **kwargs))
        finally:
            grad_mode.enabled = recording

    _guarded[function] = _guarded[guarded] = guarded
    return guarded


def _guard_everything() -> None:
    """Put the guard around what users call: functions, methods and properties, modules."""
    import numbagrad
    from numbagrad.nn import functional

    for owner in (numbagrad, functional, interface.Tensor):
        for name, value in list(vars(owner).items()):
            getter = value.fget if isinstance(value, property) else None
            if getter is not None and value.fset is None and _computes(getter):
                setattr(owner, name, property(_guard(getter)))
            elif _computes(value):
                setattr(owner, name, _guard(value))
    interface.Tensor.detach = _guard(interface.Tensor.detach)
    numbagrad.nn.Module.__call__ = _guard(numbagrad.nn.Module.__call__)  # type: ignore[method-assign]


def _computes(value: Any) -> bool:
    """Whether ``value`` is a function that ``ops`` or ``nn`` defines."""
    if not inspect.isfunction(value):
        return False
    return value.__module__ == "numbagrad" or value.__module__.startswith(
        ("numbagrad.ops", "numbagrad.nn")
    )
