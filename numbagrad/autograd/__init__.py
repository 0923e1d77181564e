"""Automatic differentiation: the names of ``torch.autograd``.

``numbagrad.autograd`` records and walks graphs of Tensors; operators record into it through
``node`` and ``saved``. It knows nothing of operators or kernels: ``tensor_interface`` is all it
sees of them.
"""

from typing import TYPE_CHECKING

from ..absent import lacking
from . import anomaly_mode, function, grad_mode, graph, variable
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .engine.interface import backward, grad
from .function import Function
from .grad_mode import _force_original_view_tracking as _force_original_view_tracking
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    is_view_replay_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .gradcheck import gradcheck, gradgradcheck
from .graph import _unsafe_preserve_version_counter as _unsafe_preserve_version_counter
from .hooks.saved_hooks import SavedTensor
from .variable import Variable

_is_checkpoint_valid = Variable._execution_engine.is_checkpoint_valid

if TYPE_CHECKING:
    from . import forward_ad, functional

__all__ = [
    "Function",
    "SavedTensor",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "forward_ad",
    "functional",
    "grad",
    "grad_mode",
    "graph",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_multithreading_enabled",
    "is_view_replay_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]

# Built on the operators, which are built on this package: imported when first asked for.
# ``torch.autograd.torch`` is the library itself.
_absent, __getattr__, __dir__ = lacking(
    __name__,
    "it is a setting, or a base class, of torch's engine alone",
    "NestedIOFunction enforce_grad_layout_policy",
    {
        "functional": ".functional",
        "forward_ad": ".forward_ad",
        "profiler": ".profiler",
        "torch": "..",
    },
)
