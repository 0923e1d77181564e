"""Memory that several processes see: where it comes from, and how it is found behind an array.

``Tensor.share_memory_`` moves elements there (``ops/conversion/sharing.py``), and
``multiprocessing/reductions.py`` sends it to other processes, as the descriptor of a file that has
no name. Only NumPy and the operating system are needed here.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from typing import Any

import numpy as np

__all__ = ["SharedBlock", "block_of", "opened"]


class SharedBlock(mmap.mmap):
    """A block of shared memory, mapped into this process.

    Attributes:
        descriptor: of the file that the memory is. It is closed when nothing uses the block.
    """

    descriptor: int

    def __del__(self) -> None:
        descriptor = self.__dict__.get("descriptor")
        if descriptor is not None:
            os.close(descriptor)


#: The blocks of this process by the number of their file: one that arrives twice is mapped once,
#: so that addresses tell which tensors share memory.
_blocks: weakref.WeakValueDictionary[tuple[int, int], SharedBlock] = weakref.WeakValueDictionary()


def _descriptor() -> int:
    """A new file without a name, in memory where the system has such."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("numbagrad")
    if os.name != "posix":
        raise NotImplementedError(
            "shared memory of tensors needs a POSIX system; send state_dict() to the other process"
        )
    descriptor, path = tempfile.mkstemp(prefix="numbagrad-")
    os.unlink(path)
    return descriptor


def new_block(size: int) -> SharedBlock:
    """A block of ``size`` bytes, all zero."""
    descriptor = _descriptor()
    try:
        os.ftruncate(descriptor, max(size, 1))  # there are no empty mappings
        return opened(descriptor, size)
    except BaseException:
        os.close(descriptor)
        raise


def opened(descriptor: int, size: int) -> SharedBlock:
    """The block of a file; of one that is mapped already, that one, and the descriptor is closed.

    Raises:
        ValueError: if the file is shorter.
    """
    status = os.fstat(descriptor)
    key = status.st_dev, status.st_ino
    known = _blocks.get(key)
    if known is not None:
        os.close(descriptor)
        return known
    made = SharedBlock(descriptor, max(size, 1))
    made.descriptor = descriptor
    _blocks[key] = made
    return made


def block_of(array: Any) -> SharedBlock | None:
    """The block that an array lies in, or None."""
    while isinstance(array, np.ndarray):
        array = array.base
    if isinstance(array, memoryview):
        array = array.obj
    return array if isinstance(array, SharedBlock) else None
