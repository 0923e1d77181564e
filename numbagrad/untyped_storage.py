"""The block of memory behind a tensor and its views: which array owns it, and how large it is.

``tensor/tensor.py`` hands it out; ``ops/conversion/storage.py`` adds the elements, which need the
Tensor.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from .backend import device_of, is_array
from .device import CPU, device
from .shared_memory import block_of


def owner_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array that owns the memory of this one, as far as NumPy knows it.

    Between the two may be what NumPy made an array of that is none itself.
    """
    base: Any = array.base
    while base is not None:
        if is_array(base):
            array = base
        base = getattr(base, "base", None)
    return array


class UntypedStorage:
    """The block of memory behind a tensor and all its views, counted in bytes."""

    __slots__ = ("_owner",)

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._owner = owner_of(array)

    def data_ptr(self) -> int:
        """Address of the first byte; equal for tensors that share memory."""
        return self._owner.ctypes.data if self._owner.size and self.device is CPU else 0

    @property
    def device(self) -> device:
        """Where the memory is."""
        return device_of(self._owner)

    def nbytes(self) -> int:
        """Number of bytes."""
        return self._owner.nbytes

    size = __len__ = nbytes

    def is_shared(self) -> bool:
        """Whether other processes can see the memory."""
        return block_of(self._owner) is not None

    def untyped(self) -> UntypedStorage:
        """This storage."""
        return self

    @classmethod
    def from_file(
        cls, filename: str | os.PathLike[str], shared: bool = False, nbytes: int = 0
    ) -> UntypedStorage:
        """The first bytes of a file, read as they are used.

        Args:
            filename: a path.
            shared: whether what is written goes to the file, which is made as long as it has to be.
            nbytes: how many bytes.

        Raises:
            RuntimeError: if the file is shorter, and is not to be written.
        """
        with open(filename, "r+b" if shared else "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < nbytes and not shared:
                raise RuntimeError(
                    f"UntypedStorage.from_file: {filename} has {size} bytes, not {nbytes}"
                )
            if size < nbytes:
                file.truncate(nbytes)
            if not nbytes:
                return cls(np.empty(0, np.uint8))
            access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
            content = mmap.mmap(file.fileno(), nbytes, access=access)
        return cls(np.frombuffer(content, np.uint8))

    def _bytes(self) -> np.ndarray[Any, Any]:
        """All bytes, in the order in which they lie."""
        owner = self._owner
        dense = owner if owner.flags.c_contiguous else owner.T
        return dense.reshape(-1).view(np.uint8)

    def __getitem__(self, index: Any) -> Any:
        """A byte, or the storage of some of the bytes, on the same memory.

        Raises:
            RuntimeError: for a slice with a step.
        """
        if not isinstance(index, slice):
            return int(self._bytes()[index])
        if index.step not in (None, 1):
            raise RuntimeError(
                f"Trying to slice with a step of {index.step}, but only a step of 1 is supported"
            )
        made = UntypedStorage.__new__(UntypedStorage)
        made._owner = self._bytes()[index]
        return made

    def __repr__(self) -> str:
        return f"<UntypedStorage of {self.nbytes()} bytes at {self.data_ptr():#x}>"
