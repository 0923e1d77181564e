"""``torch.cuda``'s functions of devices: which there are, what they are, and which is current."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ..device import device as Device
from . import asserts
from . import driver as drivers
from .driver import unavailable

__all__ = [
    "can_device_access_peer", "current_device", "device", "device_count", "device_of",
    "get_device_capability", "get_device_name", "get_device_properties", "init", "is_available",
    "is_bf16_supported", "is_initialized", "set_device", "synchronize",
]  # fmt: skip


def device_count() -> int:
    """The number of GPUs that tensors can be put on."""
    return drivers.device_count()


def is_available() -> bool:
    """Whether tensors can be put on a GPU."""
    return device_count() > 0


def driver_for(where: Any = "cuda") -> Any:
    """The driver, for what needs one.

    Raises:
        AssertionError: without a GPU.
    """
    if not device_count():
        raise unavailable("cuda" if where is None else where)
    return drivers.driver()


def index_of(where: Any) -> int:
    """The number of the GPU that an argument names; the current one for None.

    Raises:
        AssertionError: without a GPU.
        ValueError: for a device of another kind.
        RuntimeError: for a number that no GPU has.
    """
    found = driver_for(where)
    if where is None:
        return int(found.current)
    chosen = Device(where)
    if chosen.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {where}")
    index = int(found.current) if chosen.index is None else chosen.index
    if index >= found.device_count:
        raise RuntimeError(f"CUDA error: invalid device ordinal: there is no cuda:{index}")
    return index


def is_initialized() -> bool:
    """Whether GPUs can be used: the first use of one begins everything."""
    return is_available()


def init() -> None:
    """Begin to use GPUs, which happens anyway when one is used first."""
    driver_for()


def current_device() -> int:
    """The number of the current GPU."""
    return int(driver_for().current)


def set_device(device: Any) -> None:
    """Choose the current GPU of this thread; a negative number changes nothing."""
    if isinstance(device, int) and device < 0:
        return
    index = index_of(device)
    driver_for().current = index


def synchronize(device: Any = None) -> None:
    """Wait for all that was queued on a GPU."""
    index = index_of(device)
    driver_for().synchronise(index)
    asserts.raise_failure()


def get_device_properties(device: Any = None) -> Any:
    """Name, compute capability (``major``, ``minor``), memory and processors of a GPU."""
    return driver_for(device).properties(index_of(device))


def get_device_name(device: Any = None) -> str:
    """The name of a GPU."""
    return str(get_device_properties(device).name)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a GPU, as (9, 0)."""
    found = get_device_properties(device)
    return found.major, found.minor


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether GPUs compute with bfloat16: they do, in float32."""
    return is_available()


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether one GPU reads the memory of another; copies between them need no such thing."""
    return bool(driver_for().reaches(index_of(device), index_of(peer_device)))


class device:
    """The current GPU of a ``with`` block; None and negative numbers change nothing."""

    def __init__(self, device: Any):
        unchanged = device is None or (isinstance(device, int) and device < 0)
        self.idx = -1 if unchanged else index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.idx >= 0:
            set_device(self.prev_idx)


class device_of(device):
    """The GPU of a tensor as the current one of a ``with`` block; on the CPU nothing changes."""

    def __init__(self, obj: Any):
        super().__init__(obj.get_device() if obj.is_cuda else -1)
