"""Out of a Tensor: to NumPy, by DLPack, and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import printing
from ..autograd import tensor_interface
from ..autograd.grad_mode import state as grad_mode
from ..autograd.node import has_no_history
from ..autograd.writes.inplace import is_stale
from ..backend import Backend, foreign
from ..dtype import dtype as DType
from ..dtype import from_numpy as dtype_of
from ..executor import capture
from ..torch_function import disabled_torch_function
from ..warn_once import warn_once
from .dlpack import DLDeviceType, capsule_of
from .state import TensorState, under_transformation

if TYPE_CHECKING:
    from .tensor import Tensor

Array = np.ndarray[Any, Any]


def numpy_of(tensor: Tensor, force: bool) -> Array:
    """``tensor.numpy(force=force)``."""
    records = tensor._requires_grad or (tensor._viewed is not None and tensor.requires_grad)
    if records and not force and grad_mode.enabled:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    if tensor._array.__class__ is not np.ndarray:
        if (where := foreign(tensor._array)) is not None:
            return _host_memory(tensor, where, force)
        reading = under_transformation()
        found = reading.values_of(tensor) if force else reading.memory_for_numpy(tensor)
        values: Array = found.numpy(force=force)
        return values
    if tensor._array.dtype.kind == "V":
        raise TypeError("Got unsupported ScalarType BFloat16")
    capture.refuse("numpy()")
    # A new ndarray object: setting its shape must not change the tensor.
    return tensor._array.view()


def _host_memory(tensor: Tensor, where: Backend, force: bool) -> Array:
    """``numpy()`` of a tensor of another device: a copy, if one may be made."""
    if not force:
        raise TypeError(
            f"can't convert {tensor.device} device type tensor to numpy. Use Tensor.cpu() to copy "
            "the tensor to host memory first."
        )
    capture.refuse("numpy()")
    return where.to_host(tensor._array)


def buffer_of(tensor: Tensor, flags: int = 0) -> memoryview:
    """The memory of a tensor as the buffer protocol has it: ``memoryview(tensor)``.

    Raises:
        BufferError: for a tensor that ``numpy()`` refuses, as one that requires grad.
    """
    try:
        return numpy_of(tensor, False).data
    except (RuntimeError, TypeError, ValueError) as error:
        raise BufferError(f"memoryview of a tensor: {error}") from error


def bytes_of(tensor: Tensor) -> bytes:
    """``bytes(tensor)``: a byte for each element, as where tensors are no buffers."""
    return bytes(iter(tensor))


def converted(array: Array, own: DType, dtype: Any, copy: bool | None) -> Array:
    """The memory of a tensor of dtype ``own`` as ``__array__`` is asked for it."""
    if dtype is None or array.dtype == dtype:
        return array.copy() if copy else array
    if copy is False:
        raise ValueError(f"a tensor of {own} cannot be an array of {dtype} without a copy")
    return array.astype(dtype)


def taken(array: Any) -> Array:
    """The result of a NumPy function of a tensor, as the memory of another one."""
    made = np.asarray(array)
    dtype_of(made.dtype)  # raises for what tensors cannot hold
    return made.copy() if min(made.strides, default=0) < 0 else made


def dlpack(
    tensor: Tensor,
    *,
    stream: Any = -1,
    max_version: Any = None,
    dl_device: Any = None,
    copy: bool | None = None,
) -> Any:
    """A capsule with the memory of a tensor; arguments as the protocol DLPack has them.

    Raises:
        BufferError: for a tensor that requires grad or is still to be conjugated or negated, and
            for another device than its own.
        TypeError, AssertionError: for a stream, which the CPU has none of.
    """
    if tensor.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if tensor.is_conj() or tensor.is_neg():
        what = "conjugate" if tensor.is_conj() else "negative"
        raise BufferError(f"Can't export tensors with the {what} bit set")
    capture.refuse("an export by DLPack")
    array = tensor._array
    if foreign(array) is not None:
        given = {"stream": stream, "max_version": max_version, "dl_device": dl_device}
        return array.__dlpack__(**given, copy=copy)
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    if dl_device is not None and dl_device[0] != DLDeviceType.kDLCPU:
        raise BufferError(f"Can't export a tensor of the CPU to the device {tuple(dl_device)}")
    if array.__class__ is not np.ndarray:
        array = under_transformation().memory_for_numpy(tensor)._array
    if copy:
        array = array.copy("K")
    is_versioned = max_version is not None and max_version[0] >= 1
    return capsule_of(array, dtype_of(array.dtype), is_versioned, bool(copy))


def dlpack_device(tensor: Tensor) -> tuple[Any, int]:
    """Where the memory of a tensor is, as the protocol DLPack says it."""
    array = tensor._array
    if foreign(array) is not None:
        where: tuple[Any, int] = array.__dlpack_device__()
        return where
    return DLDeviceType.kDLCPU, 0


def number_of(tensor: Tensor) -> Any:
    """The value of a tensor of one element, for a function of Python that wants a number."""
    if tensor._array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    capture.refuse("the value of a tensor as a Python number")
    return tensor._elements().item()


def warn_of_history(tensor: Tensor) -> None:
    """Warn, once a process, that a number made of a tensor that requires grad is a constant."""
    if tensor._requires_grad and grad_mode.enabled:
        warn_once(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
            "behavior.\nConsider using tensor.detach() first."
        )


def real_number_of(tensor: Tensor, kind: str) -> Any:
    """The value as a real number, for what is of this C type."""
    value = number_of(tensor)
    if value.__class__ is not complex:
        return value
    if value.imag:
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
    return value.real


def contains(tensor: Tensor, element: Any) -> bool:
    """``element in tensor``."""
    if not isinstance(element, (TensorState, bool, int, float, complex, np.generic)):
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )
    capture.refuse("a question for the values of a tensor")
    return bool((tensor == element)._elements().any())


def text_of(tensor: Tensor) -> str:
    """``repr(tensor)``."""
    capture.refuse("the text of a tensor")
    array, where = tensor._array, foreign(tensor._array)
    has_elements = where is None or where.has_elements
    if where is not None:
        array = where.to_host(array) if has_elements else array
    elif array.__class__ is not np.ndarray:
        text: str = under_transformation().text_of(tensor)
        return text
    name = None if has_no_history(tensor) else type(tensor._producer).__name__
    if tensor._viewed is not None and is_stale(tensor):
        name = "Invalid"
    return printing.tensor_text(
        array,
        tensor.dtype,
        requires_grad=tensor.requires_grad,
        grad_fn_name=name,
        device_text=None if where is None else str(tensor.device),
        tensor_name=_printed_name(tensor),
        has_elements=has_elements,
    )


def _printed_name(tensor: Tensor) -> str:
    kind = type(tensor)
    plain = kind.__torch_function__ is disabled_torch_function or kind is tensor_interface.Tensor
    return "tensor" if plain else kind.__name__
