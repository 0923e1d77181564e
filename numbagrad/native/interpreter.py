"""Functions of CPython's C API that Python code calls, or hands to compiled code by address.

``executor/threads/pool.py`` asks here for locks and threads that belong to no object of Python,
``program/trace.py`` which thread state is the present one. That file and others of this room are
all that knows of the C API.
"""

from __future__ import annotations

import ctypes
import gc
import types
from collections.abc import Callable
from typing import Any

__all__ = [
    "acquire_lock", "address_of", "callback", "class_was_changed", "exchange_references",
    "function_at", "keep_for_ever", "new_held_lock", "release_lock", "start_thread", "thread_state",
]  # fmt: skip

_thread_state = ctypes.pythonapi.PyThreadState_Get
_thread_state.restype = ctypes.c_void_p
_thread_state.argtypes = []

_allocate_lock = ctypes.pythonapi.PyThread_allocate_lock
_allocate_lock.restype = ctypes.c_void_p

_start_new_thread = ctypes.pythonapi.PyThread_start_new_thread
_start_new_thread.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
_start_new_thread.restype = ctypes.c_ulong

#: The answer of the system that refuses to start a thread.
_REFUSED = ctypes.c_ulong(-1).value

#: Address of the state of the calling thread, which is another one for each thread.
thread_state: Callable[[], int] = _thread_state


def address_of(function: Any) -> int:
    """Address of a C function, or of what :func:`callback` made."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


def acquire_lock() -> int:
    """Address of ``PyThread_acquire_lock``, which compiled code calls without the GIL."""
    return address_of(ctypes.pythonapi.PyThread_acquire_lock)


def release_lock() -> int:
    """Address of ``PyThread_release_lock``."""
    return address_of(ctypes.pythonapi.PyThread_release_lock)


def callback(function: Callable[[], None]) -> Any:
    """A C function without arguments that takes the GIL and calls ``function``; keep it."""
    return ctypes.CFUNCTYPE(None)(function)


def function_at(address: int) -> Callable[[int], None]:
    """The compiled function of one integer at an address, called without the GIL."""
    return ctypes.CFUNCTYPE(None, ctypes.c_int64)(address)


def keep_for_ever(value: Any) -> None:
    """Take a reference that is never given back: compiled code looks until the process is gone."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def exchange_references(holder: Any, plain: dict[int, Any], seen_by_collector: bool = True) -> None:
    """Put objects in the place of those with these ids, where the memory of a holder refers to one.

    That memory has the items of tuples, what slots, cells, slices and iterators refer to, the table
    of a frozenset and the variables of a generator. Where the collector sees other references than
    that memory has, nothing is done.
    """
    places = [address for address in _own_words(holder) if _word(address) in plain]
    if seen_by_collector:
        seen = [id(each) for each in gc.get_referents(holder) if id(each) in plain]
        places = places[: len(seen)]  # above the stack of what is suspended lies what was there
        if sorted(seen) != sorted([_word(address) for address in places]):
            return
    for place in places:
        word = ctypes.c_void_p.from_address(place)
        before = word.value
        assert before is not None
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(plain[before]))
        word.value = id(plain[before])
        ctypes.pythonapi.Py_DecRef(ctypes.c_void_p(before))


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


def _own_words(holder: Any) -> list[int]:
    """Addresses of the words of an object that may refer to others."""
    kind, begin = type(holder), object.__basicsize__
    found = []
    if issubclass(kind, frozenset):  # beside a small table, in use or not, and a few words
        head = _SetHead.from_address(id(holder))
        found += [head.table + _WORD * k for k in range(2 * (head.mask + 1))]
        begin = frozenset.__basicsize__
    end = kind.__basicsize__
    if issubclass(kind, tuple):
        end += _WORD * tuple.__len__(holder)
    if kind in _WITH_VARIABLES:
        code = getattr(holder, _WITH_VARIABLES[kind])
        variables = len({*code.co_varnames, *code.co_cellvars}) + len(code.co_freevars)
        end += _WORD * (variables + code.co_stacksize)
    return found + [id(holder) + each for each in range(begin, end, _WORD)]


class _SetHead(ctypes.Structure):
    """CPython's PySetObject, up to the address of its table of pairs of an object and its hash."""

    _fields_ = [
        (name, ctypes.c_size_t) for name in ("references", "type", "fill", "used", "mask", "table")
    ]


_WORD = 8
#: Objects with the variables of a function in their memory; the attribute that has its code.
_WITH_VARIABLES = {
    types.FrameType: "f_code",
    types.GeneratorType: "gi_code",
    types.CoroutineType: "cr_code",
    types.AsyncGeneratorType: "ag_code",
}


def class_was_changed(kind: type) -> None:
    """Forget what CPython remembers of the attributes of a class: its dictionary was written."""
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def new_held_lock() -> int:
    """Address of a new CPython lock that is taken, or 0 if there is no memory."""
    lock = _allocate_lock() or 0
    if lock:
        ctypes.pythonapi.PyThread_acquire_lock(ctypes.c_void_p(lock), 1)
    return lock


def start_thread(function: int, argument: int) -> bool:
    """Start a native thread in a C function at an address; False if the system refuses."""
    started: int = _start_new_thread(function, argument)
    return started != _REFUSED
