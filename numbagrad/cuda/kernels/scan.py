"""Scans: running sums, products and extrema along one dimension, all states kept.

A thread makes a column of (outer, size, inner), in order, as the CPU does. Called by
``cuda/rowwise.py``.
"""

from __future__ import annotations

from ..driver.source import Source
from .text import indented, loaded_as, numba_name, stored

_BEGIN = [
    "for unit in range(cuda.grid(1), outer_size * inner, cuda.gridsize(1)):",
    "    outer = unit // inner",
    "    begin = outer * size * inner + unit - outer * inner",
]


def scan_source(
    name: str,
    dtypes: tuple[str, str, str],
    inputs: list[str],
    start: str,
    step: tuple[list[str], str],
    reverse: bool,
    threads: int,
) -> Source:
    """``state = step(state, *inputs)``; dtypes are of the inputs, the state and the output."""
    given, state, result = dtypes
    kind = numba_name(state)
    loads = [f"{x} = {kind}(load(at_{x}, i, {numba_name(given)}))" for x in inputs]
    inside = [
        f"i = begin + {'(size - 1 - k)' if reverse else 'k'} * inner",
        *loads,
        *step[0],
        f"state = {kind}({step[1]})",
        stored("at_out, i", "state", result),
    ]
    parameters = [*[f"at_{x}" for x in (*inputs, "out")], "outer_size", "size", "inner"]
    body = [*_BEGIN, f"    state = {kind}({start})", "    for k in range(size):"]
    text = [f"# {name}: {given} -> {result}{', from the end' * reverse}"]
    text += [f"def kernel({', '.join(parameters)}):", *indented(1, [*body, *indented(2, inside)])]
    return Source(name, "\n".join([*text, ""]), threads)


def running_extremum_source(name: str, dtype: str, threads: int) -> Source:
    """``cummax`` or ``cummin``: values, and where they were: the latest of equals, NaN for good."""
    kind = numba_name(dtype)
    comparison = ">=" if name == "cummax" else "<="
    inside = [
        "i = begin + k * inner",
        f"x = load(at_x, i, {kind})",
        f"better = (x {comparison} best) | (x != x)",
        "best = select(better, x, best)",
        "index = select(better, int64(k), index)",
        stored("at_out, i", "best", dtype),
        "store(at_index, i, index, int64)",
    ]
    start = [f"best = load(at_x, begin, {kind})", "index = int64(0)", "for k in range(size):"]
    parameters = "at_x, at_out, at_index, outer_size, size, inner"
    text = [f"# {name} of {dtype}, computed in {loaded_as(dtype)}", f"def kernel({parameters}):"]
    text += indented(1, [*_BEGIN, *indented(1, [*start, *indented(1, inside)])])
    return Source(name, "\n".join([*text, ""]), threads)
