"""``torch.utils.dlpack``: memory shared with other libraries by the protocol DLPack."""

from __future__ import annotations

import ctypes
import enum
from typing import Any

import numpy as np

from ..ops.creation.from_data import from_numpy
from ..tensor import Tensor

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(enum.IntEnum):
    """Where memory lies, as the protocol numbers it."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14


class _Capsule:
    """A capsule on its own, as an object that hands it out: NumPy asks for that."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **arguments: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLDeviceType.kDLCPU, 0


def _writeable(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same memory to write to: NumPy takes what old capsules hold for constant."""
    if array.flags.writeable or not array.size:
        return array
    low, high = np.lib.array_utils.byte_bounds(array)
    memory: Any = (ctypes.c_char * (high - low)).from_address(low)
    memory.owner = array  # the memory lives as long as what looks at it
    start = array.ctypes.data - low
    return np.ndarray(array.shape, array.dtype, memory, start, array.strides)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of an object with ``__dlpack__``, or of a capsule.

    Args:
        ext_tensor: an array of another library, on the CPU, or what ``to_dlpack`` returned.
        device: where the tensor is to be; its memory is shared only on the CPU.
        copy: True for memory of its own.
    """
    if isinstance(ext_tensor, Tensor):
        made = ext_tensor.detach()
    else:
        source = ext_tensor if hasattr(ext_tensor, "__dlpack__") else _Capsule(ext_tensor)
        made = from_numpy(_writeable(np.from_dlpack(source)))
    if device is not None:
        made = made.to(device)
    return made.clone() if copy else made


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule with the memory of a tensor, to be read once."""
    return tensor.__dlpack__()
