"""``torch.profiler``: times of what runs, by torch's names, on top of ``numbagrad.profile``.

Rows are launches of kernels, eager ones and those of compiled programs, and the blocks that
programs mark with ``record_function``.
"""

from ..absent import lacking
from .spans import record_function
from .table import EventList, FunctionEvent
from .torch_profile import (
    DeviceType,
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "profile times launches; export_chrome_trace writes them",
    "ExecutionTraceObserver itt",
)


def kineto_available() -> bool:
    """False: launches are recorded by ``numbagrad.profile``."""
    return False


__all__ = ["DeviceType", "EventList", "FunctionEvent", "ProfilerAction", "ProfilerActivity",
           "kineto_available", "profile", "record_function", "schedule", "supported_activities",
           "tensorboard_trace_handler"]  # fmt: skip
