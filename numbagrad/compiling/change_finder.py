"""The line at which a function changes what its programs depend on.

Asked for by ``function.py`` once captures keep ending because of such a change, which the syntax
of the function does not show: a method that writes attributes, as the step of a scheduler does.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any


class ChangeFinder:
    """Looks after every line of some code, inside of ``with``, whether something has changed.

    A debugger that traces the thread already keeps it; nothing is found then.

    Args:
        code: of the function whose lines are told apart; None to look at none.
        changed: whether what programs depend on is no longer what it was.

    Attributes:
        found: the code and the line after which it was not, if there is one.
    """

    def __init__(self, code: types.CodeType | None, changed: Callable[[], bool]):
        self.found: list[tuple[types.CodeType, int]] = []
        self._code = code
        self._changed = changed
        self._lines: dict[types.FrameType, int] = {}
        self._traces = False

    def __enter__(self) -> ChangeFinder:
        self._traces = self._code is not None and sys.gettrace() is None
        if self._traces:
            sys.settrace(self._enter)
        return self

    def __exit__(self, *error: object) -> None:
        if self._traces:
            sys.settrace(None)
        self._lines.clear()

    def _enter(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        if frame.f_code is not self._code:
            return None
        self._lines[frame] = frame.f_lineno
        return self._look

    def _look(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        if not self.found and self._changed():
            self.found.append((frame.f_code, self._lines[frame]))
        self._lines[frame] = frame.f_lineno
        return self._look


__all__ = ["ChangeFinder"]
