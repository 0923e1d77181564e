"""``torch.cuda.streams``: queues of a GPU, and events in them.

What is launched and copied goes to the current stream of the thread. Memory is taken from and given
back to the pool in the order of the stream that was current when it was made.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ..absent import lacking
from ..device import device as Device
from .asserts import raise_failure
from .devices import driver_for, index_of

_absent, __getattr__, __dir__ = lacking(
    __name__, "streams of other libraries are not taken", """ExternalStream"""
)

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream",
           "stream"]  # fmt: skip


class Stream:
    """A queue of a GPU: what is in it runs in its order, beside what is in other streams.

    Raises:
        AssertionError: without a GPU.
    """

    def __init__(self, device: Any = None, priority: int = 0, **other: Any):
        self.device_index = index_of(device)
        given = other.pop("stream_ptr", None)
        if other:
            raise TypeError(f"Stream() got an unexpected keyword argument {next(iter(other))!r}")
        self._owned = given is None
        found = driver_for()
        self.cuda_stream: int = (
            found.new_stream(self.device_index, priority) if given is None else given
        )

    def __del__(self) -> None:
        if getattr(self, "_owned", False) and hasattr(self, "cuda_stream"):
            driver_for().destroy_stream(self.cuda_stream)

    @property
    def device(self) -> Device:
        """The GPU that it is a queue of."""
        return Device("cuda", self.device_index)

    def synchronize(self) -> None:
        """Wait for all that was queued."""
        driver_for().wait_for_stream(self.cuda_stream, self.device_index)
        raise_failure()

    def query(self) -> bool:
        """Whether all that was queued is done."""
        return bool(driver_for().is_stream_done(self.cuda_stream, self.device_index))

    def record_event(self, event: Event | None = None) -> Event:
        """Queue an event."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Have what is queued later wait for an event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Have what is queued later wait for all that is queued in another stream so far."""
        self.wait_event(stream.record_event())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.device_index, self.cuda_stream) == (other.device_index, other.cuda_stream)

    def __hash__(self) -> int:
        return hash((self.device_index, self.cuda_stream))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    def __enter__(self) -> Stream:
        self._context = StreamContext(self)
        self._context.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)


class Event:
    """A mark in a stream, which happens when all that was queued before it is done."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ):
        self._timing = bool(enable_timing)
        self.cuda_event: int | None = None

    def __del__(self) -> None:
        if getattr(self, "cuda_event", None) is not None:
            driver_for().destroy_event(self.cuda_event)

    def record(self, stream: Stream | None = None) -> None:
        """Queue it, by default in the current stream."""
        found = driver_for()
        stream = current_stream() if stream is None else stream
        if self.cuda_event is None:
            self.cuda_event = found.new_event(self._timing, stream.device_index)
        found.record_event(self.cuda_event, stream.cuda_stream, stream.device_index)

    def wait(self, stream: Stream | None = None) -> None:
        """Have what is queued later in a stream wait for it."""
        if self.cuda_event is not None:
            stream = current_stream() if stream is None else stream
            driver_for().queue_behind_event(
                self.cuda_event, stream.cuda_stream, stream.device_index
            )

    def query(self) -> bool:
        """Whether it has happened, or was never queued."""
        return self.cuda_event is None or bool(driver_for().is_event_done(self.cuda_event))

    def synchronize(self) -> None:
        """Wait until it has happened."""
        if self.cuda_event is not None:
            driver_for().wait_for_event(self.cuda_event)
            raise_failure()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another.

        Raises:
            ValueError: unless both were made with ``enable_timing=True`` and recorded.
        """
        if not (self._timing and end_event._timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self.cuda_event is None or end_event.cuda_event is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return float(driver_for().milliseconds_between(self.cuda_event, end_event.cuda_event))


class StreamContext:
    """A stream as the current one of a ``with`` block; None changes nothing."""

    def __init__(self, stream: Stream | None):
        self.stream = stream
        self._before: tuple[int, Stream] | None = None

    def __enter__(self) -> None:
        if self.stream is not None:
            self._before = driver_for().current, current_stream(self.stream.device_index)
            set_stream(self.stream)

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._before is not None:
            index, stream = self._before
            set_stream(stream)
            driver_for().current = index


def stream(stream: Stream | None) -> StreamContext:
    """A stream as the current one of a ``with`` block; None changes nothing."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The stream that a GPU's work is queued in by this thread."""
    index = index_of(device)
    return Stream(index, stream_ptr=driver_for().stream(index))


def default_stream(device: Any = None) -> Stream:
    """The stream that is current unless another was chosen."""
    return Stream(index_of(device), stream_ptr=0)


def set_stream(stream: Stream) -> None:
    """Choose a stream, and its GPU, as the current ones of this thread."""
    found = driver_for()
    found.set_stream(stream.device_index, stream.cuda_stream)
    found.current = stream.device_index
