"""``torch._C._autograd``: version counters, tensors as nodes save them, and their hooks."""

from ..autograd.graph import _unsafe_set_version_counter
from ..autograd.saved_hooks import SavedTensor, disabled_message
from ..autograd.saved_hooks import make_saved_tensor as _make_saved_tensor

__all__ = [
    "SavedTensor",
    "_make_saved_tensor",
    "_saved_tensors_hooks_is_enabled",
    "_unsafe_set_version_counter",
]


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether this thread may set hooks of saved tensors."""
    return disabled_message() is None
