"""Sums of rows of a table in bags of indices, without a copy of the rows.

Called by ``nn/functional/embedding.py``; the kernel is in ``kernels/indexing/bags.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...executor import capture
from ...executor.families import indexing
from ...tensor import Tensor, new_tensor
from ...transforms.tangents import multilinear
from ..operators.tensor_operator import TensorOperator
from .gather import embedding, embedding_gradient

__all__ = ["bag_of_each", "sums_of_bags"]

Array = np.ndarray[Any, Any]


def bag_of_each(starts: Array) -> Array:
    """The bag that each index of a vector is in, from where bags begin and where the last ends."""
    return np.repeat(np.arange(starts.size - 1), np.diff(starts))


def _gradient(
    grad: Tensor, shape: tuple[int, ...], indices: Tensor, starts: Tensor, padding: int
) -> Tensor:
    """Each row gets the gradients of the bags that it is in."""
    bags = new_tensor(capture.call(bag_of_each, starts._array))
    return embedding_gradient(embedding(grad, bags), shape, indices, padding)


#: (weight, indices, starts, padding) -> sums, where starts ends with the number of indices.
sums_of_bags = TensorOperator(
    "embedding_bag",
    lambda weight, indices, starts, padding: indexing.sum_bags(weight, indices, starts, padding),
    {
        "weight": lambda grad, weight_shape, indices, starts, padding: _gradient(
            grad, weight_shape, indices, starts, padding
        ),
        "indices": None,  # type: ignore[dict-item]
        "starts": None,  # type: ignore[dict-item]
    },
    tangent=multilinear,
)
