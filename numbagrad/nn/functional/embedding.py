"""Lookup by integers: rows of a table (``embedding``) and rows of the identity (``one_hot``).

Called by users and by ``nn/linear.py``; the lookup itself is in ``ops/gather.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd.grad_mode import no_grad
from ...executor import capture, copying
from ...executor.arrays import filled
from ...executor.checks import check_inside
from ...ops import gather
from ...ops.functions import where
from ...tensor import Tensor, new_tensor
from ...transforms.levels import is_transformed

Array = np.ndarray[Any, Any]

__all__ = ["embedding", "one_hot"]


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of ``weight`` (n, d) at the indices ``input`` (...), to (..., d).

    The row ``padding_idx`` gets no gradient. With ``max_norm``, rows that are looked up and longer
    are first shortened in place.

    Raises:
        AssertionError: if ``padding_idx`` is no row.
    """
    rows = weight._array.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    padding_idx = -1 if padding_idx is None else padding_idx % rows
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    return gather.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


@no_grad()
def _shorten_rows(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    capture.refuse("embedding() with max_norm, which changes rows in place")
    used = new_tensor(np.unique(indices._array))
    rows = weight[used]
    length = rows.norm(norm_type, 1, keepdim=True)
    factor = where(length > max_norm, max_norm / (length + 1e-7), 1.0)
    weight[used] = rows * factor


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Rows of zeros with a one at the index, int64, from (...) to (..., num_classes)."""
    index = tensor._array
    if index.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if index.size == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if is_transformed(tensor):
        if num_classes == -1:
            raise RuntimeError(
                "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive "
                "num_classes argument."
            )
        rows = new_tensor(filled((*index.shape, num_classes), index.dtype, 0))
        return rows.scatter(-1, tensor.unsqueeze(-1), 1)
    if num_classes == -1:
        capture.refuse("one_hot() without num_classes, whose size depends on values")
        num_classes = max(int(index.max()) + 1, 0)
    check_inside(index, num_classes, _check_classes, index, num_classes)
    return new_tensor(capture.call(_rows_of_identity, index, num_classes))


def _check_classes(index: Array, num_classes: int) -> None:
    if copying.are_inside(index, num_classes):
        return
    if index.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    raise RuntimeError("Class values must be smaller than num_classes.")


def _rows_of_identity(index: Array, size: int) -> Array:
    made = np.zeros((*index.shape, size), np.int64)
    flat = index.reshape(-1)
    made.reshape(-1)[np.arange(0, made.size, size) + flat] = 1
    return made
