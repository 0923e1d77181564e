"""torch's names below ``utils``, imported when they are first asked for."""

from typing import TYPE_CHECKING

from ..absent import lacking

if TYPE_CHECKING:
    from . import checkpoint, data

__all__ = ["checkpoint", "data"]

_MODULES = (
    "_contextlib", "_python_dispatch", "_pytree", "backend_registration", "benchmark",
    "bundled_inputs", "checkpoint", "collect_env", "cpp_extension", "data", "deterministic",
    "dlpack", "flop_counter", "hooks", "mobile_optimizer", "model_zoo", "module_tracker",
    "tensorboard", "throughput_benchmark", "weak",
)  # fmt: skip
_absent, __getattr__, __dir__ = lacking(
    __name__,
    "tensors are on the CPU, and their classes are Python's",
    """ThroughputBenchmark generate_methods_for_privateuse1_backend get_cpp_backtrace
    rename_privateuse1_backend swap_tensors""",
    {name: f".{name}" for name in _MODULES},
)
