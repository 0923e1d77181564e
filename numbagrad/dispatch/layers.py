"""The layers that a call passes before its operator: their interface, their order, who is active.

Functions that layers may act on begin with one question, which costs a few nanoseconds::

    if layers.active and layers.asks(mm):
        return layers.descend(mm, (input, mat2), {"out": out})

``active`` is zero as long as no thread needs a layer; else it has the bits of those that are
needed. ``everywhere`` says whether one of them acts on every public function; a function that the
others do not know asks that word. Each layer decides by itself whether it acts on a call, from the
state of the thread and the arguments. ``active`` is the part of the word of ``awake.py`` that
belongs to these layers. This file imports nothing else of the package.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any, Protocol

from .. import awake

__all__ = [
    "ALL",
    "BITS",
    "ORDER",
    "PUBLIC",
    "VOLATILE",
    "Layer",
    "act_on",
    "ask",
    "asks",
    "active",
    "change",
    "descend",
    "everywhere",
]

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]
#: The layers below, down to the function itself.
Below = Callable[[Arguments, Keywords], Any]


class Layer(Protocol):
    """One step on the way of a call."""

    def acts_on(self, arguments: Arguments) -> bool:
        """Whether this thread's calls with such arguments are changed, of whatever function."""

    def call(
        self, function: Callable[..., Any], arguments: Arguments, keywords: Keywords, below: Below
    ) -> Any:
        """The result of ``function(*arguments, **keywords)`` as this layer has it.

        A layer that does not act returns ``below(arguments, keywords)``. Between a program and this
        method are the frames of the function, of ``descend`` and of ``_pass``.
        """


#: The files of the layers, outermost first.
ORDER = ("overriding", "volatile", "autocast")
BITS = {name: getattr(awake, name.upper()) for name in ORDER}
#: The layers that act on every public call of a program; autocast knows its functions.
PUBLIC = sum(BITS.values()) & ~BITS["autocast"]
ALL = -1
VOLATILE = awake.VOLATILE

#: The bits of the layers that somebody needs, in whatever thread.
active = 0
#: Whether one of them acts on every public function, method and property.
everywhere = False

_lock = threading.RLock()
_counts = dict.fromkeys(ORDER, 0)
_loaded: dict[str, Layer] = {}
_running: tuple[Layer, ...] = ()


class _Thread(threading.local):
    #: The function whose next call has passed all layers.
    passed: Any = None


_thread = _Thread()


def change(name: str, by: int) -> None:
    """Count one more or one less who needs a layer; its file is imported for the first.

    A count that is too high costs time and nothing else.
    """
    with _lock:
        if name not in _loaded:
            _loaded[name] = importlib.import_module(f"numbagrad.dispatch.{name}").LAYER
        _counts[name] += by
        awake.note(BITS[name], _counts[name] != 0)
        _note()


def _note() -> None:
    """Set who is active by the counts."""
    global active, everywhere, _running
    needed = [name for name in ORDER if _counts[name]]
    _running = tuple([_loaded[name] for name in needed])
    active = sum([BITS[name] for name in needed])
    everywhere = bool(active & PUBLIC)


def asks(function: Callable[..., Any]) -> bool:
    """Whether the layers are still to be asked about this call of ``function``."""
    if _thread.passed is function:
        _thread.passed = None
        return False
    return True


def act_on(arguments: Arguments) -> bool:
    """Whether a layer acts on this thread's calls with such arguments.

    Operators that replace several calls by one ask this. ``active`` is about all threads, and stays
    as it is for as long as somebody might need a layer.
    """
    return any([layer.acts_on(arguments) for layer in _running])


def descend(function: Callable[..., Any], arguments: Arguments, keywords: Keywords) -> Any:
    """``function(*arguments, **keywords)`` through the layers that are active."""
    return _pass(_running, function, arguments, keywords)


def ask(
    function: Any, positional: list[Any], keywords: Keywords | None = None, more: Arguments = ()
) -> Any:
    """``descend`` for a function that only knows the values of its parameters.

    Args:
        function: the function, which has defaults for some of them.
        positional: the values of those that are positional.
        keywords: the values of the others, by name.
        more: what ``*arguments`` is.

    Layers see the arguments without those that are as they are by default.
    """
    if not more:
        for default in reversed(function.__defaults__ or ()):
            if positional[-1] is not default:
                break
            positional.pop()
    keywords = dict(keywords or {})
    for name, default in (function.__kwdefaults__ or {}).items():
        if keywords[name] is default:
            del keywords[name]
    return _pass(_running, function, (*positional, *more), keywords)


def _pass(
    layers: tuple[Layer, ...],
    function: Callable[..., Any],
    arguments: Arguments,
    keywords: Keywords,
) -> Any:
    if not layers:
        _thread.passed = function
        try:
            return function(*arguments, **keywords)
        finally:
            _thread.passed = None

    def below(arguments: Arguments, keywords: Keywords) -> Any:
        return _pass(layers[1:], function, arguments, keywords)

    return layers[0].call(function, arguments, keywords, below)
