"""Where CPython keeps the class, dictionary and code of an object, found by looking at real ones.

``compiling/reachable_state.py`` asks for the words that change when an object gets another class or
dictionary, a function other code or defaults, or a class other attributes; the native check of
``guards.py`` compares them. Each place is found at the first use by a probe that changes what it
looks for; where a probe does not find it, there are no words, and Python compares instead.
"""

from __future__ import annotations

import collections
import contextlib
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
    managed = bool(kind.__flags__ & _HAS_MANAGED)
    if not (managed or kind.__dictoffset__):
        return found
    if not _shows_dictionary(kind):
        return None
    position = _MANAGED if managed else kind.__dictoffset__
    dictionary = id(object.__getattribute__(value, "__dict__"))  # no ``__getattr__`` is called
    if (
        position == 0
        or (position < 0 and position != _MANAGED)
        or _word(id(value) + position) != dictionary
    ):
        return None
    return [*found, (id(value) + position, _ALL, dictionary)]


def _shows_dictionary(kind: type) -> bool:
    """Whether ``__dict__`` is what CPython puts into a class, rather than a property."""
    scopes = [type.__getattribute__(base, "__dict__") for base in type.mro(kind)]
    found = [scope["__dict__"] for scope in scopes if "__dict__" in scope]
    return bool(found) and isinstance(found[0], types.GetSetDescriptorType)


def words_of_kind(value: Any) -> list[Word] | None:
    """The class of an object alone."""
    return [(id(value) + _TYPE, _ALL, id(type(value)))] if _class_is_found() else None


def words_of_default(value: collections.defaultdict[Any, Any]) -> list[Word] | None:
    """The maker of missing values of a dictionary: the last word of its head."""
    factory = value.default_factory
    found = (id(value) + collections.defaultdict.__basicsize__ - 8, _ALL, id(factory))
    return [found] if factory is not None and _default_is_found() else None


@functools.cache
def _default_is_found() -> bool:
    probe: collections.defaultdict[Any, Any] = collections.defaultdict(list)
    address = id(probe) + collections.defaultdict.__basicsize__ - 8
    before = _word(address)
    probe.default_factory = dict
    return (before, _word(address)) == (id(list), id(dict))


def words_without_dictionary(value: Any) -> list[Word] | None:
    """The place of the dictionary of an object of C that was not given any attribute yet.

    To ask the object for its dictionary would make one.
    """
    position = type(value).__dictoffset__
    if position <= 0 or _word(id(value) + position) != 0:
        return None
    return [(id(value) + position, _ALL, 0)]


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


def words_of_slots(value: Any, slots: list[Any]) -> list[Word] | None:
    """The slots of an object: what each holds, or 0 where it was not assigned."""
    if not _slots_are_found():
        return None
    found = []
    for slot in slots:
        try:
            held = id(slot.__get__(value))
        except AttributeError:
            held = 0
        found.append((id(value) + _position_of_slot(slot), _ALL, held))
    return found if all([_word(address) == held for address, _, held in found]) else None


_SLOT_IN_CLASS = 40  # PyMemberDescrObject: d_member, a PyMemberDef
_OFFSET_OF_SLOT = 16  # of that: where the slot is in objects


def _position_of_slot(slot: Any) -> int:
    return _word(_word(id(slot) + _SLOT_IN_CLASS) + _OFFSET_OF_SLOT)


@functools.cache
def _slots_are_found() -> bool:
    if types.MemberDescriptorType.__basicsize__ != _SLOT_IN_CLASS + 8:
        return False

    class Base:
        __slots__ = ("second", "first")

    class Derived(Base):
        __slots__ = ("third",)

    for kind, names in ((Base, ("first", "second")), (Derived, ("first", "second", "third"))):
        probe = kind()
        for name in names:
            position = id(probe) + _position_of_slot(getattr(kind, name))
            held = object()
            before = _word(position)
            setattr(probe, name, held)
            during = _word(position)
            delattr(probe, name)
            if (before, during, _word(position)) != (0, id(held), 0):
                return False
    return True


#: The watched attributes of a function: those that may be given another object.
PARTS_OF_FUNCTION = (
    "__code__", "__defaults__", "__kwdefaults__", "__name__", "__qualname__", "__doc__",
    "__module__",
)  # fmt: skip


def words_of_function(value: types.FunctionType) -> list[Word] | None:
    """The code of a function, its defaults and names, and its dictionary, if it has one."""
    positions = _positions_in_functions()
    if positions is None:
        return None
    parts = [getattr(value, name) for name in PARTS_OF_FUNCTION]
    found = [
        (id(value) + position, _ALL, id(part))
        for position, part in zip(positions, parts, strict=True)
        if part is not None  # which is no object in some places, and None in others
    ]
    found += [
        (id(value) + position, _ALL, _word(id(value) + position))
        for position, part in zip(positions, parts, strict=True)
        if part is None
    ]
    if not all([_word(address) == expected for address, _, expected in found]):
        return None
    return [
        *found,
        (id(value) + _position_of_attributes(), _ALL, _word(id(value) + _position_of_attributes())),
    ]


def _position_of_attributes() -> int:
    """Where a function keeps its dictionary."""
    return types.FunctionType.__dictoffset__


def has_attributes(value: Any) -> bool:
    """Whether a function has a dictionary; to ask for it would make one."""
    return _position_of_attributes() <= 0 or _word(id(value) + _position_of_attributes()) != 0


@functools.cache
def _positions_in_functions() -> tuple[int, ...] | None:
    def probe(x: Any = object, *, y: Any = object) -> None:
        """A text of its own."""

    probe.__name__, probe.__qualname__ = "-".join("name"), "-".join("qualname")
    probe.__module__ = "-".join("module")
    if _position_of_attributes() <= 0:
        return None
    positions = []
    for name in PARTS_OF_FUNCTION:
        part = id(getattr(probe, name))
        found = [position for position in _HEAD_OF_FUNCTION if _word(id(probe) + position) == part]
        if len(found) != 1:
            return None
        positions += found
    other: tuple[Any, ...] = (list,)
    probe.__defaults__ = other
    probe.__kwdefaults__ = None
    changed = _word(id(probe) + positions[1]) == id(other) and _word(id(probe) + positions[2]) == 0
    before = has_attributes(probe)
    attributes = vars(probe)
    found_dictionary = _word(id(probe) + _position_of_attributes()) == id(attributes)
    return tuple(positions) if changed and not before and found_dictionary else None


def words_of_class(kind: type) -> list[Word] | None:
    """The version of a class, which no two states of it or of its bases share, and its names."""
    position, names = _position_of_version(), _positions_of_names()
    if position is None or names is None:
        return None
    _look(kind)
    address = id(kind) + position
    version = ctypes.c_uint32.from_address(address).value
    found = [(id(kind) + each, _ALL, _word(id(kind) + each)) for each in names]
    # A word of eight bytes that holds it: neighbours do not matter.
    return [(address, 0xFFFFFFFF, version), *found] if version else None


@functools.cache
def _positions_of_names() -> tuple[int, ...] | None:
    """Where a class keeps its two names, which are no attributes of it: others make no version."""
    probe = type("-".join("class"), (), {"__qualname__": "-".join("qualified")})
    head = range(16, int(type.__basicsize__), 8)  # type: ignore[call-overload]
    positions = []
    for name in ("__name__", "__qualname__"):
        before = id(getattr(probe, name))
        found = [position for position in head if _word(id(probe) + position) == before]
        other = "+".join(name)
        setattr(probe, name, other)
        if len(found) != 1 or _word(id(probe) + found[0]) != id(other):
            return None
        positions += found
    return tuple(positions)


def _look(kind: type) -> None:
    """Have Python give a class a version, as it does when it looks an attribute up.

    Of ``type`` itself: a metaclass of a user's may answer, or raise what it likes.
    """
    for name in ("__doc__", "nothing_has_this_name"):
        with contextlib.suppress(AttributeError):
            type.__getattribute__(kind, name)


@functools.cache
def _position_of_version() -> int | None:
    found = [position for position in _HEAD_OF_CLASS if _tells_versions(position)]
    return found[0] if len(found) == 1 else None


def _tells_versions(position: int) -> bool:
    """Whether the number at a place of a class changes with all that its attributes come from."""
    Base = type("Base", (), {"x": 1})
    kind = type("Kind", (Base,), {"y": 1})

    def version() -> int:
        _look(kind)
        return int(ctypes.c_uint32.from_address(id(kind) + position).value)

    def changed(change: Callable[[], object]) -> int:
        before = version()
        change()
        after = version()
        return after if after != before and version() == after else 0

    def no_longer() -> None:
        del Base.x

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


__all__ = [
    "PARTS_OF_FUNCTION", "Word", "has_attributes", "words_of_class", "words_of_default",
    "words_of_function", "words_of_kind", "words_of_object", "words_of_slots",
    "words_without_dictionary",
]  # fmt: skip
