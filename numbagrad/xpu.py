"""``torch.xpu``: GPUs of Intel; there is none."""

from .absent import lacking

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "tensors are on the CPU; ask torch.xpu.is_available() first",
    """Event MemPool Stream StreamContext XPUGraph XPUPluggableAllocator can_device_access_peer
    change_current_allocator clock_rate current_device current_stream default_generators device
    device_memory_used device_of get_arch_list get_device_capability get_device_name
    get_device_properties get_gencode_flags get_per_process_memory_fraction get_rng_state
    get_rng_state_all get_stream_from_external graph graph_pool_handle init initial_seed
    is_current_stream_capturing make_graphed_callables max_memory_allocated max_memory_reserved
    mem_get_info memory_allocated memory_reserved memory_snapshot memory_stats
    memory_stats_as_nested_dict memory_summary memory_usage power_draw
    reset_accumulated_memory_stats reset_peak_memory_stats seed seed_all set_device
    set_per_process_memory_fraction set_rng_state set_rng_state_all set_stream stream synchronize
    temperature use_mem_pool utilization""",
)


def is_available() -> bool:
    """Whether tensors can be put there: never."""
    return False


def device_count() -> int:
    """How many there are: 0."""
    return 0


def is_initialized() -> bool:
    """Whether one is in use: never."""
    return False


def is_bf16_supported() -> bool:
    """Whether one computes with bfloat16: there is none."""
    return False


def manual_seed(seed: int) -> None:
    """Seed a generator; as there is none, nothing happens."""


def manual_seed_all(seed: int) -> None:
    """Seed all generators; as there are none, nothing happens."""


def empty_cache() -> None:
    """Give memory back; as there is none, nothing happens."""


def is_tf32_supported() -> bool:
    """Whether one multiplies in TensorFloat-32: there is none."""
    return False
