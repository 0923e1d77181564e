"""Tensors in another dtype or device: ``to``, ``type`` and torch's short forms (``float()``, ...).

Installed as methods of Tensor. The one operator here is the conversion of a dtype; its gradient is
the conversion back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backend import Backend, backend_for, device_of, foreign, lies_with
from ...device import CPU
from ...device import device as Device
from ...dispatch import layers
from ...dtype import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    from_type_string,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    type_string,
    uint8,
)
from ...dtype import dtype as DType
from ...executor.capture import outside_programs
from ...executor.families.conversion import convert
from ...executor.plan.forms import dense_of
from ...layout import channels_last, channels_last_3d, contiguous_format, preserve_format
from ...number_range import checked_number
from ...tensor import Tensor
from ...transforms.batching import stacked
from ...transforms.tangents import multilinear
from ...type_names import type_name
from ..arguments.requirements import numpy_dtype
from ..methods.registry import method
from ..operators.tensor_operator import TensorOperator

__all__: list[str] = []

_to_copy = TensorOperator(
    "to_copy",
    lambda input, kind, source: convert(input, kind),
    {"input": lambda grad, source: cast(grad, source)},
    batch=stacked(),
    tangent=multilinear,
    takes_half=True,
    portable=True,
)


def _on_backend(input: Any, where: Backend | None, source: Device, later: bool) -> Any:
    """The elements of an array in new memory of a backend, None for the CPU.

    ``later`` says that pinned memory need not be read, or written, when this returns.
    """
    held = foreign(input)
    if held is not None and where is not None and held.array_class is where.array_class:
        made = where.allocate(*dense_of(input))
        where.copy(made, input)
        return made
    if where is None:
        assert held is not None
        return held.to_host_later(input) if later else held.to_host(input)
    if held is None and later:
        return where.from_host_later(input)
    return where.from_host(input if held is None else held.to_host(input))


#: A copy in the memory of another device. Nothing of a program moves: see ``_moved``.
_to_device = TensorOperator(
    "to_copy",
    _on_backend,
    {"input": lambda grad, source: to(grad, source)},
    tangent=multilinear,
    takes_half=True,
    portable=True,
)


@outside_programs("a copy to another device")
def _moved(input: Tensor, where: Backend | None, later: bool) -> Tensor:
    return _to_device(input, where, device_of(input._array), later)


def cast(input: Tensor, kind: np.dtype[Any], copy: bool = False) -> Tensor:
    """``input`` as a NumPy type: itself if it has that type already, unless a copy is asked for."""
    source = input._array.dtype
    if source == kind and not copy:
        return input
    return _to_copy(input, kind, source)


def as_element(value: Any, kind: np.dtype[Any]) -> Any:
    """A number or a Tensor as what an element of this type is overwritten with.

    Raises:
        RuntimeError: for a number that does not fit the type.
    """
    return cast(value, kind) if isinstance(value, Tensor) else checked_number(value, kind)


def arguments_of_to(arguments: tuple[Any, ...]) -> dict[str, Any]:
    """The arguments that torch's three forms of ``to`` take by position, by name."""
    named: dict[str, Any] = {}
    rest = list(arguments)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
        named["dtype"], named["device"] = other.dtype, other.device
    elif rest and (rest[0] is None or isinstance(rest[0], (str, Device))):
        named["device"] = rest.pop(0)
        if rest and (rest[0] is None or not isinstance(rest[0], bool)):
            named["dtype"] = rest.pop(0)
    elif rest and isinstance(rest[0], int) and not isinstance(rest[0], bool):
        named["device"] = Device(rest.pop(0))
    elif rest:
        named["dtype"] = rest.pop(0)
    for name in ("non_blocking", "copy"):
        if rest:
            named[name] = rest.pop(0)
    if rest:
        raise TypeError(f"to() received too many positional arguments: {rest}")
    return named


@method()
def to(
    self: Tensor,
    *arguments: Any,
    dtype: Any = None,
    device: Any = None,
    other: Tensor | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """This tensor in another dtype: ``to(dtype)``, ``to(device, dtype)`` or ``to(other)``.

    The tensor itself if nothing changes, unless ``copy`` is set.

    Raises:
        AssertionError: for CUDA without a GPU.
    """
    if layers.everywhere and layers.asks(to):
        named = {"dtype": dtype, "device": device, "other": other, "non_blocking": non_blocking}
        named |= {"copy": copy, "memory_format": memory_format}
        return layers.ask(to, [self], named, arguments)
    if arguments:
        if len(arguments) == 1 and arguments[0].__class__ is DType:
            dtype = arguments[0]
        else:
            named = arguments_of_to(arguments)
            dtype = named.get("dtype", dtype)
            device = named.get("device", device)
            copy = named.get("copy", copy)
            non_blocking = named.get("non_blocking", non_blocking)
    if non_blocking is not False or copy is not False:
        for name, flag in (("non_blocking", non_blocking), ("copy", copy)):
            if flag is not False and flag is not True:
                raise TypeError(f"to(): argument '{name}' must be bool, not {type_name(flag)}")
    if other is not None:
        dtype = other.dtype
        device = other.device if device is None else device
    if device is not None and not lies_with(self._array, where := backend_for(device)):
        self, copy = _moved(self, where, non_blocking), False
    kind = numpy_dtype("to", dtype, self._array.dtype)
    result = cast(self, kind, copy)
    if memory_format is None or memory_format is preserve_format:
        return result
    if memory_format is contiguous_format and result is self and not _has_channels_last(self):
        return result  # whatever its strides, as in torch
    return result.contiguous(memory_format)


def _has_channels_last(tensor: Tensor) -> bool:
    formats = {4: channels_last, 5: channels_last_3d}
    found = formats.get(tensor._array.ndim)
    return found is not None and tensor.is_contiguous(found)


def _converter(name: str, dtype: DType) -> None:
    kind = dtype.numpy

    def converted(self: Tensor, *, memory_format: Any = None) -> Tensor:
        if layers.everywhere and layers.asks(converted):
            return layers.ask(converted, [self], {"memory_format": memory_format})
        if memory_format is not None:
            return to(self, dtype, memory_format=memory_format)
        return self if self._array.dtype == kind else cast(self, kind)

    converted.__name__ = converted.__qualname__ = name
    converted.__doc__ = f"This tensor as {dtype}."
    method(name)(converted)


for _name, _dtype in {
    "half": float16, "bfloat16": bfloat16, "float": float32, "double": float64, "char": int8,
    "short": int16, "int": int32, "long": int64, "byte": uint8, "bool": bool_, "cfloat": complex64,
    "cdouble": complex128,
}.items():  # fmt: skip
    _converter(_name, _dtype)


@method("type")
def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Without argument, the type as text (``"torch.FloatTensor"``); else this tensor as that type.

    A type of tensors names a device too, which the tensor is moved to; a dtype names none.

    Raises:
        ValueError: for a text that names no type.
    """
    if dtype is None:
        return type_string(self.dtype, self.device.type)
    if isinstance(dtype, str):
        dtype, device_type = from_type_string(dtype)
        return to(self, device_type, dtype, non_blocking=non_blocking)
    if hasattr(dtype, "device_type"):  # FloatTensor and the like
        return to(self, dtype.device_type, dtype.dtype, non_blocking=non_blocking)
    if dtype is Tensor:
        dtype = get_default_dtype()
    return cast(self, numpy_dtype("type", dtype))


@method()
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor in the dtype of ``other``."""
    return cast(self, other._array.dtype)


@method()
def to_dense(
    self: Tensor, dtype: DType | None = None, *, masked_grad: bool | None = None
) -> Tensor:
    """This tensor, which is dense, in ``dtype`` if that is given."""
    return self if dtype is None else to(self, dtype)


@method()
def cpu(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """This tensor in main memory: itself if it is there already."""
    if memory_format is None and lies_with(self._array, None):
        return self
    return to(self, CPU, memory_format=memory_format)


@method()
def cuda(
    self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> Tensor:
    """This tensor on a GPU, the current one if none is named: itself if it is there already.

    Raises:
        AssertionError: without a GPU, as torch does where it was built without CUDA.
    """
    position = "cuda" if device is None else device
    return to(self, position, non_blocking=non_blocking, memory_format=memory_format)
