"""Decompositions of stacks of matrices as arrays, with torch's errors where a matrix has none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...executor.families import decomposition, elimination
from ...executor.plan.forms import stacked

Array = np.ndarray[Any, Any]


class LinAlgError(RuntimeError):
    """A matrix that has no inverse or no such decomposition."""


def _is_small(array: Array) -> bool:
    """Whether a kernel solves with a stack of square matrices faster than LAPACK."""
    return array.shape[-1] <= elimination.LARGEST and elimination.is_here(array)


def inverses(array: Array) -> tuple[Array, Array]:
    """The inverses of a stack, and for each the first zero pivot, from 1, or 0.

    A matrix that has a zero pivot has anything for its inverse.
    """
    if _is_small(array):
        return elimination.inverse(array)
    turned = array.swapaxes(-1, -2)  # so that the inverse lies in memory as LAPACK leaves it
    try:
        return np.linalg.inv(turned).swapaxes(-1, -2), np.zeros(array.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        zeros = factors(array)[2]
    zeros = np.where(zeros.any(), zeros, 1).astype(np.int32)
    eye = np.eye(array.shape[-1], dtype=array.dtype)
    regular = np.where(zeros[..., None, None] != 0, eye, array).swapaxes(-1, -2)
    return np.linalg.inv(regular).swapaxes(-1, -2), zeros


def inverse(array: Array) -> Array:
    """The inverses of a stack.

    Raises:
        LinAlgError: names the first singular matrix, and its first zero pivot.
    """
    made, zeros = inverses(array)
    if not zeros.any():
        return made
    position, pivot = _first(array, zeros)
    raise LinAlgError(
        f"linalg.inv: {position}The diagonal element {pivot} is zero, the inversion could not be "
        "completed because the input matrix is singular."
    )


def solution(A: Array, B: Array) -> Array:
    """The solutions of stacks of systems of equations.

    Raises:
        LinAlgError: names the first singular matrix.
    """
    if _is_small(A) and B.__class__ is np.ndarray:
        if A.shape[:-2] != B.shape[:-2]:
            A, B = stacked(A, B)
        made, zeros = elimination.solution(A, B)
        if not zeros.any():
            return made
    else:
        try:
            return by_columns(np.linalg.solve(A, B))
        except np.linalg.LinAlgError:
            zeros = factors(A)[2]
    position, _ = _first(A, zeros)
    raise LinAlgError(
        f"torch.linalg.solve: {position}The solver failed because the input matrix is singular."
    )


#: Up to so many rows are substituted one by one; more are cut in two.
_FEW_ROWS = 16


def substituted(A: Array, B: Array, upper: bool, unit: bool = False) -> Array:
    """The solutions of ``A @ X = B`` for triangles A, whose other half is not read.

    By substitution, so that each row of X depends on the rows before it alone, and the error of
    each element is relative to the terms of that element. A zero on the diagonal gives infinity;
    with ``unit`` it counts as ones.
    """
    if A.shape[:-2] != B.shape[:-2]:
        A, B = stacked(A, B)
    if elimination.is_here(A) and B.__class__ is np.ndarray:
        return elimination.substituted(A, B, upper, unit)
    if unit:
        A = np.where(np.eye(A.shape[-1], dtype=bool), 1, A)
    made: Array = B.copy("C")
    _substitute_in_parts(A, made, upper)
    return by_columns(made)


def _substitute_in_parts(A: Array, X: Array, upper: bool) -> None:
    with np.errstate(all="ignore"):
        _substitute(A, X, upper)


def _substitute(A: Array, X: Array, upper: bool) -> None:
    """Change right sides into solutions."""
    rows = A.shape[-1]
    if rows > _FEW_ROWS:
        first, second = slice(rows // 2), slice(rows // 2, None)
        if upper:
            first, second = second, first
        _substitute(A[..., first, first], X[..., first, :], upper)
        X[..., second, :] -= A[..., second, first] @ X[..., first, :]
        _substitute(A[..., second, second], X[..., second, :], upper)
        return
    for row in reversed(range(rows)) if upper else range(rows):
        known = slice(row + 1, None) if upper else slice(row)
        X[..., row, None, :] -= A[..., row, None, known] @ X[..., known, :]
        X[..., row, :] /= A[..., row, row, None]


def _first(matrices: Array, zeros: Array) -> tuple[str, int]:
    """Which matrix of a stack is the first with a zero pivot, and which pivot that is."""
    pivot = int(zeros.reshape(-1)[(zeros != 0).reshape(-1).argmax()])
    return _position(matrices, zeros != 0), max(pivot, 1)


def _position(array: Array, wrong: Any) -> str:
    """Which matrix of a stack is the first ``wrong`` one, as torch writes it; nothing of one."""
    return "" if array.ndim == 2 else f"(Batch element {int(wrong.reshape(-1).argmax())}): "


def svd_of(
    array: Array, full_matrices: bool = False, name: str = "linalg.svd", vectors: bool = True
) -> Any:
    """NumPy's singular value decomposition, or its values; where there is none, torch's error.

    What is not finite is refused before: LAPACK may search for its singular values without end.
    """
    if not np.isfinite(array).all():
        wrong = ~np.isfinite(array).all((-2, -1))
        raise LinAlgError(
            f"{name}: {_position(array, wrong)}The algorithm failed to converge because the input "
            "matrix contained non-finite values."
        )
    try:
        if not vectors:
            return np.linalg.svd(array, compute_uv=False)
        return np.linalg.svd(array, full_matrices=full_matrices)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"{name}: The algorithm did not converge ({error}).") from None


def _triangle_of(array: Array) -> Array:
    """NumPy's Cholesky factor, which is NaN without a word where a matrix has NaN."""
    made: Array = np.linalg.cholesky(array)
    if not np.isfinite(made.diagonal(0, -2, -1)).all():
        raise np.linalg.LinAlgError("a matrix is not finite")
    return made


def cholesky_factors(array: Array) -> Array:
    """The factors of a stack; an error names the first matrix that has none, and its minor."""
    made, info = each_factor(array)
    if not info.any():
        return made
    order = int(info.reshape(-1)[(info != 0).reshape(-1).argmax()])
    raise LinAlgError(
        f"linalg.cholesky: {_position(array, info != 0)}The factorization could not be completed "
        f"because the input is not positive-definite (the leading minor of order {order} is not "
        "positive-definite)."
    )


def _fails(matrix: Array) -> bool:
    try:
        _triangle_of(matrix)
    except np.linalg.LinAlgError:
        return True
    return False


def _factor_or_order(matrix: Array) -> tuple[Array, int]:
    """L, or zeros and the order of the first leading minor that is not positive."""
    if not _fails(matrix):
        return _triangle_of(matrix), 0
    low, high = 0, matrix.shape[-1]  # the minor of order `low` is fine, that of `high` is not
    while high - low > 1:
        middle = (low + high) // 2
        if _fails(matrix[:middle, :middle]):
            high = middle
        else:
            low = middle
    return np.zeros_like(matrix), high


def each_result(function: Any, array: Array) -> tuple[Array, Array]:
    """A function of one matrix, for each of a stack: results and numbers."""
    flat = array.reshape(math.prod(array.shape[:-2]), *array.shape[-2:])
    found = [function(matrix) for matrix in flat]
    made = np.array([x for x, _ in found], array.dtype).reshape(array.shape)
    numbers = np.array([number for _, number in found], np.int32)
    return by_columns(made), numbers.reshape(array.shape[:-2])


def each_factor(array: Array) -> tuple[Array, Array]:
    """The Cholesky factors of a stack, and the orders of the minors where there is none."""
    if decomposition.is_small(array):
        return decomposition.cholesky(array)
    try:
        made = by_columns(_triangle_of(array))
    except np.linalg.LinAlgError:
        return each_result(_factor_or_order, array)
    return made, np.zeros(array.shape[:-2], np.int32)


def by_columns(array: Array) -> Array:
    """The matrices with their columns in a row in memory, as LAPACK leaves them."""
    return array.swapaxes(-1, -2).copy().swapaxes(-1, -2)


#: How many columns are eliminated before the rest of the matrix is updated by a product.
_BLOCK = 32


def pivot_size(numbers: Any) -> Any:
    """By what LAPACK chooses pivots: of complex numbers the sum of the sizes of their parts."""
    if numbers.dtype.kind != "c":
        return np.abs(numbers)
    return np.abs(numbers.real) + np.abs(numbers.imag)


def _eliminated(matrices: Array, pivots: Array, first: int, end: int) -> None:
    """Columns from ``first`` to ``end`` of a stack: rows are swapped, and these columns reduced."""
    stack = np.arange(matrices.shape[0])
    for k in range(first, end):
        best = k + pivot_size(matrices[:, k:, k]).argmax(1)
        pivots[:, k] = best + 1
        rows = matrices[stack, k]
        matrices[:, k] = matrices[stack, best]
        matrices[stack, best] = rows
        pivot = matrices[:, k, k]
        below = matrices[:, k + 1 :, k]
        below /= np.where(pivot == 0, 1, pivot)[:, None]
        matrices[:, k + 1 :, k + 1 : end] -= below[:, :, None] * matrices[:, None, k, k + 1 : end]


def _factored(matrices: Array) -> Array:
    """Change a stack (s, m, n) that no kernel reads into L and U; the swaps of rows, from 1."""
    stack, rows, columns = matrices.shape
    count = min(rows, columns)
    pivots = np.zeros((stack, count), np.int64)
    for first in range(0, count, _BLOCK):
        end = min(first + _BLOCK, count)
        _eliminated(matrices, pivots, first, end)
        if end < columns:
            corner = matrices[:, first:end, first:end]
            lower = np.tril(corner, -1) + np.eye(end - first, dtype=matrices.dtype)
            matrices[:, first:end, end:] = np.linalg.solve(lower, matrices[:, first:end, end:])
            matrices[:, end:, end:] -= matrices[:, end:, first:end] @ matrices[:, first:end, end:]
    return pivots


def factors(array: Array) -> tuple[Array, Array, Array]:
    """L and U in one stack, the rows that were swapped (from 1), and the first zero pivot or 0."""
    if elimination.is_here(array):
        return elimination.factor(array)
    rows, columns = array.shape[-2:]
    count = min(rows, columns)
    matrices = array.reshape(math.prod(array.shape[:-2]), rows, columns).copy("C")
    pivots = _factored(matrices)
    zero = np.diagonal(matrices, 0, 1, 2) == 0
    info = np.where(zero.any(1), zero.argmax(1) + 1, 0) if count else np.zeros(len(matrices))
    leading = array.shape[:-2]
    return (
        by_columns(matrices.reshape(array.shape)),
        pivots.astype(np.int32).reshape(*leading, count),
        info.astype(np.int32).reshape(leading),
    )


def determinants(A: Array) -> Array:
    """The determinants of a stack: of A as ``inverse`` eliminates it, so that rounding cancels."""
    if _is_small(A):
        return elimination.determinant(A)
    return np.asarray(np.linalg.det(A.swapaxes(-1, -2)), A.dtype)


def signs_and_logarithms(array: Array) -> tuple[Array, Array]:
    """The signs of the determinants of a stack, and the logarithms of their sizes."""
    if _is_small(array):
        return elimination.sign_and_logarithm(array)
    sign, logarithm = np.linalg.slogdet(array)
    return np.asarray(sign, array.dtype), np.asarray(logarithm, array.real.dtype)
