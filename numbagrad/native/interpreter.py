"""Functions of CPython's C API that Python code calls, or hands to compiled code by address.

``executor/threads/pool.py`` asks here for locks and threads that belong to no object of Python,
``program/trace.py`` which thread state is the present one. That file and others of this room are
all that knows of the C API.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

__all__ = [
    "acquire_lock", "address_of", "callback", "function_at", "keep_for_ever", "new_held_lock",
    "release_lock", "set_item_of_tuple", "start_thread", "thread_state",
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


def set_item_of_tuple(holder: tuple[Any, ...], index: int, value: Any) -> None:
    """Put an object in the place of another one in a tuple, which others may refer to.

    Raises:
        RuntimeError: if items of tuples lie elsewhere in this interpreter.
    """
    items = (ctypes.c_void_p * len(holder)).from_address(id(holder) + tuple.__basicsize__)
    before = holder[index]
    if items[index] != id(before):
        raise RuntimeError("the items of a tuple are not where CPython has them")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
    items[index] = id(value)
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(before))


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
