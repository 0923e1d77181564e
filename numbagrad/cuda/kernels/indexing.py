"""Elements by index: a thread for each element that is read.

The words are those of the kernels of these names in ``numbagrad.kernels.indexing``, and the number
of rows. Kernels that add are that module's own, which ``lifted`` compiles for a GPU: a thread adds
all that goes to its column, in the order of the indices, so that bits do not change.
"""

from __future__ import annotations

from ..driver.source import Source
from .text import indented

_INTEGER_OF = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}
_WORDS = ("w0", "w1", "w2", "w3", "w4", "w5", "rows")


def _source(name: str, itemsize: int, place: list[str], threads: int) -> Source:
    kind = _INTEGER_OF[itemsize]
    body = [
        "for at in range(cuda.grid(1), rows * w5, cuda.gridsize(1)):",
        "    row = at // w5",
        "    i = at - row * w5",
        *indented(1, place),
        f"    store(w0, at, load(w1, place, {kind}), {kind})",
    ]
    text = [f"# {name} of elements of {itemsize} bytes", f"def kernel({', '.join(_WORDS)}):"]
    return Source(name, "\n".join([*text, *indented(1, body), ""]), threads)


def gather_source(itemsize: int, threads: int) -> Source:
    """output[o, k, i] = source[o, index[o, k, i], i]."""
    place = ["place = (row // w4 * w3 + load(w2, at, int64)) * w5 + i"]
    return _source("gather", itemsize, place, threads)


def index_select_source(itemsize: int, threads: int) -> Source:
    """output[o, k, i] = source[o, index[k], i]."""
    place = [
        "outer = row // w4",
        "place = (outer * w3 + load(w2, row - outer * w4, int64)) * w5 + i",
    ]
    return _source("index_select", itemsize, place, threads)
