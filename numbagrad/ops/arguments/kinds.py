"""Names that annotations have for what arguments are, where a Python type does not say it.

``errors.py`` reads annotations as text, and refuses before a call what is of another kind.
A function that takes its arguments in several ways declares them with ``takes``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

__all__ = ["FORMS", "NOT_GIVEN", "Ints", "Real", "Sizes", "takes"]

Function = TypeVar("Function", bound=Callable[..., Any])

#: A list or tuple of ints: torch takes no int alone here, as in the sizes of ``full``.
Ints: TypeAlias = Sequence[int]
#: An int, or several in a list or tuple.
Sizes: TypeAlias = Any
#: A real number, which may be a bool; not a complex one.
Real: TypeAlias = float


class _NotGiven:
    """The class of ``NOT_GIVEN``."""

    def __repr__(self) -> str:
        return "<not given>"


#: The default of arguments for which None is an error, or means something else than nothing.
NOT_GIVEN: Any = _NotGiven()

#: The attribute of a function under which ``takes`` leaves what it is given.
FORMS = "_forms"


def takes(*forms: str, by_method: bool = True) -> Callable[[Function], Function]:
    """Declare the ways in which a function takes its arguments.

    Args:
        by_method: whether the forms are those of the method of this name as well. Functions such
            as ``permute`` take a tuple only, where the method takes ints one by one.
        forms: one text for each way: ``"low: int, high: int, size: Ints"``. Kinds are the names
            that annotations may have, several of them joined by ``|``; a ``?`` behind a name says
            that the argument may be left out, and what follows a ``*`` is given by name. Keywords
            that no form mentions are not looked at.
    """

    def declare(function: Function) -> Function:
        setattr(function, FORMS, (forms, by_method))
        return function

    return declare
