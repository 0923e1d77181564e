"""``torch.cpu``: the CPU with the names of a device: one, always there, and always done."""

from __future__ import annotations

import contextlib
from typing import Any

from ..absent import lacking

__all__ = ["Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count",
           "is_available", "is_initialized", "set_device", "stream", "synchronize"]  # fmt: skip


class Stream:
    """A queue of work; what is called has been done when the call returns."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Nothing is under way."""

    def record_event(self, event: Any = None) -> Event:
        """An event that has happened."""
        return Event()

    def wait_event(self, event: Any) -> None:
        """It has happened."""


class Event:
    """A moment in a queue, which has passed."""

    def query(self) -> bool:
        """Whether it has passed."""
        return True

    def record(self, stream: Any = None) -> None:
        """It passes at once."""

    def synchronize(self) -> None:
        """It has passed."""

    def wait(self, stream: Any = None) -> None:
        """It has passed."""


_stream = Stream()


def is_available() -> bool:
    """Whether there is a CPU."""
    return True


def is_initialized() -> bool:
    """Whether the CPU is in use."""
    return True


def device_count() -> int:
    """How many devices of this kind there are: 1."""
    return 1


def current_device() -> str:
    """The name of the current device."""
    return "cpu"


def set_device(device: Any) -> None:
    """There is one; nothing happens."""


def synchronize(device: Any = None) -> None:
    """Wait for work that is under way: there is none when a call has returned."""


def current_stream(device: Any = None) -> Stream:
    """The queue of work."""
    return _stream


class StreamContext(contextlib.AbstractContextManager[None]):
    """A ``with`` block on a queue; there is one."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __exit__(self, *error: Any) -> None:
        return None


stream = StreamContext

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "llvmlite.binding.get_host_cpu_features() lists what the CPU has",
    "get_capabilities",
    {"amp": ".amp"},
)
