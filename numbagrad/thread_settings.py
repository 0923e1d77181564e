"""Settings of a thread that change seldom, and the count of those that are not as threads begin.

``device.py`` and ``autocast_state.py`` keep such settings. Compiled code asks no thread for them:
while the bit of ``awake.py`` for settings is clear, every thread has those that it began with.
"""

from __future__ import annotations

import threading
from typing import Any, ClassVar

from . import awake

__all__ = ["ThreadSettings"]

_lock = threading.RLock()


class _Count:
    """How many settings are other ones, over all threads."""

    changed = 0


_count = _Count()


def _add(by: int) -> None:
    """Count one more or one less; a count that is too high costs time and nothing else."""
    with _lock:
        _count.changed += by
        awake.note(awake.SETTINGS, _count.changed != 0)


class ThreadSettings(threading.local):
    """The settings of one thread, attributes; those that are named in ``initial`` are counted.

    A thread that ends with other settings stays counted.
    """

    initial: ClassVar[dict[str, Any]] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.initial:
            began = self.initial[name]
            before = self.__dict__.get(name, began)
            if value != began:  # counted before it is set, and until it is set back
                _add(1)
            super().__setattr__(name, value)
            if before != began:
                _add(-1)
            return
        super().__setattr__(name, value)
