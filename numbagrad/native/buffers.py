"""The pool of large buffers, as the functions of a NumPy memory handler (NEP 49).

Memory fresh from the system costs a page fault for every page, more than many a kernel that writes
it, and NumPy aligns arrays to 16 bytes, so that every vector store touches two lines. Data of the
pool begin at a page, and freed buffers are kept, up to a limit, for the next array of their class
of sizes. NumPy calls ``buffer_free`` and its kin with the address of the control block as context;
launchers call ``new_large_array`` through ``allocation.py``. ``numbagrad.executor.memory.buffers``
makes the control block.
"""

from __future__ import annotations

from numba import types

from ..codegen.atomics import atomic_store, compare_exchange, pause
from ..codegen.intrinsics import external, int32, int64, load, subroutine
from .allocation import usual_array
from .buffer_layout import (
    CLASSES,
    HUGE_PAGE_BYTES,
    LARGE_BYTES,
    PAGE_BYTES,
    SMALLEST_POWER,
    Buffer,
    Pool,
    capacity,
)
from .calls import new_from_descriptor
from .layout import Runtime
from .object_heads import FLAG_ALIGNED_WRITEABLE, FLAG_OWNS_DATA, ArrayHead
from .objects import new_reference

_aligned_alloc = external("aligned_alloc", types.int64, types.int64, types.int64)
_free = external("free", types.void, types.int64)
_advise = external("madvise", types.int32, types.int64, types.int64, types.int32)
_set_memory = external("memset", types.int64, types.int64, types.int32, types.int64)
_copy_memory = external("memcpy", types.int64, types.int64, types.int64, types.int64)
_track = external("PyTraceMalloc_Track", types.int32, types.int32, types.int64, types.int64)

NULL = 0
_ADVICE_HUGE_PAGE = 14  # MADV_HUGEPAGE
_NUMPY_DOMAIN = 389047  # under which ``tracemalloc`` counts the memory of arrays


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
    while not compare_exchange(pool.lock, 0, 1):
        pause()


@subroutine
def _unlock(pool):
    atomic_store(pool.lock, 0)


@subroutine
def _take_free(pool, size_class):
    """A free buffer of the class, or NULL. The pool is locked."""
    buffer = Buffer(pool.free[size_class])
    if buffer != NULL:
        pool.free[size_class] = buffer.next
        pool.kept -= _capacity(size_class)
    return buffer


@subroutine
def _drop_until(pool, bytes_kept, spared):
    """Give free buffers back to the system, except those of one class, until so few are kept."""
    for size_class in range(CLASSES):
        while pool.kept > bytes_kept and size_class != spared:
            buffer = _take_free(pool, size_class)
            if buffer == NULL:
                break
            _free(buffer)


@subroutine
def _fresh(pool, alignment, size):
    """Memory from the system, or NULL; what is kept is given back first if that makes room."""
    memory = _aligned_alloc(alignment, size)
    if memory == NULL:
        _lock(pool)
        _drop_until(pool, 0, -1)
        _unlock(pool)
        memory = _aligned_alloc(alignment, size)
    return memory


def buffer_malloc(context, size):
    """Room for ``size`` bytes, from the beginning of a page on, or NULL."""
    pool = Pool(context)
    size_class = _class_of(size)
    if size_class >= CLASSES:
        return NULL
    _lock(pool)
    buffer = _take_free(pool, size_class)
    if buffer != NULL:
        pool.reused += 1
    else:
        pool.taken += 1
    _unlock(pool)
    if buffer == NULL:
        room = _capacity(size_class)
        huge = room >= 2 * HUGE_PAGE_BYTES and pool.huge_pages != 0
        buffer = Buffer(_fresh(pool, HUGE_PAGE_BYTES if huge else PAGE_BYTES, room + PAGE_BYTES))
        if buffer == NULL:
            return NULL
        if huge:
            _advise(buffer, room, int32(_ADVICE_HUGE_PAGE))
        buffer.size_class = size_class
    return buffer + PAGE_BYTES


def buffer_free(context, data, size):
    """Keep the buffer for the next array of its class, unless the pool keeps too much."""
    pool = Pool(context)
    if data == NULL:
        return
    buffer = Buffer(data - PAGE_BYTES)
    size_class = buffer.size_class
    capacity = _capacity(size_class)
    _lock(pool)
    rest = pool.limit - capacity
    if rest >= 0:
        _drop_until(pool, rest, size_class)
    keep = pool.kept <= rest
    if keep:
        buffer.next = pool.free[size_class]
        pool.free[size_class] = buffer
        pool.kept += capacity
    _unlock(pool)
    if not keep:
        _free(buffer)


_malloc, _release = subroutine(buffer_malloc), subroutine(buffer_free)


def buffer_calloc(context, count, size):
    """``buffer_malloc`` of zeros; NumPy has checked that ``count * size`` is a number of bytes."""
    data = _malloc(context, count * size)
    if data != NULL:
        _set_memory(data, int32(0), count * size)
    return data


def buffer_realloc(context, data, size):
    """Room for ``size`` bytes that begins with what lies at ``data``; or NULL, and that is kept."""
    moved = _malloc(context, size)
    if moved != NULL:
        room = _capacity(Buffer(data - PAGE_BYTES).size_class)
        _copy_memory(moved, data, min(size, room))
        _release(context, data, room)
    return moved


def drop_free(context, bytes_kept, _):
    """Give free buffers back until so few bytes are kept; Python calls this."""
    pool = Pool(context)
    _lock(pool)
    _drop_until(pool, bytes_kept, -1)
    _unlock(pool)


@subroutine
def _buffer_array(runtime, data, rank, sizes, code, strides):
    """An ndarray that owns a buffer of the pool; NULL if there is none, and the buffer is left."""
    descriptor = runtime.descriptors[code]
    array = new_from_descriptor(
        runtime.new_from_descriptor,
        runtime.array_type,
        new_reference(descriptor),
        rank,
        sizes,
        strides,
        data,
        FLAG_ALIGNED_WRITEABLE,
    )
    if array != NULL:
        ArrayHead(array).handler = new_reference(Pool(runtime.buffers).handler)
        flags = ArrayHead(array).flags
        ArrayHead(array).flags = int32(flags | FLAG_OWNS_DATA)
    return array


def new_large_array(address, rank, sizes, code, strides):
    """A new ndarray in memory of the pool, as if NumPy had made it with the pool as its handler.

    NumPy would take the handler from a context variable, and to set that back may fail.
    """
    runtime = Runtime(address)
    pool = runtime.buffers
    size = runtime.item_sizes[code]
    for d in range(rank):
        size *= load(sizes, d, int64)
    data = _malloc(pool, size)
    if data == NULL:  # then NumPy says how much it has no room for either
        return usual_array(runtime, rank, sizes, code, strides)
    array = _buffer_array(runtime, data, rank, sizes, code, strides)
    if array == NULL:
        _release(pool, data, size)
    else:
        _track(int32(_NUMPY_DOMAIN), data, size)
    return array
