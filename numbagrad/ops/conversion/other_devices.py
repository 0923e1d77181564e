"""Attributes of tensors for GPUs: pinned memory, and ``__cuda_array_interface__``.

Without a GPU memory cannot be pinned, and no tensor has the protocol.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backend import backend_for, foreign
from ...cuda import is_available
from ...device import device as Device
from ...executor.capture import outside_programs
from ...tensor import Tensor, new_tensor
from ..methods.registry import method

__all__: list[str] = []


@method()
def is_pinned(tensor: Tensor, device: Any = None) -> bool:
    """Whether the memory was locked by ``pin_memory``, for whatever device."""
    if device is not None:
        Device(device)  # which raises for what is none
        if isinstance(device, int) and not is_available():
            raise RuntimeError("Cannot access accelerator device when none is available.")
    array: Any = tensor._array
    while isinstance(array, np.ndarray):
        array = array.base
    return bool(getattr(array, "is_pinned", False))


@method()
def pin_memory(tensor: Tensor, device: Any = None) -> Tensor:
    """The tensor, or a copy of it in memory that is locked, which copies to GPUs are faster from.

    Raises:
        RuntimeError: for a tensor that is not on the CPU, and without a GPU.
    """
    if not is_available():
        raise RuntimeError("pin_memory(): there is no accelerator for which memory could be pinned")
    if foreign(tensor._array) is not None:
        raise RuntimeError(
            f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned; call .cpu() first"
        )
    if is_pinned(tensor):
        return tensor
    return _pinned(tensor, backend_for("cuda" if device is None else device))


@outside_programs("memory that is pinned")
def _pinned(tensor: Tensor, where: Any) -> Tensor:
    return new_tensor(where.pinned(tensor._array))


@method()
def record_stream(tensor: Tensor, s: Any) -> None:
    """Have the memory of a tensor of a GPU not be given back before a stream has used it.

    For tensors that another stream uses than the one on which they were made: what that stream has
    queued when the tensor goes is waited for.

    Raises:
        NotImplementedError: for a tensor of the CPU.
    """
    where = foreign(tensor._array)
    if where is None:
        raise NotImplementedError(
            "Could not run 'aten::record_stream' with arguments from the 'CPU' backend: its memory "
            "is not used by streams"
        )
    where.record_stream(tensor._array, s)


def _interface(tensor: Tensor) -> dict[str, Any]:
    """``__cuda_array_interface__`` of a tensor.

    Raises:
        AttributeError: for a tensor of another device.
        RuntimeError: for one that requires grad.
    """
    described = getattr(tensor._array, "__cuda_array_interface__", None)
    if described is None:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {tensor.type()} If CUDA "
            "data is required use tensor.cuda() to copy tensor to device memory."
        )
    if tensor.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients "
            "aren't required, use var.detach() to get Variable that doesn't require grad."
        )
    made: dict[str, Any] = described
    return made


# A property, so that tensors of the CPU do not have it.
setattr(Tensor, "__cuda_array_interface__", property(_interface))  # noqa: B010 - see the stubs
