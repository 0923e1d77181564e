"""One capture at a time: threads take turns, a forked child begins anew; and its pauses."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any

from .. import awake
from ..executor import capture
from ..executor.builtin import runtime

#: One thread captures at a time.
_lock = threading.RLock()


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until no other thread captures, and have others wait for the end of the block."""
    if capture.exclusive.held:
        yield
        return
    lock = _lock
    with lock:
        capture.exclusive.held = True
        try:
            yield
        finally:
            capture.exclusive.held = False


def _forget_others() -> None:
    """In a forked child: another thread of the parent may have been capturing."""
    global _lock
    active = capture.active
    if active is not None and active.thread != threading.get_ident():
        capture.active = None
        runtime().capture = 0
        awake.note(awake.CAPTURE, False)
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_others)


class Pause:
    """The ``with`` block of ``Trace.pause``, which each operation enters."""

    __slots__ = ("_before", "_trace")

    def __init__(self, trace: Any):
        self._trace = trace

    def __enter__(self) -> None:
        trace = self._trace
        self._before, trace.paused = trace.paused, True
        trace._attend(False)

    def __exit__(self, *raised: object) -> None:
        trace = self._trace
        trace.paused = self._before or trace.failure is not None
        trace._attend(not trace.paused)
