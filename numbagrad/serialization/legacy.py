"""Checkpoints as torch wrote them before 2020: pickles one after the other, then the storages.

A magic number, the version, a word on the machine, the object with storages by their keys, the list
of the keys, and for each its number of elements and their bytes.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from . import rebuilding
from .storages import StoredMemory, elements_of, swapped
from .values import check

#: How such a file begins: the magic number as pickle writes it.
MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
_PROTOCOL = 1001

Read = Callable[[int, Any], tuple[Any, int]]


class _Storages:
    """The storages that the pickle of a file names, which are filled when it was read."""

    def __init__(self, restore: Callable[[StoredMemory, str], StoredMemory], limit: int) -> None:
        self._restore = restore
        self._left = limit
        #: By key, what is filled and what tensors are made of.
        self._found: dict[str, tuple[StoredMemory, StoredMemory, int]] = {}
        self._parts: dict[tuple[str, str], StoredMemory] = {}

    def load(self, identity: Any) -> StoredMemory:
        """The storage of a persistent id, or a part of it."""
        kind, key, location, count, part = elements_of(identity)
        size = kind.itemsize
        if key not in self._found:
            self._left -= count * size
            check(self._left >= 0, "the storages are larger than the file")
            made = StoredMemory(np.zeros(count * size, np.uint8), kind.dtype)
            placed = self._restore(made, location)
            if placed.backend is not None:
                raise NotImplementedError(
                    "load: files of the format before 2020 are read onto the CPU; use "
                    "map_location='cpu', and move the tensors"
                )
            self._found[key] = made, placed, size
        made, placed, own = self._found[key]
        check(own == size and made.dtype is kind.dtype, "a storage has one dtype")
        check(made.held.size == count * size, "a storage has one size")
        if part is None:
            return placed
        check(type(part) is tuple and len(part) == 3, "a part of a storage has a key and a place")
        name, offset, number = part
        check(type(name) is str, "a part of a storage has a key")
        check(type(offset) is int and type(number) is int, "a part of a storage has a place")
        if (key, name) not in self._parts:
            self._parts[key, name] = placed.part(offset * size, number * size)
        return self._parts[key, name]

    def fill(self, content: bytes, position: int, keys: Any, is_little: bool) -> int:
        """Read the bytes of all storages from ``position`` on; returns where they end."""
        check(type(keys) is list and all(type(key) is str for key in keys), "keys are texts")
        check(set(keys) == set(self._found), "the file has other storages")
        for key in keys:
            made, placed, size = self._found[key]
            check(position + 8 <= len(content), "the file ends in the middle of a storage")
            (count,) = struct.unpack_from("<q" if is_little else ">q", content, position)
            check(count * size == made.held.size, "a storage has another size")
            position += 8
            check(position + made.held.size <= len(content), "the file ends in a storage")
            read = np.frombuffer(content, np.uint8, made.held.size, position)
            made.held[:] = read
            if not is_little:
                swapped(made.held, made.dtype)
            if placed.held is not made.held:  # a function of the caller's put it elsewhere
                placed.held[:] = made.held
            position += made.held.size
        return position


def load(
    content: bytes, restore: Callable[[StoredMemory, str], StoredMemory], read: Read
) -> tuple[Any, int]:
    """The object of a file, and where it ends.

    Args:
        content: the bytes of the file.
        restore: of a storage and its location, as ``map_location`` says.
        read: of a place and a function for persistent ids, the object that was pickled there and
            where it ends.

    Raises:
        pickle.UnpicklingError: if the file is cut off, or its parts do not fit each other.
    """
    position = len(MAGIC)
    protocol, position = read(position, None)
    check(type(protocol) is int and protocol == _PROTOCOL, "the file is of another version")
    machine, position = read(position, None)
    if type(machine) is not dict:
        raise pickle.UnpicklingError("the file says nothing of the machine that wrote it")
    storages = _Storages(restore, len(content))
    with rebuilding.before_storages() as waiting:
        found, end = read(position, storages.load)
    keys, end = read(end, None)
    is_little = machine.get("little_endian", True) is not False
    end = storages.fill(content, end, keys, is_little)
    if waiting:
        found, _ = read(position, storages.load)
    return found, end


__all__ = ["MAGIC", "load"]
