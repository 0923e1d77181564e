"""Words of the pool of large buffers, on which its compiled functions and Python agree.

Read by ``buffers.py``, which is the pool, and by ``numbagrad.executor.memory``, which makes it.
This file must not import Numba.
"""

# --- control block (64-bit words) -------------------------------------------------------------
LOCK = 0
LIMIT = 1  # bytes of free buffers that the pool keeps at most
KEPT = 2  # bytes of free buffers it keeps now
TAKEN = 3  # buffers taken from the system so far
REUSED = 4  # buffers handed out again so far
HUGE_PAGES = 5  # 1 if large buffers ask for huge pages
HANDLER = 7  # the capsule that makes NumPy allocate from the pool
FREE = 16  # for each class of sizes, the first free buffer, or 0
WORDS = 256

# --- classes of sizes: four between one power of two and the next -----------------------------
#: Arrays of fewer bytes are left to NumPy: what they cost is not their memory.
LARGE_BYTES = 1 << 17
SMALLEST_POWER = 16
CLASSES = 4 * (47 - SMALLEST_POWER)

# --- a buffer: a page for the pool, then the data -----------------------------------------------
# All data begin at a page. Else the loads of a kernel may follow its stores at a small distance
# modulo the size of a page, and CPUs take them for loads of what was just stored: that made gelu a
# fifth slower.
BUFFER_CLASS = 0
BUFFER_NEXT = 1  # the next free buffer of the class
PAGE_BYTES = 4096
HUGE_PAGE_BYTES = 2 << 20


def capacity(size_class: int) -> int:
    """Bytes of data that a buffer of this class has room for."""
    return (5 + size_class % 4) << (SMALLEST_POWER + size_class // 4 - 2)
