"""Names that checkpoints may use: the closed list of ``load`` with ``weights_only=True``.

Containers, numbers, dates, and the functions of ``values.py``. For whatever a file may call there
is a function here that checks the arguments, since what classes accept is more than they write.
``legacy_names.py`` adds what the files of earlier versions name.
"""

from __future__ import annotations

import _compat_pickle
import datetime
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from ..device import device
from ..dtype import dtype_from_name
from ..nn.parameter import Buffer, Parameter
from ..size import Size
from ..tensor import Tensor
from . import values
from .values import check


def _of_kinds(function: Callable[..., Any], *signatures: tuple[Any, ...]) -> Callable[..., Any]:
    """A constructor that takes what one of the signatures says, tuples of types (or of tuples)."""

    def checked(*arguments: Any) -> Any:
        for signature in signatures:
            if len(signature) == len(arguments) and all(
                type(argument) in (kinds if isinstance(kinds, tuple) else (kinds,))
                for argument, kinds in zip(arguments, signature, strict=True)
            ):
                return function(*arguments)
        found = ", ".join(type(argument).__name__ for argument in arguments)
        raise TypeError(f"{function.__name__}() is not made of ({found})")

    return checked


_NONE = type(None)
_ATOMS = (_NONE, bool, int, float, str)


def _encoded(text: str, encoding: str) -> bytes:
    """Bytes, as the older of pickle's formats have them."""
    check(encoding == "latin1", f"bytes are written as latin1, not {encoding!r}")
    return text.encode("latin1")


def _array_of_bytes(content: bytes | str = b"", encoding: str = "latin-1") -> bytearray:
    return bytearray(_encoded(content, "latin1") if isinstance(content, str) else content)


def _deque(values: tuple[()] = (), limit: int | None = None) -> deque[Any]:
    check(values == (), "a deque is made empty")
    return deque((), limit)


_FACTORIES = frozenset((bool, int, float, complex, str, bytes, tuple, list, dict, set))


def _defaultdict(factory: Any = None) -> defaultdict[Any, Any]:
    check(
        factory is None or (isinstance(factory, type) and factory in _FACTORIES),
        "a defaultdict makes values of Python's own types",
    )
    return defaultdict(factory)


def _valid(made: Any) -> Any:
    """A date or time, if there is one like it: from its bytes, classes take what they find."""
    return made.replace()


def _dtype(name: str) -> Any:
    check(type(name) is str, "the name of a dtype is text")
    return dtype_from_name(name)


#: Functions that a file may call, and those that are called then.
_CONSTRUCTORS: dict[Any, Callable[..., Any]] = {
    bytes: _of_kinds(bytes, ()),
    bytearray: _of_kinds(_array_of_bytes, (), (bytes,), (str, str)),
    complex: _of_kinds(complex, (float, float)),
    frozenset: _of_kinds(frozenset, (), (list,), (tuple,)),
    set: _of_kinds(set, (), (list,), (tuple,)),
    object: _of_kinds(object, ()),
    range: _of_kinds(range, (int, int, int)),
    slice: _of_kinds(slice, (_ATOMS, _ATOMS, _ATOMS)),
    Counter: _of_kinds(Counter, (), (dict,)),
    OrderedDict: _of_kinds(OrderedDict, ()),
    defaultdict: _defaultdict,
    deque: _of_kinds(_deque, (), (tuple,), (tuple, (int, _NONE))),
    datetime.date: lambda *a: _valid(_of_kinds(datetime.date, (bytes,))(*a)),
    datetime.time: lambda *a: _valid(
        _of_kinds(datetime.time, (bytes,), (bytes, datetime.timezone))(*a)
    ),
    datetime.datetime: lambda *a: _valid(
        _of_kinds(datetime.datetime, (bytes,), (bytes, datetime.timezone))(*a)
    ),
    datetime.timedelta: _of_kinds(datetime.timedelta, (int, int, int)),
    datetime.timezone: _of_kinds(
        datetime.timezone, (datetime.timedelta,), (datetime.timedelta, str)
    ),
    Size: _of_kinds(Size, (tuple,)),
    dtype_from_name: _dtype,
    device: _of_kinds(device, (str,), (str, int)),
    values.memory: values.memory,
    values.tensor: values.tensor,
    values.array: values.array,
    values.number: values.number,
    values.numpy_dtype: values.numpy_dtype,
}

#: Types that a file may name, as the factory of a defaultdict or as values.
_TYPES = (
    bool, bytearray, bytes, complex, dict, float, frozenset, int, list, object, range, set, slice,
    str, tuple, Tensor, Parameter, Buffer,
)  # fmt: skip


def _encode_of_pickle(*arguments: Any) -> bytes:
    return _of_kinds(_encoded, (str, str))(*arguments)


def _set_attributes(target: OrderedDict[Any, Any], state: Any) -> OrderedDict[Any, Any]:
    """Set the attributes of an OrderedDict: the versions of a state dict are one."""
    check(type(state) is dict, "the attributes of an OrderedDict are a dict")
    for name, value in state.items():
        check(type(name) is str, "the name of an attribute is text")
        free = not hasattr(OrderedDict, name) and not name.startswith("__")
        check(free, f"an OrderedDict cannot be given its attribute {name!r}")
        setattr(target, name, value)
    return target


def _named(things: Any) -> dict[tuple[str, str], Any]:
    return {(thing.__module__, thing.__qualname__): thing for thing in things}


def _of_python_2(module: str, name: str) -> tuple[str, str]:
    """The name that the older of pickle's formats have instead."""
    return _compat_pickle.REVERSE_NAME_MAPPING.get(
        (module, name), (_compat_pickle.REVERSE_IMPORT_MAPPING.get(module, module), name)
    )


_NAMED = _named((*_CONSTRUCTORS, *_TYPES))

NAMES: dict[tuple[str, str], Any] = {
    **{_of_python_2(*name): thing for name, thing in _NAMED.items()},
    **_NAMED,
    ("_codecs", "encode"): _encode_of_pickle,
}
CONSTRUCTORS = {**_CONSTRUCTORS, _encode_of_pickle: _encode_of_pickle}
BUILDERS: dict[type, Callable[[Any, Any], Any]] = {OrderedDict: _set_attributes}

__all__ = ["BUILDERS", "CONSTRUCTORS", "NAMES"]
