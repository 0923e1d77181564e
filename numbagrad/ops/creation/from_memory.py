"""Tensors on memory of others: NumPy's arrays, buffers of Python, capsules of DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backend import backend_for
from ...backend.registry import is_there
from ...dtype import dtype_from_user
from ...tensor import Tensor, new_tensor
from ...tensor.dlpack import DLDeviceType, array_of, capsule_from, is_capsule
from ...warn_once import warn_caller
from ..arguments.requirements import leaf, numpy_dtype

__all__ = ["from_numpy", "frombuffer"]


def check_array(array: np.ndarray[Any, Any]) -> None:
    """Raise torch's errors for arrays whose memory no tensor can describe."""
    dtype_from_user(array.dtype)
    if array.size == 0 or array.flags.c_contiguous:
        return
    for stride in array.strides:
        if stride < 0:
            raise ValueError(
                "At least one stride in the given numpy array is negative, and tensors with "
                "negative strides are not currently supported. (You can probably work around this "
                "by making a copy of your array  with array.copy().) "
            )
        if stride % array.itemsize:
            raise ValueError(
                "given numpy array strides not a multiple of the element byte size. Copy the numpy "
                "array to reallocate the memory."
            )


_warned_of_read_only = False


def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """A tensor of the memory of a NumPy array: what one writes, the other reads.

    Raises:
        TypeError: if it is not an array, or of a dtype that tensors do not have.
        ValueError: for negative or odd strides, or a foreign byte order.
    """
    global _warned_of_read_only
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    check_array(ndarray)
    if not ndarray.flags.writeable and not _warned_of_read_only:
        _warned_of_read_only = True
        warn_caller(
            "The given NumPy array is not writable, and PyTorch does not support non-writable "
            "tensors. This means writing to this tensor will result in undefined behavior. You may "
            "want to copy the array to protect its data or make it writable before converting it "
            "to a tensor. This type of warning will be suppressed for the rest of this program.",
        )
    # A new ndarray object: its shape cannot be changed from outside.
    return new_tensor(ndarray.view(np.ndarray))


def has_buffer(obj: Any) -> bool:
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A one-dimensional tensor of the memory of an object with the buffer protocol.

    Args:
        buffer: such as a bytearray, a memoryview, an ``mmap`` or an ``array.array``.
        dtype: of the elements.
        count: how many; all that there are, without it.
        offset: the bytes before the first.
        requires_grad: whether operations on it are recorded.

    Raises:
        ValueError: for another object, for no elements, and for elements beyond the buffer.
    """
    kind = numpy_dtype("frombuffer", dtype)
    if not has_buffer(buffer):
        raise ValueError("object does not implement Python buffer protocol.")
    length, size = memoryview(buffer).nbytes, kind.itemsize
    if not length or not count:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % size:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a "
            f"multiple of element size ({size})"
        )
    if count > 0 and offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must "
            f"not be greater than actual buffer length ({length} bytes)"
        )
    array = np.frombuffer(buffer, kind, max(count, -1), offset)
    if kind.kind == "V":
        return leaf(array, requires_grad)
    return leaf(from_numpy(array)._array, requires_grad)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of an object with ``__dlpack__``, or of a capsule.

    Memory that must not be written is shared as ``from_numpy`` shares it, with one warning.

    Args:
        ext_tensor: an array of another library, on the CPU or a GPU; or a capsule of the CPU's.
        device: where the tensor is to be; memory is shared on its own device alone.
        copy: True for memory of its own; False if it has to be shared.

    Raises:
        RuntimeError: for what is no capsule, or was taken before.
        BufferError: for memory of another device, dtypes that tensors do not have, and tensors
            that require grad.
        ValueError: for negative strides; for ``copy=False`` where another device needs a copy.
    """
    if isinstance(ext_tensor, Tensor):
        if ext_tensor.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        made = ext_tensor.detach()
    elif _device_type_of(ext_tensor) == DLDeviceType.kDLCUDA and is_there("cuda"):
        where: Any = backend_for(f"cuda:{ext_tensor.__dlpack_device__()[1]}")
        made = new_tensor(where.from_dlpack(ext_tensor))
    else:
        capsule = ext_tensor if is_capsule(ext_tensor) else _capsule_of(ext_tensor)
        made = _tensor(capsule)
    if device is not None:
        moved = made.to(device)
        if moved is not made and copy is False:
            raise ValueError(f"from_dlpack: memory on another device than {device} is not shared")
        made = moved
    return made.clone() if copy else made


def _device_type_of(source: Any) -> int:
    """The kind of device that an object with ``__dlpack__`` is on; the CPU if it does not say."""
    return int(source.__dlpack_device__()[0]) if hasattr(source, "__dlpack_device__") else 1


def _capsule_of(source: Any) -> Any:
    """The capsule that an object hands out, of version 1 if it knows that."""
    if not hasattr(source, "__dlpack__"):
        return source
    where = _device_type_of(source)
    if where != DLDeviceType.kDLCPU:
        raise BufferError(
            f"from_dlpack: memory of the device type {int(where)} of DLPack is not read; move the "
            "array to the CPU first"
        )
    return capsule_from(source)


def _tensor(capsule: Any) -> Tensor:
    array, dtype = array_of(capsule)
    if dtype.numpy.kind == "V":
        return new_tensor(array)
    return from_numpy(array)
