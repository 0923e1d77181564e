"""``torch._C._autograd``: version counters, and tensors as nodes save them."""

from ..autograd.graph import _unsafe_set_version_counter
from ..autograd.saved_hooks import SavedTensor

__all__ = ["SavedTensor", "_unsafe_set_version_counter"]
