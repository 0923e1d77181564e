"""The name under which torch's autograd, and tests written for it, call ``vmap``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .func.vmap import vmap

__all__ = ["vmap"]


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """``vmap(func, in_dims, out_dims)``."""
    return vmap(func, in_dims, out_dims)
