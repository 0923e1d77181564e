# mypy: disable-error-code="assignment,override"
# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.cuda.streams``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from ..absent import lacking
from ..device import device as Device
from .asserts import raise_failure
from .devices import driver_for, index_of
from types import TracebackType

class ExternalStream:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class Stream:

    def __init__(self, device: Any=..., priority: int=..., **other: Any):
        ...

    def __del__(self) -> None:
        ...

    @property
    def device(self) -> Device:
        ...

    def synchronize(self) -> None:
        ...

    def query(self) -> bool:
        ...

    def record_event(self, event: Event | None=...) -> Event:
        ...

    def wait_event(self, event: Event) -> None:
        ...

    def wait_stream(self, stream: Stream) -> None:
        ...

    def __eq__(self, other: object) -> bool:
        ...

    def __hash__(self) -> int:
        ...

    def __repr__(self) -> str:
        ...

    def __enter__(self) -> Stream:
        ...

    def __exit__(self, *error: Any) -> None:
        ...
class Event:

    def __init__(self, enable_timing: bool=..., blocking: bool=..., interprocess: bool=...):
        ...

    def __del__(self) -> None:
        ...

    def record(self, stream: Stream | None=...) -> None:
        ...

    def wait(self, stream: Stream | None=...) -> None:
        ...

    def query(self) -> bool:
        ...

    def synchronize(self) -> None:
        ...

    def elapsed_time(self, end_event: Event) -> float:
        ...
class StreamContext:

    def __init__(self, stream: Stream | None):
        ...

    def __enter__(self) -> None:
        ...

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        ...
def stream(stream: Stream | None) -> StreamContext:
    ...
def current_stream(device: Any=...) -> Stream:
    ...
def default_stream(device: Any=...) -> Stream:
    ...
def set_stream(stream: Stream) -> None:
    ...
