"""Products of sparse matrices on ndarrays: with a dense matrix, and at places only.

Called by ``sparse/operators.py``; runs what ``kernels/sparse/product.py`` holds. All indices are in
range: whoever makes places has checked them.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...dtype import name_of
from ..hand_written import HandWrittenKernel

Array = np.ndarray[Any, Any]

_GRAIN = 16384  # products that are worth a thread of their own
_KINDS = frozenset(("float32", "float64", "int32", "int64"))


@functools.cache
def _kernel(name: str, kind: np.dtype[Any]) -> HandWrittenKernel:
    return HandWrittenKernel("kernels.sparse.product", f"{name}_{name_of(kind)}")


def multiply(values: Array, rows: tuple[Array, Array, Array], dense: Array) -> Array:
    """A sparse matrix times a dense one, (rows, width).

    Args:
        values: of its places.
        rows: positions among the values in the order of rows, the column of each, and where rows
            begin among these.
        dense: (columns, width), of the same dtype.
    """
    places, columns, starts = rows
    count, width = starts.size - 1, dense.shape[1]
    if name_of(values.dtype) not in _KINDS:
        return _multiplied_by_numpy(values, rows, dense)
    made = np.empty((count, width), values.dtype)
    grain = max(_GRAIN * count // max(places.size * width, 1), 1)
    values, dense = np.ascontiguousarray(values), np.ascontiguousarray(dense)
    _kernel("multiply", values.dtype)(
        count, grain, made, values, dense, places, columns, starts, width
    )
    return made


def _multiplied_by_numpy(values: Array, rows: tuple[Array, Array, Array], dense: Array) -> Array:
    places, columns, starts = rows
    made = np.zeros((starts.size - 1, dense.shape[1]), values.dtype)
    of_row = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    np.add.at(made, of_row, values[places][:, None] * dense[columns])
    return made


def sample(left: Array, right: Array, rows: Array, columns: Array) -> Array:
    """The product of a row of ``left`` and one of ``right`` for each place."""
    if name_of(left.dtype) not in _KINDS:
        made: Array = (left[rows] * right[columns]).sum(1).astype(left.dtype)
        return made
    made = np.empty(rows.size, left.dtype)
    width = left.shape[1]
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    grain = max(_GRAIN // max(width, 1), 1)
    _kernel("sample", left.dtype)(rows.size, grain, made, left, right, rows, columns, width)
    return made
