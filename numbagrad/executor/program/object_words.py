"""Where CPython keeps the class, dictionary and code of an object, found by looking at real ones.

``compiling/surroundings.py`` asks for the words that change when an object gets another class or
dictionary, a function other code or defaults, or a class other attributes; the native check of
``guards.py`` compares them. Each place is found at the first use by a probe that changes what it
looks for; where a probe does not find it, there are no words, and Python compares instead.
"""

from __future__ import annotations

import ctypes
import functools
import types
from collections.abc import Callable
from typing import Any

#: An address, the bits of the word there that matter, and what these are.
Word = tuple[int, int, int]

_ALL = (1 << 64) - 1
_TYPE = 8  # PyObject: a count of references, then the class
_HEAD_OF_FUNCTION = range(16, 160, 8)
_HEAD_OF_CLASS = range(16, 416, 4)
#: From Python 3.11 on the dictionary of most objects is before the object; a flag of its class.
_MANAGED, _HAS_MANAGED = -24, 1 << 4


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def words_of_object(value: Any) -> list[Word] | None:
    """The class of an object, and its dictionary if it has one."""
    if not _class_is_found():
        return None
    kind = type(value)
    found = [(id(value) + _TYPE, _ALL, id(kind))]
    if not hasattr(value, "__dict__"):
        return found
    place = _MANAGED if kind.__flags__ & _HAS_MANAGED else kind.__dictoffset__
    dictionary = id(vars(value))
    if place == 0 or (place < 0 and place != _MANAGED) or _word(id(value) + place) != dictionary:
        return None
    return [*found, (id(value) + place, _ALL, dictionary)]


@functools.cache
def _class_is_found() -> bool:
    class First:
        pass

    class Second:
        pass

    probe = First()
    before = _word(id(probe) + _TYPE)
    probe.__class__ = Second  # type: ignore[assignment]
    after = _word(id(probe) + _TYPE)
    return (before, after) == (id(First), id(Second))


def words_of_function(value: types.FunctionType) -> list[Word] | None:
    """The code of a function and its defaults."""
    places = _places_in_functions()
    if places is None:
        return None
    parts = (value.__code__, value.__defaults__, value.__kwdefaults__)
    found = [
        (id(value) + place, _ALL, 0 if part is None else id(part))
        for place, part in zip(places, parts, strict=True)
    ]
    # A count of a function's changes would do as well, but not every Python has one.
    return found if all([_word(address) == expected for address, _, expected in found]) else None


@functools.cache
def _places_in_functions() -> tuple[int, ...] | None:
    def probe(x: Any = object, *, y: Any = object) -> None:
        pass

    places = []
    for part in (probe.__code__, probe.__defaults__, probe.__kwdefaults__):
        found = [place for place in _HEAD_OF_FUNCTION if _word(id(probe) + place) == id(part)]
        if len(found) != 1:
            return None
        places += found
    other: tuple[Any, ...] = (list,)
    probe.__defaults__ = other
    probe.__kwdefaults__ = None  # type: ignore[assignment]
    changed = _word(id(probe) + places[1]) == id(other) and _word(id(probe) + places[2]) == 0
    return tuple(places) if changed else None


def words_of_class(kind: type) -> list[Word] | None:
    """The version of a class, which no two states of it or of its bases share."""
    place = _place_of_version()
    if place is None:
        return None
    _look(kind)
    address = id(kind) + place
    version = ctypes.c_uint32.from_address(address).value
    # A word of eight bytes that holds it: neighbours do not matter.
    return [(address, 0xFFFFFFFF, version)] if version else None


def _look(kind: type) -> None:
    """Have Python give a class a version, as it does when it looks an attribute up."""
    getattr(kind, "__doc__", None)
    getattr(kind, "nothing_has_this_name", None)


@functools.cache
def _place_of_version() -> int | None:
    found = [place for place in _HEAD_OF_CLASS if _tells_versions(place)]
    return found[0] if len(found) == 1 else None


def _tells_versions(place: int) -> bool:
    """Whether the number at a place of a class changes with all that its attributes come from."""
    Base = type("Base", (), {"x": 1})
    kind = type("Kind", (Base,), {"y": 1})

    def version() -> int:
        _look(kind)
        return int(ctypes.c_uint32.from_address(id(kind) + place).value)

    def changed(change: Callable[[], object]) -> int:
        before = version()
        change()
        after = version()
        return after if after != before and version() == after else 0

    def no_longer() -> None:
        del Base.x  # type: ignore[attr-defined]

    before = version()
    seen = [
        before,
        changed(lambda: setattr(kind, "y", 2)),
        changed(lambda: setattr(Base, "x", 2)),
        changed(no_longer),
        changed(lambda: setattr(kind, "__bases__", (type("Other", (Base,), {}),))),
    ]
    # Addresses and counts of references may change as well, but not as counts of versions do.
    return 0 not in seen and len(set(seen)) == len(seen) and max(seen) - min(seen) < 4096


__all__ = ["Word", "words_of_class", "words_of_function", "words_of_object"]
