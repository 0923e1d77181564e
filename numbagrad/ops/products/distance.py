"""Distances between vectors: all pairs of one set or two (pdist, cdist), or two tensors (dist).

The gradient by Euclidean distances is made of products of matrices, that of other norms of all
differences; those by norms 1, 2 and infinity have kernels where they are not differentiated
themselves (``executor/families/distances.py``). Where two vectors coincide it is zero, as in torch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...autograd.grad_mode import state as grad_mode
from ...dispatch.policies import autocasts
from ...dtype import scalar_type_name
from ...executor.families import distances as executor
from ...executor.families.conversion import convert
from ...executor.memory.arrays import constant_beside
from ...tensor import Tensor, new_tensor
from ...transforms.batching import aligned_stacks
from ..arguments.kinds import Real
from ..arguments.shapes import common_shape
from ..indexing.index_arrays import taken
from ..methods.registry import method
from ..operators.pointwise_operator import pointwise
from ..operators.tensor_operator import TensorOperator
from ..pointwise.selection import where
from ..reductions.statistics import vector_norm
from ..views.expand import sum_to_size

__all__ = ["cdist", "dist", "pdist"]

Array = np.ndarray[Any, Any]

#: Rows from which torch computes Euclidean distances from a product, which is less accurate.
_MANY_ROWS = 25


def _distances(a: Array, b: Array, p: float, by_product: bool) -> Array:
    if not by_product:
        p = p if a.shape[-1] else 1.0  # all norms of nothing are 0
        rows, others = (new_tensor(x) for x in (a[..., :, None, :], b[..., None, :, :]))
        difference = pointwise("sub")(rows, others)
        if p == 0:  # how many differ, and NaN where that is not known
            return difference.abs().ceil().clamp_max(1).sum(-1)._array
        return vector_norm(difference, p, -1)._array
    if a.dtype == np.float16:
        wide, other = [convert(x, np.dtype(np.float32)) for x in (a, b)]
        return convert(_distances(wide, other, p, True), a.dtype)
    first, second = new_tensor(a), new_tensor(b)
    squares = (first * first).sum(-1)[..., :, None] + (second * second).sum(-1)[..., None, :]
    made: Tensor = (squares - 2 * (first @ second.mT)).clamp_min(0).sqrt()
    return made._array


def _pulled(grad: Tensor, x: Tensor, y: Tensor, p: float, distances: Tensor) -> Tensor | None:
    """The gradient by ``x`` of its distances to ``y`` by a kernel; None where that has to wait.

    Gradients that are differentiated themselves are composed, and those of broadcast stacks.
    """
    arrays = grad._array, x._array, y._array, distances._array
    if grad_mode.enabled or not executor.has_kernels(p, *arrays):
        return None
    of_grad, rows, others, known = arrays
    if of_grad.ndim > 1 and not of_grad.shape[:-2] == rows.shape[:-2] == others.shape[:-2]:
        return None
    return new_tensor(executor.pulled(of_grad, rows, others, p, known))


def _pull(grad: Tensor, x: Tensor, y: Tensor, p: float, distances: Tensor) -> Tensor:
    """The gradient by ``x`` of its distances to ``y``; the last dimension of both is summed.

    What is zero is replaced before it is divided by, so that gradients of this are no NaN either.
    """
    if p != 2:
        made = _pulled(grad, x, y, p, distances)
        if made is not None:
            return made
    zero = pointwise("eq")(distances, 0)
    grad, distances = where(zero, 0.0, grad), where(zero, 1.0, distances)
    if p == 2:
        share = grad / distances
        return x * share.sum(-1, keepdim=True) - share @ y
    if p == 0:
        return x.new_zeros(x._array.shape)
    difference = x.unsqueeze(-2) - y.unsqueeze(-3)
    signs = where(pointwise("ne")(difference, difference), difference, difference.sgn())
    if p == 1:
        return (signs * grad.unsqueeze(-1)).sum(-2)
    if math.isinf(p):
        reached = pointwise("eq")(difference.abs(), distances.unsqueeze(-1))
        return (signs * reached * grad.unsqueeze(-1)).sum(-2)
    share = (grad * distances.pow(1 - p)).unsqueeze(-1)
    powers = where(pointwise("eq")(difference, 0), 1.0, difference.abs()).pow(p - 1)
    return (signs * powers * share).sum(-2)


_cdist = TensorOperator(
    "cdist",
    lambda x1, x2, p, by_product: _distances(x1, x2, p, by_product),
    {
        "x1": lambda grad, x1, x2, p, result: sum_to_size(
            _pull(grad, x1, x2, p, result), x1._array.shape
        ),
        "x2": lambda grad, x1, x2, p, result: sum_to_size(
            _pull(grad.mT, x2, x1, p, result.mT), x2._array.shape
        ),
    },
    batch=lambda operator, size, arguments, mapped: operator(
        *aligned_stacks(arguments[:2], mapped[:2]), *arguments[2:]
    ),
    portable=True,
)


@autocasts("float32")
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: Real = 2.0,
    compute_mode: Any = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """Distances by the p-norm of all pairs of rows, (..., n, d) and (..., m, d) to (..., n, m).

    Raises:
        RuntimeError: if the rows have different lengths, or ``p`` is negative.
    """
    if x1._array.ndim < 2 or x2._array.ndim < 2:
        raise RuntimeError(
            f"cdist only supports at least 2D tensors, got {x1._array.ndim}D and {x2._array.ndim}D"
        )
    if x1._array.shape[-1] != x2._array.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1._array.shape[-1]} X2: "
            f"{x2._array.shape[-1]}"
        )
    if not p >= 0:
        raise RuntimeError(f"cdist only supports non-negative p values, got {p}")
    for x in (x1, x2):
        if x._array.dtype.kind not in "fV":
            raise RuntimeError(f"cdist only supports floating-point dtypes, got {x.dtype}")
    if x1._array.dtype != x2._array.dtype:
        raise RuntimeError(
            f"cdist: expected both to have one dtype, got {scalar_type_name(x1.dtype)} and "
            f"{scalar_type_name(x2.dtype)}"
        )
    modes = {
        "use_mm_for_euclid_dist_if_necessary": max(x1.size(-2), x2.size(-2)) > _MANY_ROWS,
        "use_mm_for_euclid_dist": True,
        "donot_use_mm_for_euclid_dist": False,
    }
    if not isinstance(compute_mode, str) or compute_mode not in modes:
        raise ValueError(f"cdist(): {compute_mode!r} is not a valid value for compute_mode")
    common_shape([x1._array.shape[:-2], x2._array.shape[:-2]])
    return _cdist(x1, x2, float(p), p == 2 and modes[compute_mode])


def _pairs(array: Array) -> Array:
    """The places of all pairs of different rows of a matrix in a square one, row by row."""
    count = array.shape[0]
    rows, columns = np.triu_indices(count, 1)
    return constant_beside(array, rows * count + columns)


def _chosen(array: Array, p: float) -> Array:
    if executor.has_kernels(p, array):
        return executor.pairs(array, p)
    return taken(_distances(array, array, p, False).reshape(-1), (_pairs(array),))


def _pull_pairs(grad: Tensor, input: Tensor, p: float, result: Tensor) -> Tensor:
    """The gradient by the rows: that of the distances of each to all, in a symmetric square."""
    made = _pulled(grad, input, input, p, result)
    if made is not None:
        return made
    count = input._array.shape[0]
    pairs = new_tensor(_pairs(input._array))

    def square(values: Tensor) -> Tensor:
        upper = values.new_zeros(count * count).index_put((pairs,), values).view(count, count)
        return upper + upper.mT

    return _pull(square(grad), input, input, p, square(result))


_pdist = TensorOperator(
    "pdist", lambda input, p: _chosen(input, p), {"input": _pull_pairs}, portable=True
)


def pdist(input: Tensor, p: Real = 2.0) -> Tensor:
    """Distances by the p-norm of all pairs of rows of a matrix (n, d): (n * (n - 1) / 2).

    They are those above the diagonal of ``cdist(input, input, p)``, row by row.

    Raises:
        RuntimeError: if ``input`` is no matrix of floats, or ``p`` is negative.
    """
    if input._array.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input._array.ndim}D")
    if input._array.dtype.kind not in "fV":
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError(f"pdist only supports non-negative p values, but got p={p}")
    return _pdist(input, float(p))


@method()
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of ``input - other``, which broadcast."""
    return vector_norm(input - other, p)
