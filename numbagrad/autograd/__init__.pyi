# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.autograd``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from numbagrad.autograd import anomaly_mode as anomaly_mode
from numbagrad.autograd import forward_ad as forward_ad
from numbagrad.autograd import function as function
from numbagrad.autograd import functional as functional
from numbagrad.autograd import grad_mode as grad_mode
from numbagrad.autograd import graph as graph
from numbagrad.autograd import variable as variable
from numbagrad.autograd.anomaly_mode import detect_anomaly as detect_anomaly
from numbagrad.autograd.anomaly_mode import set_detect_anomaly as set_detect_anomaly
from numbagrad.autograd.engine.interface import backward as backward
from numbagrad.autograd.engine.interface import grad as grad
from numbagrad.autograd.function import Function as Function
from numbagrad.autograd.grad_mode import enable_grad as enable_grad
from numbagrad.autograd.grad_mode import inference_mode as inference_mode
from numbagrad.autograd.grad_mode import is_multithreading_enabled as is_multithreading_enabled
from numbagrad.autograd.grad_mode import is_view_replay_enabled as is_view_replay_enabled
from numbagrad.autograd.grad_mode import no_grad as no_grad
from numbagrad.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from numbagrad.autograd.grad_mode import set_multithreading_enabled as set_multithreading_enabled
from numbagrad.autograd.gradcheck import gradcheck as gradcheck
from numbagrad.autograd.gradcheck import gradgradcheck as gradgradcheck
from numbagrad.autograd.hooks.saved_hooks import SavedTensor as SavedTensor
from numbagrad.autograd.variable import Variable as Variable

class NestedIOFunction:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class enforce_grad_layout_policy:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
