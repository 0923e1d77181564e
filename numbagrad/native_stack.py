"""The stack of the main thread grows when this library is imported, before memory is out.

Linux gives a main thread pages of stack where it first touches them, as long as the process may
have more memory. Where it may not (``ulimit -v``), a deeper call ends the process with SIGSEGV:
nothing can raise there. And CPython goes deep just then: 3.13 frees a graph of 10,000 nodes in
nested calls, which take 0.9 MB, and imports and recursions go deeper than what the kernel gives
at first. So the addresses of the stack are taken ahead. No memory is: pages come when they are
used, as ever.
"""

from __future__ import annotations

import ctypes
import sys

#: The stack that a program usually may have, in bytes. One without limit is not taken as a whole.
USUAL = 8 << 20
#: Bytes at the lower end of a stack that are left: its upper end is known to a few pages.
MARGIN = 256 << 10

_RLIMIT_STACK = 3
_START_OF_STACK = 28 - 3  # field 28 of /proc/self/stat (proc(5)), of those behind the name


def grow_stack() -> None:
    """Take the addresses of the main thread's stack, as far as it may grow.

    The kernel is asked to read there, which it refuses where it cannot. The process itself never
    touches what lies below its stack pointer: older kernels end it for that.
    """
    if not sys.platform.startswith("linux"):
        return
    process = ctypes.CDLL(None)
    limits = (ctypes.c_ulong * 2)()  # the largest of all stands for no limit
    process.getrlimit(_RLIMIT_STACK, limits)
    size = min(limits[0], USUAL) - MARGIN
    start = _start_of_stack()
    if 0 < size < start:
        # "access" reads the name of a file there, an empty one: new pages are zero. No file has
        # it, so the call fails in any case.
        process.access(ctypes.c_void_p(start - size), 0)


def _start_of_stack() -> int:
    """Address of the upper end of the main thread's stack, or 0 where nobody says it."""
    try:
        with open("/proc/self/stat", "rb", buffering=0) as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:  # there need not be a /proc
        return 0
    return int(fields[_START_OF_STACK])
