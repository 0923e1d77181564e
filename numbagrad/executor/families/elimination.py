"""LU decompositions, systems and determinants of stacks of matrices of real floats, on ndarrays.

Called by ``ops/linear_algebra/lapack.py``. One launch of ``kernels/linear_algebra/elimination.py``
makes a result; large matrices are cut into blocks, with products of NumPy between them. Results
have the columns of each matrix in a row in memory. No trace is told of these kernels: a program
calls the operator.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...dtype import name_of
from ..hand_written import HandWrittenKernel

Array = np.ndarray[Any, Any]

#: Columns that are eliminated before the others, and rows that are substituted one by one.
_BLOCK = 128

#: Rows of matrices that are solved and inverted here: LAPACK is faster with larger ones.
LARGEST = 64

_GRAIN = 1 << 17  # multiplications that are worth a thread of their own


@functools.cache
def kernel_for(name: str, kind: np.dtype[Any]) -> HandWrittenKernel:
    """A kernel of the family for a dtype."""
    return HandWrittenKernel("kernels.linear_algebra.elimination", f"{name}_{name_of(kind)}")


def grain(work: int) -> int:
    """Matrices that are worth a thread of their own, of so many multiplications each."""
    return _GRAIN // work or 1 if work else _GRAIN


def is_here(array: Array) -> bool:
    """Whether kernels read an array: an ndarray of float32 or float64."""
    return array.__class__ is np.ndarray and array.dtype.char in "fd"


def words_of(array: Array) -> tuple[Array, int, int, int]:
    """An array whose memory is that of a stack, and the steps of its matrices, rows and columns.

    ``array`` (..., m, n) has any strides; where no one step leads from matrix to matrix, or steps
    are no whole elements, it is copied.
    """
    if array.ndim > 3:
        array = array.reshape(math.prod(array.shape[:-2]), *array.shape[-2:])
    steps = array.strides
    item = array.itemsize
    if any([step % item for step in steps]):
        array = array.copy("C")
        steps = array.strides
    stack = steps[0] // item if len(steps) == 3 else 0
    return array, stack, steps[-2] // item, steps[-1] // item


def factor(array: Array) -> tuple[Array, Array, Array]:
    """L and U of matrices (..., m, n) in one array; the swaps of rows, and first zero pivots.

    Both are int32 and count from 1; where no pivot is zero it is 0.
    """
    leading, (rows, columns) = array.shape[:-2], array.shape[-2:]
    if len(leading) > 1:
        flat = factor(array.reshape(math.prod(leading), rows, columns))
        packed, pivots, zeros = flat
        packed = packed.swapaxes(-1, -2).reshape(*leading, columns, rows).swapaxes(-1, -2)
        return packed, pivots.reshape(*leading, pivots.shape[-1]), zeros.reshape(leading)
    count = min(rows, columns)
    made = np.empty((*leading, columns, rows), array.dtype)
    pivots = np.empty((*leading, count), np.int32)
    zeros = np.empty(leading, np.int32)
    stack = math.prod(leading)
    kernel = kernel_for("eliminate", array.dtype)
    words = words_of(array)
    result = made.swapaxes(-1, -2)
    for first in range(0, count, _BLOCK) if count else (0,):
        end = min(first + _BLOCK, count)
        work = grain(rows * (end - first) ** 2)
        kernel.launch(stack, work, made, pivots, zeros, rows, columns, first, end, *words)
        if end < columns:
            beside = result[..., first:end, end:]
            _substitute_into(result[..., first:end, first:end], beside, beside, False, True)
            result[..., end:, end:] -= result[..., end:, first:end] @ beside
    return result, pivots, zeros


def _scratch(array: Array) -> tuple[int, tuple[Array, Array, Array]]:
    """How many matrices there are, and memory for their L and U, pivots, and zero pivots."""
    shape = array.shape
    leading = shape[:-2]
    zeros = np.empty(leading, np.int32)
    return math.prod(leading), (np.empty(shape, array.dtype), np.empty(shape[:-1], np.int32), zeros)


def determinant(array: Array) -> Array:
    """The determinants of square matrices."""
    stack, scratch = _scratch(array)
    n = array.shape[-1]
    made = np.empty(array.shape[:-2], array.dtype)
    kernel = kernel_for("measure", array.dtype)
    kernel.launch(stack, grain(n**3), made, 0, *scratch, n, *words_of(array))
    return made


def sign_and_logarithm(array: Array) -> tuple[Array, Array]:
    """The signs of the determinants of square matrices, and the logarithms of their sizes."""
    stack, scratch = _scratch(array)
    n = array.shape[-1]
    sign, logarithm = (np.empty(array.shape[:-2], array.dtype) for _ in range(2))
    kernel = kernel_for("measure", array.dtype)
    kernel.launch(stack, grain(n**3), sign, logarithm, *scratch, n, *words_of(array))
    return sign, logarithm


def inverse(array: Array) -> tuple[Array, Array]:
    """The inverses of square matrices, and for each the first zero pivot, from 1, or 0."""
    stack, scratch = _scratch(array)
    n = array.shape[-1]
    made = np.empty(array.shape, array.dtype)
    kernel = kernel_for("solve", array.dtype)
    words = made, *scratch, n, n, *words_of(array), 0, 0, 0, 0
    kernel.launch(stack, grain(n**3), *words)
    return made.swapaxes(-1, -2), scratch[2]


def solution(A: Array, B: Array) -> tuple[Array, Array]:
    """X with ``A @ X = B`` for square matrices A, and for each the first zero pivot, or 0.

    The leading dimensions of both are the same.
    """
    stack, scratch = _scratch(A)
    n, columns = B.shape[-2:]
    made = np.empty((*B.shape[:-2], columns, n), A.dtype)
    kernel = kernel_for("solve", A.dtype)
    words = made, *scratch, n, columns, *words_of(A), *words_of(B)
    kernel.launch(stack, grain(n * n * (n + columns)), *words)
    return made.swapaxes(-1, -2), scratch[2]


def substituted(A: Array, B: Array, upper: bool, unit: bool = False) -> Array:
    """X with ``A @ X = B`` of triangles A; the leading dimensions of both are the same.

    The other halves are not read, nor are diagonals that count as ones (``unit``).
    """
    leading, (rows, columns) = B.shape[:-2], B.shape[-2:]
    if len(leading) > 1:
        A, B = [x.reshape(math.prod(leading), *x.shape[-2:]) for x in (A, B)]
    made = np.empty((*B.shape[:-2], columns, rows), B.dtype)
    _substitute_into(A, B, made.swapaxes(-1, -2), upper, unit)
    return made.reshape(*leading, columns, rows).swapaxes(-1, -2)


def _substitute_into(A: Array, B: Array, X: Array, upper: bool, unit: bool) -> None:
    """The same into X, whose columns lie in a row; B may be X."""
    rows, columns = X.shape[-2:]
    if rows > _BLOCK:
        first, second = slice(rows // 2), slice(rows // 2, None)
        if upper:
            first, second = second, first
        _substitute_into(A[..., first, first], B[..., first, :], X[..., first, :], upper, unit)
        if B is not X:
            X[..., second, :] = B[..., second, :]
        X[..., second, :] -= A[..., second, first] @ X[..., first, :]
        rest = X[..., second, :]
        _substitute_into(A[..., second, second], rest, rest, upper, unit)
        return
    if A.itemsize not in A.strides[-2:]:  # a triangle has its rows or its columns in a row
        A = A.copy("C")
    target, stack, _, column = words_of(X)
    right = (0, 0, 0, 0) if B is X else words_of(B)
    matrices = math.prod(X.shape[:-2])
    words = target, stack, column, rows, columns, *right, *words_of(A), int(upper), int(unit)
    kernel_for("substitute", X.dtype).launch(matrices, grain(rows * rows * columns), *words)
