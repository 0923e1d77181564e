"""``torch._C._functorch``: what containers of tensors (``TensorDict``) call below ``vmap``.

Levels are objects here, numbers in torch; they are handed to these functions as they came.
"""

from __future__ import annotations

from typing import Any

from ..func.vmap import batched_along, without_level
from ..transforms.levels import Level
from ..transforms.levels import is_batched as is_batchedtensor

__all__ = ["is_batchedtensor"]


def _add_batch_dim(tensor: Any, in_dim: int, level: Level) -> Any:
    """The tensor that stands for the samples along ``in_dim``."""
    return batched_along(level, tensor, in_dim)


def _remove_batch_dim(tensor: Any, level: Level, batch_size: int, out_dim: int) -> Any:
    """The tensor of all samples, which lie along ``out_dim``."""
    return without_level("_remove_batch_dim", level, tensor, out_dim)
