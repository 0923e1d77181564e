"""LU decompositions and triangular systems of stacks of matrices, on ndarrays of real floats.

Called by ``ops/linear_algebra/lapack.py``. NumPy shows neither of LAPACK's: matrices of a few rows
are eliminated by ``kernels/linear_algebra/elimination.py``, larger ones in blocks of so many, with
products of NumPy between them. No trace is told of these kernels: a program calls the operator.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...dtype import name_of
from ..hand_written import HandWrittenKernel

Array = np.ndarray[Any, Any]

#: Columns that are eliminated before the others, and rows that are substituted one by one.
_BLOCK = 128

_GRAIN = 1 << 17  # multiplications that are worth a thread of their own


@functools.cache
def _kernel(name: str, kind: np.dtype[Any]) -> HandWrittenKernel:
    return HandWrittenKernel("kernels.linear_algebra.elimination", f"{name}_{name_of(kind)}")


def _grain(work: int) -> int:
    return max(_GRAIN // max(work, 1), 1)


def factor(matrices: Array) -> Array:
    """Change a contiguous stack (s, m, n) into L and U; returns the swaps of rows, from 1."""
    stack, rows, columns = matrices.shape
    count = min(rows, columns)
    pivots = np.zeros((stack, count), np.int64)
    kernel = _kernel("eliminate", matrices.dtype)
    for first in range(0, count, _BLOCK):
        end = min(first + _BLOCK, count)
        grain = _grain(rows * (end - first) ** 2)
        kernel.launch(stack, grain, matrices, pivots, rows, columns, first, end)
        if end < columns:
            corner, beside = matrices[:, first:end, first:end], matrices[:, first:end, end:]
            substitute(corner, beside, False, True, memory=matrices)
            matrices[:, end:, end:] -= matrices[:, end:, first:end] @ matrices[:, first:end, end:]
    return pivots


def substitute(
    A: Array, X: Array, upper: bool, unit: bool = False, memory: Array | None = None
) -> None:
    """Change right sides X (s, n, k), whose rows lie in a row, into solutions of ``A @ X = B``.

    A (s, n, n), or (n, n) for all, has one triangle that is read; with ``unit`` its diagonal is 1.
    ``memory`` is the contiguous array that X is a part of, if it is not contiguous itself.
    """
    memory = X if memory is None else memory
    stack, rows, columns = X.shape
    if rows > _BLOCK:
        first, second = slice(rows // 2), slice(rows // 2, None)
        if upper:
            first, second = second, first
        substitute(A[..., first, first], X[:, first], upper, unit, memory)
        X[:, second] -= A[..., second, first] @ X[:, first]
        substitute(A[..., second, second], X[:, second], upper, unit, memory)
        return
    item = X.itemsize
    steps = [step // item for step in (0, *A.strides)[-3:]]
    right = X.strides[0] // item, X.strides[1] // item
    offset = (X.ctypes.data - memory.ctypes.data) // item
    kernel, grain = _kernel("substitute", X.dtype), _grain(rows * rows * columns)
    words = rows, columns, offset, *right, *steps, int(upper), int(unit)
    kernel.launch(stack, grain, memory, A.ctypes.data, *words)
