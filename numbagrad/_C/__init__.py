"""Names of torch's extension module that programs use: questions to the engine, classes of nodes.

torch keeps these names in C++. Here they are those of ``autograd``, under the names by which hooks,
checkpoints and tests of torch programs reach them; ``_functions`` and ``_autograd`` are as there.
"""

from __future__ import annotations

import weakref
from typing import Any

from ..autograd.grad_mode import is_grad_enabled, is_inference_mode_enabled
from ..autograd.grad_mode import is_multithreading_enabled as _is_multithreading_enabled
from ..autograd.grad_mode import is_view_replay_enabled as _is_view_replay_enabled
from ..autograd.graph import (
    _current_autograd_node,
    _current_graph_task_execution_order,
    _current_graph_task_id,
    _will_engine_execute_node,
)
from ..torch_function import DisableTorchFunction, DisableTorchFunctionSubclass
from ..torch_function import disabled_torch_function as _disabled_torch_function_impl
from ..torch_function import state as _torch_functions
from ..transforms.levels import enable_tangents as _set_fwd_grad_enabled
from ..transforms.levels import tangents_are_enabled as _is_fwd_grad_enabled
from . import _autograd, _functions

#: Whether the operators of ``linalg`` have the routines they need.
has_lapack = True

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "_WeakTensorRef",
    "_autograd",
    "_current_autograd_node",
    "_current_graph_task_execution_order",
    "_current_graph_task_id",
    "_disabled_torch_function_impl",
    "_functions",
    "_is_fwd_grad_enabled",
    "_is_multithreading_enabled",
    "_is_view_replay_enabled",
    "_set_fwd_grad_enabled",
    "_will_engine_execute_node",
    "has_lapack",
    "is_grad_enabled",
    "is_inference_mode_enabled",
]


#: Found late: the rooms behind them are imported after this module.
_DISPATCH = (
    "DispatchKey", "DispatchKeySet", "_AutoDispatchBelowAutograd", "_ExcludeDispatchKeyGuard",
)  # fmt: skip


#: Parts of TorchScript's graphs, which annotations of libraries name.
_OF_TORCHSCRIPT = ("Block", "Graph", "Node", "TensorType", "Value")


class _WeakTensorRef:
    """A reference to a tensor that does not keep it alive."""

    def __init__(self, tensor: Any) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._reference() is None


def _get_tracing_state() -> None:
    """None: ``jit.trace`` runs Python."""


def _is_tracing() -> bool:
    """False: ``jit.trace`` runs Python."""
    return False


def _are_functorch_transforms_active() -> bool:
    """Whether code runs under ``vmap`` or another transformation of ``torch.func``."""
    from ..transforms.levels import stack

    return bool(stack.levels)


def _is_torch_function_mode_enabled() -> bool:
    """Whether this thread is in the block of a ``TorchFunctionMode``."""
    return bool(_torch_functions.modes)


def _log_api_usage_once(name: str) -> None:
    """Nothing: the library counts no calls."""


def __getattr__(name: str) -> Any:
    if name == "_TensorMeta":  # found late: Tensor is made after this module
        from ..tensor import Tensor

        return type(Tensor)
    if name in _DISPATCH:
        from . import _dispatch

        return getattr(_dispatch, name)
    if name in _OF_TORCHSCRIPT:
        from .. import absent_names

        return getattr(absent_names, name)
    if name in ("_functorch", "_nn"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
