"""``torch.mps``: GPUs of Apple; there is none."""

from .absent import lacking

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "tensors are on the CPU; ask torch.mps.is_available() first",
    """Event compile_shader current_allocated_memory driver_allocated_memory empty_cache
    get_rng_state load_metallib manual_seed profiler recommended_max_memory seed
    set_per_process_memory_fraction set_rng_state synchronize""",
)


def is_available() -> bool:
    """Whether tensors can be put there: never."""
    return False


def device_count() -> int:
    """How many there are: 0."""
    return 0
