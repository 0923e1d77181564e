"""Class and attributes of objects, read without running code of the object's own class.

``isinstance`` asks an object for ``__class__``, which a proxy answers by making what it stands for,
and ``hasattr`` calls ``__getattr__``; either may count, or raise what it likes. The walk through
what a call can read must leave no trace, and must not end by what a user's class answers.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

Found = TypeVar("Found")


if TYPE_CHECKING:  # which tells it from the other one, and takes less for granted then
    from builtins import isinstance as is_a
else:

    def is_a(value: Any, kinds: Any) -> bool:
        """Whether an object is an instance of a class, or of one of several: by its type alone."""
        return issubclass(type(value), kinds)


def by_identity(find: Callable[[Any], Found]) -> Callable[[Any], Found]:
    """Keep what a function finds for each class; a metaclass may forbid to compare and to hash."""
    kept: dict[int, tuple[Any, Found]] = {}

    @functools.wraps(find)
    def found(kind: Any) -> Found:
        known = kept.get(id(kind))
        if known is None:
            known = kept[id(kind)] = (kind, find(kind))  # the class stays: so does its address
        return known[1]

    return found


def without_asking(value: Any, name: str) -> Any:
    """An attribute that an object has, or None; neither ``__getattr__`` nor a property is called.

    What these return for a name, or raise, is none of our business.
    """
    if answers_itself(type(value)):
        found = inspect.getattr_static(value, name, None)
        if is_a(found, types.GetSetDescriptorType):
            return object.__getattribute__(value, name)
        return None if is_a(found, property) else found
    return getattr(value, name, None)


@by_identity
def answers_itself(kind: Any) -> bool:
    """Whether a class has code of its own for attributes, or for the dictionary."""
    own = ("__getattr__", "__getattribute__", "__dict__")
    scopes = [scope_of(base) for base in type.mro(kind) if base is not object]
    return any(
        [
            name in scope and is_a(scope[name], (types.FunctionType, property))
            for scope in scopes
            for name in own
        ]
    )


def scope_of(kind: Any) -> Any:
    """The attributes of a class, past its metaclass."""
    return type.__getattribute__(kind, "__dict__")


def module_of(value: Any) -> str:
    """The name of the module of a class or a function; empty where it says none.

    Functions of some extensions have the module itself, and a class may have anything there.
    """
    if is_a(value, type):
        found = type.__getattribute__(value, "__module__")
    else:
        found = getattr(value, "__module__", None)
    if is_a(found, types.ModuleType):
        found = name_of_module(found)
    return found if type(found) is str else ""


def name_of_module(module: types.ModuleType) -> str:
    """The name that a module has among its attributes; empty where it has none."""
    found = dict_of_module(module).get("__name__")
    return found if type(found) is str else ""


def dict_of_module(module: types.ModuleType) -> dict[str, Any]:
    """The attributes of a module; to ask for one would import what is imported lazily."""
    found: dict[str, Any] = object.__getattribute__(module, "__dict__")
    return found


__all__ = [
    "answers_itself", "by_identity", "dict_of_module", "is_a", "module_of", "name_of_module",
    "scope_of", "without_asking",
]  # fmt: skip
