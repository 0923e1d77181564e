"""``torch._C._autograd``: version counters, and tensors as nodes save them."""

from ..autograd.graph import _unsafe_set_version_counter
from ..autograd.saved_hooks import SavedTensor
from ..autograd.saved_hooks import make_saved_tensor as _make_saved_tensor

__all__ = ["SavedTensor", "_make_saved_tensor", "_unsafe_set_version_counter"]
