"""CUDA devices, as far as code that asks for them must know: there are none.

Creation functions and conversions ask ``backend.backend_for`` for the device they are given.
"""

from __future__ import annotations

from typing import Any

from ..absent import lacking
from ..device import device
from . import driver

__all__ = ["current_device", "device_count", "get_device_capability", "get_device_name", "init",
           "is_available", "is_bf16_supported", "is_initialized", "manual_seed",
           "manual_seed_all", "set_device", "synchronize"]  # fmt: skip


def is_available() -> bool:
    """Whether tensors can be put on a GPU."""
    return device_count() > 0


def device_count() -> int:
    """The number of GPUs that tensors can be put on."""
    return driver.device_count()


def is_initialized() -> bool:
    """Whether a GPU is in use: never."""
    return False


def manual_seed(seed: int) -> None:
    """Seed the generator of the current GPU; as there is none, nothing happens."""


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs; as there are none, nothing happens."""


def current_device() -> int:
    """The index of the current GPU; raises, as there is none."""
    raise unavailable(device("cuda"))


def synchronize(device: Any = None) -> None:
    """Wait for a GPU; raises, as there is none."""
    raise unavailable(device)


def init() -> None:
    """Begin to use GPUs; raises, as there is none."""
    raise unavailable("cuda")


def set_device(device: Any) -> None:
    """Choose the current GPU; raises, as there is none."""
    raise unavailable(device)


def get_device_name(device: Any = None) -> str:
    """The name of a GPU; raises, as there is none."""
    raise unavailable(device)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """What a GPU can do; raises, as there is none."""
    raise unavailable(device)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether GPUs compute with bfloat16: there are none."""
    return False


def get_arch_list() -> list[str]:
    """The kinds of GPU that kernels are compiled for: none."""
    return []


def unavailable(where: Any) -> AssertionError:
    """The error of what needs a GPU."""
    return AssertionError(
        f"Torch not compiled with CUDA enabled: numbagrad cannot use the device '{where}'; use "
        "device='cpu', or ask torch.cuda.is_available() first"
    )


_MEMORY = (
    "empty_cache", "max_memory_allocated", "max_memory_cached", "max_memory_reserved",
    "memory_allocated", "memory_cached", "memory_reserved", "memory_stats",
    "memory_stats_as_nested_dict", "reset_accumulated_memory_stats", "reset_max_memory_allocated",
    "reset_max_memory_cached", "reset_peak_memory_stats",
)  # fmt: skip
_RANDOM = ("get_rng_state", "get_rng_state_all", "initial_seed", "seed", "seed_all",
           "set_rng_state", "set_rng_state_all")  # fmt: skip
_absent, __getattr__, __dir__ = lacking(
    __name__,
    "there is no GPU; ask torch.cuda.is_available() first",
    """BFloat16Storage BFloat16Tensor BoolStorage BoolTensor ByteStorage ByteTensor CUDAGraph
    CUDAPluggableAllocator CharStorage CharTensor ComplexDoubleStorage ComplexFloatStorage
    DoubleStorage DoubleTensor Event ExternalStream FloatStorage FloatTensor GreenContext
    HalfStorage HalfTensor IntStorage IntTensor LongStorage LongTensor MemPool ShortStorage
    ShortTensor Stream StreamContext caching_allocator_alloc caching_allocator_delete
    can_device_access_peer change_current_allocator clock_rate cudart current_blas_handle
    current_solver_handle current_stream default_stream device_memory_used device_of
    get_allocator_backend get_device_properties get_per_process_memory_fraction
    get_stream_from_external get_sync_debug_mode graph graph_pool_handle ipc_collect
    is_current_stream_capturing list_gpu_processes make_graphed_callables mem_get_info
    memory_snapshot memory_summary memory_usage power_draw set_per_process_memory_fraction
    set_stream set_sync_debug_mode stream temperature use_mem_pool utilization""",
    {
        "amp": ".amp",
        "comm": ".comm",
        "memory": ".memory",
        "nvtx": ".nvtx",
        "random": ".random",
        "streams": ".streams",
        "OutOfMemoryError": "..errors",
        **dict.fromkeys(_MEMORY, ".memory"),
        **dict.fromkeys(_RANDOM, ".random"),
    },
)
#: Generators of GPUs: none.
default_generators: tuple[Any, ...] = ()
has_half = True
has_magma = False
