"""``torch.cuda``: GPUs, if ``numbagrad[cuda]`` and one are there; else zeros and clear errors.

Tensors get there through the seam (``backend/``): ``cuda/backend.py`` is imported when the device
is first named and available. ``driver/`` alone imports packages of CUDA.
"""

from __future__ import annotations

from typing import Any

from ..absent import lacking
from .devices import (
    can_device_access_peer,
    current_device,
    device,
    device_count,
    device_of,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_bf16_supported,
    is_initialized,
    set_device,
    synchronize,
    unavailable,
)

__all__ = [
    "can_device_access_peer", "current_device", "device", "device_count", "device_of",
    "get_device_capability", "get_device_name", "get_device_properties", "init", "is_available",
    "is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all", "set_device",
    "synchronize", "unavailable",
]  # fmt: skip


def _is_in_bad_fork() -> bool:
    """Whether a fork has made GPUs useless here: libraries ask before they set a seed."""
    return False


def get_arch_list() -> list[str]:
    """The kinds of GPU that kernels come compiled for: none, they are compiled when needed."""
    return []


_MEMORY = (
    "empty_cache", "max_memory_allocated", "max_memory_cached", "max_memory_reserved",
    "mem_get_info",
    "memory_allocated", "memory_cached", "memory_reserved", "memory_stats",
    "memory_stats_as_nested_dict", "memory_summary", "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached", "reset_peak_memory_stats",
)  # fmt: skip
_STREAMS = (
    "Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream",
)  # fmt: skip
_RANDOM = ("default_generators", "get_rng_state", "get_rng_state_all", "initial_seed",
           "manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state",
           "set_rng_state_all")  # fmt: skip
_absent, _find, __dir__ = lacking(
    __name__,
    "there is no GPU; ask torch.cuda.is_available() first",
    """BFloat16Storage BoolStorage ByteStorage CUDAGraph CUDAPluggableAllocator CharStorage
    ComplexDoubleStorage ComplexFloatStorage CudaError DeferredCudaCallError DoubleStorage
    ExternalStream FloatStorage GreenContext HalfStorage IntStorage LongStorage MemPool
    ShortStorage caching_allocator_alloc caching_allocator_delete caching_allocator_disabled
    caching_allocator_enable change_current_allocator check_error clock_rate cudaStatus cudart
    current_blas_handle current_solver_handle device_memory_used
    get_allocator_backend get_gencode_flags get_per_process_memory_fraction
    get_stream_from_external get_sync_debug_mode graph graph_pool_handle host_memory_stats
    host_memory_stats_as_nested_dict ipc_collect is_current_stream_capturing is_tf32_supported
    list_gpu_processes make_graphed_callables memory_snapshot memory_usage
    power_draw reset_accumulated_host_memory_stats reset_peak_host_memory_stats
    set_per_process_memory_fraction set_sync_debug_mode temperature use_mem_pool
    utilization""",
    {
        "amp": ".amp",
        "comm": ".comm",
        "memory": ".memory",
        "nvtx": ".nvtx",
        "random": ".random",
        "streams": ".streams",
        **dict.fromkeys(_STREAMS, ".streams"),
        "OutOfMemoryError": "..errors",
        **dict.fromkeys(_MEMORY, ".memory"),
        **dict.fromkeys(_RANDOM, ".random"),
    },
)


def __getattr__(name: str) -> Any:
    if name == "_initialized":  # asked each time, as ``is_initialized``
        return is_initialized()
    return _find(name)


has_half = True
has_magma = False
