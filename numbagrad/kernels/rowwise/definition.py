"""Source of kernels of definitions over rows, along any dimension: softmax and its gradient.

Called by ``executor/families/rowwise.py`` with the stages of a definition. The kernels take what
those of ``scan.py`` take.
"""

from __future__ import annotations

import re

from ...codegen.template import fill
from ..pointwise.source import load_text, store_text
from ..reduction.source import identity
from .interleaving import ROWS_TOGETHER, Kept, each_phase_of_rows
from .rows import Stage
from .scan import BEGIN_COLUMNS, COLUMNS, HEAD, addresses


def stages_source(
    description: str, dtype: str, variant: int, inputs: list[str], stages: list[Stage]
) -> str:
    """The module of a definition over rows, cut into stages.

    ``inputs`` are those of the statements; the output has their shape. What stages keep for later
    ones, of one place at most, lies in the output until that is known.
    """
    names = [*inputs, "out"]
    number_of = {name: k + 1 for k, name in enumerate(names)}
    text = _stages_of_columns if variant == COLUMNS else _stages_of_rows
    head = fill(HEAD, {"ADDRESSES": addresses(names)}, {"DESCRIPTION": description})
    return "\n".join([head, *[f"    {x}" for x in text(dtype, stages, number_of)], ""])


def _element_lines(dtype: str, stage: Stage, number_of: dict[str, int]) -> tuple[list[str], ...]:
    """The statements of a stage for element ``i``: before it combines, and behind that."""
    # That memory lies apart is said, or LLVM would ask for it, and sum short rows in another order
    # where they are neighbours.
    before = [f"{x} = {load_text(f'at_{x}, i', dtype, number_of[x])}" for x in stage.reads]
    before += [f"{x} = {load_text('at_out, i', dtype, number_of['out'])}" for x in stage.found]
    stored = [value for _, value in stage.kept] + [value for _, value in stage.stores]
    behind = [store_text("at_out, i", f"{dtype}({x})", dtype, number_of["out"]) for x in stored]
    return before + stage.lines, behind


def _plain(stage: Stage) -> list[str]:
    """The statements behind a stage; a definition picks nothing of a row."""
    return [line for line in stage.after if isinstance(line, str)]


def _stages_of_rows(dtype: str, stages: list[Stage], number_of: dict[str, int]) -> list[str]:
    phases = []
    for stage in stages:
        before, behind = _element_lines(dtype, stage, number_of)
        combined = [
            f"{name} = combine.{kind}({name}, {value})" for name, kind, value in stage.combined
        ]
        starts = [f"{name} = {identity(kind, dtype)}" for name, kind, _ in stage.combined]
        loop = [f"    {line}" for line in (*before, *combined, *behind)]
        phases += [[*starts, "for i in range(start, start + size):", *loop], _plain(stage)]
    loops, rooms = each_phase_of_rows(phases, {"start": ["start = row * size"]}, dtype)
    return [
        *rooms,
        f"for unit in range(lo, hi, {ROWS_TOGETHER}):",
        f"    last = min(unit + {ROWS_TOGETHER}, hi)",
        *[f"    {line}" for line in loops],
    ]


def _values_of_rows(after: list[str]) -> list[str]:
    """The variables that statements on a row make for later stages."""
    assigned = [line.partition(" = ")[0] for line in after]
    return [name for name in assigned if re.fullmatch(r"w\d+", name)]


def _stages_of_columns(dtype: str, stages: list[Stage], number_of: dict[str, int]) -> list[str]:
    """As rows, for a tile of columns at once."""
    kept = Kept(dtype, "j")
    lines: list[str] = []
    for stage in stages:
        before, behind = _element_lines(dtype, stage, number_of)
        after = _plain(stage)
        body = kept.read([*before, *[value for _, _, value in stage.combined], *behind]) + before
        for name, kind, value in stage.combined:
            body.append(kept.store(name, f"combine.{kind}({kept.load(name)}, {value})"))
        starts = [kept.store(name, identity(kind, dtype)) for name, kind, _ in stage.combined]
        if starts:
            lines += ["for j in range(columns):", *[f"    {line}" for line in starts]]
        lines += ["for k in range(size):", "    for j in range(columns):"]
        lines += ["        i = start + k * inner + j"]
        lines += [f"        {line}" for line in (*body, *behind)]
        if after:
            lines += ["for j in range(columns):"]
            lines += [f"    {line}" for line in (*kept.read(after), *after)]
            lines += [f"    {kept.store(name, name)}" for name in _values_of_rows(after)]
    return [*kept.room("TILE_WORDS"), *BEGIN_COLUMNS, *[f"    {line}" for line in lines]]
