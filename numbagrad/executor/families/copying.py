"""New ndarrays of elements of others: at indices, or one array after another.

Called by indexing (``ops/indexing/``) and joins (``ops/views/join.py``). Each function returns None
for what is not the ordinary case, contiguous arrays and indices in range; its caller then goes
another way. The launchers are in ``native/copying.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend import on_host
from ...native.array_launch_layout import ReadTable
from ..builtin import make_launcher, runtime
from ..cache import library
from ..cache.deferred import Deferred

Array = np.ndarray[Any, Any]

_GRAIN = 32768  # elements that are worth a thread of their own


def _read_rows_later(array: Array, dim: int, index: Array) -> Array | None:
    return copies.read_rows(array, dim, index) if _launchers.ready() else None


def _read_elements_later(array: Array, dim: int, index: Array) -> Array | None:
    return copies.read_elements(array, dim, index) if _launchers.ready() else None


def _join_later(arrays: list[Array], dim: int, stacking: int) -> Array | None:
    return copies.join(arrays, dim, stacking) if _launchers.ready() else None


def _inside_later(index: Array, size: int) -> bool | None:
    return copies.inside(index, size) if _launchers.ready() else None


class _Copies:
    """The launchers, and until they are there what leaves the work to the caller."""

    __slots__ = ("inside", "join", "read_elements", "read_rows")

    def __init__(self) -> None:
        #: ``inside(index, size)``: what ``are_inside`` returns.
        self.inside: Callable[..., bool | None] = _inside_later
        #: ``read_rows(array, dim, index)``: the entries of a dimension at the indices, whose
        #: dimensions stand in its place; with ``ALL_IN_A_ROW`` for ``dim`` the elements in a row.
        self.read_rows: Callable[..., Array | None] = _read_rows_later
        #: ``read_elements(array, dim, index)``: as torch's gather.
        self.read_elements: Callable[..., Array | None] = _read_elements_later
        #: ``join(arrays, dim, stacking)``: the arrays of a list along ``dim``, a new one if
        #: ``stacking``.
        self.join: Callable[..., Array | None] = _join_later


copies = _Copies()


def are_inside(index: Array, size: int) -> bool:
    """Whether all indices of an array of int64 are in [0, size)."""
    if index.__class__ is not np.ndarray:
        index = on_host(index)
    found = copies.inside(index, size)
    if found is None:
        # Read as unsigned, a negative index is greater than any size.
        return not index.size or bool(np.maximum.reduce(index.view(np.uint64), None) < size)
    return found


def _reading_table(kernel: str) -> ReadTable:
    table = ReadTable()
    table.runtime = runtime().address
    table.grain = _GRAIN
    for position in range(4):
        address = library.hand_written("kernels.indexing.reads", f"{kernel}_{1 << position}")
        table.kernels[position] = address
    return table


def _install() -> None:
    copies.inside = make_launcher("inside", runtime(), "inside", "copying")
    copies.join = make_launcher("join", runtime(), "join", "copying")
    copies.read_rows = make_launcher(
        "read_rows", _reading_table("index_select"), "read_rows", "copying"
    )
    copies.read_elements = make_launcher(
        "read_elements", _reading_table("gather"), "read_elements", "copying"
    )


_launchers = Deferred(
    dict.fromkeys(("inside", "join", "read_rows", "read_elements"), "copying"), _install
)
