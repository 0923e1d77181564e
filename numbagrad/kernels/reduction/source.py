"""Source of reduction kernels: map every element, combine in a fixed order, finalise.

Called by the executor with the formulas already printed; returns the text of a module with one
function ``kernel(args, lo, hi)`` over units of work. A unit is one result, or a tile of
neighbouring ones, over one segment of the reduced elements. The order of combination follows from
the sizes alone: blocks of fixed length, joined by a pairwise tree, so threads do not change bits.
"""

from __future__ import annotations

import dataclasses

from ...codegen.template import fill, lines_of
from ..pointwise.source import ITEM_SIZES, loaded_as, numba_name
from .layout import *

#: The values that the functions of numbagrad.kernels.reduction.combine leave unchanged, by kind of
#: dtype.
IDENTITIES = {
    "add": {"float": "0", "int": "0"},
    "multiply": {"float": "1", "int": "1"},
    "maximum": {"float": "-math.inf", "int": "{lowest}", "bool": "False"},
    "minimum": {"float": "math.inf", "int": "{highest}", "bool": "True"},
    "either": {"bool": "False"},
    "both": {"bool": "True"},
}


@dataclasses.dataclass(frozen=True)
class Formulas:
    """The printed formulas of a reduction: statements, and the variable with the result.

    The first maps ``x`` (and ``shift``, ``p``) to what is combined; the second maps ``total`` (and
    ``number``, ``p``) to the result. ``uses`` names the variables that occur.
    """

    map_lines: list[str]
    mapped: str
    final_lines: list[str]
    finalised: str
    uses: frozenset[str]


def kind_of(dtype: str) -> str:
    """``float``, ``int`` or ``bool``."""
    return dtype if dtype == "bool" else "float" if dtype.startswith("float") else "int"


def identity(combine: str, dtype: str) -> str:
    """The value that ``combine`` leaves unchanged, as an expression of a kernel."""
    text = IDENTITIES[combine][kind_of(dtype)]
    if kind_of(dtype) == "int":
        bits = 8 * ITEM_SIZES[dtype]
        lowest = -(1 << (bits - 1)) if dtype.startswith("i") else 0
        text = text.format(lowest=lowest, highest=lowest + (1 << bits) - 1)
    return f"{numba_name(dtype)}({text})"


def source(
    name: str, dtypes: tuple[str, str, str, str], variant: int, combine: str, formulas: Formulas
) -> str:
    """The module of a reduction kernel.

    ``dtypes`` are those of the input, of the values the map computes in, of the partial results and
    of the output.
    """
    stored, computed, state, result = dtypes
    walk = {INNER: "consecutive", OUTER: "tiles of results", STRIDED: "strided"}[variant]
    repeat = 4 if len(formulas.map_lines) < 8 else 0
    blocks = {
        "MAP": formulas.map_lines,
        "FINALISE": formulas.final_lines,
        "PARAMETERS": [_PARAMETERS[name] for name in sorted(formulas.uses & _PARAMETERS.keys())],
        "LOCATE": _LOCATE,
        "LOCATE_SEGMENT": _LOCATE_SEGMENT,
        "BEGIN_RUN": _BEGIN_RUN,
        "SHORT_ROWS": _SHORT_ROWS if variant == INNER else [],
        "FOUR_ROWS": _FOUR_ROWS if repeat else [],
        **{key: lines if "shift" in formulas.uses else [] for key, lines in _SHIFT.items()},
    }
    fields = {
        "NAME": f"{name}: {stored} -> {result}, {walk}, combined in {state}",
        "COMBINE": combine,
        "MAPPED": f"<STATE>({formulas.mapped})",
        "FINALISED": f"<PASSED>({formulas.finalised})",
        "ELEMENT": "at, i" if variant == INNER else "at + i * run_step, 0",
        "OUTERMOST": "kept - 1" if variant == OUTER else "kept",
        "ITEM": str(ITEM_SIZES[stored]),
        "TILE": str(TILE_BYTES // ITEM_SIZES[state]),
        "IDENTITY": identity(combine, state),
        "STORED": numba_name(stored),
        "COMPUTED": numba_name(computed),
        "STATE": numba_name(state),
        "PASSED": numba_name(loaded_as(result)),
        "RESULT": numba_name(result),
    }
    body = _TILES if variant == OUTER else _RESULTS
    return fill([*_HEAD, *body, ""], blocks, fields)


_HEAD = lines_of("""
# <NAME>
import math
import numpy as np
from numbagrad.kernels.reduction.combine import <COMBINE> as combine
from numbagrad.codegen.intrinsics import *
from numbagrad.kernels.reduction.source import *


def kernel(args, lo, hi):
    kept = load(args, KEPT, int64)
    reduced = load(args, REDUCED, int64)
    partials = load(args, PARTIALS, int64)
    outputs = load(args, OUTPUTS, int64)
    elements = load(args, ELEMENTS, int64)
    segments = load(args, SEGMENTS, int64)
    length = load(args, LENGTH, int64)
    output = load(args, OUTPUT, int64)
    inside = kept + reduced - 1
    run_size = load(args, SIZES + inside, int64)
    run_step = load(args, INPUT_STEPS + inside, int64)
    PARAMETERS
""")

_PARAMETERS = {
    "number": "number = <STATE>(load(args, NUMBER, int64))",
    "p": "p = <COMPUTED>(load(load(args, PARAMETERS_AT, int64), 0, float64))",
}

# Which elements of which group of results a unit works on. Divisions are what short rows wait for.
_LOCATE_SEGMENT = lines_of("""
group = unit
segment = 0
if segments > 1:
    group = unit // segments
    segment = unit - group * segments
first = segment * length
last = min(first + length, elements)
""")

# Where the elements and the results of a group are.
_LOCATE = lines_of("""
source = load(args, INPUT, int64)
target = 0
for d in range(<OUTERMOST> - 1, 0, -1):
    extent = load(args, SIZES + d, int64)
    rest = group // extent
    position = group - rest * extent
    group = rest
    source += position * load(args, INPUT_STEPS + d, int64)
    target += position * load(args, OUTPUT_STEPS + d, int64)
if <OUTERMOST> > 0:
    source += group * load(args, INPUT_STEPS, int64)
    target += group * load(args, OUTPUT_STEPS, int64)
""")

# Where the next run of reduced elements begins, and how far along the innermost dimension.
_BEGIN_RUN = lines_of("""
at = source
column = first
if reduced > 1:
    rest = first // run_size
    column = first - rest * run_size
    for d in range(inside - 1, kept - 1, -1):
        extent = load(args, SIZES + d, int64)
        outer = rest // extent
        at += (rest - outer * extent) * load(args, INPUT_STEPS + d, int64)
        rest = outer
at += column * run_step
""")

# Rows of one block: what finds the place of any unit takes as long as the sum of a short row.
_SHORT_ROWS = lines_of("""
if kept == 1 and reduced == 1 and segments == 1 and elements <= BLOCK and partials == 0:
    source = load(args, INPUT, int64)
    step = load(args, INPUT_STEPS, int64)
    apart = load(args, OUTPUT_STEPS, int64)
    for unit in range(lo, hi):
        at = source + unit * step
        target = unit * apart
        SHIFT_OF_RESULT
        total = <IDENTITY>
        for i in range(elements):
            x = <COMPUTED>(load(<ELEMENT>, <STORED>))
            MAP
            total = combine(total, <MAPPED>)
        FINALISE
        store(output, target, <FINALISED>, <RESULT>)
    return
""")

# Units are single results: a run is reduced in vectors, blocks are joined by a tree.
_RESULTS = lines_of("""
    SHORT_ROWS
    tree = address_of_stack(LEVELS)
    for unit in range(lo, hi):
        LOCATE_SEGMENT
        LOCATE
        SHIFT_OF_RESULT
        total = <IDENTITY>
        gathered = 0
        blocks = 0
        while first < last:
            BEGIN_RUN
            run = min(run_size - column, last - first, BLOCK)
            part = <IDENTITY>
            for i in range(run):
                x = <COMPUTED>(load(<ELEMENT>, <STORED>))
                MAP
                part = combine(part, <MAPPED>)
            total = combine(total, part)
            first += run
            gathered += run
            if gathered >= BLOCK and first < last:
                level = 0
                while (blocks >> level) & 1:
                    total = combine(load(tree, level, <STATE>), total)
                    level += 1
                store(tree, level, total, <STATE>)
                blocks += 1
                total = <IDENTITY>
                gathered = 0
        level = 0
        while (blocks >> level) > 0:
            if (blocks >> level) & 1:
                total = combine(load(tree, level, <STATE>), total)
            level += 1
        if partials != 0:
            store(partials, segment * outputs + target, total, <STATE>)
        else:
            FINALISE
            store(output, target, <FINALISED>, <RESULT>)
""")

# Units are tiles of results that are neighbours in memory, and so are their elements. Their partial
# results stay in the first cache; the tree has a tile at each level.
_TILES = lines_of("""
    width = load(args, SIZES + kept - 1, int64)
    step = load(args, OUTPUT_STEPS + kept - 1, int64)
    tiles = (width + <TILE> - 1) // <TILE>
    sums = address_of_stack(TILE_WORDS)
    tree = address_of_stack(TREE_WORDS)
    SHIFTS
    for unit in range(lo, hi):
        LOCATE_SEGMENT
        rest = group // tiles
        begin = (group - rest * tiles) * <TILE>
        group = rest
        LOCATE
        source += begin * <ITEM>
        target += begin * step
        columns = min(<TILE>, width - begin)
        for j in range(columns):
            store(sums, j, <IDENTITY>, <STATE>)
        SHIFTS_OF_TILE
        gathered = 0
        blocks = 0
        while first < last:
            BEGIN_RUN
            run = min(run_size - column, last - first, ROWS - gathered)
            first += run
            gathered += run
            FOUR_ROWS
            for _ in range(run):
                for j in range(columns):
                    SHIFT_IN_TILE
                    x = <COMPUTED>(load(at, j, <STORED>))
                    MAP
                    store(sums, j, combine(load(sums, j, <STATE>), <MAPPED>), <STATE>)
                at += run_step
            if gathered >= ROWS and first < last:
                level = 0
                while (blocks >> level) & 1:
                    for j in range(columns):
                        before = load(tree + level * TILE_BYTES, j, <STATE>)
                        store(sums, j, combine(before, load(sums, j, <STATE>)), <STATE>)
                    level += 1
                for j in range(columns):
                    store(tree + level * TILE_BYTES, j, load(sums, j, <STATE>), <STATE>)
                    store(sums, j, <IDENTITY>, <STATE>)
                blocks += 1
                gathered = 0
        level = 0
        while (blocks >> level) > 0:
            if (blocks >> level) & 1:
                for j in range(columns):
                    before = load(tree + level * TILE_BYTES, j, <STATE>)
                    store(sums, j, combine(before, load(sums, j, <STATE>)), <STATE>)
            level += 1
        if partials != 0:
            for j in range(columns):
                total = load(sums, j, <STATE>)
                store(partials, segment * outputs + target + j * step, total, <STATE>)
        else:
            for j in range(columns):
                total = load(sums, j, <STATE>)
                SHIFT_IN_TILE
                FINALISE
                store(output, target + j * step, <FINALISED>, <RESULT>)
""")

# Reads and writes the partial results a fourth as often; for short maps, since it repeats them.
_FOUR_ROWS = lines_of("""
while run >= 4:
    for j in range(columns):
        SHIFT_IN_TILE
        x = <COMPUTED>(load(at, j, <STORED>))
        MAP
        part = <MAPPED>
        x = <COMPUTED>(load(at + run_step, j, <STORED>))
        MAP
        part = combine(part, <MAPPED>)
        x = <COMPUTED>(load(at + 2 * run_step, j, <STORED>))
        MAP
        other = <MAPPED>
        x = <COMPUTED>(load(at + 3 * run_step, j, <STORED>))
        MAP
        part = combine(part, combine(other, <MAPPED>))
        store(sums, j, combine(load(sums, j, <STATE>), part), <STATE>)
    at += 4 * run_step
    run -= 4
""")

_SHIFT = {
    "SHIFT_OF_RESULT": ["shift = <COMPUTED>(load(load(args, SHIFT, int64), target, <STATE>))"],
    "SHIFTS": ["shifts = address_of_stack(TILE_WORDS)"],
    "SHIFTS_OF_TILE": [
        "values = load(args, SHIFT, int64)",
        "for j in range(columns):",
        "    store(shifts, j, load(values, target + j * step, <STATE>), <STATE>)",
    ],
    "SHIFT_IN_TILE": ["shift = <COMPUTED>(load(shifts, j, <STATE>))"],
}


# --- selections: the largest or smallest element and its index --------------------------------

# A block is reduced in vectors; only one that beats the best is searched, for its first element.
_SELECT_RESULTS = lines_of("""
    for unit in range(lo, hi):
        LOCATE_SEGMENT
        LOCATE
        best = <IDENTITY>
        index = -1
        while first < last:
            BEGIN_RUN
            run = min(run_size - column, last - first, SEARCH)
            part = <IDENTITY>
            for i in range(run):
                part = combine(part, load(<ELEMENT>, <STORED>))
            if part <COMPARISON> best or index < 0 or (part != part and best == best):
                for i in range(run):
                    x = load(<ELEMENT>, <STORED>)
                    if x == part or (x != x and part != part):
                        best = x
                        index = first + i
                        break
            first += run
        store(output, target, best, <STORED>)
        store(indices, target, index, int64)
""")

_SELECT_TILES = lines_of("""
    width = load(args, SIZES + kept - 1, int64)
    step = load(args, OUTPUT_STEPS + kept - 1, int64)
    tiles = (width + <TILE> - 1) // <TILE>
    values = address_of_stack(TILE_WORDS)
    positions = address_of_stack(TILE_BYTES)
    for unit in range(lo, hi):
        LOCATE_SEGMENT
        rest = group // tiles
        begin = (group - rest * tiles) * <TILE>
        group = rest
        LOCATE
        source += begin * <ITEM>
        target += begin * step
        columns = min(<TILE>, width - begin)
        for j in range(columns):
            store(values, j, load(source, j, <STORED>), <STORED>)
            store(positions, j, 0, int64)
        while first < last:
            BEGIN_RUN
            run = min(run_size - column, last - first)
            for k in range(run):
                for j in range(columns):
                    best = load(values, j, <STORED>)
                    x = load(at, j, <STORED>)
                    better = (x <COMPARISON> best) | ((x != x) & (best == best))
                    store(values, j, select(better, x, best), <STORED>)
                    store(positions, j, select(better, first + k, load(positions, j, int64)), int64)
                at += run_step
            first += run
        for j in range(columns):
            store(output, target + j * step, load(values, j, <STORED>), <STORED>)
            store(indices, target + j * step, load(positions, j, int64), int64)
""")


def selection_source(name: str, dtype: str, variant: int) -> str:
    """The module of ``max`` or ``min`` with indices: the first of equals, or the first NaN."""
    combine = "maximum" if name == "max" else "minimum"
    blocks = {
        "PARAMETERS": ["indices = load(args, INDICES, int64)"],
        "LOCATE": _LOCATE,
        "LOCATE_SEGMENT": _LOCATE_SEGMENT,
        "BEGIN_RUN": _BEGIN_RUN,
    }
    computed = loaded_as(dtype)
    fields = {
        "NAME": f"{name} of {dtype} with indices",
        "COMBINE": combine,
        "COMPARISON": ">" if name == "max" else "<",
        "ELEMENT": "at, i" if variant == INNER else "at + i * run_step, 0",
        "OUTERMOST": "kept - 1" if variant == OUTER else "kept",
        "ITEM": str(ITEM_SIZES[dtype]),
        "TILE": str(TILE_BYTES // ITEM_SIZES[computed]),
        "IDENTITY": identity(combine, computed),
        "STORED": numba_name(dtype),
    }
    body = _SELECT_TILES if variant == OUTER else _SELECT_RESULTS
    return fill([*_HEAD, *body, ""], blocks, fields)
