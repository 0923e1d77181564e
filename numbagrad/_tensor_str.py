"""``torch._tensor_str``: how tensors are printed, at torch's path."""

from .printing import get_printoptions, printoptions, set_printoptions

__all__ = ["get_printoptions", "printoptions", "set_printoptions"]
