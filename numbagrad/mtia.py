"""``torch.mtia``: accelerators of Meta; there is none."""

from .absent import lacking

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "tensors are on the CPU; ask torch.mtia.is_available() first",
    """MTIAGraph attach_out_of_memory_observer current_device current_stream default_stream
    device empty_cache get_device_capability get_device_properties get_rng_state get_rng_state_all
    graph graph_pool_handle init initial_seed manual_seed manual_seed_all max_memory_allocated
    memory_allocated memory_stats record_memory_history reset_peak_memory_stats seed seed_all
    set_device set_rng_state set_rng_state_all set_stream snapshot stream synchronize""",
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
