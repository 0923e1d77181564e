"""``torch.nn.modules.activation``: activations, and attention, at torch's path."""

from .. import activation as _activation
from ..activation import *
from ..attention import MultiheadAttention

__all__ = ["MultiheadAttention"]
__all__ += _activation.__all__
