"""Pooling: a thread for each result, which walks its window or the windows that it lies in.

Planes are those of (N, C); sizes, counts and options have three entries. Called by
``cuda/windows.py``.
"""

from __future__ import annotations

import dataclasses

from ..driver.source import Source
from .text import indented, loaded, loaded_as, numba_name, stored

LARGEST, SUMS, SPREAD = "largest", "window_sums", "spread_sums"

#: ``planes`` of ``s0 * s1 * s2`` elements, with ``c0 * c1 * c2`` windows each.
PARAMETERS = ("at_out", "at_source", "planes", "s0", "s1", "s2", "c0", "c1", "c2")


@dataclasses.dataclass(frozen=True)
class Signature:
    """The signature of a kernel."""

    what: str
    dtype: str
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    threads: int


def _decoded(sizes: str) -> list[str]:
    """Statements that take ``unit`` apart: ``plane``, and ``p0`` to ``p2`` in it."""
    lines = ["rest = unit"]
    for d in (2, 1, 0):
        lines += [
            f"whole = rest // {sizes}{d}",
            f"p{d} = rest - whole * {sizes}{d}",
            "rest = whole",
        ]
    return [*lines, "plane = rest"]


def source(s: Signature) -> Source:
    """The kernel of a signature."""
    body = _of_windows(s) if s.what in (LARGEST, SUMS) else _spread(s)
    sizes = "c0 * c1 * c2" if s.what in (LARGEST, SUMS) else "s0 * s1 * s2"
    text = [
        f"# {s.what} of {s.dtype}: kernel {s.kernel}, stride {s.stride}, padding {s.padding}",
        f"def kernel({', '.join(PARAMETERS)}):",
        f"    for unit in range(cuda.grid(1), planes * {sizes}, cuda.gridsize(1)):",
        *indented(2, body),
        "",
    ]
    return Source(s.what, "\n".join(text), s.threads)


def _of_windows(s: Signature) -> list[str]:
    """The place of the largest element of a window, the first NaN if there is one; or its sum."""
    kind = numba_name(loaded_as(s.dtype))
    element = loaded(
        "at_source, ((plane * s0 + y0) * s1 + y1) * s2 + y2", s.dtype, loaded_as(s.dtype)
    )
    if s.what == SUMS:
        start, step = [f"total = {kind}(0)"], [f"total += {element}"]
        end = [stored("at_out, unit", "total", s.dtype)]
    else:
        start = ["best = int64(-1)", f"top = {kind}(0)"]
        step = [
            f"x = {element}",
            "if best < 0 or x > top or (x != x and top == top):",
            "    best = (y0 * s1 + y1) * s2 + y2",
            "    top = x",
        ]
        end = ["store(at_out, unit, best, int64)"]
    loops = []
    for d in range(3):
        inside = [
            f"for t{d} in range({s.kernel[d]}):",
            f"    y{d} = p{d} * {s.stride[d]} + t{d} * {s.dilation[d]} - {s.padding[d]}",
            f"    if y{d} >= 0 and y{d} < s{d}:",
        ]
        loops += indented(2 * d, inside)
    return [*_decoded("c"), *start, *loops, *indented(6, step), *end]


def _spread(s: Signature) -> list[str]:
    """The sum over the windows that an element lies in, each read once and in their order."""
    kind = numba_name(loaded_as(s.dtype))
    element = loaded(
        "at_source, ((plane * c0 + w0) * c1 + w1) * c2 + w2", s.dtype, loaded_as(s.dtype)
    )
    lines = [*_decoded("s"), f"total = {kind}(0)"]
    for d in range(3):
        stride, padding = s.stride[d], s.padding[d]
        more = padding - (s.kernel[d] - 1) + stride - 1
        lines += [
            f"first{d} = max((p{d} + {more}) // {stride}, 0)",
            f"last{d} = min((p{d} + {padding}) // {stride} + 1, c{d})",
        ]
    for d in range(3):
        lines.append("    " * d + f"for w{d} in range(first{d}, last{d}):")
    lines.append("    " * 3 + f"total += {element}")
    return [*lines, stored("at_out, unit", "total", s.dtype)]
