"""When launchers that only save overhead are compiled: once a program has made enough calls.

``executor/families/copying.py`` and ``ops/operators/native_launchers.py`` each have such a group.
Another process compiles it (``background.py``); until it is ready, and without a compiler, Python
code does the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

from ..builtin import described, launcher_address
from ..mode import NATIVE
from . import library

#: Compiling a group takes a quarter of a second, and then every call saves a microsecond or so. A
#: program that made so many calls is likely to make many more; others are faster without. What is
#: on disk is used from the first call on.
CALLS_WORTH_COMPILING = 20_000
#: Calls between two looks whether a group that is being compiled is there.
CALLS_BETWEEN = 128


class Deferred:
    """Launchers, named by function and module, that are installed together or not at all."""

    __slots__ = ("functions", "installed", "_install", "_count_call", "_asked_disk", "_looks_again")

    def __init__(self, functions: Mapping[str, str], install: Callable[[], None]) -> None:
        """``install`` is called once, when the launchers are to be used from then on."""
        self.functions = functions
        self.installed = False
        self._install = install
        self._count_call = itertools.count().__next__
        self._asked_disk = False
        self._looks_again = 0

    def ready(self) -> bool:
        """Whether the launchers are to be used. Counts the calls that had to do without."""
        if self.installed or not NATIVE:
            return self.installed
        on_disk = False
        if not self._asked_disk:
            self._asked_disk = True
            functions = self.functions.items()
            on_disk = all(
                [launcher_address(name, module, compiling=False) for name, module in functions]
            )
        if on_disk or self._are_compiled():
            with library.lock:
                if not self.installed:
                    self._install()
                    self.installed = True
        return self.installed

    def _are_compiled(self) -> bool:
        """Count a call; whether there were enough of them, and the launchers are there by now."""
        calls = self._count_call()
        if calls < CALLS_WORTH_COMPILING or calls < self._looks_again:
            return False
        self._looks_again = calls + CALLS_BETWEEN
        return library.ready([described(*each) for each in self.functions.items()])
