"""``torch.autograd.profiler``: times of operators, as programs asked for before ``profiler``."""

from ..absent import lacking
from ..profiler.spans import emit_nvtx, record_function
from ..profiler.table import EventList, FunctionEvent
from ..profiler.torch_profile import AutogradProfile as profile

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "there is no profiler of a GPU; profile and numbagrad.profile time what runs on the CPU",
    "EnforceUnique KinetoStepTracker MemRecordsAcc emit_itt load_nvprof parse_nvprof_trace",
)

__all__ = ["EventList", "FunctionEvent", "emit_nvtx", "profile", "record_function"]
