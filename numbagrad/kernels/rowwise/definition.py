"""Source of kernels of definitions over rows, along any dimension: softmax and its gradient.

Called by ``executor/families/rowwise.py`` with the stages of a definition. The kernels take what
those of ``scan.py`` take.
"""

from __future__ import annotations

import re

from ...codegen.template import fill
from ..pointwise.source import load_text, store_text
from ..reduction.source import identity
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


class _Kept:
    """Values of each row or column of a unit that later loops read: arrays on the stack."""

    def __init__(self, dtype: str, index: str) -> None:
        self._dtype, self._index = dtype, index
        self.names: list[str] = []

    def position(self, name: str) -> str:
        """Where the values of a variable lie."""
        if name not in self.names:
            self.names.append(name)
        return f"all_{name}, {self._index}"

    def load(self, name: str) -> str:
        """The value of a variable."""
        return f"load({self.position(name)}, {self._dtype})"

    def store(self, name: str, value: str) -> str:
        """The statement that keeps a value."""
        return f"store({self.position(name)}, {value}, {self._dtype})"

    def read(self, wanted: list[str]) -> list[str]:
        """Statements that load what was kept before and ``wanted`` ones use."""
        words = set(re.findall(r"\w+", "\n".join(wanted)))
        return [f"{x} = {self.load(x)}" for x in self.names if x in words]


#: Rows that pass through a stage before the next stage begins. Within one row a stage waits for the
#: last sum of the one before it; so the CPU has other rows to go on with, and what is computed of
#: rows is a vector.
ROWS_TOGETHER = 8


def _stages_of_rows(dtype: str, stages: list[Stage], number_of: dict[str, int]) -> list[str]:
    kept = _Kept(dtype, "row - unit")
    lines: list[str] = []

    def each_row(body: list[str]) -> None:
        lines.extend(["for row in range(unit, last):", *[f"    {line}" for line in body]])

    for stage in stages:
        before, behind = _element_lines(dtype, stage, number_of)
        combined = [
            f"{name} = combine.{kind}({name}, {value})" for name, kind, value in stage.combined
        ]
        loop = ["for i in range(start, start + size):"]
        loop += [f"    {line}" for line in (*before, *combined, *behind)]
        starts = [f"{name} = {identity(kind, dtype)}" for name, kind, _ in stage.combined]
        stores = [kept.store(name, name) for name, _, _ in stage.combined]
        each_row(["start = row * size", *kept.read(loop), *starts, *loop, *stores])
        if after := _plain(stage):
            made = [kept.store(name, name) for name in _values_of_rows(after)]
            each_row([*kept.read(after), *after, *made])
    rooms = [f"all_{name} = address_of_stack({ROWS_TOGETHER})" for name in kept.names]
    lines = [f"last = min(unit + {ROWS_TOGETHER}, hi)", *lines]
    return [
        *rooms,
        f"for unit in range(lo, hi, {ROWS_TOGETHER}):",
        *[f"    {line}" for line in lines],
    ]


def _values_of_rows(after: list[str]) -> list[str]:
    """The variables that statements on a row make for later stages."""
    assigned = [line.partition(" = ")[0] for line in after]
    return [name for name in assigned if re.fullmatch(r"w\d+", name)]


def _stages_of_columns(dtype: str, stages: list[Stage], number_of: dict[str, int]) -> list[str]:
    """As rows, for a tile of columns at once."""
    kept = _Kept(dtype, "j")
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
    rooms = [f"all_{name} = address_of_stack(TILE_WORDS)" for name in kept.names]
    return [*rooms, *BEGIN_COLUMNS, *[f"    {line}" for line in lines]]
