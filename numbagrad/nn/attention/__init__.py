"""Attention: the layer of several heads, and torch's choice among ways to compute attention."""

from ...absent import absent
from .backends import SDPBackend, sdpa_kernel
from .multihead import MultiheadAttention, NonDynamicallyQuantizableLinear

__all__ = ["MultiheadAttention", "NonDynamicallyQuantizableLinear", "SDPBackend", "sdpa_kernel"]

#: Whether sdpa_kernel says why a kernel is not taken; there is one, which is always taken.
WARN_FOR_UNFUSED_KERNELS = False

_REASON = "scaled_dot_product_attention has one implementation"
activate_flash_attention_impl = absent("torch.nn.attention.activate_flash_attention_impl", _REASON)
current_flash_attention_impl = absent("torch.nn.attention.current_flash_attention_impl", _REASON)
list_flash_attention_impls = absent("torch.nn.attention.list_flash_attention_impls", _REASON)
register_flash_attention_impl = absent("torch.nn.attention.register_flash_attention_impl", _REASON)
restore_flash_attention_impl = absent("torch.nn.attention.restore_flash_attention_impl", _REASON)
