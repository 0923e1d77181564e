"""``Observer``: a trace that sees what the eager operators of a thread run, and keeps nothing.

``profile`` times launches with one, and ``dispatch/interception.py`` has operators come by Python
with one, so that somebody may decide what to do with them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ..executor import capture
from ..executor.plan.operations import Array, Operation
from .capture_lock import one_at_a_time
from .trace import Trace

__all__ = ["Observer"]


class _Log(list[Operation]):
    """Operations that are not kept but shown to an observer."""

    def __init__(self, observer: Observer):
        super().__init__()
        self._onlooker = observer

    def append(self, operation: Operation) -> None:
        """Show an operation."""
        self._onlooker.note(operation)


class Observer(Trace):
    """A trace that forgets at once what ran."""

    observes = True
    needs_operators = False

    def __init__(self) -> None:
        super().__init__()
        self.operations = _Log(self)

    def look(self, on: bool) -> None:
        """Begin or end to see what this thread runs."""
        self.thread = threading.get_ident()
        capture.active = self if on else None
        self._attend(on)

    @contextlib.contextmanager
    def instead(self) -> Iterator[None]:
        """See what this thread runs inside the ``with`` block, in place of who sees it now."""
        with one_at_a_time():
            before = capture.active
            self.look(True)
            try:
                yield
            finally:
                self.look(False)
                capture.active = before
                capture.attend_again()

    def note(self, operation: Operation) -> None:
        """Forget an operation that ran."""
        self.memories.clear()

    # What a trace would have to remember, or refuse, does not matter here.

    def forward(self, name: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Only launches are seen."""
        return function(*arguments)

    def fail(self, what: str, at: Any = None) -> None:
        """Nothing has to become a program."""

    def note_raised(self, error: Exception) -> None:
        """Nothing has to become a program."""

    def keep(self, value: Any) -> None:
        """Nothing is looked up by its id."""

    def check_written(self, array: Array) -> None:
        """Any write will do."""

    def manage(self, array: Array) -> None:
        """Any write will do."""

    def add_numbers(self, source: Callable[[], tuple[float, ...]]) -> tuple[float, ...]:
        """Numbers are what they are."""
        return source()
