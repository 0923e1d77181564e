"""Large ndarrays copied in C order whose elements lie transposed or reversed, or filled.

Called by ``arrays.py``. NumPy walks rows of the result, so that each element of a transposed array
comes from another line, which strides that are powers of two drive out of the cache before its
neighbours are read; and it has no vectors for what is reversed. ``kernels/indexing/planes.py`` has
the kernels. No trace is told of them: the caller notes what was done.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ..hand_written import HandWrittenKernel
from ..mode import NATIVE

Array = np.ndarray[Any, Any]

#: Bytes from which planning is worth its time.
LARGE = 1 << 16

_GRAIN = 32768  # elements that are worth a thread of their own
_TILE = 16


@functools.cache
def _kernel(name: str, size: int) -> HandWrittenKernel:
    return HandWrittenKernel("kernels.indexing.planes", f"{name}_{size}")


def fill(array: Array, pattern: Array) -> bool:
    """Write the element of ``pattern`` to all of a contiguous array; False if NumPy is to do it."""
    if not NATIVE or array.itemsize > 8 or array.dtype.kind == "O":
        return False
    _kernel("fill", array.itemsize).launch(array.size, _GRAIN, array, pattern)
    return True


def triangle_into(output: Array, array: Array, diagonal: int, below: bool) -> bool:
    """Copy one side of a diagonal of matrices, zeros on the other; False if NumPy is to do it.

    The diagonal is of the side ``below``. Both arrays are contiguous.
    """
    if not NATIVE or array.itemsize > 8 or array.dtype.kind == "O":
        return False
    rows, columns = array.shape[-2:]
    _kernel("triangle", array.itemsize).launch(
        array.size // columns, max(_GRAIN // columns, 1), output, array, rows, columns, diagonal,
        int(below),
    )  # fmt: skip
    return True


class _Plan(NamedTuple):
    """A launch: its kernel, units, grain, and the words behind the output and the address."""

    kernel: HandWrittenKernel
    units: int
    grain: int
    words: tuple[int, ...]


def copy_into(output: Array, array: Array) -> bool:
    """Copy ``array`` into a new array in C order; False if NumPy does that as well."""
    if not NATIVE or array.itemsize > 8 or array.dtype.kind == "O":
        return False
    plan = _plan(array.shape, array.strides, array.itemsize)
    if plan is None:
        return False
    plan.kernel.launch(plan.units, plan.grain, output, array.ctypes.data, *plan.words)
    return True


@functools.lru_cache(maxsize=256)
def _plan(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> _Plan | None:
    """How an array is copied; None unless it is transposed or its rows are reversed."""
    around = _merged(shape, strides, itemsize)
    if not around or len(around) > 5:
        return None
    columns, column_step, _ = around.pop()
    if column_step in (1, -1):
        name, height = "rows" if column_step == 1 else "reverse", 1
        row = around.pop() if around else (1, 0, columns)
    else:
        name, height = "transpose", _TILE
        beside = [k for k, each in enumerate(around) if each[1] == 1]
        if not beside:
            return None
        row = around.pop(beside[0])
    if len(around) > 3:
        return None
    outer = [(1, 0, 0)] * (3 - len(around)) + around
    units = -(-row[0] // height) * math.prod([size for size, _, _ in outer])
    steps = [number for size, source, target in outer for number in (size, target, source)]
    words = row[0], columns, row[2], row[1], column_step, *steps[1:]
    grain = max(_GRAIN // (columns * height), 1)
    return _Plan(_kernel(name, itemsize), units, grain, words)


def _merged(
    shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int
) -> list[tuple[int, int, int]]:
    """Sizes and steps, in the array and in C order, of dimensions; some are walked as one.

    Nothing where steps are no whole elements.
    """
    found: list[tuple[int, int, int]] = []
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if stride % itemsize:
            return []
        own = stride // itemsize
        if found and own == found[-1][1] * found[-1][0]:
            found[-1] = found[-1][0] * size, found[-1][1], found[-1][2]
        elif size != 1:
            found.append((size, own, step))
        step *= size
    return found[::-1]
