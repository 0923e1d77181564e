"""``explain``: what a call does, for people: of a compiled function its program, else the kernels.

The program itself is described by ``program/explanation.py``, the kernels of an ordinary
call by ``executor/explain.py``, and those of an operator's backward by ``operator_explanation.py``.
"""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from collections.abc import Callable
from typing import Any

from ..executor.explain import explain as explain_kernels
from ..executor.pair import Pair
from ..program.explanation import Description, describe
from .captured_call import CapturedCall
from .captured_function import CapturedFunction
from .function import CompiledFunction
from .module import OptimizedModule
from .operator_explanation import with_backward


@dataclasses.dataclass(frozen=True)
class ProgramExplanation:
    """The program that stood for a call of a compiled function, and what the call returned.

    ``str()`` is a text; a notebook shows a picture. ``backward`` describes the program that runs
    when the results are differentiated later, if they can be. Without a program ``forward`` is None
    and ``reason`` says why; ``pieces`` then explains the runs of statements that have programs,
    each time that one of them ran. ``pair`` is the program with its backward, as kernels.
    """

    call: str
    result: Any
    forward: Description | None
    backward: Description | None = None
    reason: str = ""
    pieces: tuple[ProgramExplanation, ...] = ()
    pair: Pair | None = None

    def __str__(self) -> str:
        if self.pieces:
            head = f"{self.call} ran in pieces: {self.reason}"
            return "\n\n".join([head, *[str(piece) for piece in self.pieces]])
        if self.forward is None:
            return f"{self.call} ran uncompiled: {self.reason}"
        parts = [self.forward, self.backward]
        return "\n\n".join([str(part) for part in parts if part is not None])

    __repr__ = __str__

    def _repr_svg_(self) -> str | None:
        return None if self.forward is None else self.forward.svg()

    def save_svg(self, path: str | pathlib.Path, backward: bool = False) -> None:
        """Write the picture of the program (or of that of the backward) to a file."""
        found = self.backward if backward else self.forward
        if found is None:
            raise ValueError(f"{self.call} has no program to draw: {self.reason or 'no backward'}")
        pathlib.Path(path).write_text(found.svg(), encoding="utf-8")


def explaining(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls ``function`` and returns an explanation; see ``numbagrad.explain``."""

    @functools.wraps(function, updated=())
    def explained(*args: Any, **kwargs: Any) -> Any:
        compiled = function
        if isinstance(compiled, OptimizedModule):
            compiled = compiled.__dict__["_compiled"]
        if not isinstance(compiled, CompiledFunction):
            found = explain_kernels(function, *args, **kwargs)
            is_ours = str(getattr(function, "__module__", "")).startswith("numbagrad")
            return with_backward(found, (*args, *kwargs.values()), None if is_ours else 1)
        name = getattr(function, "__qualname__", type(function).__name__)
        if compiled.broken is not None:
            result, ran = compiled.broken.call_and_find(*args, **kwargs)
            pieces = [_explanation(each.where, None, program, each) for each, program in ran]
            lines = ", ".join(map(str, compiled.broken.left_to_python))
            reason = f"{compiled.reason}; left to Python: what is on lines {lines}"
            return ProgramExplanation(name, result, None, reason=reason, pieces=tuple(pieces))
        result, captured = compiled.call_and_find(*args, **kwargs)
        return _explanation(name, result, captured, compiled)

    return explained


def _explanation(
    name: str, result: Any, captured: CapturedCall | None, compiled: CapturedFunction
) -> ProgramExplanation:
    if captured is None:
        return ProgramExplanation(name, result, None, reason=compiled.reason)
    forward, backward = captured.programs
    return ProgramExplanation(
        name,
        result,
        describe(forward, name),
        None if backward is None else describe(backward, f"backward of {name}"),
        pair=captured,
    )


__all__ = ["ProgramExplanation", "explaining"]
