"""Everything public that a class or a mode may override, and the raw ones among it.

Most public functions are ``checked`` and ask the layers themselves. The shortest methods and
functions of all do not, nor do properties: a question would be felt in ``x.dim()``. They are the
one thing that this library replaces while it runs: when a layer that acts on every public call is
first needed, functions that ask take their places, and ordinary programs pay nothing.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections import Counter
from collections.abc import Callable
from types import FunctionType
from typing import Any, Literal, NamedTuple

import numbagrad

from ..ops.methods import on_demand
from ..tensor import Tensor
from . import layers

__all__ = ["Public", "install", "places", "uninstall"]

#: Methods that are no functions of the elements, or that do not look at an override themselves.
_NOT_OVERRIDABLE = frozenset(
    (
        "__new__", "__init__", "__init_subclass__", "__torch_function__", "__hash__", "__dir__",
        "__getattr__", "__copy__", "__array_wrap__", "__array_function__", "as_subclass",
    )
)  # fmt: skip
#: Functions of these names say something of a class or of the library.
_NOT_OPERATORS = frozenset(
    ("is_tensor", "kernel", "set_default_tensor_type", "typename", "get_rng_state", "set_rng_state")
)
#: Where functions come from that are operators.
_HOMES = ("numbagrad.ops", "numbagrad.nn.functional", "numbagrad.linalg")

_lock = threading.RLock()
#: How many layers need functions that ask, and how many one for every place.
_users = {"shared": 0, "separate": 0}


class Public(NamedTuple):
    """A place where a program finds something that can be overridden."""

    owner: Any
    name: str
    value: Any


class _Tables(NamedTuple):
    """What stands in the places that are raw."""

    #: As it was defined.
    raw: list[Public]
    #: Functions that ask; what stood in two places, as ``mm`` and ``Tensor.mm``, still does.
    shared: list[Public]
    #: A function of its own for every place, for classes that tell them apart.
    separate: list[Public]
    #: The same, and all places whose functions ask by themselves.
    everything: list[Public]


def _found() -> list[Public]:
    """Every public method and property of Tensor, and every public function."""
    found = [Public(Tensor, name, value) for name, value in vars(Tensor).items()]
    found = [place for place in found if _is_public_method(place.name, place.value)]
    for module in (numbagrad, numbagrad.nn.functional, numbagrad.linalg):
        for name, value in vars(module).items():
            if _is_operator(name, value):
                found.append(Public(module, name, value))
    return found


def _is_public_method(name: str, value: Any) -> bool:
    if isinstance(value, FunctionType) and name.startswith("__"):
        return name not in _NOT_OVERRIDABLE
    return isinstance(value, (FunctionType, property)) and not (
        name.startswith("_") or name in _NOT_OVERRIDABLE
    )


def _is_operator(name: str, value: Any) -> bool:
    if not inspect.isfunction(value) or name.startswith("_") or name in _NOT_OPERATORS:
        return False
    return value.__module__ == "numbagrad" or value.__module__.startswith(_HOMES)


@functools.lru_cache(maxsize=1)
def _tables() -> _Tables:
    on_demand.load_all()
    for module, names in (
        (numbagrad, on_demand.homes()),
        (numbagrad.linalg, dir(numbagrad.linalg)),
    ):
        for name in names:
            getattr(module, name)
    found = _found()
    uses = Counter([id(place.value) for place in found])
    raw, shared, separate, everything = [], [], [], []
    common: dict[int, Any] = {}
    for place in found:
        key = id(place.value)
        asks = _asks(place.value)
        if not asks or uses[key] > 1:
            raw.append(place)
            if not asks and key not in common:
                common[key] = _asking(place)
            shared.append(place if asks else place._replace(value=common[key]))
            place = place._replace(value=common[key] if uses[key] == 1 else _asking(place))
            separate.append(place)
        everything.append(place)
    return _Tables(raw, shared, separate, everything)


def _asks(value: Any) -> bool:
    return isinstance(value, FunctionType) and "awake" in value.__code__.co_names


def _asking(place: Public) -> Any:
    """What stands for something raw."""
    value = place.value
    if isinstance(value, FunctionType):
        return _asking_function(value, place.name)
    get, set, delete = [
        f and _asking_function(f, f.__name__) for f in (value.fget, value.fset, value.fdel)
    ]
    made = property(get, set, delete, value.__doc__)
    getattr(made, "__set_name__")(Tensor, place.name)  # noqa: B009 - errors name it
    return made


def _asking_function(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def asking(*arguments: Any, **keywords: Any) -> Any:
        if layers.awake and layers.awake & layers.PUBLIC and layers.asks(asking):
            return layers.descend(asking, arguments, keywords)
        return function(*arguments, **keywords)

    asking.__name__ = name
    return asking


def places() -> list[Public]:
    """Every public place, with what stands there while places are told apart."""
    return _tables().everything


def install(kind: Literal["shared", "separate"]) -> None:
    """Have everything public ask the layers; once for each ``uninstall``."""
    _change(kind, 1)


def uninstall(kind: Literal["shared", "separate"]) -> None:
    """The opposite of ``install``."""
    _change(kind, -1)


def _change(kind: Literal["shared", "separate"], by: int) -> None:
    with _lock:
        _users[kind] += by
        tables = _tables()
        chosen = tables.shared if _users["shared"] else tables.raw
        for place in tables.separate if _users["separate"] else chosen:
            setattr(*place)
