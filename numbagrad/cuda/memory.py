"""``torch.cuda.memory``: how much memory of GPUs is used; zeros without one."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ..absent import lacking
from .devices import driver_for, index_of, is_available

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "memory comes from the pools of CUDA's driver",
    """CUDAPluggableAllocator MemPool caching_allocator_alloc caching_allocator_delete
    caching_allocator_disabled caching_allocator_enable change_current_allocator
    get_allocator_backend get_per_process_memory_fraction host_memory_stats
    host_memory_stats_as_nested_dict list_gpu_processes memory_snapshot
    reset_accumulated_host_memory_stats reset_peak_host_memory_stats
    set_per_process_memory_fraction use_mem_pool""",
)

__all__ = [
    "empty_cache", "max_memory_allocated", "max_memory_cached", "max_memory_reserved",
    "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved", "memory_stats",
    "memory_stats_as_nested_dict", "memory_summary", "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached", "reset_peak_memory_stats",
]  # fmt: skip


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors on a GPU hold."""
    return int(driver_for().allocated(index_of(device))) if is_available() else 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors held since the count was reset."""
    return int(driver_for().peak(index_of(device))) if is_available() else 0


def memory_reserved(device: Any = None) -> int:
    """Bytes that the pool has of the GPU, in use or not."""
    return int(driver_for().reserved(index_of(device))) if is_available() else 0


def max_memory_reserved(device: Any = None) -> int:
    """The pool's bytes; it gives nothing back before ``empty_cache``."""
    return memory_reserved(device)


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """The numbers above under torch's names; none without a GPU."""
    if not is_available():
        return OrderedDict()
    names = "allocated_bytes.all.current", "allocated_bytes.all.peak", "reserved_bytes.all.current"
    counts = memory_allocated(device), max_memory_allocated(device), memory_reserved(device)
    return OrderedDict(zip(names, counts, strict=True))


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The numbers above as a text for people."""
    index = index_of(device)
    lines = [f"memory of cuda:{index}, in bytes"]
    lines += [f"  {name:<32}{value:>16,}" for name, value in memory_stats(index).items()]
    return "\n".join(lines)


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The same in dicts of dicts."""
    made: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *outer, last = name.split(".")
        inside = made
        for part in outer:
            inside = inside.setdefault(part, {})
        inside[last] = value
    return made


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Bytes of a GPU that nobody has, and all of them."""
    free, total = driver_for(device).free_and_total(index_of(device))
    return int(free), int(total)


def empty_cache() -> None:
    """Give memory of the pools that no tensor holds back to GPUs."""
    if is_available():
        driver_for().empty_cache()


def reset_peak_memory_stats(device: Any = None) -> None:
    """Count the most memory in use from here."""
    if is_available():
        driver_for().reset_peak(index_of(device))


max_memory_cached, memory_cached = max_memory_reserved, memory_reserved
reset_accumulated_memory_stats = reset_max_memory_allocated = reset_peak_memory_stats
reset_max_memory_cached = reset_peak_memory_stats
