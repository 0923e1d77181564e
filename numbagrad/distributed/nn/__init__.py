"""``torch.distributed.nn``: collectives with gradients."""

from . import functional
from .functional import *  # noqa: F403
from .functional import __all__ as _functions

__all__ = ["functional", *_functions]
