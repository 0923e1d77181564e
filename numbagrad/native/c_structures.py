"""Structures of CPython and NumPy that Python code fills or reads, and where slots lie in objects.

``executor/builtin.py`` makes builtins of compiled functions, ``executor/memory/buffers.py`` a
handler for NumPy's memory, ``ops/operators/native_launchers.py`` tells launchers where the slots
of Tensors and nodes lie, and ``program/compiled_guards.py`` whether dictionaries count changes.
What the heads of objects look like is in ``object_heads.py``.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .object_heads import ArrayHead, DictionaryHead, ObjectHead

__all__ = [
    "MemoryHandler", "arrays_have_handlers", "changes_are_counted",
    "new_builtin", "numpy_function", "slot_offset",
]  # fmt: skip

_METHOD_FASTCALL = 0x0080


class _MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_new_function = ctypes.pythonapi.PyCFunction_NewEx
_new_function.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
_new_function.restype = ctypes.py_object
_keep_alive: list[Any] = []  # method definitions must outlive their builtins


def new_builtin(name: str, address: int, owner: Any) -> Callable[..., Any]:
    """A builtin that calls the fastcall function at ``address``, whose self is ``owner``."""
    definition = _MethodDefinition(name.encode(), address, _METHOD_FASTCALL, None)
    _keep_alive.append(definition)
    made: Callable[..., Any] = _new_function(ctypes.addressof(definition), owner, None)
    return made


def numpy_function(slot: int) -> int:
    """Address of a function of NumPy's C API, as its own headers look it up."""
    capsule = np._core._multiarray_umath._ARRAY_API
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    pointer.restype = ctypes.c_void_p
    api = ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    return int(api[slot] or 0)


class MemoryHandler(ctypes.Structure):
    """NumPy's PyDataMem_Handler."""

    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    ]


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def arrays_have_handlers() -> bool:
    """Whether arrays have the handler of their memory where the pool will put it (NEP 49)."""
    if np.ndarray.__basicsize__ < ArrayHead.handler.offset + 8:
        return False
    array = np.empty(1)
    found = _word(id(array) + ArrayHead.handler.offset)
    capsule = type(np._core._multiarray_umath._ARRAY_API)
    return found != 0 and _word(found + ObjectHead.type.offset) == id(capsule)


def slot_offset(cls: type, name: str) -> int:
    """Bytes from the start of an instance to one of its slots."""
    probe: Any = np.zeros(()).view(cls) if issubclass(cls, np.ndarray) else object.__new__(cls)
    marker = object()
    setattr(probe, name, marker)
    words = (ctypes.c_int64 * (cls.__basicsize__ // 8)).from_address(id(probe))
    return 8 * list(words).index(id(marker))


@functools.lru_cache(maxsize=1)
def changes_are_counted() -> bool:
    """Whether each change of a dictionary gives it a number of its own, as PEP 509 says.

    CPython does so up to 3.11; later the word is used for something else.
    """
    if sys.implementation.name != "cpython" or sys.version_info >= (3, 12):
        return False
    probe: dict[str, Any] = {}
    position = id(probe) + DictionaryHead.version.offset
    found = [_word(position)]
    for change in (
        lambda: probe.update(a=1.5), lambda: probe.update(a=2.5), lambda: probe.pop("a"),
        lambda: probe.setdefault("b"), probe.clear,
    ):  # fmt: skip
        change()
        found.append(_word(position))
    return len(set(found)) == len(found)
