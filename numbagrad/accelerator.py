"""``torch.accelerator``: the GPU of this machine, of whatever kind; there is none."""

from __future__ import annotations

from typing import Any, NoReturn

from .absent import absent

Graph = absent(
    "torch.accelerator.Graph", "tensors are on the CPU; ask torch.accelerator.is_available() first"
)

__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream",
    "device_count", "device_index", "empty_cache", "empty_host_cache", "get_device_capability",
    "get_memory_info", "is_available", "max_memory_allocated", "max_memory_reserved",
    "memory_allocated", "memory_reserved", "memory_stats", "reset_accumulated_memory_stats",
    "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is one: never."""
    return False


def device_count() -> int:
    """How many there are: 0."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """The device: None."""
    return None


def _missing(*arguments: Any, **keywords: Any) -> NoReturn:
    """Ask the accelerator something; raises, as there is none."""
    raise RuntimeError("Cannot access accelerator device when none is available.")


current_device_idx = current_device_index = current_stream = device_index = _missing
empty_cache = empty_host_cache = get_device_capability = get_memory_info = max_memory_allocated = (
    _missing
)
max_memory_reserved = memory_allocated = memory_reserved = memory_stats = _missing
reset_accumulated_memory_stats = reset_peak_memory_stats = set_device_idx = _missing
set_device_index = set_stream = synchronize = _missing
