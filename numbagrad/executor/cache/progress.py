"""A line that says what is being compiled, after a second of compiling.

``library.py`` tells this module of every kernel that it compiles. The line goes to a terminal, or
to the output of a notebook's cell, is rewritten by a thread of its own, and is gone when nothing
has been compiled for a moment; to files and pipes nothing is written. ``NUMBAGRAD_PROGRESS=0`` and
``executor.set_progress(False)`` switch it off.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

__all__ = ["compiling", "set_progress"]

#: Seconds of compiling before the line is written.
DELAY = 1.0
#: Seconds between two looks, and seconds without a kernel after which the line is wiped.
INTERVAL, PAUSE = 0.2, 0.6


class _State:
    """The kernel that is being compiled, for the thread that writes."""

    enabled = os.environ.get("NUMBAGRAD_PROGRESS", "1") != "0"
    thread: threading.Thread | None = None
    current: str | None = None
    done = 0
    began = 0.0
    last = 0.0


_state = _State()


def set_progress(enabled: bool) -> None:
    """Whether a line says, after a second of compiling, what is compiled (default: True).

    Raises:
        TypeError: for what is no bool.
    """
    if not isinstance(enabled, bool):
        raise TypeError(
            f"set_progress(): argument 'enabled' must be bool, not {type(enabled).__name__}"
        )
    _state.enabled = enabled


def _is_seen(stream: Any) -> bool:
    """Whether somebody looks at a stream: a terminal, or the output of a notebook."""
    if stream is None:
        return False
    return stream.isatty() or type(stream).__module__.startswith("ipykernel.")


class compiling:
    """A context around the compilation of the kernel ``name``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_shown = _state.enabled and _is_seen(sys.stderr)

    def __enter__(self) -> None:
        if not self.is_shown:
            return
        is_first = _state.thread is None or not _state.thread.is_alive()
        _state.current = self.name
        if is_first:
            _state.done, _state.began = 0, time.perf_counter()
            _state.thread = threading.Thread(target=_write, args=(sys.stderr,), daemon=True)
            _state.thread.start()

    def __exit__(self, *error: object) -> None:
        if self.is_shown:
            _state.current = None
            _state.done += 1
            _state.last = time.perf_counter()


def line() -> str:
    """The line, as it is now."""
    seconds = time.perf_counter() - _state.began
    now = f", now {_state.current}" if _state.current else ""
    return f"numbagrad compiles: {_state.done} kernels in {seconds:.0f} s{now}"[:79]


def _write(stream: Any) -> None:
    """Rewrite the line until nothing has been compiled for a moment, then wipe it."""
    written = False
    while _state.current is not None or time.perf_counter() - _state.last < PAUSE:
        time.sleep(INTERVAL)
        if _state.current is None:  # the program may write to the line
            written = written and _wipe(stream)
        elif _state.enabled and time.perf_counter() - _state.began >= DELAY:
            stream.write("\r" + line().ljust(79))
            stream.flush()
            written = True
    if written:
        _wipe(stream)


def _wipe(stream: Any) -> bool:
    """Take the line away; False, as it is written no more."""
    stream.write("\r" + " " * 79 + "\r")
    stream.flush()
    return False


def _forget_thread() -> None:
    """A forked process has none of its parent's threads."""
    _state.thread = None
    _state.current = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_thread)
