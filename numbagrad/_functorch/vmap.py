"""``torch._functorch.vmap``: what containers of tensors (``TensorDict``) import from it."""

from __future__ import annotations

from typing import Any

from .._C._functorch import _add_batch_dim, _remove_batch_dim
from ..func.vmap import function_name as _get_name
from ..func.vmap import without_level
from ..tensor import Tensor
from ..transforms.levels import Level
from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_map_, tree_unflatten

__all__ = [
    "Tensor", "_add_batch_dim", "_broadcast_to_and_flatten", "_get_name", "_maybe_remove_batch_dim",
    "_remove_batch_dim", "tree_flatten", "tree_map_", "tree_unflatten",
]  # fmt: skip


def _maybe_remove_batch_dim(
    name: str, batched_output: Any, vmap_level: Level, batch_size: int, out_dim: int | None
) -> Any:
    """The result of all samples; ``name`` is that of the function that returned it."""
    return without_level(name, vmap_level, batched_output, out_dim)
