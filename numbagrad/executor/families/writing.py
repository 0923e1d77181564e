"""Elements of one ndarray written into another at indices by one call of compiled code.

Called by ``indexing.py`` and by the methods in place of ``ops/indexing``. Each function returns
None, and has written nothing, for what is not the ordinary case: contiguous arrays of one dtype
apart from each other, and indices in range. The launcher is in ``native/writing.py``; a kernel is
told to it when Python has run it first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...native.layout import TYPES
from ...native.write_layout import WriteTable
from ..builtin import make_launcher, runtime
from ..cache import library
from ..cache.deferred import Deferred
from ..hand_written import HandWrittenKernel

Array = np.ndarray[Any, Any]
Write = Callable[[Array, int, Array, Array], bool | None]

_GRAIN = 32768  # elements that are worth a thread of their own
_NAMES = ("scatter_add", "index_add", "scatter", "scatter_rows")


def _later(name: str, output: Array, dim: int, index: Array, source: Array) -> bool | None:
    if _launchers.ready():
        return writers[name](output, dim, index, source)
    return None


#: The writers by the names of their kernels.
writers: dict[str, Write] = {name: functools.partial(_later, name) for name in _NAMES}

_tables: dict[str, WriteTable] = {}


def tell(name: str, kind: np.dtype[Any], kernel: HandWrittenKernel) -> None:
    """Tell the launcher the kernel of a name for elements of a dtype."""
    table = _tables.get(name)
    if table is not None and kind.num < TYPES and kind.kind in "biuf":
        table.kernels[kind.num] = kernel.address


def _forget() -> None:
    for table in _tables.values():
        for number in range(TYPES):
            table.kernels[number] = 0


library.when_forgetting(_forget)


def _install() -> None:
    for name in _NAMES:
        table = _tables[name] = WriteTable()
        table.runtime = runtime().address
        table.grain = _GRAIN
        table.of_rows = int(name in ("index_add", "scatter_rows"))
        writers[name] = make_launcher(name, table, "write_at", "writing")


_launchers = Deferred({"write_at": "writing"}, _install)
