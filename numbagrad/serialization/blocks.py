"""Which memory a checkpoint holds: arrays that share memory lie in one block, as one storage.

``save`` asks where in the file an array lies; ``Block`` is what its pickler writes as a storage.
Elements that no array shows are written only where they lie between others.
"""

from __future__ import annotations

import bisect
import ctypes
from collections import deque
from operator import itemgetter
from typing import Any

import numpy as np

from ..backend import address_of, foreign
from ..dtype import dtype as DType
from ..dtype import from_numpy
from ..tensor import Tensor
from ..tensor.sparse_array import SparseArray
from ..untyped_storage import UntypedStorage

Array = np.ndarray[Any, Any]

#: A multiple of the size of every element.
_ALIGNMENT = 16


class Block:
    """Memory from address ``start`` to ``stop``.

    Attributes:
        dtype: that of its arrays; None if they are of several.
        number: which block of the file it is, once it is written.
        location: the device that it was on.
    """

    __slots__ = ("start", "stop", "dtype", "number", "location")

    def __init__(self, start: int, stop: int, dtype: DType | None) -> None:
        self.start, self.stop, self.dtype = start, stop, dtype
        self.number: int | None = None
        self.location = "cpu"

    @property
    def padding(self) -> int:
        """Bytes before the first one, so that elements lie at multiples of their sizes."""
        return self.start % _ALIGNMENT if self.dtype is None else 0

    def nbytes(self) -> int:
        """The bytes in the file."""
        return self.padding + self.stop - self.start

    def content(self) -> Any:
        """The bytes, of the memory itself where no padding is needed."""
        if self.stop == self.start:
            return b""
        held = (ctypes.c_char * (self.stop - self.start)).from_address(self.start)
        return bytes(self.padding) + held.raw if self.padding else held


class Blocks:
    """The blocks of the arrays of what is saved.

    Args:
        saved: its containers are searched for tensors that share memory; those that lie elsewhere,
            as in attributes of objects, share the memory of what was written before them.
    """

    def __init__(self, saved: Any) -> None:
        arrays = {id(each): each for each in _arrays_in(saved)}
        self._blocks: list[Block] = []
        counts: dict[int, int] = {}
        #: By id, arrays and where they lie, and whether they can be written with their memory.
        self._found = {id(each): (each, *_position_of(each)) for each in arrays.values()}
        for array, start, stop, regular in sorted(self._found.values(), key=itemgetter(1, 2)):
            if not regular:
                continue
            dtype = _dtype_of(array)
            if not self._blocks or start >= self._blocks[-1].stop:
                self._blocks.append(Block(start, stop, dtype))
            block = self._blocks[-1]
            block.stop = max(block.stop, stop)
            if block.dtype is not dtype:
                block.dtype = None
            counts[id(block)] = counts.get(id(block), 0) + 1
        # A single array is written without the memory between its elements.
        self._blocks = [block for block in self._blocks if counts[id(block)] > 1]
        #: By id, arrays and the block and the array that were written for them. While an array
        #: lives, no other has its id or its place.
        self._placed: dict[int, tuple[Array, Block, Array, int]] = {}
        #: The blocks that are written, in their order.
        self.written: list[Block] = []

    def position(self, array: Array) -> tuple[Block, Array, int]:
        """The block of an array, the array that lies there (itself, or a copy without gaps), and
        where in the content of the block it begins."""
        where = foreign(array)
        known = self._placed.get(id(array))
        if known is None:
            known = self._new(array) if where is None else self._of_device(array, where)
            self._placed[id(array)] = known
        _, block, written, start = known
        return block, written, start - block.start + block.padding if written.size else 0

    def storage(self, storage: UntypedStorage) -> Block:
        """The block of all memory of a storage."""
        return self.position(storage._bytes())[0]

    def number(self, block: Block) -> int:
        """The number of a block in the file."""
        if block.number is None:
            block.number = len(self.written)
            self.written.append(block)
        return block.number

    def _new(self, array: Array) -> tuple[Array, Block, Array, int]:
        found = self._found.get(id(array))
        start, stop, regular = _position_of(array) if found is None else found[1:]
        if regular:
            position = bisect.bisect_right(self._blocks, start, key=lambda block: block.start)
            block = self._blocks[position - 1] if position else None
            if block is not None and stop <= block.stop:
                if not (start - block.start + block.padding) % array.itemsize:
                    return array, block, array, start
                regular = False
        written = array
        if not regular or stop - start > array.nbytes:
            written = array.copy("K")
            start, stop = _range(written)
        block = Block(start, stop, _dtype_of(array))
        if written is array and array.size:
            bisect.insort(self._blocks, block, key=lambda block: block.start)
        return array, block, written, start

    def _of_device(self, array: Any, where: Any) -> tuple[Any, Block, Array, int]:
        """A block of an array of another device, as its backend copies it."""
        index = where.index_of(array)
        written = where.to_host(array)
        block = Block(*_range(written), _dtype_of(array))
        block.location = where.device_type if index is None else f"{where.device_type}:{index}"
        return array, block, written, block.start


def _address(array: Array) -> int:
    return address_of(array)


def _range(array: Array) -> tuple[int, int]:
    """The addresses of the first byte of an array without negative strides, and behind the last."""
    start = _address(array)
    if not array.size or array.flags.forc:
        return start, start + array.nbytes
    steps = zip(array.shape, array.strides, strict=True)
    return start, start + array.itemsize + sum((size - 1) * step for size, step in steps)


def _dtype_of(array: Array) -> DType:
    return from_numpy(array.dtype)


def _position_of(array: Any) -> tuple[int, int, bool]:
    """Where an array begins and ends, and whether it can be written with the memory it has there.

    Of one that cannot, the addresses count for nothing.
    """
    if type(array) is not np.ndarray or not array.nbytes:
        return 0, 0, False
    size, strides = array.itemsize, array.strides
    if not all([step >= 0 and step % size == 0 for step in strides]):
        return 0, 0, False
    start, stop = _range(array)
    return start, stop, start % size == 0


def _arrays_in(saved: Any) -> list[Array]:
    """The memory of the tensors and storages in containers, once each."""
    seen, found, left = set(), [], [saved]
    while left:
        value = left.pop()
        if isinstance(value, (Tensor, UntypedStorage, dict, list, tuple, deque)):
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, Tensor):
                if value._array.__class__ is not SparseArray:  # which consists of several
                    found.append(value._array)
            elif isinstance(value, UntypedStorage):
                found.append(value._bytes())
            else:
                left.extend(value.values() if isinstance(value, dict) else value)
    return found


__all__ = ["Block", "Blocks"]
