"""Memory of large arrays: a pool of buffers for them, and when they are written past the caches.

Called by ``builtin.py``, which tells the launchers. The pool itself is compiled
(``numbagrad/native/buffers.py``) when the first large array is made: NumPy allocates those that
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
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...codegen import loader
from ...native import buffer_layout, layout
from ...native.buffer_layout import Pool
from ...native.c_structures import MemoryHandler, arrays_have_handlers
from ...native.layout import Runtime
from ..cache import library

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
    """Sizes and counts of the pool of large buffers."""
    found = _control_block()
    return PoolStatistics(found.limit, found.kept, found.taken, found.reused)


def set_pool_limit(limit: int) -> None:
    """Keep at most ``limit`` bytes of freed large buffers; what is above goes back to the system.

    Raises ``ValueError`` if it is negative.
    """
    if limit < 0:
        raise ValueError(f"set_pool_limit expects a number of bytes, but got {limit}; 0 keeps none")
    found = _control_block()
    found.limit = limit
    if found.kept > limit:
        drop = library.hand_written("native.buffers", "drop_free", code="calls")
        _C_KERNEL(drop)(found.address, limit, 0)


def empty_pool() -> None:
    """Give all free buffers back to the system."""
    limit = pool_stats().limit
    set_pool_limit(0)
    set_pool_limit(limit)


def any_large() -> bool:
    """Whether this process ever made an array that is to lie in the pool."""
    runtime = _runtime
    return runtime is not None and (runtime.new_large_array != 0 or runtime.made_without > 0)


def new_large_array(shape: Sequence[int], kind: np.dtype[Any]) -> np.ndarray[Any, Any] | None:
    """A new array in C order in memory of the pool; None if it is not to lie there.

    ``runtime`` of ``builtin.py`` was called before.
    """
    runtime = _runtime
    size = math.prod(shape) * kind.itemsize
    if runtime is None or size < runtime.large_bytes or not _is_known(kind):
        return None
    address = runtime.new_large_array
    if address == 0:
        _prepare_pool()
        address = runtime.new_large_array
        if address == 0:
            runtime.made_without += size
            return None
    sizes = (_WORD * len(shape))(*shape)
    make = _maker_at(address)
    made: np.ndarray[Any, Any] = make(len(shape), ctypes.addressof(sizes), kind.num, 0)
    return made


@functools.cache
def _is_known(kind: np.dtype[Any]) -> bool:
    """Whether the launchers have the descriptor of a dtype; a fact of the process."""
    assert _runtime is not None
    return kind.num < layout.TYPES and _runtime.descriptors[kind.num] != 0


@functools.cache
def _maker_at(address: int) -> Callable[..., Any]:
    """The compiled function that makes large arrays, with its first argument."""
    assert _runtime is not None
    return functools.partial(_C_NEW_LARGE_ARRAY(address), _runtime.address)


def maker_like(array: np.ndarray[Any, Any]) -> Callable[[np.ndarray[Any, Any]], Any]:
    """The maker of new arrays like ``array``: the pool if it is large, else ``np.empty_like``."""
    runtime = _runtime
    if runtime is None or not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
        return np.empty_like
    if array.nbytes < runtime.large_bytes:
        return np.empty_like
    shape, kind = array.shape, array.dtype

    def new(like: np.ndarray[Any, Any]) -> Any:
        made = new_large_array(shape, kind)
        return np.empty_like(like) if made is None else made

    return new


# --- what NumPy and the launchers call ----------------------------------------------------------

_WORD = ctypes.c_int64
_C_KERNEL = ctypes.PYFUNCTYPE(None, _WORD, _WORD, _WORD)
_C_NEW_LARGE_ARRAY = ctypes.PYFUNCTYPE(ctypes.py_object, *[_WORD] * 5)


#: The functions of ``native/buffers.py`` that make up the pool, with their signatures.
_FUNCTIONS = (
    ("buffer_malloc", "int64(int64, int64)"),
    ("buffer_calloc", "int64(int64, int64, int64)"),
    ("buffer_realloc", "int64(int64, int64, int64)"),
    ("buffer_free", library.UNIFORM),
    ("new_large_array", f"int64({', '.join(['int64'] * 5)})"),
)


_CAPSULE_NAME = b"mem_handler"  # what NumPy wants it to be called


#: The runtime block, once there is one.
_runtime: Runtime | None = None


@functools.lru_cache(maxsize=1)
def _control_block() -> Pool:
    made = Pool()
    made.limit = _limit_from_environment()
    numpy_core: Any = np._core.multiarray  # type: ignore[attr-defined]
    wanted = getattr(numpy_core, "_get_madvise_hugepage", None)  # NumPy's own setting
    huge_pages = sys.platform == "linux" and wanted is not None and wanted()
    made.huge_pages = int(huge_pages)
    _keep_for_ever(made.words)
    return made


def install(runtime: Runtime) -> None:
    """Tell the launchers where large arrays come from, and which are too large for the caches."""
    global _runtime
    _runtime = runtime
    runtime.stream_bytes = stream_bytes()
    process = ctypes.CDLL(None) if os.name == "posix" else None
    possible = all(hasattr(process, name) for name in ("aligned_alloc", "madvise"))
    runtime.large_bytes = (
        buffer_layout.LARGE_BYTES if possible and arrays_have_handlers() else sys.maxsize
    )
    runtime.buffers = _control_block().address
    runtime.prepare_pool = id(_prepare_pool)
    _keep_for_ever(_prepare_pool)


_asked_disk = False


def _prepare_pool() -> None:
    """Make the pool if that pays by now: called before a large array is made while there is none.

    What it raises, the launcher raises that calls it.
    """
    global _asked_disk
    runtime = _runtime
    assert runtime is not None
    worth_compiling = runtime.made_without >= BYTES_WORTH_COMPILING and library.ready(
        [library.HandWritten("native.buffers", *each, code="calls") for each in _FUNCTIONS]
    )
    if worth_compiling or not _asked_disk:
        address = _make_pool(_control_block(), worth_compiling)
        _asked_disk = True
        runtime.new_large_array = address


def _make_pool(block: Pool, compiling: bool) -> int:
    """Make the handler, of functions that NumPy calls; returns what makes large arrays.

    Returns 0 if one would have to be compiled first, without ``compiling``.
    """
    with library.lock:
        found = [
            library.hand_written(
                "native.buffers", name, signature, code="calls", compiling=compiling
            )
            for name, signature in _FUNCTIONS
        ]
        if not all(found):
            return 0
        *functions, new_large_array = found
        if block.handler == 0:
            block.handler = id(_new_handler(block, functions))
        return new_large_array


def _new_handler(block: Pool, functions: Sequence[int]) -> Any:
    """The capsule by which NumPy knows the pool: arrays that lie in it are freed through it."""
    handler = MemoryHandler(b"numbagrad", 1, block.address, *functions)
    name = ctypes.create_string_buffer(_CAPSULE_NAME)
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.argtypes = [ctypes.c_void_p] * 3
    new_capsule.restype = ctypes.py_object
    capsule = new_capsule(ctypes.addressof(handler), ctypes.addressof(name), None)
    # Arrays are freed until the interpreter is gone, by code that must still be there.
    for kept in (handler, name, capsule, loader.engines):
        _keep_for_ever(kept)
    return capsule


def _keep_for_ever(thing: Any) -> None:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
