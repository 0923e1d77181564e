"""The entries of one container as they were when a call was captured, and whether they still are.

Made by ``reachable_state.py`` for each container, object and class that a function can reach.
Python compares entry by entry; where the container is of a kind that compiled code can look into
(``program/compiled_guards.py``), that does it in nanoseconds.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from ..program.compiled_guards import ANY, can_watch
from ..tensor import Tensor
from .object_state import is_plain, same


class Watched:
    """The entries of one container as they were; ``holds`` says whether they still are.

    Args:
        read: reads the entries.
        what: how messages name the container.
        container: what compiled code can look at in place of calling ``read``.
    """

    __slots__ = (
        "container", "read", "values", "what", "plain", "ignored", "positive", "forms", "moves",
    )  # fmt: skip

    def __init__(self, read: Callable[[], Any], what: str, container: Any = None):
        self.read = read
        self.what = what
        self.container = container if can_watch(container) else None
        self.values = list(read())
        self.plain = [is_plain(value) for value in self.values]
        #: Places of entries that may be anything.
        self.ignored: set[int] = set()
        #: Places of entries that may be any positive number.
        self.positive: set[int] = set()
        #: Places of entries that may be any tensors of these forms.
        self.forms: dict[int, Form] = {}
        #: Whether one of these has changed: then Python looks at every run.
        self.moves = False

    def holds(self) -> bool:
        """Whether every entry is what it was (numbers and texts: equals what it was)."""
        values = self.values
        now = self.read()
        if len(now) != len(values):
            return False
        if all(map(operator.is_, now, values)):
            return True
        return all(
            [
                a is b
                or (self.plain[k] and same(a, b))
                or k in self.ignored
                or (k in self.positive and type(a) in (int, float) and a > 0)
                or (k in self.forms and form_of(a) == self.forms[k])
                for k, (a, b) in enumerate(zip(now, values, strict=True))
            ]
        )

    def expected(self) -> list[Any]:
        """The values that a native check has to find: those that are there now."""
        now = list(self.read())
        if self.positive and not self.moves:
            self.moves = any([now[k] is not self.values[k] for k in self.positive])
        free = self.ignored | self.positive | self.forms.keys() if self.moves else self.ignored
        return [ANY if k in free else x for k, x in enumerate(now)] if free else now


#: The properties of a tensor that a program may depend on without reading its elements.
Form = tuple[Any, ...]


def form_of(value: Any) -> Form | None:
    """The form of a plain tensor; None for anything else."""
    if type(value) is not Tensor:
        return None
    array = value._array
    return array.shape, array.dtype, value._requires_grad, value._producer is None


class Assigned(NamedTuple):
    """An entry of a dictionary, as of an object's attributes, where a call put another tensor."""

    dictionary: dict[Any, Any]
    key: Any
    old: Tensor
    new: Tensor
    watched: Watched
    position: int

    def expect_old(self) -> None:
        """Let calls find what this one found: any tensor of the form of the old one."""
        form = form_of(self.old)
        assert form is not None
        self.watched.forms[self.position] = form


__all__ = ["Assigned", "Form", "Watched", "form_of"]
