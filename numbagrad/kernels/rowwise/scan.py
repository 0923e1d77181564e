"""Source of kernels along one dimension: scans, and what they share with definitions over rows.

Called by the executor with the formulas already printed, as ``definition.py`` is; returns the
text of a module with one function ``kernel(args, lo, hi)``. The operands are contiguous and seen as
(outer, size, inner): where inner is 1 a unit of work is a row, else a tile of neighbouring columns,
narrow enough for its elements to stay in the cache between passes.
"""

from __future__ import annotations

from ...codegen.template import fill, lines_of
from ..pointwise.source import loaded_as, numba_name

# --- packed arguments (64-bit words), written by the launcher ---------------------------------
SIZE = 0  # of the dimension
INNER_SIZE = 1  # elements of the dimensions inside it
TILE = 2  # columns of a unit, 1 for rows
OPERANDS = 3  # addresses of the inputs, then of the outputs
WORDS = 16

ROWS = 0
COLUMNS = 1
LONG_ROWS = 2  # as ROWS, several vectors at a time
VARIANT_SHIFT = 5

TILE_WORDS = 512  # 64-bit words that hold one number for every column of a tile
MAX_TILE = 512
MIN_TILE = 64
TILE_ELEMENTS = 65536  # elements of a unit of columns, as long as that leaves MIN_TILE columns
GRAIN = 16384  # elements that are worth a thread of their own

#: Elements that LLVM's loops over several of the widest vectors combine at once, and those from
#: which on what such a loop leaves of a row counts less than it saves: rows that are worth them.
WHOLE_VECTORS, LONG_ROW = 64, 192

#: Reason of a LaunchMiss (see layout.py): an input that is not contiguous.
MISS_CONTIGUOUS = -64


def cut(outer: int, size: int, inner: int) -> tuple[int, int, int, int]:
    """How operands of (outer, size, inner) elements are walked, and shared by threads.

    Returns ROWS, LONG_ROWS or COLUMNS, columns of a unit of work, the number of units, and how many
    of them are worth a thread of their own: all, where there is little work.
    """
    variant = LONG_ROWS if size >= LONG_ROW or size % WHOLE_VECTORS == 0 else ROWS
    tile = 1
    if inner > 1:
        variant = COLUMNS
        tile = min(max(TILE_ELEMENTS // max(size, 1), MIN_TILE), MAX_TILE)
    units = outer * ((inner + tile - 1) // tile)
    if outer * size * inner < 2 * GRAIN or units == 1:
        return variant, tile, units, units
    return variant, tile, units, max(GRAIN // (size * min(tile, inner)), 1)


HEAD = lines_of("""
# <DESCRIPTION>
import math
import numpy as np
from numbagrad.kernels.reduction import combine
from numbagrad.codegen.intrinsics import *
from numbagrad.codegen.instructions import *
from numbagrad.kernels.rowwise.scan import *


def kernel(args, lo, hi):
    size = load(args, SIZE, int64)
    inner = load(args, INNER_SIZE, int64)
    ADDRESSES
""")

# A unit of columns: `start` is the index of its first element.
BEGIN_COLUMNS = lines_of("""
tile = load(args, TILE, int64)
tiles = (inner + tile - 1) // tile
for unit in range(lo, hi):
    outer = unit // tiles
    begin = (unit - outer * tiles) * tile
    columns = min(tile, inner - begin)
    start = outer * size * inner + begin
""")


def addresses(names: list[str]) -> list[str]:
    return [f"at_{name} = load(args, OPERANDS + {k}, int64)" for k, name in enumerate(names)]


# --- scans ------------------------------------------------------------------------------------

_SCAN_ROWS = lines_of("""
    for unit in range(lo, hi):
        state = <START>
        for k in range(size):
            i = unit * size + <POSITION>
            LOAD
            STEP
            state = <STATE>(<STEPPED>)
            store(at_out, i, <PASSED>(state), <RESULT>)
""")

_SCAN_COLUMNS = lines_of("""
    states = address_of_stack(TILE_WORDS)
    COLUMNS
        for j in range(columns):
            store(states, j, <START>, <STATE>)
        for k in range(size):
            row = start + <POSITION> * inner
            for j in range(columns):
                i = row + j
                state = load(states, j, <STATE>)
                LOAD
                STEP
                state = <STATE>(<STEPPED>)
                store(states, j, state, <STATE>)
                store(at_out, i, <PASSED>(state), <RESULT>)
""")


def scan_source(
    name: str,
    dtypes: tuple[str, str, str],
    variant: int,
    inputs: list[str],
    start: str,
    step: tuple[list[str], str],
    reverse: bool,
) -> str:
    """The module of a scan: ``state = step(state, *inputs)`` along the dimension, all states kept.

    ``dtypes`` are those of the inputs, of the state and of the output; ``start`` is the state
    before the first element. ``reverse`` begins at the end.
    """
    stored, state, result = dtypes
    blocks = {
        "ADDRESSES": addresses([*inputs, "out"]),
        "COLUMNS": BEGIN_COLUMNS,
        "LOAD": [f"{x} = <STATE>(load(at_{x}, i, {numba_name(stored)}))" for x in inputs],
        "STEP": step[0],
    }
    fields = {
        "DESCRIPTION": f"{name}: {stored} -> {result}{', from the end' if reverse else ''}",
        "POSITION": "(size - 1 - k)" if reverse else "k",
        "START": f"<STATE>({start})",
        "STEPPED": step[1],
        "STATE": numba_name(state),
        "PASSED": numba_name(loaded_as(result)),
        "RESULT": numba_name(result),
    }
    body = _SCAN_COLUMNS if variant == COLUMNS else _SCAN_ROWS
    return fill([*HEAD, *body, ""], blocks, fields)


# Running extrema keep the value and where it was: the latest of equals, and NaN for good. In a row
# the next one is looked for by branches, which are predicted: a choice would wait for the last one.
_EXTREMUM_ROWS = lines_of("""
    for unit in range(lo, hi):
        start = unit * size
        index = 0
        while index < size:
            best = load(at_x, start + index, <X>)
            k = index
            while True:
                store(at_out, start + k, best, <X>)
                store(at_index, start + k, index, int64)
                k += 1
                if k == size:
                    break
                x = load(at_x, start + k, <X>)
                if (x <COMPARISON> best) | (x != x):
                    break
            index = k
""")

_EXTREMUM_COLUMNS = lines_of("""
    COLUMNS
        for j in range(columns):
            store(at_out, start + j, load(at_x, start + j, <X>), <X>)
            store(at_index, start + j, 0, int64)
        for k in range(1, size):
            row = start + k * inner
            for j in range(columns):
                best = load(at_out, row - inner + j, <X>)
                index = load(at_index, row - inner + j, int64)
                x = load(at_x, row + j, <X>)
                better = (x <COMPARISON> best) | (x != x)
                store(at_out, row + j, select(better, x, best), <X>)
                store(at_index, row + j, select(better, k, index), int64)
""")


def running_extremum_source(name: str, dtype: str, variant: int) -> str:
    """The module of ``cummax`` or ``cummin``: values and indices."""
    blocks = {"ADDRESSES": addresses(["x", "out", "index"]), "COLUMNS": BEGIN_COLUMNS}
    fields = {
        "DESCRIPTION": f"{name} of {dtype}",
        "COMPARISON": ">=" if name == "cummax" else "<=",
        "X": numba_name(dtype),
    }
    body = _EXTREMUM_COLUMNS if variant == COLUMNS else _EXTREMUM_ROWS
    return fill([*HEAD, *body, ""], blocks, fields)
