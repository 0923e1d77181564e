# mypy: disable-error-code="assignment,override"
# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.cpu``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from ..absent import lacking
import contextlib

class get_capabilities:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class Stream:

    def __init__(self, priority: int=...) -> None:
        ...

    def wait_stream(self, stream: Any) -> None:
        ...

    def record_event(self, event: Any=...) -> Event:
        ...

    def wait_event(self, event: Any) -> None:
        ...
class Event:

    def query(self) -> bool:
        ...

    def record(self, stream: Any=...) -> None:
        ...

    def synchronize(self) -> None:
        ...

    def wait(self, stream: Any=...) -> None:
        ...
_stream = Stream()
def is_available() -> bool:
    ...
def is_initialized() -> bool:
    ...
def device_count() -> int:
    ...
def current_device() -> str:
    ...
def set_device(device: Any) -> None:
    ...
def synchronize(device: Any=...) -> None:
    ...
def current_stream(device: Any=...) -> Stream:
    ...
class StreamContext(contextlib.AbstractContextManager[None]):

    def __init__(self, stream: Any) -> None:
        ...

    def __exit__(self, *error: Any) -> None:
        ...
stream = StreamContext
