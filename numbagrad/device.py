"""Where a tensor's memory is: the CPU or a CUDA device, and which device new tensors go to.

Tensors carry a `device` and creation functions ask `get_default_device`; it calls nothing. A device
is a name only: making one does not ask whether the hardware is there.
"""

from __future__ import annotations

import re
from types import TracebackType
from typing import Any, ClassVar, NoReturn

from .thread_settings import ThreadSettings

#: Names of device types: those of torch that are known here, and those of registered backends.
DEVICE_TYPES = ["cpu", "cuda"]
#: Other devices of torch: programs compare with them, and no tensor is there.
_NAMES_ONLY = frozenset(("hpu", "meta", "mps", "mtia", "xla", "xpu"))

_DEVICE_TEXT = re.compile(r"([a-zA-Z_]+)(?::(0|[1-9][0-9]*))?", re.ASCII)


def accept(type: str) -> None:
    """Let ``device()`` know a type of devices: letters and underscores."""
    if _DEVICE_TEXT.fullmatch(type) is None or not type.replace("_", "").isalpha():
        raise ValueError(f"a device type is a word, but got {type!r}")
    if type not in DEVICE_TYPES:
        DEVICE_TYPES.append(type)


def forget(type: str) -> None:
    """Let ``device()`` know a type no more."""
    DEVICE_TYPES.remove(type)


class device:
    """A device type with an optional index: ``device("cpu")``, ``device("cuda:0")``,
    ``device("cuda", 1)``; a bare number means that CUDA device.

    As a context manager, it is where creation functions put tensors when not told otherwise.
    """

    __slots__ = ("type", "index")

    type: str
    index: int | None

    def __init__(self, type: str | int | device, index: int | None = None) -> None:
        kind, number = _parse(type, index)
        object.__setattr__(self, "type", kind)
        object.__setattr__(self, "index", number)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")

    def __repr__(self) -> str:
        where = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{where})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return device, (self.type,) if self.index is None else (self.type, self.index)

    def __enter__(self) -> device:
        defaults.stack.append(self)
        defaults.current = self
        return self

    def __exit__(
        self,
        error_type: Any,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        defaults.stack.pop()
        defaults.current = defaults.stack[-1] if defaults.stack else defaults.base


def _parse(kind: Any, index: Any) -> tuple[str, int | None]:
    """Return the type and the index that the arguments of `device` stand for."""
    if isinstance(kind, device):
        if index is not None:
            raise TypeError("device(): argument 'type' (position 1) must be str, not torch.device")
        return kind.type, kind.index
    if isinstance(kind, int) and not isinstance(kind, bool):
        if index is not None:
            raise TypeError("device(): argument 'type' (position 1) must be str, not int")
        return "cuda", _checked_index(kind)
    if not isinstance(kind, str):
        raise TypeError(
            f"device(): argument 'type' (position 1) must be str, not {type(kind).__name__}"
        )
    name, number = _parse_text(kind)
    if index is None:
        return name, number
    if number is not None:
        raise RuntimeError(
            f"type (string) must not include an index because index was passed explicitly: {kind}"
        )
    return name, _checked_index(index)


def _parse_text(text: str) -> tuple[str, int | None]:
    if not text:
        raise RuntimeError("Device string must not be empty")
    match = _DEVICE_TEXT.fullmatch(text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    name, number = match.groups()
    if name not in DEVICE_TYPES and name not in _NAMES_ONLY:
        raise RuntimeError(
            f"Expected one of {', '.join(DEVICE_TYPES)} device type at start of device string: "
            f"{name}"
        )
    return name, None if number is None else int(number)


def _checked_index(index: Any) -> int:
    if not isinstance(index, int) or isinstance(index, bool):
        raise TypeError(
            f"device(): argument 'index' (position 2) must be int, not {type(index).__name__}"
        )
    if index < 0:
        raise RuntimeError("Device index must not be negative")
    return index


#: The device of every tensor in main memory.
CPU = device("cpu")


class _Defaults(ThreadSettings):
    """The device of one thread's creation functions: the innermost ``with`` block, or `base`."""

    initial: ClassVar[dict[str, Any]] = {"current": CPU}

    def __init__(self) -> None:
        self.base = CPU
        self.stack: list[device] = []
        self.current = CPU


#: ``defaults.current`` is the default device of this thread.
defaults = _Defaults()


def get_default_device() -> device:
    """Return the device on which creation functions put tensors when not told otherwise."""
    return defaults.current


def set_default_device(to: device | str | int | None) -> None:
    """Choose that device for this thread; None means the CPU."""
    defaults.base = CPU if to is None else device(to)
    if not defaults.stack:
        defaults.current = defaults.base
