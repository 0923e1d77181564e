"""Reductions: map every element, combine in a fixed order, finalise.

The order of combination follows from sizes alone: blocks that run earlier or later change no bits.
Two walks: a block for each result, whose threads take elements in turns and combine by warps
(``ROWS``); a thread for each result where neighbours are results (``COLUMNS``). Few results
of many elements are reduced in segments, which a second launch joins. ``cuda/reduction.py`` asks.
"""

from __future__ import annotations

import dataclasses

from ...kernels.reduction.source import identity
from ..driver.source import Source
from .text import decoded, indented, loaded, numba_name, stored
from .warps import exchanging, joined, through_shared_memory

ROWS, COLUMNS = "rows", "columns"


@dataclasses.dataclass(frozen=True)
class Signature:
    """The signature of a reduction: it decides the text but for the formulas.

    ``stored``, ``computed``, ``state`` and ``result`` are dtypes: of the elements, of the map, of
    partial results and of the output. ``partial`` says that partial results are written.
    """

    name: str
    stored: str
    computed: str
    state: str
    result: str
    combine: str
    walk: str
    kept: int
    reduced: int
    partial: bool
    small: bool
    threads: int
    lanes: int


@dataclasses.dataclass(frozen=True)
class Formulas:
    """The printed formulas: of ``x`` (``shift``, ``p``), and of ``total`` (``number``, ``p``)."""

    map_lines: tuple[str, ...]
    mapped: str
    final_lines: tuple[str, ...]
    finalised: str
    uses: frozenset[str]


def _parameters(s: Signature) -> list[str]:
    parameters = ["at_in", "at_out", "at_shift", "word_p", "count", "outputs", "segments", "length",
             "elements"]  # fmt: skip
    for d in range(s.kept):
        parameters += [f"kept_n{d}", f"kept_s{d}", f"kept_o{d}"]
    for d in range(s.reduced):
        parameters += [f"reduced_n{d}", f"reduced_s{d}"]
    return parameters


def _position(s: Signature) -> list[str]:
    """Statements that find a result: where its elements begin (``source``) and it (``target``)."""
    lines = decoded("result", [f"kept_n{d}" for d in range(s.kept)], s.small)
    source = ["at_in", *[f"c{d} * kept_s{d}" for d in range(s.kept)]]
    target = [f"c{d} * kept_o{d}" for d in range(s.kept)] or ["0"]
    return [*lines, f"source = {' + '.join(source)}", f"target = {' + '.join(target)}"]


def _element(s: Signature) -> list[str]:
    """Statements that find element ``k`` of a result: its address ``at``."""
    if s.reduced == 1:
        return ["at = source + k * reduced_s0"]
    lines = decoded("k", [f"reduced_n{d}" for d in range(s.reduced)], s.small)
    steps = " + ".join([f"c{d} * reduced_s{d}" for d in range(s.reduced)])
    return [*lines, f"at = source + {steps}"]


def source(s: Signature, formulas: Formulas) -> Source:
    """The kernel of a reduction."""
    state, computed = numba_name(s.state), numba_name(s.computed)
    once = []
    if "p" in formulas.uses:
        once.append(f"p = {computed}(from_bits(word_p))")
    if "number" in formulas.uses:
        once.append(f"number = {state}(count)")
    shift = [f"shift = {loaded('at_shift, target', s.state, s.computed)}"]
    begin = [
        "segment = quotient(unit, outputs)" if s.small else "segment = unit // outputs",
        "result = unit - segment * outputs",
        *_position(s),
        *(shift if "shift" in formulas.uses else []),
        "first = segment * length",
        "last = min(first + length, elements)",
        f"total = {identity(s.combine, s.state)}",
    ]
    step = [
        *_element(s),
        f"x = {loaded('at, 0', s.stored, s.computed)}",
        *formulas.map_lines,
        f"total = {s.combine}(total, {state}({formulas.mapped}))",
    ]
    if s.partial:
        end = [f"store(at_out, unit, total, {state})"]
    else:
        end = [*formulas.final_lines, stored("at_out, target", formulas.finalised, s.result)]
    if s.walk == COLUMNS:
        loop = ["for unit in range(cuda.grid(1), outputs * segments, cuda.gridsize(1)):"]
        inside = [*begin, "for k in range(first, last):", *indented(1, step), *end]
    else:
        once += [f"parts = cuda.shared.array({s.threads // s.lanes}, {state})"]
        once += ["thread = cuda.threadIdx.x"]
        loop = ["for unit in range(cuda.blockIdx.x, outputs * segments, cuda.gridDim.x):"]
        inside = [
            *begin,
            f"for k in range(first + thread, last, {s.threads}):",
            *indented(1, step),
            *joined("total", s.combine, s.threads, s.lanes),
            "if thread == 0:",
            *indented(1, end),
        ]
    header = f"# {s.name}: {s.stored} -> {s.result}, {s.walk}, combined in {s.state}"
    text = [header, f"def kernel({', '.join(_parameters(s))}):"]
    text += indented(1, [*once, *loop, *indented(1, inside)])
    return Source(s.name, "\n".join([*text, ""]), s.threads)


# --- the largest or smallest element, and its index -------------------------------------------


def selection_source(s: Signature) -> Source:
    """``max`` or ``min`` with indices: the first of equals, or the first NaN."""
    from .text import loaded_as

    kind = loaded_as(s.stored)
    value = numba_name(kind)
    comparison = ">" if s.combine == "maximum" else "<"

    def better(x: str, k: str, best: str, index: str) -> str:
        """Whether element ``k`` comes before the best one (an index of -1 is none)."""
        first = f"(({x} == {best}) | (({x} != {x}) & ({best} != {best}))) & ({k} < {index})"
        above = f"({x} {comparison} {best}) | (({x} != {x}) & ({best} == {best}))"
        return f"({k} >= 0) & (({index} < 0) | ({above}) | ({first}))"

    parameters = ["at_index" if x == "at_shift" else x for x in _parameters(s)]
    begin = [
        "result = unit",
        *_position(s),
        f"best = {identity(s.combine, kind)}",
        "index = int64(-1)",
    ]
    step = [
        *_element(s),
        f"x = load(at, 0, {numba_name(s.stored)})",
        f"chosen = {better('x', 'k', 'best', 'index')}",
        "best = select(chosen, x, best)",
        "index = select(chosen, int64(k), index)",
    ]
    end = [f"store(at_out, target, best, {numba_name(s.stored)})",
           "store(at_index, target, index, int64)"]  # fmt: skip
    once: list[str] = []
    if s.walk == COLUMNS:
        loop = ["for unit in range(cuda.grid(1), outputs, cuda.gridsize(1)):"]
        inside = [*begin, "for k in range(elements):", *indented(1, step), *end]
    else:
        once = [
            f"values = cuda.shared.array({s.threads // s.lanes}, {value})",
            f"positions = cuda.shared.array({s.threads // s.lanes}, int64)",
            "thread = cuda.threadIdx.x",
        ]
        loop = ["for unit in range(cuda.blockIdx.x, outputs, cuda.gridDim.x):"]
        inside = [*begin, f"for k in range(thread, elements, {s.threads}):", *indented(1, step)]
        chosen = [
            f"chosen = {better('x', 'k', 'best', 'index')}",
            "best = select(chosen, x, best)",
            "index = select(chosen, k, index)",
        ]
        inside += exchanging({"x": "best", "k": "index"}, chosen, s.lanes)
        kept = {"best": "values", "index": "positions"}
        inside += through_shared_memory(kept, s.lanes, s.threads // s.lanes)
        inside += exchanging({"x": "best", "k": "index"}, chosen, s.threads // s.lanes)
        inside += ["if thread == 0:", *indented(1, end)]
    text = [
        f"# {s.name} of {s.stored} with indices, {s.walk}",
        f"def kernel({', '.join(parameters)}):",
    ]
    text += indented(1, [*once, *loop, *indented(1, inside)])
    return Source(s.name, "\n".join([*text, ""]), s.threads)
