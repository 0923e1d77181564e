"""Attention: the layer of several heads, and torch's choice among ways to compute attention."""

from .backends import SDPBackend, sdpa_kernel
from .multihead import MultiheadAttention, NonDynamicallyQuantizableLinear

__all__ = ["MultiheadAttention", "NonDynamicallyQuantizableLinear", "SDPBackend", "sdpa_kernel"]
