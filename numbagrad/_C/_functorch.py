"""``torch._C._functorch``: whether a tensor is under ``vmap``; the rest of it is not there."""

from ..transforms.levels import is_batched as is_batchedtensor

__all__ = ["is_batchedtensor"]
