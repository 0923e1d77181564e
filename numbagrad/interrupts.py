"""Ctrl-C at a time when it would do damage: it waits until something is done.

An import that is interrupted leaves packages half imported for the rest of the process, and Numba
registers what it knows while it is imported and while it compiles the first functions. So whatever
imports Numba or llvmlite lazily, or compiles with them, does it within ``uninterrupted``.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class uninterrupted:  # noqa: N801 - a context, named for how it reads
    """What is run within is finished; then the handler of an interrupt that came is called.

    Python handles signals in the main thread: in other threads nothing changes, as nothing there
    is interrupted. A handler that is not Python's, or that ignores interrupts, stays in place.
    """

    __slots__ = ("_came", "_handler")

    def __enter__(self) -> None:
        self._came: list[tuple[int, FrameType | None]] = []
        self._handler: Any = None
        if threading.current_thread() is not threading.main_thread():
            return
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler) and not _waits(handler):  # within another of these, that one waits
            self._handler = handler
            signal.signal(signal.SIGINT, self._wait)

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._handler is None:
            return
        # (What was run may have set a handler of its own.)
        if signal.getsignal(signal.SIGINT) == self._wait:
            signal.signal(signal.SIGINT, self._handler)
        for number, frame in self._came:
            self._handler(number, frame)

    def _wait(self, number: int, frame: FrameType | None) -> None:
        self._came.append((number, frame))


def _waits(handler: Any) -> bool:
    return isinstance(getattr(handler, "__self__", None), uninterrupted)


__all__ = ["uninterrupted"]
