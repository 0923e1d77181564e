"""Source of kernels of definitions over rows, along any dimension: softmax and its gradient.

Called by ``executor/rowwise.py`` with the stages of a definition. The kernels take what those of
``rowwise.py`` take.
"""

from __future__ import annotations

import re

from ..codegen.template import fill
from .pointwise import load_text, store_text
from .reduction import identity
from .rows import Stage
from .rowwise import BEGIN_COLUMNS, COLUMNS, HEAD, addresses


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
    """What a stage does with element ``i``: statements before it combines, and behind that."""
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
    lines = ["start = unit * size"]
    for stage in stages:
        before, behind = _element_lines(dtype, stage, number_of)
        lines += [f"{name} = {identity(kind, dtype)}" for name, kind, _ in stage.combined]
        combined = [
            f"{name} = combine.{kind}({name}, {value})" for name, kind, value in stage.combined
        ]
        lines += ["for i in range(start, start + size):"]
        lines += [f"    {line}" for line in (*before, *combined, *behind)]
        lines += _plain(stage)
    return ["for unit in range(lo, hi):", *[f"    {line}" for line in lines]]


def _stages_of_columns(dtype: str, stages: list[Stage], number_of: dict[str, int]) -> list[str]:
    """As rows, for a tile of columns at once: what is known of each is an array on the stack."""
    known: list[str] = []
    lines: list[str] = []

    def of_columns(name: str) -> str:
        """Where the values of a variable lie."""
        if name not in known:
            known.append(name)
        return f"all_{name}, j"

    def read(wanted: list[str]) -> list[str]:
        """Statements that load what was computed of a column before."""
        words = set(re.findall(r"\w+", "\n".join(wanted)))
        found = [name for name in known if name in words]
        return [f"{x} = {_stack_load(of_columns(x), dtype)}" for x in found]

    for stage in stages:
        before, behind = _element_lines(dtype, stage, number_of)
        after = _plain(stage)
        own = [name for name, _, _ in stage.combined]
        body = read([*before, *[value for _, _, value in stage.combined], *behind]) + before
        for name, kind, value in stage.combined:
            place = of_columns(name)
            joined = f"combine.{kind}({_stack_load(place, dtype)}, {value})"
            body.append(f"store({place}, {joined}, {dtype})")
        starts = [
            f"store({of_columns(name)}, {identity(kind, dtype)}, {dtype})"
            for name, kind, _ in stage.combined
        ]
        if own:
            lines += ["for j in range(columns):", *[f"    {line}" for line in starts]]
        lines += ["for k in range(size):", "    for j in range(columns):"]
        lines += ["        i = start + k * inner + j"]
        lines += [f"        {line}" for line in (*body, *behind)]
        if after:
            assigned = [line.partition(" = ")[0] for line in after]
            made = [name for name in assigned if re.fullmatch(r"w\d+", name)]
            lines += ["for j in range(columns):"]
            lines += [f"    {line}" for line in (*read(after), *after)]
            lines += [f"    store({of_columns(name)}, {name}, {dtype})" for name in made]
    rooms = [f"all_{name} = address_of_stack(TILE_WORDS)" for name in known]
    return [*rooms, *BEGIN_COLUMNS, *[f"    {line}" for line in lines]]


def _stack_load(place: str, dtype: str) -> str:
    return f"load({place}, {dtype})"
