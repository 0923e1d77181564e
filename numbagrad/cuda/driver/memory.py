"""Pinned memory of the host, and the error of a device without memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import OutOfMemoryError


class PinnedMemory:
    """Locked bytes of the host as NumPy takes them; ``free()`` gives them back at the end."""

    is_pinned = True

    def __init__(self, address: int, nbytes: int, free: Callable[[], Any]):
        self._free = free
        self.__array_interface__ = {
            "data": (address, False), "shape": (nbytes,), "typestr": "|u1", "version": 3,
        }  # fmt: skip

    def __del__(self) -> None:
        self._free()


def is_pinned(array: Any) -> bool:
    """Whether an ndarray lies in such memory."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, PinnedMemory)


def exhausted(
    nbytes: int, device: int, total: int, allocated: int, reserved: int
) -> OutOfMemoryError:
    """torch's error of an allocation that does not fit."""
    return OutOfMemoryError(
        f"CUDA out of memory. Tried to allocate {_readable(nbytes)}. GPU {device} has a total "
        f"capacity of {_readable(total)}, of which {_readable(max(total - reserved, 0))} is free; "
        f"{_readable(allocated)} is allocated by tensors. Let tensors go, or make batches smaller"
    )


def _readable(nbytes: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} bytes"
