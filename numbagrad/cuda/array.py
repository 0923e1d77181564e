"""Arrays in the memory of a GPU: what Tensors on ``cuda`` hold.

Other libraries take them through ``__cuda_array_interface__`` and ``__dlpack__``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..backend.registry import backend_of
from ..backend.strided_array import StridedArray
from ..dtype import from_numpy
from ..executor.plan.forms import Form
from ..executor.plan.sharing import bounds
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
        """Version 3 of the protocol by which Numba, CuPy and others read device memory.

        It names a stream only if that is not the default one: most readers have the host wait for
        a stream that is named, and their own streams wait for the default one without that.
        """
        if self.dtype.kind == "V":
            raise AttributeError("bfloat16 has no name in __cuda_array_interface__")
        return {
            "shape": self.shape,
            "strides": None if self.flags.c_contiguous else self.strides,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "version": 3,
            "stream": driver().stream(self.block.device) or None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        """Where it is, as DLPack numbers kinds of devices: 2 is CUDA."""
        return 2, self.block.device

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:  # fmt: skip
        """A capsule of this memory (DLPack), behind whose making the reader's stream is queued.

        Args:
            stream: the reader's, as the protocol numbers them: None or 1 is the default one, 2 that
                of a thread, and -1 asks for no order. The host waits for none.
            max_version: the highest version that the reader knows.
            dl_device: this GPU; or the CPU, which gets a copy.
            copy: whether the memory is to be the reader's alone; False for no copy.

        Raises:
            BufferError: for another GPU, for the CPU without a copy, and the stream 0, which could
                be either of two.
        """
        from ..tensor.dlpack import capsule_of

        array: Any = self
        is_to_host = dl_device is not None and tuple(dl_device) == (1, 0)
        if is_to_host and copy is not False:
            array = backend_of(self).to_host(self)
        elif dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"Can't export a tensor of cuda to the device {tuple(dl_device)}")
        elif copy:
            array = backend_of(self).copied(self, "K")
        if not is_to_host and stream != -1:
            if stream == 0:
                raise BufferError("unsupported stream on CUDA: 0.")
            reading = 0 if stream in (None, 1) else int(stream)
            device, current = self.block.device, driver().stream(self.block.device)
            if reading != current:
                driver().queue_behind(current, device, device, reading)
        is_versioned = max_version is not None and max_version[0] >= 1
        return capsule_of(array, from_numpy(self.dtype), is_versioned, array is not self)


def adopted(address: int, form: Form, index: int, owner: Any) -> CudaArray:
    """The memory of a device that an object keeps alive, from the first element on, as an array."""
    low, high = bounds(form)
    return CudaArray(Adopted(address + low, high - low, index, owner), -low, *form)
