"""``record_function``: blocks of a program that show up by name in a profile."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable
from typing import Any

from ..program.profiling import Event

__all__ = ["emit_nvtx", "listeners", "record_function"]

#: Lists that blocks are added to when they end: one for every profile that is at work.
listeners: list[list[Event]] = []


class record_function:
    """A ``with`` block, or a function, whose time a profile lists under a name."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self._start = 0

    def __enter__(self) -> record_function:
        self._start = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        return self

    def __exit__(self, *error: Any) -> None:
        if listeners:
            end = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            event = Event(self.name, "python", "", self._start, end - self._start, None, 0)
            for events in listeners:
                events.append(event)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return func(*args, **kwargs)

        return recorded


class emit_nvtx(contextlib.AbstractContextManager[Any]):
    """Marks for NVIDIA's profiler; nothing happens, as there is no GPU."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __exit__(self, *error: Any) -> None:
        return None
