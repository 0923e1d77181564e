"""The options of an optimizer's group of parameters, which say who reads them in a recorded call.

A compiled step reads the learning rate anew at each run. If code of users reads it as well, the
program holds for the value that it read: ``compiling/call_capture.py`` asks. Outside of a
recording a group is a dictionary like any other.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from ..executor import capture

_FOLDER = os.path.dirname(__file__) + os.sep
#: Files of this folder whose reads are those of users: they hand out what they read.
_FOR_USERS = (os.path.join(_FOLDER, "lr_scheduler"), os.path.join(_FOLDER, "swa_utils"))


class ParameterGroup(dict[str, Any]):
    """A dictionary of options that an optimizer made itself; copies of it are ordinary ones."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        return dict, (dict(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        from copy import deepcopy

        return deepcopy(dict(self), memo)


class ObservedGroup(ParameterGroup):
    """The class of a group while a call is recorded: notes the options that are read."""

    __slots__ = ()

    def _note(self, keys: Iterable[Any]) -> None:
        trace = capture.current_trace()
        if trace is None:  # the optimizer's own numbers, which each run computes anew
            return
        file = sys._getframe(2).f_code.co_filename
        if not file.startswith(_FOLDER) or file.startswith(_FOR_USERS):
            _read.setdefault(id(self), set()).update(keys)

    def __getitem__(self, key: str) -> Any:
        self._note((key,))
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._note((key,))
        return super().get(key, default)

    def pop(self, key: str, *default: Any) -> Any:
        self._note((key,))
        return super().pop(key, *default)

    def setdefault(self, key: str, default: Any = None) -> Any:
        self._note((key,))
        return super().setdefault(key, default)

    # C merges a dictionary entry by entry, through the methods above, if this is not dict's.
    def __iter__(self) -> Iterator[str]:
        return super().__iter__()


def _noting_all(name: str) -> Any:
    method = getattr(dict, name)

    def noting(self: ObservedGroup, *arguments: Any) -> Any:
        self._note(self.keys())
        return method(self, *arguments)

    noting.__name__ = name
    return noting


for _name in (
    "values", "items", "copy", "popitem", "__repr__", "__eq__", "__ne__", "__or__", "__ror__",
    "__reduce_ex__", "__format__", "__str__",
):  # fmt: skip
    setattr(ObservedGroup, _name, _noting_all(_name))

#: The options of groups that were read in the present recording, by the id of the group.
_read: dict[int, set[Any]] = {}


def note_all_read(group: dict[str, Any]) -> None:
    """Note that the optimizer hands out all options of a group."""
    if isinstance(group, ObservedGroup) and capture.current_trace() is not None:
        _read.setdefault(id(group), set()).update(group.keys())


@contextlib.contextmanager
def observing(groups: Iterable[dict[str, Any]]) -> Iterator[dict[int, set[Any]]]:
    """Observe groups inside of the block.

    Yields the options of each that were read, by the id of the group; those that optimizers made
    are the only ones that it knows of.
    """
    observed = [group for group in groups if type(group) is ParameterGroup]
    _read.clear()
    found: dict[int, set[Any]] = _read
    for group in observed:
        found[id(group)] = set()
        group.__class__ = ObservedGroup
    try:
        yield found
    finally:
        for group in observed:
            group.__class__ = ParameterGroup


__all__ = ["ObservedGroup", "ParameterGroup", "note_all_read", "observing"]
