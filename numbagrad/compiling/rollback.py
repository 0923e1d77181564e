"""Taking back what a run of a program did before it raised, so that the function can be called.

An operator may raise in a program as it does in the function, with values that are out of range.
What the function does then, which may be to catch that, is not in the program: the state is made
what it was before the run, and the function is called. ``captured_call.py`` does so around each
run that may raise. An exchange with other processes is not made again, as they would not take part:
what it raises comes through, and the state stays as it is then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..executor.memory.arrays import assign
from ..executor.plan.operations import Array, Call, Operation, may_raise
from ..executor.plan.views import View
from ..program.program import Program, as_view
from ..random import Generator

_NOTHING = np.empty(0, np.int64)


def _exchanges(operation: Operation) -> bool:
    return isinstance(operation, Call) and operation.exchanges


class Failed(Exception):  # noqa: N818 - a signal inside this package
    """Raised where a run of a program raised, and has left nothing behind."""


class Undo:
    """Memory that a run of one program may have written when an operation raises, as it was before.

    Most often nothing: operations that may raise come first, and what a step writes, last.

    Args:
        program: the program.
        generators: the generators of random numbers that it may draw from.
    """

    def __init__(self, program: Program, generators: Sequence[Generator]):
        self._program = program
        slots = {view.memory: k for k, view in enumerate(program.given)}
        moments = program.moments
        unsure = [k for k, each in enumerate(moments) if may_raise(each) and not _exchanges(each)]
        before = moments[: unsure[-1] + 1] if unsure else []
        #: Parts of given memory that are written, by the number of the array given.
        self._written: dict[tuple[Any, ...], tuple[int, View]] = {}
        for operation in before:
            for view in operation.writes:
                if view.memory in slots and view.size:
                    key = view.memory, view.offset, view.shape, view.strides
                    self._written.setdefault(key, (slots[view.memory], view))
        draws = any([isinstance(each, Call) and each.effect for each in before])
        self._generators = generators if draws else ()
        self._saved: list[tuple[Array, Array]] = []
        self._states: list[Array] = []

    @property
    def needed(self) -> bool:
        """Whether there is anything to keep before a run."""
        return bool(self._written or self._generators)

    def prepare(self, given: Sequence[Array]) -> None:
        """Before a run: keep what it may overwrite."""
        start = self._program.given
        self._saved = [
            (part, part.copy("C"))
            for part in [
                as_view(given[slot], view, start[slot].offset)
                for slot, view in self._written.values()
            ]
        ]
        self._states = [each.rewind(_NOTHING) for each in self._generators]

    def forget(self) -> None:
        """After a run that did not raise."""
        self._saved, self._states = [], []

    def take_back(self) -> None:
        """After a run that raised."""
        self._program.undo_sources()
        for part, before in reversed(self._saved):
            assign(part, before)
        for generator, words in zip(self._generators, self._states, strict=False):
            generator.rewind(words)
        self.forget()


__all__ = ["Failed", "Undo"]
