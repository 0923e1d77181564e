"""Fresh locks and threads in a forked child, where the threads of the parent are gone.

A child has the one thread that called fork; a lock that another thread held at that moment would
stay locked for ever. Programs and compiled functions make their locks here. A program that another
thread was running would stay in the midst of it: what its launches change while they run, and leave
as it was, is brought back.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

Words = np.ndarray[Any, Any]

_makers: weakref.WeakKeyDictionary[Any, Callable[[], Any]] = weakref.WeakKeyDictionary()


def new_lock(owner: Any, make: Callable[[], Any] = threading.RLock) -> Any:
    """A lock that ``owner`` keeps as its ``_lock``; in a forked child it is given another one.

    The locks of this package know the thread that holds them: the end of a ``with`` statement may
    want memory, and leaves the lock locked if there is none. A thread never waits for itself, and
    ``let_go`` can tell.
    """
    _makers[owner] = make
    return make()


def let_go(lock: Any) -> None:
    """Unlock what a ``with`` statement of this thread that raised has left locked, if it has.

    This needs no memory: neither function takes arguments.
    """
    while lock._is_owned():
        lock.release()


_changing: weakref.WeakKeyDictionary[Any, list[tuple[Words, Words]]] = weakref.WeakKeyDictionary()


def restore(owner: Any, words: Words) -> None:
    """Have ``words`` of ``owner`` be, in a forked child, as they are now."""
    _changing.setdefault(owner, []).append((words, words.copy()))


def _renew() -> None:
    for pairs in list(_changing.values()):
        for words, before in pairs:
            words[:] = before
    for owner, make in list(_makers.items()):
        owner._lock = make()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)

__all__ = ["let_go", "new_lock", "restore"]
