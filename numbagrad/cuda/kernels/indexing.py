"""Elements by index: a thread for each element that is read.

Parameters are those of the kernels of these names in ``numbagrad.kernels.indexing.reads``, and
the number of rows. Writes go by sorted indices: the thread at the first of equal ones handles all
of these, in the order that they were given in, so that bits do not change and no two threads meet.
Whether indices are in bounds was not waited for (``cuda/asserts.py``), so kernels read and write
nothing beyond.
"""

from __future__ import annotations

from ..driver.source import Source
from .text import indented, loaded_as, numba_name, stored

_INTEGER_OF = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}
#: The function of texts that makes an index 0 which is out of bounds.
INSIDE = (
    "def inside(index, size):",
    "    return select((index >= 0) & (index < size), index, int64(0))",
    "",
    "",
)
_WORDS = ("w0", "w1", "w2", "w3", "w4", "w5", "rows")


def _source(name: str, itemsize: int, position: list[str], threads: int) -> Source:
    kind = _INTEGER_OF[itemsize]
    body = [
        "for at in range(cuda.grid(1), rows * w5, cuda.gridsize(1)):",
        "    row = at // w5",
        "    i = at - row * w5",
        *indented(1, position),
        f"    store(w0, at, load(w1, position, {kind}), {kind})",
    ]
    text = [f"# {name} of elements of {itemsize} bytes", *INSIDE]
    text += [f"def kernel({', '.join(_WORDS)}):"]
    return Source(name, "\n".join([*text, *indented(1, body), ""]), threads)


def gather_source(itemsize: int, threads: int) -> Source:
    """output[o, k, i] = source[o, index[o, k, i], i]."""
    position = ["k = inside(load(w2, at, int64), w3)"]
    position += ["position = (row // w4 * w3 + k) * w5 + i"]
    return _source("gather", itemsize, position, threads)


def index_select_source(itemsize: int, threads: int) -> Source:
    """output[o, k, i] = source[o, index[k], i]."""
    position = [
        "outer = row // w4",
        "k = inside(load(w2, row - outer * w4, int64), w3)",
        "position = (outer * w3 + k) * w5 + i",
    ]
    return _source("index_select", itemsize, position, threads)


ADD, COPY, MEAN = "add", "copy", "mean"
_WRITE_WORDS = ("target", "source", "order", "positions", "outer_size", "size", "count", "inner")


def write_source(how: str, own: bool, dtype: str, threads: int) -> Source:
    """target[o, places[k], i] (+)= source[o, order[k], i], for ascending places.

    ``order`` says which entry of the source each of the sorted places had. Of equal places the last
    one is kept (COPY), or all are combined one after another: by the function of that name, or to
    their MEAN. ``own`` says whether the element of the target takes part.
    """
    kind = numba_name(dtype)
    step = [
        "value = load(source, (outer * count + load(order, j, int64)) * inner + i, " + kind + ")"
    ]
    computed = numba_name(loaded_as(dtype))
    start = [f"total = {computed}(load(target, at, {kind}))"]
    if how == COPY:
        step.append("total = value")
    else:
        function = ADD if how == MEAN else how
        total = f"{function}(total, {computed}(value))"
        if dtype in ("float16", "bfloat16"):
            total = f"rounded({total}, {dtype})"
        combined = f"total = {computed}({total})"
        first = ["if j == k:", f"    total = {computed}(value)", "else:", f"    {combined}"]
        step += [combined] if own else first
    end = []
    if how == MEAN:
        whole = "//" if dtype.startswith(("int", "uint")) else "/"
        end = [f"total = {computed}(total {whole} {computed}(j - k + {int(own)}))"]
    body = [
        "for unit in range(cuda.grid(1), outer_size * count * inner, cuda.gridsize(1)):",
        "    row = unit // inner",
        "    i = unit - row * inner",
        "    outer = row // count",
        "    k = row - outer * count",
        "    position = load(positions, k, int64)",
        "    first = k == 0",
        "    if not first:",
        "        first = load(positions, k - 1, int64) != position",
        "    if first and position >= 0 and position < size:",
        "        at = (outer * size + position) * inner + i",
        *indented(2, start),
        "        j = k",
        "        more = True",
        "        while more:",
        *indented(3, step),
        "            j += 1",
        "            more = j < count",
        "            if more:",
        "                more = load(positions, j, int64) == position",
        *indented(2, [*end, stored("target, at", "total", dtype)]),
    ]
    text = [f"# {how}{', others alone' * (not own)} of {dtype} at sorted positions"]
    text += [f"def kernel({', '.join(_WRITE_WORDS)}):"]
    return Source(f"index_{how}", "\n".join([*text, *indented(1, body), ""]), threads)


def positions_source(threads: int) -> Source:
    """Places in the elements of (outer, size, inner) of indices (outer, count, inner).

    One out of bounds has the place -1, which nothing is written to.
    """
    parameters = "output", "index", "total", "size", "count", "inner"
    body = [
        "for at in range(cuda.grid(1), total, cuda.gridsize(1)):",
        "    row = at // inner",
        "    outer = row // count",
        "    k = load(index, at, int64)",
        "    position = (outer * size + k) * inner + at - row * inner",
        "    if k < 0 or k >= size:",
        "        position = int64(-1)",
        "    store(output, at, position, int64)",
    ]
    text = ["# positions in all elements of indices along a dimension"]
    text += [f"def kernel({', '.join(parameters)}):", *indented(1, body), ""]
    return Source("index_positions", "\n".join(text), threads)


def searchsorted_source(dtypes: tuple[str, str], right: bool, threads: int) -> Source:
    """Where values belong in sorted rows, by bisection: a thread for each value.

    Before equal elements, or behind them if ``right``. A NaN in a row is less than any number, as
    in torch's bisection. ``order``, if it is not 0, has the places of the sorted elements of a row.
    """
    kind, made = (numba_name(x) for x in dtypes)
    before = "not (found > value)" if right else "not (found >= value)"
    parameters = "output", "rows", "values", "order", "total", "size", "of_row", "step"
    body = [
        "for at in range(cuda.grid(1), total, cuda.gridsize(1)):",
        "    start = at // of_row * step",
        f"    value = load(values, at, {kind})",
        "    first = int64(0)",
        "    last = int64(size)",
        "    while first < last:",
        "        middle = (first + last) // 2",
        "        position = start + middle",
        "        if order != 0:",
        "            position = start + load(order, position, int64)",
        f"        found = load(rows, position, {kind})",
        f"        if {before}:",
        "            first = middle + 1",
        "        else:",
        "            last = middle",
        f"    store(output, at, {made}(first), {made})",
    ]
    text = [f"# searchsorted in {dtypes[0]}{', behind equals' * right}"]
    text += [f"def kernel({', '.join(parameters)}):", *indented(1, body), ""]
    return Source("searchsorted", "\n".join(text), threads)
