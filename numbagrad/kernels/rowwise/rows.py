"""Source of row kernels: pointwise work and reductions of the same rows, one row after another.

Called by ``program/rows.py`` with the formulas already printed; returns the text of a
module with one function ``kernel(args, lo, hi)`` over chunks of rows. A row passes through stages:
a loop over its columns that combines and stores, then statements on what was combined. While it
does, it stays in the cache, so that softmax or layer normalisation read memory once. What is
combined over rows is one partial result for every chunk; chunks follow from the sizes alone, so
that the bits do not depend on the number of threads.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

from ...codegen.alias_scopes import APART
from .. import layout
from ..pointwise.source import (
    BLOCK,
    ITEM_SIZES,
    LINE_BYTES,
    Operand,
    load_operand,
    load_text,
    numba_name,
    store_operand,
    store_text,
)
from ..reduction.source import identity
from .interleaving import ROWS_TOGETHER, each_phase_of_rows

# --- packed arguments (64-bit words) --------------------------------------------------------------
COLUMNS = 0
ROWS = 1
ELEMENTS = 2  # of a space that is one run, cut into rows of which the last may be shorter
CHUNK = 3  # rows of a unit of work
SCRATCH = 4  # address of room for rows of intermediate values, or 0
SCRATCH_BYTES = 5  # of that room for one chunk
OPERANDS = 6  # then for each operand its address, its step from row to row and along the columns
OPERAND_WORDS = 3

#: Statements on an element from which on computing takes longer than memory does.
_BUSY = 64


@dataclasses.dataclass(frozen=True)
class ClassKind:
    """The class of a row in a kernel: an integer that says which column counts.

    ``what`` is "counts", whether it is another than ``ignored``; "column", which it is (0 if it
    does not count); or "here", whether the column of an element is that.
    """

    what: str
    ignored: int = 0


@dataclasses.dataclass(frozen=True)
class Pick:
    """A value of the row: that of one of its elements.

    Attributes:
        variable: its name.
        column: the variable that says which element.
        lines: statements on that element.
        value: what they compute.
        reads: names of the inputs that the statements use.
    """

    variable: str
    column: str
    lines: list[str]
    value: str
    reads: list[str]


@dataclasses.dataclass(frozen=True)
class Stage:
    """One loop over the columns, and what follows it.

    Attributes:
        lines: statements on one element.
        combined: variable, name of the combination, and value, for every reduction.
        stores: outputs with a value for every element.
        kept: values that later stages need: place in the scratch memory, and value.
        reads: names of the inputs that the statements use.
        found: places in the scratch memory that the statements use, by variable.
        after: statements on the row, once the reductions are done, and what is picked of it.
        row_stores: outputs with one value a row.
        totals: outputs with one value a chunk: combination, and the value of an element.
        column_totals: outputs with a row of values a chunk: the same, for each column.
    """

    lines: list[str]
    combined: list[tuple[str, str, str]]
    stores: list[tuple[Operand, str]]
    kept: list[tuple[int, str]]
    reads: list[str]
    found: dict[str, int]
    after: list[str | Pick]
    row_stores: list[tuple[Operand, str]]
    totals: list[tuple[Operand, str, str]] = dataclasses.field(default_factory=list)
    column_totals: list[tuple[Operand, str, str]] = dataclasses.field(default_factory=list)


def source(
    name: str,
    operands: list[Operand],
    compute: str,
    inputs: frozenset[str],
    before: list[str | Pick],
    stages: list[Stage],
    booleans: frozenset[str],
    classes: dict[str, ClassKind],
    positions: int = 0,
    streamed: frozenset[str] = frozenset(),
    long: bool = False,
    repeated: frozenset[str] = frozenset(),
    interleaved: bool = False,
) -> str:
    """The module of a row kernel.

    ``operands`` are the inputs and outputs in the order of the packed arguments; those with the
    layout ``ZERO`` have one value a row. ``inputs`` names the first of them; ``before`` are
    statements on the row before the first stage; ``classes`` names the inputs that are classes of
    rows. Rows of the outputs in ``streamed`` are made in the scratch memory, behind its
    ``positions``, and from there written past the caches; then inputs come from memory as well, and
    while a row is computed, if that takes long, the next one is fetched. Whether rows are ``long``
    changes nothing but what the compiler is told. A row here may be several of the space, if
    nothing is done once a row: beside copies of the inputs in ``repeated``, which have the same row
    for every one. The third word of those has its bytes. ``interleaved`` rows pass through a stage
    together, several of them; none is then streamed.
    """
    by_name = {operand.name: operand for operand in operands}
    described = ", ".join(f"{o.name} {o.dtype}" for o in operands)
    text = [
        f"# {name}: {described}, {'long rows' if long else 'row by row'}, computed in {compute}",
        "import math",
        "import numpy as np",
        "",
        "from numbagrad.kernels.reduction import combine",
        "from numbagrad.codegen.intrinsics import *",
        "from numbagrad.codegen.instructions import *",
        "from numbagrad.kernels.rowwise.rows import *",
        *(["from numbagrad.kernels.pointwise.streaming import *"] if streamed else []),
        *(["from numbagrad.kernels.pointwise.repeated_rows import *"] if repeated else []),
        "",
        "",
        "def kernel(args, lo, hi):",
        "    columns = load(args, COLUMNS, int64)",
        "    rows = load(args, ROWS, int64)",
        "    chunk_rows = load(args, CHUNK, int64)",
        "    elements = load(args, ELEMENTS, int64)",
        "    scratch_start = load(args, SCRATCH, int64)",
        "    scratch_bytes = load(args, SCRATCH_BYTES, int64)",
    ]
    if streamed:
        kept, rounded = positions * _bytes(compute), 2 * LINE_BYTES - 1
        text.append(f"    kept_bytes = ({kept} * columns + {rounded}) & -{LINE_BYTES}")
        text.append(f"    stream_bytes = (8 * columns + {rounded}) & -{LINE_BYTES}")
    for k, operand in enumerate(operands):
        word = OPERANDS + OPERAND_WORDS * k
        text.append(f"    start_{operand.name} = load(args, {word}, int64)")
        text.append(f"    jump_{operand.name} = load(args, {word} + 1, int64)")
        if operand.layout == layout.STRIDED:
            text.append(f"    step_{operand.name} = load(args, {word} + 2, int64)")
        if operand.name in repeated:
            item = ITEM_SIZES[operand.dtype]
            text += [
                f"    length = load(args, {word} + 2, int64)",
                f"    copies_{operand.name} = address_of_stack({BLOCK * item // 8})",
                f"    repeat_row(copies_{operand.name}, start_{operand.name}, length, "
                f"columns * {item} // length)",
                f"    start_{operand.name} = copies_{operand.name}",
            ]
    kinds = {o.name: "bool" if o.name in booleans else compute for o in operands}
    last = max([operand.memory for operand in operands], default=0)
    apart = functools.partial(_number_of_position, last)
    totals = [x for stage in stages for x in stage.totals]
    column_totals = [x for stage in stages for x in stage.column_totals]
    partial = {operand.name for operand, _, _ in (*totals, *column_totals)}
    chunk = ["first = chunk * chunk_rows", "end = min(first + chunk_rows, rows)"]
    by_row: list[Operand] = []
    for operand in operands:
        if operand.name in partial:
            at = f"start_{operand.name} + chunk * jump_{operand.name}"
            chunk.append(f"at_{operand.name} = {at}")
        else:
            by_row.append(operand)
    chunk += [f"total_{o.name} = {identity(kind, compute)}" for o, kind, _ in totals]
    if column_totals:
        chunk.append("for i in range(columns):")
        for operand, kind, _ in column_totals:
            chunk.append(f"    {store_operand(operand, identity(kind, compute))}")
    # Rows of which something is combined are never cut short.
    width = "columns" if interleaved else "min(columns, elements - row * columns)"
    given = {"width": [f"width = {width}"]}
    for o in operands:
        if o.layout == layout.ZERO and o.name in inputs and o.name not in classes:
            given[o.name] = [f"{o.name} = {load_operand(o, kinds[o.name], '0')}"]
    for name, known in classes.items():
        given |= _class_lines(by_name[name], known)
    for k, name in enumerate(sorted(streamed)):
        position = f"{k} * stream_bytes + (at_{name} & {LINE_BYTES - 1})"
        given[f"into_{name}"] = [f"into_{name} = scratch + kept_bytes + {position}"]
    busy = sum([len(stage.lines) for stage in stages]) >= _BUSY
    fetched = [
        o for o in operands if streamed and busy and o.name in inputs and o.layout == layout.UNIT
    ]
    phases = [_with_picks(before, by_name, kinds)]
    for k, stage in enumerate(stages):
        fetches = [
            f"fetch(at_{o.name}, jump_{o.name}, width * {ITEM_SIZES[o.dtype]}, {k}, {len(stages)})"
            for o in fetched
        ]
        loop, after = _stage(stage, by_name, kinds, compute, apart, streamed, classes)
        phases += [[*fetches, *loop], after]
    if interleaved:
        chunk += _interleaved(phases, given, by_row, positions, compute, text)
    else:
        chunk += _one_by_one(phases, given, by_row)
    chunk += [
        store_operand(operand, f"total_{operand.name}", index="0") for operand, _, _ in totals
    ]
    text += ["    for chunk in range(lo, hi):", *[f"        {line}" for line in chunk]]
    text += ["    streams_done()"] if streamed else []
    return "\n".join([*text, ""])


def _one_by_one(
    phases: list[list[str]], given: dict[str, list[str]], operands: list[Operand]
) -> list[str]:
    """The loop over the rows of a chunk."""
    names = [operand.name for operand in operands]
    row = [line for lines in (*given.values(), *phases) for line in lines]
    row += [f"at_{name} += jump_{name}" for name in names]
    return [
        "scratch = scratch_start + chunk * scratch_bytes",
        *[f"at_{name} = start_{name} + first * jump_{name}" for name in names],
        "for row in range(first, end):",
        *[f"    {line}" for line in row],
    ]


def _interleaved(
    phases: list[list[str]],
    given: dict[str, list[str]],
    operands: list[Operand],
    positions: int,
    compute: str,
    head: list[str],
) -> list[str]:
    """The same, several rows at a time; what is done once a call is added to ``head``."""
    size = f"{positions * _bytes(compute)} * columns"
    scratch = f"scratch_start + chunk * scratch_bytes + (row - unit) * {size}"
    addresses = {f"at_{o.name}": f"start_{o.name} + row * jump_{o.name}" for o in operands}
    made = {"scratch": scratch, **addresses}
    lines = {name: [f"{name} = {value}"] for name, value in made.items()}
    loops, rooms = each_phase_of_rows(phases, {**lines, **given}, compute)
    head += [f"    {line}" for line in rooms]
    return [
        f"for unit in range(first, end, {ROWS_TOGETHER}):",
        f"    last = min(unit + {ROWS_TOGETHER}, end)",
        *[f"    {line}" for line in loops],
    ]


def _number_of_position(last: int, position: int) -> int:
    """The number of a row of scratch memory, after the ``last`` one of the operands."""
    number = last + 1 + position
    return number if number <= APART else 0


def _stage(
    stage: Stage,
    operands: dict[str, Operand],
    kinds: dict[str, str],
    compute: str,
    apart: Callable[[int], int],
    streamed: frozenset[str],
    classes: dict[str, ClassKind],
) -> tuple[list[str], list[str]]:
    """The loop of a stage and what follows; ``apart`` numbers the places of the scratch memory."""
    dtype = numba_name(compute)
    lines = [f"{variable} = {identity(kind, compute)}" for variable, kind, _ in stage.combined]
    body = [
        # Columns are counted in 32 bits, as wide as most elements are.
        f"{x} = int32(i) == class_{x}"
        if x in classes
        else f"{x} = {load_operand(operands[x], kinds[x], 'i')}"
        for x in stage.reads
    ]
    body += [
        f"{variable} = {load_text(_scratch(position, compute), compute, apart(position))}"
        for variable, position in stage.found.items()
    ]
    body += stage.lines
    body += [
        f"{variable} = combine.{kind}({variable}, {value})"
        for variable, kind, value in stage.combined
    ]
    body += [
        store_text(_scratch(position, compute), f"{dtype}({value})", compute, apart(position))
        for position, value in stage.kept
    ]
    body += [store_operand(o, value, o.name in streamed) for o, value in stage.stores]
    body += [
        f"total_{operand.name} = combine.{kind}(total_{operand.name}, {value})"
        for operand, kind, value in stage.totals
    ]
    for operand, kind, value in stage.column_totals:
        before = load_operand(operand, compute, "i")
        body.append(store_operand(operand, f"combine.{kind}({before}, {value})"))
    if len(body) > len(stage.lines) + len(stage.reads) + len(stage.found):
        lines += ["for i in range(width):", *[f"    {line}" for line in body]]
    lines += [
        f"stream(at_{o.name}, into_{o.name}, width * {ITEM_SIZES[o.dtype]})"
        for o, _ in stage.stores
        if o.name in streamed
    ]
    after = _with_picks(stage.after, operands, kinds)
    after += [store_operand(operand, value, index="0") for operand, value in stage.row_stores]
    return lines, after


def _class_lines(operand: Operand, kind: ClassKind) -> dict[str, list[str]]:
    """Statements on the class of a row, by the variable that they make."""
    name, value = operand.name, load_operand(operand, "int64", "0")
    if kind.what == "here":
        return {f"class_{name}": [f"class_{name} = int32({value})"]}
    lines = [f"class_{name} = {value}"]
    counts = f"class_{name} != int64({kind.ignored})"
    if kind.what == "counts":
        return {name: [*lines, f"{name} = {counts}"]}
    return {name: [*lines, f"{name} = select({counts}, class_{name}, int64(0))"]}


def _with_picks(
    statements: list[str | Pick], operands: dict[str, Operand], kinds: dict[str, str]
) -> list[str]:
    """Statements on the row, with those that read one of its elements."""
    lines: list[str] = []
    for each in statements:
        if isinstance(each, str):
            lines.append(each)
            continue
        lines += [f"{x} = {load_operand(operands[x], kinds[x], each.column)}" for x in each.reads]
        lines += [*each.lines, f"{each.variable} = {each.value}"]
    return lines


def scratch_bytes(columns: int, positions: int, streamed: int, dtype: str, rows: int = 1) -> int:
    """Bytes of the scratch memory of a chunk, as the kernel lays it out: whole lines.

    ``rows`` of kept values are there at a time.
    """
    kept = _whole_lines(rows * positions * columns * _bytes(dtype))
    return kept + streamed * _whole_lines(8 * columns)


def _whole_lines(size: int) -> int:
    """Room for so many bytes, wherever in a line they begin."""
    return (size + 2 * LINE_BYTES - 1) & -LINE_BYTES


def _scratch(position: int, dtype: str) -> str:
    """The current element of a row of the scratch memory."""
    return f"scratch + {position} * columns * {_bytes(dtype)}, i"


def _bytes(dtype: str) -> int:
    return 8 if dtype.endswith("64") else 4
