"""What people train with; so far the functions of ``torch.nn.functional``."""

from . import functional

__all__ = ["functional"]
