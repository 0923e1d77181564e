"""Ctrl-C at a time when it would do damage: it waits until something is done.

An import that is interrupted leaves packages half imported for the rest of the process, and Numba
registers what it knows while it is imported and while it compiles the first functions. So whatever
imports Numba or llvmlite lazily, or compiles with them, does it within ``uninterrupted``, and so
does what runs a compiled step that counts its runs.
"""

from __future__ import annotations

import threading

# The module in C: what "signal" puts around its functions takes several microseconds a call.
from _signal import (  # type: ignore[import-not-found]
    SIGINT,
    default_int_handler,
    getsignal,
    signal,
)
from types import FrameType, TracebackType
from typing import Any


class uninterrupted:  # noqa: N801 - a context, named for how it reads
    """The block is finished; then the handler of an interrupt that came is called.

    Python handles signals in the main thread: in other threads nothing changes, as nothing there
    is interrupted. A handler that is not Python's, or that ignores interrupts, stays in place. It
    takes about a microsecond.
    """

    __slots__ = ("_came", "_handler")

    def __enter__(self) -> None:
        self._handler: Any = None
        if threading.current_thread() is not threading.main_thread():
            return
        handler = getsignal(SIGINT)
        if handler is default_int_handler or (callable(handler) and not _waits(handler)):
            self._came: list[tuple[int, FrameType | None]] = []
            self._handler = handler
            signal(SIGINT, self._wait)

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._handler is None:
            return
        last = signal(SIGINT, self._handler)
        if last != self._wait:  # what was run set a handler of its own
            signal(SIGINT, last)
        for number, frame in self._came:
            self._handler(number, frame)

    def _wait(self, number: int, frame: FrameType | None) -> None:
        self._came.append((number, frame))


def _waits(handler: Any) -> bool:
    """Whether a handler is that of such a context, within which another one has nothing to do."""
    return isinstance(getattr(handler, "__self__", None), uninterrupted)


__all__ = ["uninterrupted"]
