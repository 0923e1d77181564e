"""``torch.xpu``: GPUs of Intel; there is none."""

from .absent import lacking

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "tensors are on the CPU; ask torch.xpu.is_available() first",
    """Event MemPool Stream StreamContext XPUGraph current_device current_stream device device_of
    get_device_capability get_device_name get_device_properties get_rng_state
    get_rng_state_all init is_current_stream_capturing max_memory_allocated max_memory_reserved
    memory_allocated memory_reserved reset_peak_memory_stats set_rng_state_all
    initial_seed mem_get_info memory_summary set_device set_rng_state set_stream stream
    synchronize""",
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
