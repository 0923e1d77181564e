"""The text of sparse Tensors, letter for letter as torch prints them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.node import has_no_history
from ..dtype import bool_, complex_of, get_default_dtype, int64
from ..printing import append_suffixes, elements_text

__all__ = ["text_of"]

_PREFIX = "tensor("


def text_of(tensor: Any) -> str:
    """``repr(tensor)``."""
    array, places = tensor._array, tensor._array.places
    if places.compressed is None:
        parts = {"indices": places.indices, "values": array.values}
    else:
        crow, column = places.compressed
        parts = {"crow_indices": crow, "col_indices": column, "values": array.values}
    indent = len(_PREFIX)
    texts = [_part(name, each, indent) for name, each in parts.items()]
    suffixes = [f"size={tuple(array.shape)}", f"nnz={places.count}"]
    default = get_default_dtype()
    if tensor.dtype not in (default, complex_of(default), int64, bool_):
        suffixes.append(f"dtype={tensor.dtype}")
    suffixes.append(f"layout={tensor.layout}")
    if not has_no_history(tensor):
        suffixes.append(f"grad_fn=<{type(tensor._producer).__name__}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    text = _PREFIX + (",\n" + " " * indent).join(texts)
    return append_suffixes(text, suffixes, indent, tensor.is_sparse) + ")"


def _part(name: str, array: np.ndarray[Any, Any], indent: int) -> str:
    prefix = f"{name}=tensor("
    if not array.size:
        return f"{prefix}[], size={array.shape})"
    return prefix + elements_text(array, indent + len(prefix)) + ")"
