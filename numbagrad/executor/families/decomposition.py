"""Cholesky, LDL and QR decompositions of stacks of matrices of real floats, on ndarrays.

Called by ``ops/linear_algebra/``. One or two launches of
``kernels/linear_algebra/decomposition.py`` make a result, whose matrices have their columns in a
row in memory. No trace is told of these kernels: a program calls the operator.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...dtype import name_of
from ..hand_written import HandWrittenKernel
from .elimination import grain, is_here, words_of

Array = np.ndarray[Any, Any]

#: Rows and columns of matrices that are decomposed here: LAPACK is faster with larger ones.
LARGEST = 128


def is_small(array: Array) -> bool:
    """Whether a kernel decomposes a stack of matrices faster than LAPACK."""
    return max(array.shape[-2:]) <= LARGEST and is_here(array)


@functools.cache
def _kernel(name: str, kind: np.dtype[Any]) -> HandWrittenKernel:
    return HandWrittenKernel("kernels.linear_algebra.decomposition", f"{name}_{name_of(kind)}")


def cholesky(array: Array) -> tuple[Array, Array]:
    """The lower factors of matrices (..., n, n), of which the lower triangles are read.

    Also for each the order of the first minor that is not positive, as int32, or 0; such a matrix
    has zeros for its factor.
    """
    n = array.shape[-1]
    made = np.empty(array.shape, array.dtype)
    orders = np.empty(array.shape[:-2], np.int32)
    words = made, orders, n, *words_of(array)
    _kernel("factor", array.dtype).launch(math.prod(array.shape[:-2]), grain(n**3), *words)
    return made.swapaxes(-1, -2), orders


def symmetric(array: Array) -> tuple[Array, Array, Array]:
    """L and D of symmetric matrices (..., n, n) in one array, pivots, and first zeros of D.

    Of the matrices the lower triangles are read; the numbers are int32, as LAPACK's ``sytf2`` has
    them, and count from 1.
    """
    n = array.shape[-1]
    made = np.empty(array.shape, array.dtype)
    pivots = np.empty(array.shape[:-1], np.int32)
    zeros = np.empty(array.shape[:-2], np.int32)
    words = made, pivots, zeros, n, *words_of(array)
    _kernel("pivot", array.dtype).launch(math.prod(array.shape[:-2]), grain(n**3), *words)
    return made.swapaxes(-1, -2), pivots, zeros


def _packed(array: Array) -> tuple[Array, Array]:
    """R and reflections, by columns (..., n, m), and their factors."""
    leading, (rows, columns) = array.shape[:-2], array.shape[-2:]
    count = min(rows, columns)
    packed = np.empty((*leading, columns, rows), array.dtype)
    scales = np.empty((*leading, count), array.dtype)
    words = packed, scales, rows, columns, *words_of(array)
    work = grain(2 * rows * columns * count)
    _kernel("reflect", array.dtype).launch(math.prod(leading), work, *words)
    return packed, scales


def reflections(array: Array) -> tuple[Array, Array]:
    """R of matrices (..., m, n) and below it the vectors of reflections; and their factors."""
    packed, scales = _packed(array)
    return packed.swapaxes(-1, -2), scales


def orthogonal(array: Array, complete: bool) -> tuple[Array, Array]:
    """Q and R of matrices (..., m, n); with min(m, n) columns and rows, or ``complete``."""
    leading, (rows, columns) = array.shape[:-2], array.shape[-2:]
    packed, scales = _packed(array)
    count = min(rows, columns)
    height = rows if complete else count
    q = np.empty((*leading, height, rows), array.dtype)
    r = np.empty((*leading, columns, height), array.dtype)
    step = columns * rows
    words = q, r, height, height, rows, columns, count, packed, step, 1, rows, scales, count, 1
    work = grain(2 * rows * height * count)
    _kernel("multiply_reflections", array.dtype).launch(math.prod(leading), work, *words)
    return q.swapaxes(-1, -2), r.swapaxes(-1, -2)


def product(array: Array, scales: Array) -> Array:
    """The first n columns of the products of k reflections (..., m, n); their factors (..., k)."""
    leading, (rows, columns) = array.shape[:-2], array.shape[-2:]
    count = scales.shape[-1]
    made = np.empty((*leading, columns, rows), array.dtype)
    factors, stack, column, _ = words_of(scales[..., None])
    words = made, 0, 0, columns, rows, columns, count, *words_of(array), factors, stack, column
    work = grain(2 * rows * columns * count)
    _kernel("multiply_reflections", array.dtype).launch(math.prod(leading), work, *words)
    return made.swapaxes(-1, -2)
