"""Sums and maxima of rows of a table in bags of indices, without a copy of the rows.

Called by ``nn/functional/embedding.py``; the kernel is in ``kernels/indexing/bags.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...executor.families import indexing
from ...executor.memory.arrays import filled_like
from ...tensor import Tensor, new_tensor
from ...transforms.tangents import multilinear
from ..operators.array_function import array_function
from ..operators.tensor_operator import TensorOperator
from .gather import embedding, embedding_gradient, scatter_add_operator

__all__ = ["bag_of_each", "largest_of_bags", "sums_of_bags"]

Array = np.ndarray[Any, Any]


@array_function()
def bag_of_each(starts: Array, count: int) -> Array:
    """The bag of each of ``count`` indices, from where bags begin and where the last ends."""
    return np.repeat(np.arange(starts.size - 1), np.diff(starts))


def _gradient(
    grad: Tensor, shape: tuple[int, ...], indices: Tensor, starts: Tensor, padding: int
) -> Tensor:
    """Each row gets the gradients of the bags that it is in."""
    bags = new_tensor(bag_of_each(starts._array, indices._array.size))
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


def _gradient_of_largest(
    grad: Any, weight_shape: tuple[int, ...], result1: Tensor
) -> Tensor | None:
    """Each element that is a maximum gets the gradient of that."""
    values, positions = grad[0], result1.detach()
    if values is None:
        return None
    values = values.masked_fill(positions < 0, 0)
    zeros = new_tensor(filled_like(values._array, weight_shape, values._array.dtype, 0))
    return scatter_add_operator(zeros, 0, positions.clamp(min=0), values)


#: (weight, indices, starts, padding) -> maxima, and the rows that they come from.
largest_of_bags = TensorOperator(
    "embedding_bag_max",
    lambda weight, indices, starts, padding: indexing.max_bags(weight, indices, starts, padding),
    {
        "weight": _gradient_of_largest,
        "indices": None,  # type: ignore[dict-item]
        "starts": None,  # type: ignore[dict-item]
    },
    grad_fn="EmbeddingBagBackward0",
)
