"""Norms of matrices: by elements, by sums of rows or columns, by singular values."""

from __future__ import annotations

import math
from typing import Any

from ...dtype import dtype as DType
from ...tensor import Tensor
from ..arguments.check import check_tensors
from ..arguments.shapes import dimension
from ..reductions.statistics import vector_norm
from .decompositions import svdvals


def matrix_norm(
    A: Tensor,
    ord: float | str = "fro",  # noqa: A002 - torch's name
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """The norm of matrices in two dimensions: "fro", "nuc", ±inf, ±1 or ±2."""
    rank = A._array.ndim
    if rank < 2 or len(dim) != 2:
        raise RuntimeError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions and dim two "
            f"entries, but got a tensor of {rank} dimensions and dim={dim}"
        )
    rows, columns = (dimension(rank, d) for d in dim)
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim, dtype=dtype)
    if dtype is not None:
        A = A.to(dtype)
    if ord in ("nuc", 2, -2):
        values = svdvals(A.movedim((rows, columns), (-2, -1)))
        norm = values.amin(-1) if ord == -2 else _largest(values, -1, ord == "nuc")
        if not keepdim:
            return norm
        for d in sorted((rows, columns)):
            norm = norm.unsqueeze(d)
        return norm
    if ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    assert not isinstance(ord, str)
    summed, chosen = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector_norm(A, 1, summed, keepdim)
    if not keepdim and summed < chosen:
        chosen -= 1
    return _largest(sums, chosen, False, keepdim) if ord > 0 else sums.amin(chosen, keepdim)


def _largest(values: Tensor, dim: int, sums: bool, keepdim: bool = False) -> Tensor:
    """The largest of values that are not negative, 0 if there is none; or their sum."""
    if sums or not values._array.shape[dim]:
        return values.sum(dim, keepdim)
    return values.amax(dim, keepdim)


def norm(
    A: Tensor,
    ord: float | str | None = None,  # noqa: A002 - torch's name
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """A vector norm, or a matrix norm where ``ord`` is given and two dimensions are left.

    Without ``ord`` the root of the sum of squares over ``dim``, or of all elements.
    """
    if keepdim.__class__ is not bool:
        check_tensors(norm, (A, ord, dim, keepdim))
    several = isinstance(dim, (list, tuple))
    if several and len(dim) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}"
        )
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if dim is None and A._array.ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{A._array.ndim}D."
        )
    of_matrix = A._array.ndim == 2 if dim is None else several and len(dim) == 2
    if isinstance(ord, str) and not of_matrix:
        raise RuntimeError(
            f"linalg.norm: Order {ord!r} is that of a matrix, in two dimensions, but got a tensor "
            f"of shape {list(A._array.shape)} and dim {dim}"
        )
    if of_matrix:
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    assert not isinstance(ord, str)
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)
