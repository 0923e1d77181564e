"""Records of the pool of large buffers, on which its compiled functions and Python agree.

Read by ``buffers.py``, which is the pool, and by ``numbagrad.executor.memory.buffers``, which
makes it. This file must not import Numba.
"""

from ..codegen.record import Record, Shared, Word, Words

# --- classes of sizes: four between one power of two and the next -----------------------------
#: Arrays of fewer bytes are left to NumPy: what they cost is not their memory.
LARGE_BYTES = 1 << 17
SMALLEST_POWER = 16
CLASSES = 4 * (47 - SMALLEST_POWER)


# --- a buffer: a page for the pool, then the data -----------------------------------------------
# All data begin at a page. Else the loads of a kernel may follow its stores at a small distance
# modulo the size of a page, and CPUs take them for loads of what was just stored: that made gelu a
# fifth slower.
class Buffer(Record):
    """The first words of a buffer, in the page before its data."""

    size_class = Word()
    next = Word()  # the next free buffer of the class


PAGE_BYTES = 4096
HUGE_PAGE_BYTES = 2 << 20


class Pool(Record):
    """The control block."""

    lock = Shared()
    limit = Word()  # bytes of free buffers that the pool keeps at most
    kept = Word()  # bytes of free buffers it keeps now
    taken = Word()  # buffers taken from the system so far
    reused = Word()  # buffers handed out again so far
    huge_pages = Word()  # 1 if large buffers ask for huge pages
    handler = Word()  # the capsule that makes NumPy allocate from the pool
    free = Words(CLASSES)  # for each class of sizes, the first free buffer, or 0


def capacity(size_class: int) -> int:
    """Bytes of data that a buffer of this class has room for."""
    return (5 + size_class % 4) << (SMALLEST_POWER + size_class // 4 - 2)
