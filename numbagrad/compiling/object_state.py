"""The parts of an object's state, for every kind of object that can be watched.

``reachable_state.py`` follows what is read here and compares it before each run. A class whose
instances hold state in C that is not listed here is *hidden*: a function that names such an object
cannot be compiled, since nobody would notice when it changes.
"""

from __future__ import annotations

import array
import collections
import ctypes
import datetime
import enum
import functools
import gc
import io
import operator
import re
import struct
import sys
import threading
import types
import typing
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..device import device
from ..dtype import dtype
from .classes import by_identity, is_a, scope_of, without_asking

#: Values without state of their own, which are compared; subclasses have attributes.
PLAIN = frozenset((
    bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range,
    dtype, device,
))  # fmt: skip

#: By their addresses: a metaclass may forbid to hash a class.
_PLAIN = frozenset(map(id, PLAIN))

#: Arrays of NumPy, and the like, that are compared byte by byte; larger ones are not watched.
MOST_BYTES = 1 << 16

_C_DATA: Any = ctypes.c_int.__mro__[-2]  # the base of all ctypes
_C_SIMPLE: Any = ctypes.c_int.__mro__[1]
#: The letters of simple types whose bytes are an address: of text, memory, or an object of Python.
_C_ADDRESSES = frozenset("zZPOX")
_LRU_CACHE: Any = functools._lru_cache_wrapper


class _Named(typing.NamedTuple):
    field: int


#: The descriptor that reads a field of a named tuple.
_FIELD_OF_TUPLE: Any = type(vars(_Named)["field"])

#: Functions in C, and descriptors.
_FUNCTIONS_IN_C = (
    types.BuiltinFunctionType, types.MethodWrapperType, types.WrapperDescriptorType,
    types.MethodDescriptorType, types.ClassMethodDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, _FIELD_OF_TUPLE, types.CodeType,
)  # fmt: skip
#: Objects that always refer to the same others, which may change themselves.
_FIXED_REFERENCES = (
    types.GenericAlias, re.Pattern, re.Match, datetime.date, datetime.time, datetime.timedelta,
    datetime.tzinfo, struct.Struct, operator.attrgetter, operator.itemgetter,
    operator.methodcaller, np.ufunc, typing.TypeVar, np.finfo, np.iinfo, types.CapsuleType
    if hasattr(types, "CapsuleType") else re.Pattern, types.UnionType, slice,
)  # fmt: skip
_CONSTANT = (*_FUNCTIONS_IN_C, *_FIXED_REFERENCES)

#: Bases in C whose instances are read as a whole by what follows, or hold nothing.
_READ_BASES = frozenset((
    object, dict, list, tuple, set, frozenset, collections.deque, collections.OrderedDict,
    collections.defaultdict, bool, int, float, complex, str, bytes, BaseException, Exception,
    types.SimpleNamespace, functools.partial, property, staticmethod, classmethod, type,
    weakref.ref, weakref.ProxyType, super, types.MethodType, types.FunctionType, types.CellType,
    types.ModuleType, array.array, bytearray, memoryview, np.ndarray, types.MappingProxyType,
    _LRU_CACHE, io.StringIO, io.BytesIO, types.DynamicClassAttribute, np.dtype,
    *_CONSTANT,
))  # fmt: skip

_DICT_VIEWS: Any = (
    type({}.keys()), type({}.values()), type({}.items()),
    type(collections.OrderedDict().keys()), type(collections.OrderedDict().values()),
    type(collections.OrderedDict().items()),
)  # fmt: skip


def is_plain(value: Any) -> bool:
    """Whether a value has no state beside what it is."""
    kind = type(value)
    if id(kind) in _PLAIN:
        return True
    if kind is slice:
        return all(map(is_plain, (value.start, value.stop, value.step)))
    if is_a(value, np.dtype):
        return kind is not _RECORD and value.metadata is None
    return is_a(value, np.generic) and kind is not np.void


#: The class of the dtypes with fields, whose names can be assigned.
_RECORD = type(np.dtype(np.void))


def is_constant(value: Any) -> bool:
    """Whether an object never changes; what it refers to may (``references_of``)."""
    return is_a(value, _CONSTANT)


def references_of(value: Any) -> list[Any]:
    """Objects that one that never changes refers to, but for its class and its attributes."""
    if is_a(value, _FUNCTIONS_IN_C):
        return []
    found = gc.get_referents(value)
    if is_a(value, (datetime.datetime, datetime.time)):  # which the collector does not visit
        found.append(value.tzinfo)
    own = type(value), without_asking(value, "__dict__")
    return [each for each in found if not any([each is x for x in own])]


def same(a: Any, b: Any) -> bool:
    """Whether two plain values are equal: 1, 1.0 and True are not, nor are 0.0 and -0.0."""
    if type(a) is not type(b):
        return False
    return bool(a == b and (a or repr(a) == repr(b)) or (a != a and b != b))


def reader_of(value: Any) -> Callable[[], list[Any]] | None:
    """A function that reads what an object of C holds, beside dictionary, slots and class.

    What it returns is compared, and followed. None where there is nothing of the kind.
    """
    for kind, make in _READERS:
        if is_a(value, kind):
            return make(value)
    return None


def _of_bytes(value: Any) -> Callable[[], list[Any]]:
    return lambda: [memoryview(value).tobytes()]


def _of_record(value: Any) -> Callable[[], list[Any]]:
    return lambda: [value.tobytes(), value.dtype]


def _of_c_data(value: Any) -> Callable[[], list[Any]]:
    size = ctypes.sizeof(value)
    return lambda: [ctypes.string_at(ctypes.addressof(value), size)]


def _of_cache(value: Any) -> Callable[[], list[Any]]:
    """How often a function was computed, and all that is remembered of it."""

    def read() -> list[Any]:
        info = value.cache_info()
        kept = [each for each in gc.get_referents(value) if not is_a(each, type)]
        tables = [each for each in kept if type(each) is dict and each is not vars(value)]
        # With a limit, the values are in a list of links, in the order of their last use.
        found = [each for table in tables for each in table.values() if not _is_link(each)]
        found += [each for each in kept if type(each) is not dict and not _is_link(each)]
        return [info.misses, info.currsize, *sorted(found, key=id)]

    return read


def _is_link(value: Any) -> bool:
    return type(value).__name__ == "_lru_list_elem"


def _of_exception(value: Any) -> Callable[[], list[Any]]:
    """The arguments of an exception, its cause, and attributes that were set on it."""

    def read() -> list[Any]:
        extras = vars(value)
        return [value.args, value.__cause__, value.__context__, *extras.keys(), *extras.values()]

    return read


def _of_dtype(value: Any) -> Callable[[], list[Any]]:
    """The names of the fields, their dtypes, and what users attached."""

    def read() -> list[Any]:
        fields = [part for each in (value.fields or {}).values() for part in each]
        attached = value.metadata or {}  # in a new view at each call
        return [value.names, *fields, *(value.subdtype or ()), *attached, *attached.values()]

    return read


def _of_attributes(*names: str) -> Callable[[Any], Callable[[], list[Any]]]:
    return lambda value: lambda: [getattr(value, name, None) for name in names]


def _of_mapping_view(value: Any) -> Callable[[], list[Any]]:
    return lambda: gc.get_referents(value)


_READERS: list[tuple[Any, Callable[[Any], Callable[[], list[Any]]]]] = [
    (_DICT_VIEWS, _of_mapping_view),
    (types.MappingProxyType, _of_mapping_view),
    ((bytearray, memoryview, array.array), _of_bytes),
    (np.void, _of_record),
    (np.dtype, _of_dtype),
    (_C_DATA, _of_c_data),
    (_LRU_CACHE, _of_cache),
    (collections.deque, lambda value: lambda: [*value, value.maxlen]),
    (collections.defaultdict, _of_attributes("default_factory")),
    ((set, frozenset), lambda value: lambda: list(value)),
    (functools.partial, _of_attributes("func", "args", "keywords")),
    (property, _of_attributes("fget", "fset", "fdel")),
    ((staticmethod, classmethod), _of_attributes("__func__")),
    (BaseException, _of_exception),
    ((io.StringIO, io.BytesIO), lambda value: lambda: [value.getvalue(), value.tell()]),
    (super, _of_attributes("__thisclass__", "__self__", "__self_class__")),
]


def is_decimal(value: Any) -> bool:
    """Whether a value is a decimal number, or their class: sums of them depend on a context."""
    module = sys.modules.get("decimal")
    kind = getattr(module, "Decimal", None)
    return kind is not None and (type(value) is kind or value is kind)


def decimal_context() -> list[Any]:
    """The rounding of this thread's decimal numbers, and the flags that they raised."""
    context: Any = sys.modules["decimal"].getcontext()
    return [repr(context), *[key for key, is_set in context.traps.items() if is_set]]


@by_identity
def _is_plain_memory(kind: Any) -> bool:
    """Whether the bytes of such an object of ctypes are all there is: none is an address."""
    if issubclass(kind, _C_SIMPLE):
        return kind._type_ not in _C_ADDRESSES
    if issubclass(kind, ctypes.Array):
        return _is_plain_memory(kind._type_)
    if issubclass(kind, (ctypes.Structure, ctypes.Union)):
        own = [scope_of(base).get("_fields_", ()) for base in kind.__mro__]
        return all([_is_plain_memory(field[1]) for fields in own for field in fields])
    return False  # pointers, functions


def nbytes_of(value: Any) -> int:
    """How many bytes an object of memory has; 0 for any other."""
    if is_a(value, np.ndarray):
        return value.nbytes
    if is_a(value, (bytearray, memoryview, array.array)):
        return memoryview(value).nbytes
    return ctypes.sizeof(value) if is_a(value, _C_DATA) else 0


def hidden(value: Any) -> bool:
    """Whether an object has, or may have, state that nothing here reads."""
    if is_a(value, _DICT_VIEWS):
        return False
    if is_a(value, _C_DATA):
        return not _is_plain_memory(type(value))
    if is_a(value, type):
        return False
    kind: Any = type(value)
    if kind in (io.StringIO, io.BytesIO):
        return False
    if _is_iterator(kind) and not is_of_python(kind):
        return True  # its position; a class of Python has attributes for it
    return has_hidden_base(kind)


@by_identity
def _is_iterator(kind: Any) -> bool:
    return any(["__next__" in scope_of(base) for base in kind.__mro__])


@by_identity
def has_hidden_base(kind: Any) -> bool:
    """Whether a class derives from one in C whose state nothing here reads."""
    if issubclass(kind, (np.generic, _C_DATA)):
        return False
    return any(
        [
            not is_of_python(base) and base not in _READ_BASES and not _is_exception(base)
            for base in kind.__mro__
        ]
    )


def _is_exception(kind: type) -> bool:
    return issubclass(kind, BaseException) and kind.__module__ == "builtins"


_HEAP_TYPE = 1 << 9


@by_identity
def is_of_python(kind: Any) -> bool:
    """Whether a class statement made a class: its instances hold slots, a dictionary, no more."""
    if not kind.__flags__ & _HEAP_TYPE:
        return False
    if issubclass(kind, enum.Enum):
        return True
    base = kind.__base__
    if base is None or kind.__itemsize__ != base.__itemsize__:
        return False
    scope = scope_of(kind)
    own = sum([is_a(each, types.MemberDescriptorType) for each in scope.values()])
    own += ("__dict__" in scope) + ("__weakref__" in scope)
    if kind.__basicsize__ - base.__basicsize__ > 8 * own:
        return False
    # Types in C may hide state behind functions in C: a class of Python has none of its own.
    # (One that it takes over from a base, as ``__hash__ = object.__hash__``, says whose it is.)
    own_in_c = [each for each in scope.values() if is_a(each, _SLOTS_IN_C)]
    return not any([each.__objclass__ is kind for each in own_in_c])


_SLOTS_IN_C = (types.WrapperDescriptorType, types.MethodDescriptorType)


def names_in(value: Any) -> list[str]:
    """The names of the attributes that an ``operator.attrgetter`` or ``methodcaller`` asks for."""
    if not is_a(value, (operator.attrgetter, operator.methodcaller)):
        return []
    reduced: Any = value.__reduce__()
    arguments = reduced[1]
    texts = [each for each in arguments if is_a(each, str)]
    return [part for text in texts for part in text.split(".")]


def is_lock(value: Any) -> bool:
    """Whether an object only keeps threads from running at once."""
    return is_a(value, _LOCKS)


_LOCKS = (type(threading.Lock()), type(threading.RLock()))


def slots_of(kind: Any) -> list[Any]:
    """The descriptors of the slots of a class and its bases, under whatever names."""
    return [
        each
        for base in kind.__mro__
        if is_of_python(base)
        for each in scope_of(base).values()
        if is_a(each, types.MemberDescriptorType)
    ]


#: In the place of a slot that was not assigned.
UNSET = object()


def slot_values(value: Any, slots: list[Any]) -> list[Any]:
    """The values of the slots of an object."""
    found = []
    for slot in slots:
        try:
            found.append(slot.__get__(value))
        except AttributeError:
            found.append(UNSET)
    return found


__all__ = [
    "MOST_BYTES", "PLAIN", "decimal_context", "has_hidden_base", "hidden", "is_constant",
    "is_decimal", "is_lock", "is_of_python", "is_plain",
    "names_in", "nbytes_of", "reader_of", "references_of", "same", "slot_values", "slots_of",
]  # fmt: skip
