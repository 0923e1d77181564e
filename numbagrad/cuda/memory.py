"""``torch.cuda.memory``: the memory of GPUs, of which none is used."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ..absent import lacking

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "there is no GPU",
    """CUDAPluggableAllocator MemPool caching_allocator_alloc caching_allocator_delete
    change_current_allocator get_allocator_backend get_per_process_memory_fraction
    mem_get_info memory_snapshot memory_summary set_per_process_memory_fraction use_mem_pool""",
)

__all__ = [
    "empty_cache", "max_memory_allocated", "max_memory_cached", "max_memory_reserved",
    "memory_allocated", "memory_cached", "memory_reserved", "memory_stats",
    "memory_stats_as_nested_dict", "reset_accumulated_memory_stats", "reset_max_memory_allocated",
    "reset_max_memory_cached", "reset_peak_memory_stats",
]  # fmt: skip


def memory_allocated(device: Any = None) -> int:
    """Bytes in use on a GPU: 0."""
    return 0


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Statistics of a GPU: there are none."""
    return OrderedDict()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Statistics of a GPU: there are none."""
    return {}


def empty_cache() -> None:
    """Give memory of GPUs back; as there is none, nothing happens."""


def reset_peak_memory_stats(device: Any = None) -> None:
    """Count the most memory in use from here; as there is none, nothing happens."""


max_memory_allocated = max_memory_reserved = max_memory_cached = memory_allocated
memory_cached = memory_reserved = memory_allocated
reset_accumulated_memory_stats = reset_max_memory_allocated = reset_peak_memory_stats
reset_max_memory_cached = reset_peak_memory_stats
