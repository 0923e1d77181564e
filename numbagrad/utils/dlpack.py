"""``torch.utils.dlpack``: memory shared with other libraries by the protocol DLPack.

The structures and capsules are those of ``tensor/dlpack.py``.
"""

from __future__ import annotations

from typing import Any

from ..backend import backend_for
from ..backend.registry import is_there
from ..ops.creation.from_data import from_numpy
from ..tensor import Tensor, new_tensor
from ..tensor.dlpack import DLDeviceType, array_of, is_capsule

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


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
    try:
        return source.__dlpack__(max_version=(1, 0))
    except TypeError:  # of before version 1
        return source.__dlpack__()


def _tensor(capsule: Any) -> Tensor:
    array, dtype = array_of(capsule)
    if dtype.numpy.kind == "V":
        return new_tensor(array)
    return from_numpy(array)


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule with the memory of a tensor, to be read once."""
    return tensor.__dlpack__()
