# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.profiler``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from numbagrad.profiler.spans import record_function as record_function
from numbagrad.profiler.table import EventList as EventList
from numbagrad.profiler.table import FunctionEvent as FunctionEvent
from numbagrad.profiler.torch_profile import DeviceType as DeviceType
from numbagrad.profiler.torch_profile import ProfilerAction as ProfilerAction
from numbagrad.profiler.torch_profile import ProfilerActivity as ProfilerActivity
from numbagrad.profiler.torch_profile import profile as profile
from numbagrad.profiler.torch_profile import schedule as schedule
from numbagrad.profiler.torch_profile import supported_activities as supported_activities
from numbagrad.profiler.torch_profile import tensorboard_trace_handler as tensorboard_trace_handler

class ExecutionTraceObserver:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class itt:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
def kineto_available() -> builtins.bool: ...
