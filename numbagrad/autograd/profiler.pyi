# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.autograd.profiler``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from numbagrad.profiler.spans import emit_nvtx as emit_nvtx
from numbagrad.profiler.spans import record_function as record_function
from numbagrad.profiler.table import EventList as EventList
from numbagrad.profiler.table import FunctionEvent as FunctionEvent
from numbagrad.profiler.torch_profile import AutogradProfile as _profile

class EnforceUnique:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class KinetoStepTracker:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class MemRecordsAcc:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class emit_itt:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class load_nvprof:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class parse_nvprof_trace:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
profile = _profile
