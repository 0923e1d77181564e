"""One word that says who may have to see a call: a bit for each, zero in ordinary programs.

A bit is set while any thread of the process needs what it stands for: compiled code asks no thread.
Launchers read the word (``Runtime.awake``) where it is zero as long as a program does nothing
special; where a bit is set they look more closely, or leave the call to Python. Who counts those
that need a layer sets its bit by ``note``: ``dispatch/layers.py``, ``program/trace.py``,
``autograd/hooks/watching.py`` and ``thread_settings.py``. This file imports nothing of the package,
and launchers depend on its text: an edit has them compiled again.
"""

from __future__ import annotations

import os
import threading
from typing import Any

__all__ = [
    "AUTOCAST", "CAPTURE", "INFERENCE", "OVERRIDING", "SETTINGS", "VOLATILE", "WATCHERS", "mirror",
    "note", "word",
]  # fmt: skip

#: Layers above operators, see ``dispatch/layers.py``: classes that decide what functions do with
#: their instances, volatile tensors, autocast.
OVERRIDING = 1
VOLATILE = 2
AUTOCAST = 4
#: A thread captures its launches; ``Runtime.capture`` says which.
CAPTURE = 8
#: Nodes, and tensors that are written in place, are looked at while they are made and written.
WATCHERS = 16
#: A thread is in inference mode.
INFERENCE = 32
#: A thread has other settings than threads begin with.
SETTINGS = 64

#: The bits of those that are awake.
word = 0

_lock = threading.RLock()
_block: Any = None


def note(bit: int, awake: bool) -> None:
    """Set or clear a bit; nothing has changed if that raises MemoryError."""
    global word
    with _lock:
        changed = word | bit if awake else word & ~bit
        if _block is not None:
            _block.awake = changed
        word = changed


def mirror(block: Any) -> None:
    """Keep ``awake`` of a runtime block equal to the word."""
    global _block
    with _lock:
        _block = block
        _block.awake = word


def _renew_lock() -> None:
    """In a forked child: another thread of the parent may have held the lock."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
