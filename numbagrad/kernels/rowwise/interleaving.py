"""Rows that pass through a loop together: several do one stage before any of them does the next.

Within one row a stage waits for the last sum of the one before it; so the CPU has other rows to go
on with, and what is computed of rows is a vector. Used by ``definition.py`` and ``rows.py``.
"""

from __future__ import annotations

import re

#: Rows that pass through a stage before the next stage begins.
ROWS_TOGETHER = 8


class Kept:
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
        words = words_of(wanted)
        return [f"{x} = {self.load(x)}" for x in self.names if x in words]

    def room(self, words: int | str) -> list[str]:
        """The statements that take the memory of all values, so many words of each."""
        return [f"all_{name} = address_of_stack({words})" for name in self.names]


def words_of(statements: list[str]) -> set[str]:
    """The names, and what looks like one, that occur in statements."""
    return set(re.findall(r"\w+", "\n".join(statements)))


def each_phase_of_rows(
    phases: list[list[str]], given: dict[str, list[str]], dtype: str
) -> tuple[list[str], list[str]]:
    """Loops over the rows from ``unit`` up to ``last``, one for each phase of what a row does.

    ``given`` has the statements that make a variable of the row, which every phase that reads it
    repeats. Values that a phase makes of a row, ``r0`` or ``w0``, are kept for the others. Also
    returns the statements that take memory for them, once.
    """
    kept = Kept(dtype, "row - unit")
    loops: list[str] = []
    for k, phase in enumerate(phases):
        if not phase:
            continue
        wanted = words_of([line for later in phases[k + 1 :] for line in later])
        assigned = {line.partition(" = ")[0] for line in phase}
        made = sorted([x for x in assigned & wanted if re.fullmatch(r"[rw]\d+", x)])
        body = [*kept.read(phase), *phase]
        for name in reversed(given):
            if name in words_of(body):
                body = [*given[name], *body]
        body += [kept.store(name, name) for name in made]
        loops += ["for row in range(unit, last):", *[f"    {line}" for line in body]]
    return loops, kept.room(ROWS_TOGETHER)
