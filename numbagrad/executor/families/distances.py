"""Distances between rows of ndarrays, and their gradients, for the norms that have kernels.

Called by ``ops/products/distance.py``, which composes all else; runs what ``kernels/distances/``
holds.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .. import capture
from ..hand_written import HandWrittenKernel
from ..memory.arrays import new_array

Array = np.ndarray[Any, Any]

_GRAIN = 32768  # differences that are worth a thread of their own

#: The norms, as kernels know them.
_NORMS = {1.0: 1, 2.0: 2, float("inf"): 0}
_NAMES = {np.dtype(name): name for name in ("float32", "float64")}


@functools.cache
def _kernel(name: str) -> HandWrittenKernel:
    return HandWrittenKernel("kernels.distances.pairs", name)


def has_kernels(p: float, *arrays: Array) -> bool:
    """Whether a norm of such arrays is computed here. Programs compose it, and fuse that."""
    if p not in _NORMS or capture.active is not None:
        return False
    return all([x.__class__ is np.ndarray and x.dtype in _NAMES for x in arrays])


def pairs(array: Array, p: float) -> Array:
    """The distances of all pairs of different rows of a matrix, row by row."""
    rows, size = array.shape
    made = new_array((rows * (rows - 1) // 2,), array.dtype)
    grain = max(_GRAIN // max(rows * size, 1), 1)
    columns = np.ascontiguousarray(array.T)
    kernel = _kernel(f"pairs_{_NAMES[array.dtype]}")
    kernel.launch(rows, grain, made, columns, rows, size, _NORMS[p])
    return made


def pulled(grad: Array, rows: Array, others: Array, p: float, distances: Array) -> Array:
    """The gradient by the rows (..., n, d) of their distances (..., n, m) to others (..., m, d).

    Distances that are a vector are those of ``pairs``, and ``others`` the rows themselves.
    """
    *_, count, size = rows.shape
    other_count = others.shape[-2]
    made = new_array(rows.shape, rows.dtype)
    grad, rows, others, distances = [
        np.ascontiguousarray(x) for x in (grad, rows, others, distances)
    ]
    total = rows.size // size if size else 0
    kernel = _kernel(f"pull_{_NAMES[rows.dtype]}")
    kernel.launch(
        total, max(_GRAIN // max(other_count * size, 1), 1), made, grad, rows, others, distances,
        count, other_count, size, _NORMS[p], int(distances.ndim == 1),
    )  # fmt: skip
    return made
