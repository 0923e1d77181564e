"""``torch._C._autograd``: version counters, tensors as nodes save them, and their hooks."""

from ..autograd.grad_mode import state as grad_mode
from ..autograd.graph import _unsafe_set_version_counter
from ..autograd.hooks.saved_hooks import SavedTensor, disabled_message
from ..autograd.hooks.saved_hooks import make_saved_tensor as _make_saved_tensor

__all__ = [
    "SavedTensor",
    "_get_current_graph_task_keep_graph",
    "_make_saved_tensor",
    "_saved_tensors_hooks_is_enabled",
    "_unsafe_set_version_counter",
]


def _get_current_graph_task_keep_graph() -> bool:
    """Whether the walk that this thread is on keeps what nodes saved; True outside of any."""
    return grad_mode.walk is None or grad_mode.walk.keeps_graph


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether this thread may set hooks of saved tensors."""
    return disabled_message() is None
