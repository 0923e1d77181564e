"""Storages as checkpoints name and hold them: ``FloatStorage`` and its kin, and their memory.

A file names the type of a storage, which says the dtype of its elements, and a place for it.
``StoredMemory`` is what a reader has for it; tensors are views of that.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from ..backend import backend_for
from ..dtype import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from ..dtype import dtype as DType
from ..untyped_storage import UntypedStorage
from .values import Memory, check, view

Array = np.ndarray[Any, Any]


class StorageType:
    """The type of storages of one dtype, or (None) of bytes.

    Attributes:
        name: that of torch's class.
        dtype: of the elements.
    """

    __slots__ = ("name", "dtype")

    def __init__(self, name: str, dtype: DType | None) -> None:
        self.name, self.dtype = name, dtype

    def __repr__(self) -> str:
        return f"StorageType(name={self.name})"

    def __reduce__(self) -> Any:
        return storage_type, (self.name,)

    @property
    def itemsize(self) -> int:
        """Bytes an element."""
        return 1 if self.dtype is None else self.dtype.itemsize


UNTYPED = StorageType("UntypedStorage", None)
_TYPES = {
    name: StorageType(f"{name}Storage", dtype)
    for name, dtype in {
        "Double": float64, "Float": float32, "Half": float16, "BFloat16": bfloat16,
        "Long": int64, "Int": int32, "Short": int16, "Char": int8, "Byte": uint8, "Bool": bool_,
        "ComplexFloat": complex64, "ComplexDouble": complex128,
    }.items()
}  # fmt: skip
STORAGE_TYPES = (*_TYPES.values(), UNTYPED)
_OF_NAME = {kind.name: kind for kind in STORAGE_TYPES}
_OF_DTYPE = {kind.dtype: kind for kind in STORAGE_TYPES}


def storage_type(name: str) -> StorageType:
    """The type that torch calls ``name``, such as ``"FloatStorage"``."""
    return _OF_NAME[name]


def storage_type_of(dtype: DType | None) -> StorageType:
    """The type of storages of a dtype; that of bytes for None."""
    return _OF_DTYPE[dtype]


class StoredMemory(UntypedStorage):
    """A storage of a file, and what ``map_location`` is called with.

    Attributes:
        dtype: of the elements, as the file says; None if it says nothing.
        backend: that of the device where tensors go; None for the CPU.
    """

    __slots__ = ("memory", "dtype", "backend", "_uploaded")

    def __init__(self, held: Array, dtype: DType | None) -> None:
        super().__init__(held)
        self._owner = held  # which may be a part of another
        self.memory = Memory()
        self.memory.held = held
        self.dtype = dtype
        self.backend: Any = None
        #: By dtype, the whole storage on another device.
        self._uploaded: dict[DType, Any] = {}

    @property
    def held(self) -> Array:
        """The bytes, on the CPU."""
        return self.memory.held

    def cpu(self) -> StoredMemory:
        """This storage, for tensors on the CPU."""
        return self._for(None)

    def cuda(self, device: Any = None) -> StoredMemory:
        """This storage, for tensors on a CUDA device."""
        return self._for(backend_for("cuda" if device is None else f"cuda:{device}"))

    def _for(self, backend: Any) -> StoredMemory:
        if backend is self.backend:
            return self
        made = StoredMemory(self.held, self.dtype)
        made.backend = backend
        return made

    def part(self, offset: int, size: int) -> StoredMemory:
        """A storage on some of the bytes."""
        check(0 <= offset <= offset + size <= self.held.size, "a storage lies outside of another")
        made = StoredMemory(self.held[offset : offset + size], self.dtype)
        made.backend = self.backend
        return made

    def array(
        self, dtype: DType, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> Any:
        """The elements of a tensor; ``offset`` and ``strides`` in elements.

        On another device the storage is copied there once for each dtype that it is read as.

        Raises:
            pickle.UnpicklingError: if they are no integers, or do not lie in the storage.
        """
        kind, size = dtype.numpy, dtype.itemsize
        check(
            type(offset) is int and type(shape) is tuple and type(strides) is tuple,
            "a tensor has an offset, a tuple of sizes and one of strides",
        )
        check(all(type(step) is int for step in strides), "strides are integers")
        steps = tuple([step * size for step in strides])
        made = view(self.memory, kind, offset * size, shape, steps)
        if self.backend is None:
            return made
        whole = self._uploaded.get(dtype)
        if whole is None:
            elements = self.held[: self.held.size // size * size].view(kind)
            whole = self._uploaded[dtype] = self.backend.from_host(elements)
        return self.backend.view(whole, shape, steps, offset * size)


def elements_of(identity: Any) -> tuple[StorageType, str, str, int, Any]:
    """The parts of a persistent id: the type, the key, the location, the number of elements and
    what files of the older format add.

    Raises:
        pickle.UnpicklingError: if they are something else.
    """
    check(type(identity) is tuple and len(identity) in (5, 6), "only storages lie outside")
    word, kind, key, location, count = identity[:5]
    # Compared only if it is a text: a tensor would be computed with.
    check(type(word) is str and word == "storage", "only storages lie outside")
    check(type(kind) is StorageType, "a storage has a type")
    check(type(key) is str and type(location) is str, "a storage has a key and a location")
    check(type(count) is int and 0 <= count < 2**62, "a storage has a number of elements")
    return kind, key, location, count, identity[5] if len(identity) == 6 else None


def swapped(held: Array, dtype: DType | None) -> None:
    """Turn around the bytes of each number of a storage that was written on another machine."""
    if dtype is None:
        if held.size:
            raise pickle.UnpicklingError("a storage of bytes has the byte order of another machine")
        return
    size = dtype.itemsize // (2 if dtype.is_complex else 1)
    if size > 1:
        held.view(f"u{size}").byteswap(inplace=True)


__all__ = [
    "STORAGE_TYPES", "UNTYPED", "StorageType", "StoredMemory", "elements_of", "storage_type",
    "storage_type_of", "swapped",
]  # fmt: skip
