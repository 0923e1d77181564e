"""Functions of Python on arrays, as operations of a capture.

``array_function`` is a decorator for what operators compute by NumPy: a call is noted as one
operation where the thread captures, and made again at each run of the program. So what they return
is never frozen into one, and whoever calls them need not know of captures.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ...backend import foreign_among
from ...executor import capture
from ...executor.capture import outside_programs

__all__ = ["array_function"]

Function = TypeVar("Function", bound=Callable[..., Any])

_NOTED: dict[str, Callable[..., Any]] = {
    "result": capture.call,
    "check": capture.check,
    "draw": capture.drawn,
    "write": capture.write,
}


def array_function(effect: str = "result", *, refused: str = "") -> Callable[[Function], Function]:
    """Decorate a function of arrays and other values, by position.

    Args:
        effect: "result" of one that returns new arrays, whose shapes follow from those of its
            arguments; "draw" of one that draws random numbers for these; "write" of one that writes
            its first argument; "check" of one that raises or returns None, which a program calls
            before it writes anything where it can.
        refused: what cannot be part of a program, for one whose result has a shape that depends on
            values: a capture ends at its call.
    """
    noted = _NOTED[effect]

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            if refused and (where := foreign_among(arguments)) and not where.has_elements:
                where.to_host(arguments[0])  # raises
            return noted(function, *arguments)

        return outside_programs(refused)(call) if refused else call  # type: ignore[return-value]

    return decorate
