"""Memory of large arrays: a pool of buffers for them, and when they are written past the caches.

Called by ``builtin.py``, which tells the launchers. The pool itself is compiled
(``numbagrad/kernels/buffers.py``) when the first large array is made: NumPy allocates those that
launchers return, and only those, through a handler of ours (NEP 49). Users set its limit.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import math
import os
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtype import bfloat16
from ..kernels import buffer_layout, layout, loader
from . import library

_CACHES = pathlib.Path("/sys/devices/system/cpu/cpu0/cache")

#: The size of the last cache where the system does not tell.
_USUAL_CACHE_BYTES = 32 << 20

#: The pool is compiled when arrays of so many bytes, all together, were made without it. Until then
#: their pages cost less than that takes. What is on disk is used from the first array on.
BYTES_WORTH_COMPILING = 64 << 20

#: Bytes of free buffers that are kept unless NUMBAGRAD_POOL_BYTES says otherwise.
DEFAULT_LIMIT = 256 << 20


@dataclasses.dataclass(frozen=True)
class PoolStatistics:
    """The pool: bytes it may keep, bytes it keeps, buffers taken from the system, and reused."""

    limit: int
    kept: int
    taken: int
    reused: int


def last_cache_bytes() -> int:
    """Size of the largest cache of the first CPU."""
    sizes = [_USUAL_CACHE_BYTES]
    try:
        found = [file.read_text() for file in _CACHES.glob("index*/size")]
        sizes = [int(text.strip().removesuffix("K")) << 10 for text in found] or sizes
    except (OSError, ValueError):  # no such files, or not in kilobytes: the usual size will do
        pass
    return max(sizes)


@functools.lru_cache(maxsize=1)
def stream_bytes() -> int:
    """Bytes from which on an output is written past the caches.

    An operator's input and output, and what is left of the cache's other contents: at a third of
    the cache each, measured chains of operators begin to be faster if outputs are not kept in it.
    """
    return last_cache_bytes() * 3 // 8


def _limit_from_environment() -> int:
    text = os.environ.get("NUMBAGRAD_POOL_BYTES", "")
    if not text:
        return DEFAULT_LIMIT
    if not text.isdecimal():
        raise ValueError(
            f"NUMBAGRAD_POOL_BYTES must be a number of bytes, but is {text!r}; 0 keeps nothing"
        )
    return int(text)


def pool_stats() -> PoolStatistics:
    """What the pool of large buffers holds and did."""
    words = _control_block()
    return PoolStatistics(
        *[
            int(words[word])
            for word in (
                buffer_layout.LIMIT, buffer_layout.KEPT, buffer_layout.TAKEN, buffer_layout.REUSED
            )
        ]
    )  # fmt: skip


def set_pool_limit(limit: int) -> None:
    """Keep at most ``limit`` bytes of freed large buffers; what is above goes back to the system.

    Raises ``ValueError`` if it is negative.
    """
    if limit < 0:
        raise ValueError(f"set_pool_limit expects a number of bytes, but got {limit}; 0 keeps none")
    words = _control_block()
    words[buffer_layout.LIMIT] = limit
    if words[buffer_layout.KEPT] > limit:
        drop = library.hand_written("buffers", "drop_free", code="calls")
        _C_KERNEL(drop)(words.ctypes.data, limit, 0)


def empty_pool() -> None:
    """Give all free buffers back to the system."""
    limit = pool_stats().limit
    set_pool_limit(0)
    set_pool_limit(limit)


def maker_like(array: np.ndarray[Any, Any]) -> Callable[[np.ndarray[Any, Any]], Any]:
    """What makes new arrays as ``array``: of the pool if it is large, and ``np.empty_like``."""
    runtime = _runtime
    if runtime is None or not array.flags.c_contiguous:
        return np.empty_like
    if array.nbytes < runtime[layout.RUNTIME_LARGE_BYTES]:
        return np.empty_like
    sizes = np.array(array.shape, dtype=np.int64)

    def new(like: np.ndarray[Any, Any]) -> Any:
        address = int(runtime[layout.RUNTIME_NEW_LARGE_ARRAY])  # another one after the first call
        numbers = runtime.ctypes.data, array.ndim, sizes.ctypes.data, array.dtype.num, 0
        return _C_NEW_OBJECT(address)(*numbers)

    return new


# --- what NumPy and the launchers call ----------------------------------------------------------

_WORD = ctypes.c_int64
_C_KERNEL = ctypes.PYFUNCTYPE(None, _WORD, _WORD, _WORD)
_C_NEW_ARRAY = ctypes.PYFUNCTYPE(_WORD, *[_WORD] * 5)
_C_NEW_OBJECT = ctypes.PYFUNCTYPE(ctypes.py_object, *[_WORD] * 5)
_C_MALLOC = ctypes.PYFUNCTYPE(_WORD, _WORD, _WORD)
_C_NUMPY_NEW = ctypes.PYFUNCTYPE(_WORD, *[_WORD] * 9)  # PyArray_New
_C_NEW_FROM_DESCRIPTOR = ctypes.PYFUNCTYPE(_WORD, *[_WORD] * 8)  # PyArray_NewFromDescr
_C_CALLOC = _C_REALLOC = ctypes.PYFUNCTYPE(_WORD, _WORD, _WORD, _WORD)


#: The functions of ``kernels/buffers.py`` that make up the pool, with their signatures.
_FUNCTIONS = (
    ("buffer_malloc", "int64(int64, int64)"),
    ("buffer_free", library.UNIFORM),
    ("new_large_array", f"int64({', '.join(['int64'] * 5)})"),
)


class _Handler(ctypes.Structure):
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


_CAPSULE_NAME = b"mem_handler"  # what NumPy wants it to be called


#: The runtime block, once there is one.
_runtime: np.ndarray[Any, Any] | None = None


@functools.lru_cache(maxsize=1)
def _control_block() -> np.ndarray:
    words = np.zeros(buffer_layout.WORDS, dtype=np.int64)
    words[buffer_layout.LIMIT] = _limit_from_environment()
    numpy_core: Any = np._core.multiarray  # type: ignore[attr-defined]
    wanted = getattr(numpy_core, "_get_madvise_hugepage", None)  # NumPy's own setting
    huge_pages = sys.platform == "linux" and wanted is not None and wanted()
    words[buffer_layout.HUGE_PAGES] = int(huge_pages)
    _keep_for_ever(words)
    return words


def install(runtime: np.ndarray, set_handler: int) -> None:
    """Tell the launchers where large arrays come from, and which are too large for the caches."""
    global _runtime
    _runtime = runtime
    runtime[layout.RUNTIME_STREAM_BYTES] = stream_bytes()
    words = _control_block()
    words[buffer_layout.SET_HANDLER] = set_handler
    process = ctypes.CDLL(None) if os.name == "posix" else None
    possible = all(hasattr(process, name) for name in ("aligned_alloc", "madvise"))
    runtime[layout.RUNTIME_LARGE_BYTES] = (
        buffer_layout.LARGE_BYTES if possible else np.iinfo(np.int64).max
    )
    runtime[layout.RUNTIME_BUFFERS] = words.ctypes.data

    made_without = -1  # until the disk cache was asked

    def first_large_arrays(*arguments: int) -> int:
        """Make an array of NumPy's memory, or the pool; its own function then replaces this one."""
        nonlocal made_without
        worth_compiling = made_without >= BYTES_WORTH_COMPILING
        address = 0
        if made_without < 0 or worth_compiling:
            address = _make_pool(words, compiling=worth_compiling)
            made_without = max(made_without, 0)
        if address:
            runtime[layout.RUNTIME_NEW_LARGE_ARRAY] = address
            return int(_C_NEW_ARRAY(address)(*arguments))
        _, rank, sizes, code, strides = arguments
        shape = (ctypes.c_int64 * rank).from_address(sizes)
        made_without += math.prod(shape) * int(runtime[layout.RUNTIME_ITEM_SIZES + code])
        if code == layout.BFLOAT16:
            descriptor = bfloat16.numpy
            _keep_for_ever(descriptor)  # the new array takes over a reference
            new = _C_NEW_FROM_DESCRIPTOR(int(runtime[layout.RUNTIME_NEW_FROM_DESCRIPTOR]))
            return int(new(id(np.ndarray), id(descriptor), rank, sizes, strides, 0, 0, 0))
        new = _C_NUMPY_NEW(int(runtime[layout.RUNTIME_NEW_ARRAY]))
        return int(new(id(np.ndarray), rank, sizes, code, strides, 0, 0, 0, 0))

    stub = _C_NEW_ARRAY(first_large_arrays)
    _keep_for_ever(stub)
    runtime[layout.RUNTIME_NEW_LARGE_ARRAY] = _address(stub)


def _make_pool(words: np.ndarray, compiling: bool) -> int:
    """Make the handler, of functions that NumPy calls; returns what makes large arrays.

    Returns 0 if one would have to be compiled first, without ``compiling``.
    """
    with library.lock:
        found = [
            library.hand_written("buffers", name, signature, code="calls", compiling=compiling)
            for name, signature in _FUNCTIONS
        ]
        if not all(found):
            return 0
        malloc, free, new_large_array = found
        if words[buffer_layout.HANDLER] == 0:
            words[buffer_layout.HANDLER] = id(_new_handler(words, malloc, free))
        return new_large_array


def _new_handler(words: np.ndarray, malloc: int, free: int) -> Any:
    """The capsule that makes NumPy allocate from the pool."""

    # NumPy hardly ever calls these two: ndarray.resize() is the one way.
    def calloc(pool: int, count: int, size: int) -> int:
        data = _C_MALLOC(malloc)(pool, count * size)
        if data:
            ctypes.memset(data, 0, count * size)
        return int(data)

    def realloc(pool: int, data: int, size: int) -> int:
        moved = int(_C_MALLOC(malloc)(pool, size))
        if moved:
            size_class = ctypes.c_int64.from_address(data - buffer_layout.PAGE_BYTES).value
            room = buffer_layout.capacity(size_class)
            ctypes.memmove(moved, data, min(size, room))
            _C_KERNEL(free)(pool, data, room)
        return moved

    callbacks = _C_CALLOC(calloc), _C_REALLOC(realloc)
    handler = _Handler(b"numbagrad", 1, words.ctypes.data, malloc, *map(_address, callbacks), free)
    name = ctypes.create_string_buffer(_CAPSULE_NAME)
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.argtypes = [ctypes.c_void_p] * 3
    new_capsule.restype = ctypes.py_object
    capsule = new_capsule(ctypes.addressof(handler), ctypes.addressof(name), None)
    # Arrays are freed until the interpreter is gone, by code that must still be there.
    for kept in (*callbacks, handler, name, capsule, loader.engines):
        _keep_for_ever(kept)
    return capsule


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _keep_for_ever(thing: Any) -> None:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
