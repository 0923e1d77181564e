"""Arrays in the memory of a GPU: what Tensors on ``cuda`` hold.

Other libraries take them through ``__cuda_array_interface__`` and ``__dlpack__``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..backend.strided_array import StridedArray
from .driver import driver


class Adopted(NamedTuple):
    """A block of memory of another library, whose object keeps it alive."""

    address: int
    nbytes: int
    device: int
    owner: Any


class CudaArray(StridedArray):
    """Elements of a block of device memory, which has a ``device``, the number of a GPU."""

    __slots__ = ()

    def __repr__(self) -> str:
        where = f"cuda:{self.block.device}"
        return f"CudaArray(shape={self.shape}, strides={self.strides}, {self.dtype}, {where})"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the protocol by which Numba, CuPy and others read device memory."""
        if self.dtype.kind == "V":
            raise AttributeError("bfloat16 has no name in __cuda_array_interface__")
        return {
            "shape": self.shape,
            "strides": None if self.flags.c_contiguous else self.strides,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "version": 3,
            "stream": driver().stream_number(self.block.device),
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        """Where it is, as DLPack numbers kinds of devices: 2 is CUDA."""
        return 2, self.block.device

    def __dlpack__(self, **options: Any) -> Any:
        """A capsule of this memory (DLPack), made by CuPy."""
        with driver().library(self.block.device):  # whose stream the reader's waits for
            return driver().as_cupy(self).__dlpack__(**options)
