"""Decompositions ``A = L D L^T`` of symmetric and Hermitian matrices that are not definite.

NumPy does not show LAPACK's decomposition: a kernel computes that of real matrices, and complex
ones are decomposed here, one after another. Pivots are chosen as by Bunch and Kaufman, *Some stable
methods for calculating inertia and solving symmetric linear systems* (1977), which is what LAPACK's
``sytf2`` and ``hetf2`` do: D has blocks of one and of two rows. As in torch there are no gradients.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import return_types
from ...dispatch.policies import autocasts
from ...dtype import scalar_type_name
from ...executor.families import decomposition
from ...executor.families.elimination import is_here
from ...tensor import Tensor
from ...transforms.batching import stacked
from ..arguments.shapes import common_shape
from ..operators.tensor_operator import TensorOperator
from .lapack import LinAlgError, by_columns, pivot_size
from .lu import check_info
from .systems import LAPACK_KINDS, check_matrices

__all__: list[str] = []

Array = np.ndarray[Any, Any]

#: The share of a column's largest element that a pivot has to have: least growth (1977, page 168).
_SHARE = (1 + math.sqrt(17)) / 8


def _choice(A: Array, k: int, hermitian: bool) -> tuple[int, int]:
    """The row that becomes row k (or k + 1, for a block of two), and the rows of the block.

    Zero rows in a block say that the column is zero already.
    """
    on_diagonal = (lambda x: np.abs(x.real)) if hermitian else pivot_size
    own = on_diagonal(A[k, k])
    below = pivot_size(A[k + 1 :, k])
    largest = below.max(initial=0)
    if not max(own, largest) > 0:
        return k, 0
    if own >= _SHARE * largest:
        return k, 1
    row = k + 1 + int(below.argmax())
    others = max(pivot_size(A[row, k:row]).max(), pivot_size(A[row + 1 :, row]).max(initial=0))
    if own >= _SHARE * largest * (largest / others):
        return k, 1
    return row, 1 if on_diagonal(A[row, row]) >= _SHARE * others else 2


def _exchange(A: Array, here: int, other: int, hermitian: bool) -> None:
    """Exchange two rows and the same columns of what is left, of which the lower half is kept."""
    A[other + 1 :, [here, other]] = A[other + 1 :, [other, here]]
    column, row = A[here + 1 : other, here].copy(), A[other, here + 1 : other].copy()
    if hermitian:
        column, row = column.conj(), row.conj()
        A[other, here] = A[other, here].conj()
    A[here + 1 : other, here], A[other, here + 1 : other] = row, column
    A[here, here], A[other, other] = A[other, other], A[here, here].copy()


def _decompose(matrix: Array, hermitian: bool) -> tuple[Array, Array, int]:
    """L under the diagonal and D on it, the exchanges as LAPACK counts them, the first zero."""
    A = np.tril(matrix)
    n = len(A)
    pivots = np.zeros(n, np.int32)
    zero, k = 0, 0
    turned = np.conj if hermitian else np.asarray
    if hermitian:
        A[np.diag_indices(n)] = A.diagonal().real
    while k < n:
        other, rows = _choice(A, k, hermitian)
        if rows == 0:
            zero = zero or k + 1
            pivots[k] = k + 1
            k += 1
            continue
        last = k + rows - 1
        if other != last:
            _exchange(A, last, other, hermitian)
            if rows == 2:
                A[[k + 1, other], k] = A[[other, k + 1], k]
        block = A[k : last + 1, k : last + 1].copy()
        if rows == 2:
            block[0, 1] = turned(block[1, 0])
        below = A[last + 1 :, k : last + 1].copy()
        factor = below @ np.linalg.inv(block)
        A[last + 1 :, last + 1 :] -= np.tril(factor @ turned(below).T)
        A[last + 1 :, k : last + 1] = factor
        pivots[k : last + 1] = other + 1 if rows == 1 else -(other + 1)
        k += rows
    return A, pivots, zero


def _factor_forward(array: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    if is_here(array):
        return decomposition.symmetric(array)
    leading, n = array.shape[:-2], array.shape[-1]
    flat = array.reshape(math.prod(leading), n, n)
    conjugated = hermitian and array.dtype.kind == "c"
    found = [_decompose(matrix, conjugated) for matrix in flat]
    return (
        by_columns(np.array([x[0] for x in found], array.dtype).reshape(array.shape)),
        np.array([x[1] for x in found], np.int32).reshape(*leading, n),
        np.array([x[2] for x in found], np.int32).reshape(leading),
    )


_factor = TensorOperator(
    "linalg_ldl_factor_ex",
    lambda A, hermitian: _factor_forward(A, hermitian),
    {},
    batch=stacked(),
)


def _checked(name: str, A: Tensor) -> None:
    if A._array.ndim >= 2 and A._array.dtype.char not in LAPACK_KINDS:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got "
            f"{scalar_type_name(A.dtype)}"
        )
    check_matrices(name, A)


def _check_zeros(info: Array, name: str) -> None:
    if info.any():
        position = int(info[info > 0].flat[0])
        raise LinAlgError(
            f"{name}: D[{position},{position}] is zero, so that solving with this decomposition "
            "would divide by zero; linalg.ldl_factor_ex(A) returns it with the place of the zero"
        )


@autocasts("float32")
def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """``ldl_factor``, and for each matrix the place of the first zero in D, or 0.

    Raises:
        LinAlgError: with ``check_errors``, if there is one.
    """
    name = "torch.linalg.ldl_factor_ex"
    _checked(name, A)
    LD, pivots, info = _factor(A, bool(hermitian))
    if check_errors:
        check_info(_check_zeros, info, name)
    return return_types.linalg_ldl_factor_ex(LD, pivots, info)


@autocasts("float32")
def ldl_factor(A: Tensor, *, hermitian: bool = False) -> Any:
    """L and D of ``A = P L D L^T P^T`` in one tensor, and the exchanges of rows P.

    D has blocks of one or two rows, and L ones on its diagonal, which are not stored. Only the
    lower triangles of A are read. There is no gradient.

    Args:
        A: matrices (..., n, n).
        hermitian: whether complex matrices are Hermitian (``L D L^H``) or symmetric.

    Returns:
        LD (..., n, n) and pivots (..., n) as int32, counted from 1; for a block of two rows the
        same negative number twice.

    Raises:
        LinAlgError: if D is singular.
    """
    _checked("torch.linalg.ldl_factor_ex", A)
    LD, pivots, info = _factor(A, bool(hermitian))
    check_info(_check_zeros, info, "torch.linalg.ldl_factor")
    return return_types.linalg_ldl_factor(LD, pivots)


def _solve_one(LD: Array, pivots: Array, B: Array, hermitian: bool) -> Array:
    X = B.copy()
    n = len(LD)
    turned = np.conj if hermitian else np.asarray
    blocks: list[tuple[int, int, int]] = []
    k = 0
    while k < n:
        rows = 1 if pivots[k] > 0 else 2
        blocks.append((k, k + rows, abs(int(pivots[k])) - 1))
        k += rows
    for first, end, other in blocks:
        X[[end - 1, other]] = X[[other, end - 1]]
        X[end:] -= LD[end:, first:end] @ X[first:end]
        D = LD[first:end, first:end].copy()
        if end - first == 2:
            D[0, 1] = turned(D[1, 0])
        X[first:end] = np.linalg.solve(D, X[first:end])
    for first, end, other in reversed(blocks):
        X[first:end] -= turned(LD[end:, first:end]).T @ X[end:]
        X[[end - 1, other]] = X[[other, end - 1]]
    return X


def _solve_forward(LD: Array, pivots: Array, B: Array, hermitian: bool) -> Array:
    n, columns = B.shape[-2:]
    leading = common_shape([LD.shape[:-2], B.shape[:-2]])
    conjugated = hermitian and LD.dtype.kind == "c"
    flat = [
        np.broadcast_to(x, (*leading, *x.shape[x.ndim - count :])).reshape(
            math.prod(leading), *x.shape[x.ndim - count :]
        )
        for x, count in ((LD, 2), (pivots, 1), (B, 2))
    ]
    made = [_solve_one(a, p, b, conjugated) for a, p, b in zip(*flat, strict=True)]
    return by_columns(np.array(made, B.dtype).reshape(*leading, n, columns))


_solve = TensorOperator(
    "linalg_ldl_solve",
    lambda LD, pivots, B, hermitian: _solve_forward(LD, pivots, B, hermitian),
    {},
)


@autocasts("float32")
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """X with ``A @ X = B`` for what ``linalg.ldl_factor(A)`` returned; there is no gradient.

    Args:
        LD: (..., n, n).
        pivots: (..., n), integers.
        B: (..., n, k).
        hermitian: as it was given to ``ldl_factor``.

    Raises:
        RuntimeError: for shapes or dtypes that do not fit.
    """
    name = "torch.linalg.ldl_solve"
    _checked(name, LD)
    if B._array.ndim < 2:
        raise IndexError(
            f"{name}: B must have at least 2 dimensions, but has {B._array.ndim}; unsqueeze(-1) "
            "makes a column of a vector"
        )
    size, (rows, columns) = LD._array.shape[-1], B._array.shape[-2:]
    if rows != size:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {size} by {size} but each b "
            f"matrix is {rows} by {columns}"
        )
    if pivots._array.shape != LD._array.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with "
            f"shape {list(pivots._array.shape)} instead"
        )
    if pivots._array.dtype.kind not in "iu":
        raise RuntimeError(
            f"{name}: Expected pivots to be integers. Got {scalar_type_name(pivots.dtype)}"
        )
    if LD.dtype is not B.dtype:
        raise RuntimeError(
            "Expected b and A to have the same dtype, but found b of type "
            f"{scalar_type_name(B.dtype)} and A of type {scalar_type_name(LD.dtype)} instead."
        )
    common_shape([LD._array.shape[:-2], B._array.shape[:-2]])
    made: Tensor = _solve(LD, pivots, B, bool(hermitian))
    return made
