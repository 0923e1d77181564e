"""Elements by index: a thread for each element that is read.

The words are those of the kernels of these names in ``numbagrad.kernels.indexing.elements``, and
the number of rows. Writes go by sorted indices: the thread at the first of equal ones handles all
of these, in the order that they were given in, so that bits do not change and no two threads meet.
"""

from __future__ import annotations

from ..driver.source import Source
from .text import indented, loaded_as, numba_name, stored

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


ADD, COPY = "add", "copy"
_WRITE_WORDS = ("target", "source", "order", "places", "outer_size", "size", "count", "inner")


def write_source(how: str, dtype: str, threads: int) -> Source:
    """target[o, places[k], i] (+)= source[o, order[k], i], for ascending places.

    ``order`` says which entry of the source each of the sorted places had. Of equal places the last
    one is kept, or all are added, one after another.
    """
    kind = numba_name(dtype)
    step = [
        "value = load(source, (outer * count + load(order, j, int64)) * inner + i, " + kind + ")"
    ]
    if how == ADD:
        computed = numba_name(loaded_as(dtype))
        total = f"total + {computed}(value)"
        if dtype in ("float16", "bfloat16"):
            total = f"rounded({total}, {dtype})"
        start = [f"total = {computed}(load(target, at, {kind}))"]
        step.append(f"total = {computed}({total})")
    else:
        start = [f"total = load(target, at, {kind})"]
        step.append("total = value")
    body = [
        "for unit in range(cuda.grid(1), outer_size * count * inner, cuda.gridsize(1)):",
        "    row = unit // inner",
        "    i = unit - row * inner",
        "    outer = row // count",
        "    k = row - outer * count",
        "    place = load(places, k, int64)",
        "    first = k == 0",
        "    if not first:",
        "        first = load(places, k - 1, int64) != place",
        "    if first:",
        "        at = (outer * size + place) * inner + i",
        *indented(2, start),
        "        j = k",
        "        more = True",
        "        while more:",
        *indented(3, step),
        "            j += 1",
        "            more = j < count",
        "            if more:",
        "                more = load(places, j, int64) == place",
        f"        {stored('target, at', 'total', dtype)}",
    ]
    text = [f"# {how} of {dtype} at sorted places", f"def kernel({', '.join(_WRITE_WORDS)}):"]
    return Source(f"index_{how}", "\n".join([*text, *indented(1, body), ""]), threads)


def places_source(threads: int) -> Source:
    """Places in the elements of (outer, size, inner) of indices (outer, count, inner)."""
    words = "output", "index", "total", "size", "count", "inner"
    body = [
        "for at in range(cuda.grid(1), total, cuda.gridsize(1)):",
        "    row = at // inner",
        "    outer = row // count",
        "    place = outer * size + load(index, at, int64)",
        "    store(output, at, place * inner + at - row * inner, int64)",
    ]
    text = ["# places in all elements of indices along a dimension"]
    text += [f"def kernel({', '.join(words)}):", *indented(1, body), ""]
    return Source("index_places", "\n".join(text), threads)
