"""The block of memory behind a tensor and its views: which array owns it, and how large it is.

``tensor.py`` hands it out; ``ops/conversion/storage.py`` adds the elements, which need the Tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def owner_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array that owns the memory of this one, as far as NumPy knows it."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class UntypedStorage:
    """The block of memory behind a tensor and all its views, counted in bytes."""

    __slots__ = ("_owner",)

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._owner = owner_of(array)

    def data_ptr(self) -> int:
        """Address of the first byte; equal for tensors that share memory."""
        return self._owner.ctypes.data if self._owner.size else 0

    def nbytes(self) -> int:
        """Number of bytes."""
        return self._owner.nbytes

    size = __len__ = nbytes

    def __repr__(self) -> str:
        return f"<UntypedStorage of {self.nbytes()} bytes at {self.data_ptr():#x}>"
