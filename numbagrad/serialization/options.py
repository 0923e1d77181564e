"""Settings of ``load``: the order of bytes in files that do not say it, how files are mapped."""

from __future__ import annotations

import enum
import mmap
import sys
from typing import Any

__all__ = [
    "LoadEndianness", "SourceChangeWarning", "get_crc32_options", "get_default_load_endianness",
    "get_default_mmap_options", "set_crc32_options", "set_default_load_endianness",
    "set_default_mmap_options",
]  # fmt: skip


class SourceChangeWarning(Warning):
    """A class of warnings about modules whose source is another one than when they were saved."""


class LoadEndianness(enum.Enum):
    """The order of bytes in files that do not say it."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_order: LoadEndianness | None = None
_checksums = True
#: ``mmap.MAP_PRIVATE`` and ``MAP_SHARED``, which are not there on every system.
_PRIVATE = getattr(mmap, "MAP_PRIVATE", 2)
_SHARED = getattr(mmap, "MAP_SHARED", 1)


def get_default_load_endianness() -> LoadEndianness | None:
    """The order of bytes in files that do not say it; None is that of most machines, little."""
    return _order


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the order of bytes in files that do not say it.

    Raises:
        TypeError: for what is no ``LoadEndianness``.
    """
    global _order
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _order = endianness


def get_crc32_options() -> bool:
    """The last setting of ``set_crc32_options``, True at first."""
    return _checksums


def set_crc32_options(compute_crc32: bool) -> None:
    """Keep whether ``save`` should compute checksums.

    Files have them either way: ``load`` reads them, and tools for zip archives refuse files whose
    checksums are wrong.
    """
    global _checksums
    _checksums = compute_crc32


def get_default_mmap_options() -> int:
    """The flags with which ``load(mmap=True)`` maps files: ``mmap.MAP_PRIVATE``."""
    return int(_PRIVATE)


class set_default_mmap_options:
    """Set the flags with which ``load(mmap=True)`` maps files; in ``with`` for the block alone.

    Args:
        flags: ``mmap.MAP_PRIVATE``: writes to loaded tensors stay in memory.

    Raises:
        NotImplementedError: for ``mmap.MAP_SHARED``: files have checksums, which are read.
        ValueError: for other flags.
    """

    def __init__(self, flags: int) -> None:
        if flags == _SHARED:
            raise NotImplementedError(
                "set_default_mmap_options: writes to tensors do not go to the file that they were "
                "loaded from, whose checksums load() reads; save them"
            )
        if flags != _PRIVATE:
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE "
                f"or mmap.MAP_SHARED, but got {flags}"
            )

    def __enter__(self) -> None:
        """Nothing is to be done: there is one setting."""

    def __exit__(self, *exception: Any) -> None:
        """Nothing is to be undone."""


def order_of_old_files() -> bytes:
    """The order of bytes of an archive that does not say it, as an archive would."""
    if _order is LoadEndianness.NATIVE:
        return sys.byteorder.encode()
    return b"big" if _order is LoadEndianness.BIG else b"little"
