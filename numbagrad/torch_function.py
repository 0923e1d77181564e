"""``__torch_function__``: classes that decide what public functions do with their instances.

A class with ``__torch_function__`` is asked by every public function that meets one of its
instances. This file finds who is to be asked, in which order, and asks;
``dispatch/overriding.py`` is the layer that does so, awake once a program has such a class.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = [
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "ask", "contexts",
    "disabled_torch_function", "has_override", "load_overrides", "overriding", "plain_types",
    "state",
]  # fmt: skip


def load_overrides() -> Any:
    """``overrides.py``, whose import wakes the layer that asks classes."""
    return importlib.import_module("numbagrad.overrides")


def disabled_torch_function(
    func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
) -> Any:
    """The ``__torch_function__`` of a class whose instances are treated as ordinary Tensors."""
    return func(*args, **(kwargs or {}))


class _State(threading.local):
    """Contexts that switch classes off, and the modes that were entered, in one thread."""

    def __init__(self) -> None:
        #: How many contexts say that classes are not to be asked.
        self.disabled = 0
        #: The modes that are asked before all classes; the last one first.
        self.modes: list[Any] = []


state = _State()


class _Contexts:
    """How many of the contexts below, and modes, are entered, by any thread.

    Compiled functions ask this number before each call, and their own thread if it is not zero.
    """

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.RLock()

    def change(self, by: int) -> None:
        """Count one more or one less."""
        with self._lock:
            self.count += by

    def here(self) -> bool:
        """Whether this thread is in one: then programs are not to run in the place of calls."""
        return self.count != 0 and bool(state.modes or state.disabled)


contexts = _Contexts()


class DisableTorchFunctionSubclass:
    """A context in which classes are not asked: their instances are treated as Tensors."""

    def __enter__(self) -> None:
        state.disabled += 1
        contexts.change(1)

    def __exit__(self, *exception: object) -> None:
        contexts.change(-1)
        state.disabled -= 1


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A context in which neither classes nor modes are asked."""

    def __enter__(self) -> None:
        super().__enter__()
        self._modes, state.modes = state.modes, []

    def __exit__(self, *exception: object) -> None:
        state.modes = self._modes
        super().__exit__()


#: Classes whose instances need no look: numbers, dtypes, Tensor itself.
plain_types: set[type] = {int, float, complex, bool, str, type(None), slice, type(Ellipsis)}

_NUMBERS = (int, float, complex, bool, str)


def has_override(kind: type) -> bool:
    """Whether instances of a class have a say in what public functions do with them."""
    if kind in plain_types:
        return False
    override = getattr(kind, "__torch_function__", None)
    return override is not None and override is not disabled_torch_function


def overriding(arguments: Iterable[Any]) -> list[Any]:
    """One instance of each class to be asked, in the order in which they are.

    That is the order of the arguments, but a class comes before those that it derives from. Tensors
    in lists and tuples count as arguments.
    """
    found: list[Any] = []
    for argument in arguments:
        kind = argument.__class__
        if kind in plain_types:
            continue
        if kind is list or kind is tuple:
            for item in argument:
                if item.__class__ in _NUMBERS:
                    break  # data: there may be a lot of it
                _consider(item, found)
        else:
            _consider(argument, found)
    return found


def _consider(argument: Any, found: list[Any]) -> None:
    kind = argument.__class__
    if not has_override(kind) or any([kind is other.__class__ for other in found]):
        return
    for position, other in enumerate(found):
        if issubclass(kind, other.__class__):
            found.insert(position, argument)
            return
    found.append(argument)


def _asked(found: list[Any]) -> Iterator[tuple[Any, Callable[..., Any]]]:
    """Everybody who has a say, and how they are asked."""
    if state.modes:
        mode = state.modes[-1]
        yield mode, mode._asked
    if not state.disabled:
        for argument in found:
            yield argument, argument.__torch_function__  # of the instance, if it is no classmethod


def ask(
    function: Any, name: str, found: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The result of the call by the first of the modes and classes that knows one.

    Args:
        function: the public function that was called.
        name: how an error names it.
        found: what ``overriding`` found among the arguments.
        args: the arguments of the call.
        kwargs: its named arguments.

    Raises:
        TypeError: if all of them return NotImplemented.
    """
    types = tuple([argument.__class__ for argument in found])
    refused = []
    for who, handle in _asked(found):
        result = handle(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
        refused.append(f"  - {_description(who)}")
    raise TypeError(
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned "
        "NotImplemented:\n\n" + "\n".join(refused) + "\n\nFor more information, try re-running "
        "with TORCH_LOGS=not_implemented"
    )


def _description(who: Any) -> str:
    return f"mode object {who}" if hasattr(who, "_asked") else f"tensor subclass {type(who)}"
