"""``compile``: a function that runs as one program, or in pieces around what no program can hold.

What is captured, and when its program runs, is in ``captured_function.py``; how a function is cut,
in ``broken_function.py``.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .captured_function import CapturedFunction, CompileError, Frames, runs_uncompiled
from .delayed_warnings import call_and_warn, warn

if TYPE_CHECKING:
    from .broken_function import BrokenFunction

_OWN_ATTRIBUTES = frozenset(
    (
        "_function", "_fullgraph", "_broken", "_programs", "_latest", "_quick", "_direct",
        "_looked_at", "_useless", "_awaited", "_given_up", "_reason", "_lock", "_states",
        "_records_walks", "_forms", "_seen",
        "_said_seen",
    )
)  # fmt: skip


class CompiledFunction(CapturedFunction):
    """A function that runs as a compiled program where it can. Made by ``numbagrad.compile``."""

    def __init__(self, function: Callable[..., Any], fullgraph: bool = False):
        super().__init__(function, fullgraph)
        #: The function in pieces, if there is a line that no program can hold.
        self._broken: BrokenFunction | None = None

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._broken is None or runs_uncompiled():
            return super()._call(args, kwargs)
        return call_and_warn(self._broken, args, kwargs)

    def _code(self) -> types.CodeType | None:
        """The code of the function, if it is written in Python."""
        from .broken_function import target_of

        return getattr(target_of(self._function), "__code__", None)

    def _cut_at_changes(self, reason: str) -> None:
        from .broken_function import BrokenFunction

        try:
            broken = BrokenFunction(self._function, self._name, self._records_walks)
        except ValueError:
            return
        lines = broken.cut_at_changes()
        if lines and broken.pieces:
            self._run_in_pieces(broken)
            said = ", ".join(map(str, lines))
            how = f"is compiled in pieces, because of {reason}"
            warn(f"compile: {self._name} {how}, at line {said}")

    def _stop_capture(self, reason: str, frames: Frames) -> None:
        from .broken_function import BrokenFunction

        try:
            broken = BrokenFunction(self._function, self._name, self._records_walks)
            if (broken.cut(frames) or broken.cut_at_changes()) and broken.pieces:
                self._run_in_pieces(broken)
        except ValueError as problem:
            reason = f"{reason} ({problem}, so it is not cut there)"
        self._given_up = self._broken is None
        how = "runs uncompiled" if self._given_up else "is compiled in pieces"
        warn(f"compile: {self._name} {how}, because of {reason}")

    def _run_in_pieces(self, broken: BrokenFunction) -> None:
        self._broken = broken
        self._quick = self._direct = None

    @property
    def broken(self) -> BrokenFunction | None:
        """The function in pieces, if it runs so."""
        return self._broken

    @property
    def fullgraph(self) -> bool:
        """Whether what cannot be part of a program raises."""
        return self._fullgraph

    @property
    def compiled_function(self) -> Callable[..., Any]:
        """The function as it was given."""
        return self._function

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes that users set on this object, as on a function."""
        return {key: value for key, value in vars(self).items() if key not in _OWN_ATTRIBUTES}


__all__ = ["CompileError", "CompiledFunction"]
