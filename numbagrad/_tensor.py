"""``torch._tensor``: Tensor, at torch's path."""

from .tensor import Tensor

__all__ = ["Tensor"]
