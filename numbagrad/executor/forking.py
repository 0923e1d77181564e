"""Locks that are new in a forked child, where the threads that held them are gone.

A child has the one thread that called fork; a lock that another thread held at that moment would
stay locked for ever. Programs and compiled functions make their locks here.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

_makers: weakref.WeakKeyDictionary[Any, Callable[[], Any]] = weakref.WeakKeyDictionary()


def new_lock(owner: Any, make: Callable[[], Any] = threading.Lock) -> Any:
    """A lock that ``owner`` keeps as its ``_lock``; in a forked child it is given another one."""
    _makers[owner] = make
    return make()


def _renew() -> None:
    for owner, make in list(_makers.items()):
        owner._lock = make()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)

__all__ = ["new_lock"]
