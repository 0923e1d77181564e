"""The pool of large buffers, as the functions of a NumPy memory handler (NEP 49).

Memory fresh from the system costs a page fault for every page, more than many a kernel that writes
it, and NumPy aligns arrays to 16 bytes, so that every vector store touches two lines. Data of the
pool begin at a page, and freed buffers are kept, up to a limit, for the next array of their class
of sizes. NumPy calls ``buffer_malloc`` and ``buffer_free`` with the address of the control block as
context; launchers call ``new_large_array`` through ``allocation.py``. ``numbagrad.executor.memory``
makes the control block.
"""

from __future__ import annotations

from numba import types

from .allocation import usual_array
from .atomics import atomic_store, call_1, compare_exchange, pause
from .buffer_layout import *  # noqa: F403 - the words of the pool, all of them
from .intrinsics import external, int32, int64, load, store, subroutine
from .layout import RUNTIME_BUFFERS

_aligned_alloc = external("aligned_alloc", types.int64, types.int64, types.int64)
_free = external("free", types.void, types.int64)
_advise = external("madvise", types.int32, types.int64, types.int64, types.int32)
_decrement_reference = external("Py_DecRef", types.void, types.int64)

NULL = 0
_ADVICE_HUGE_PAGE = 14  # MADV_HUGEPAGE


@subroutine
def _class_of(size):
    """The smallest class that has room for ``size`` bytes."""
    last = max(size, LARGE_BYTES) - 1
    power = SMALLEST_POWER
    while last >> (power + 1) != 0:
        power += 1
    return 4 * (power - SMALLEST_POWER) + ((last >> (power - 2)) & 3)


_capacity = subroutine(capacity)


@subroutine
def _lock(pool):
    while not compare_exchange(pool + 8 * LOCK, 0, 1):
        pause()


@subroutine
def _unlock(pool):
    atomic_store(pool + 8 * LOCK, 0)


@subroutine
def _count(pool, word, change):
    store(pool, word, load(pool, word, int64) + change, int64)


@subroutine
def _take_free(pool, size_class):
    """A free buffer of the class, or NULL. The pool is locked."""
    buffer = load(pool, FREE + size_class, int64)
    if buffer != NULL:
        store(pool, FREE + size_class, load(buffer, BUFFER_NEXT, int64), int64)
        _count(pool, KEPT, -_capacity(size_class))
    return buffer


@subroutine
def _drop_until(pool, bytes_kept, spared):
    """Give free buffers back to the system, except those of one class, until so few are kept."""
    for size_class in range(CLASSES):
        while load(pool, KEPT, int64) > bytes_kept and size_class != spared:
            buffer = _take_free(pool, size_class)
            if buffer == NULL:
                break
            _free(buffer)


def buffer_malloc(pool, size):
    """Room for ``size`` bytes, from the beginning of a page on, or NULL."""
    size_class = _class_of(size)
    if size_class >= CLASSES:
        return NULL
    _lock(pool)
    buffer = _take_free(pool, size_class)
    _count(pool, REUSED if buffer != NULL else TAKEN, 1)
    _unlock(pool)
    if buffer == NULL:
        room = _capacity(size_class)
        huge = room >= 2 * HUGE_PAGE_BYTES and load(pool, HUGE_PAGES, int64) != 0
        buffer = _aligned_alloc(HUGE_PAGE_BYTES if huge else PAGE_BYTES, room + PAGE_BYTES)
        if buffer == NULL:
            return NULL
        if huge:
            _advise(buffer, room, int32(_ADVICE_HUGE_PAGE))
        store(buffer, BUFFER_CLASS, size_class, int64)
    return buffer + PAGE_BYTES


def buffer_free(pool, data, size):
    """Keep the buffer for the next array of its class, unless the pool keeps too much."""
    if data == NULL:
        return
    buffer = data - PAGE_BYTES
    size_class = load(buffer, BUFFER_CLASS, int64)
    capacity = _capacity(size_class)
    _lock(pool)
    rest = load(pool, LIMIT, int64) - capacity
    if rest >= 0:
        _drop_until(pool, rest, size_class)
    keep = load(pool, KEPT, int64) <= rest
    if keep:
        store(buffer, BUFFER_NEXT, load(pool, FREE + size_class, int64), int64)
        store(pool, FREE + size_class, buffer, int64)
        _count(pool, KEPT, capacity)
    _unlock(pool)
    if not keep:
        _free(buffer)


def drop_free(pool, bytes_kept, _):
    """Give free buffers back until so few bytes are kept; Python calls this."""
    _lock(pool)
    _drop_until(pool, bytes_kept, -1)
    _unlock(pool)


def new_large_array(runtime, rank, sizes, code, strides):
    """A new ndarray in memory of the pool; NumPy's handler is ours for this one call."""
    pool = load(runtime, RUNTIME_BUFFERS, int64)
    set_handler = load(pool, SET_HANDLER, int64)
    usual = call_1(set_handler, load(pool, HANDLER, int64))
    if usual == NULL:
        return NULL
    array = usual_array(runtime, rank, sizes, code, strides)
    _decrement_reference(call_1(set_handler, usual))
    _decrement_reference(usual)
    return array
