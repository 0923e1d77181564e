"""Tensors as before torch 0.4: ``Tensor(2, 3)``, ``FloatTensor([1, 2])``, ``x.volatile``.

Importing the file gives the class Tensor its constructor and its older attributes. Code of today
calls ``ops/creation/filled.py`` and reads ``grad_fn``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import cuda
from ...autograd.legacy.volatile import is_volatile, make_volatile
from ...backend import backend_for
from ...dtype import (
    DTYPES,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    from_type_string,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    set_default_dtype,
    type_string,
    uint8,
)
from ...dtype import dtype as DType
from ...executor.memory.arrays import new_array, unset
from ...size import Size
from ...tensor import Tensor, TensorState
from ...warn_once import warn_caller
from ..arguments.requirements import leaf, shape_of
from ..creation.from_data import array_of
from .registry import method

__all__ = [
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor",
    "HalfTensor", "IntTensor", "LongTensor", "ShortTensor", "set_default_tensor_type",
]  # fmt: skip


def _make(name: str, dtype: DType, arguments: tuple[Any, ...], device: Any = None) -> Tensor:
    """Sizes give memory that is not set, a sequence or an array its elements."""
    where = backend_for(device)
    if not arguments:
        return leaf(unset(new_array((0,), dtype.numpy)), False, where)
    data = arguments[0]
    if len(arguments) > 1 or isinstance(data, (int, np.integer, Size)):
        made = unset(new_array(shape_of(name, arguments), dtype.numpy))
        return leaf(made, False, where)
    if isinstance(data, Tensor):
        if data.dtype is not dtype:
            raise TypeError(
                f"expected {type_string(dtype)} (got {type_string(data.dtype)}); convert with "
                ".to(dtype)"
            )
        return data.detach() if where is None else data.detach().to(where.device_type)
    if not isinstance(data, (np.ndarray, Sequence)):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    return leaf(array_of(data, dtype.numpy), False, where)


def _new(cls: type[Tensor], *arguments: Any, device: Any = None) -> Tensor:
    """``Tensor(2, 3)`` and ``Tensor([1, 2])``, of the default dtype."""
    made = _make("Tensor", get_default_dtype(), arguments, device)
    if cls is Tensor:
        return made
    other: Tensor = object.__new__(cls)
    for slot in TensorState.__slots__:
        setattr(other, slot, getattr(made, slot))
    return other


Tensor.__new__ = staticmethod(_new)  # type: ignore[assignment]


@method("new")
def _new_like(self: Tensor, *arguments: Any, device: Any = None) -> Tensor:
    """A tensor of the dtype of this one, from sizes or from data."""
    return _make("new", self.dtype, arguments, device)


def _creator(self: Tensor) -> Any:
    """The node that computed this tensor: an older name of ``grad_fn``."""
    return self._producer


method("creator")(property(_creator))


def _is_volatile(self: Tensor) -> bool:
    """Whether nothing that is computed from this tensor is recorded; see ``Variable``."""
    _warn_of_volatile()
    return is_volatile(self)


def _set_volatile(self: Tensor, value: bool) -> None:
    _warn_of_volatile()
    if value and self._requires_grad:
        raise ValueError("Variable can't be volatile and require_grad at the same time!")
    if value:
        make_volatile(self)
    else:
        vars(self).pop("_volatile", None)


def _warn_of_volatile() -> None:
    warn_caller(
        "volatile is what torch had before 0.4. Use `with torch.no_grad():` instead.",
    )


method("volatile")(property(_is_volatile, _set_volatile))


def _register_grad(self: Tensor) -> Any:
    """No torch had this method, though people's notes did."""
    raise AttributeError(
        "'Tensor' object has no attribute 'register_grad'; call register_hook(hook) to see or "
        "replace the gradient of a tensor, and register_post_accumulate_grad_hook(hook) to act "
        "when the grad of a leaf was added to"
    )


method("register_grad")(property(_register_grad))


@method("__dir__")
def _names(self: Tensor) -> list[str]:
    """The names of attributes, without those that only say what to use instead."""
    absent = {"register_grad"}
    if not hasattr(self, "__cuda_array_interface__"):
        absent.add("__cuda_array_interface__")
    return [name for name in object.__dir__(self) if name not in absent]


class _TensorType(type):
    """The type of ``FloatTensor`` and the others: dtype and device that look like a class."""

    dtype: DType
    device_type: str

    @property
    def is_cuda(cls) -> bool:
        """Whether tensors of this type are on a GPU."""
        return cls.device_type == "cuda"

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance.dtype is cls.dtype
            and instance.device.type == cls.device_type
        )

    def __call__(cls, *arguments: Any, device: Any = None) -> Any:
        if cls.is_cuda and not cuda.is_available():
            raise TypeError(
                f"type {type_string(cls.dtype, 'cuda')} not available. Torch not compiled with "
                "CUDA enabled."
            )
        if cls.is_cuda and device is None:
            device = "cuda"
        return _make(cls.__name__, cls.dtype, arguments, device)

    def __repr__(cls) -> str:
        return f"<class '{type_string(cls.dtype, cls.device_type)}'>"


def _tensor_type(dtype: DType, device_type: str = "cpu") -> Any:
    documentation = f"Tensors of {dtype}: makes one, and ``isinstance`` recognises them."
    attributes = {"dtype": dtype, "device_type": device_type, "__doc__": documentation}
    return _TensorType(type_string(dtype).removeprefix("torch."), (), attributes)


BoolTensor, ByteTensor, CharTensor = map(_tensor_type, (bool_, uint8, int8))
ShortTensor, IntTensor, LongTensor = map(_tensor_type, (int16, int32, int64))
HalfTensor, BFloat16Tensor, FloatTensor, DoubleTensor = map(
    _tensor_type, (float16, bfloat16, float32, float64)
)

for _dtype in DTYPES:
    _type = _tensor_type(_dtype, "cuda")
    setattr(cuda, _type.__name__, _type)


def set_default_tensor_type(t: Any) -> None:
    """Choose the dtype of tensors made from Python floats by a type or its name.

    Raises:
        TypeError: for a type of no float dtype.
    """
    dtype = from_type_string(t)[0] if isinstance(t, str) else getattr(t, "dtype", None)
    if dtype not in DTYPES:
        raise TypeError(f"invalid type object: {t!r} is no type of tensors")
    set_default_dtype(dtype)
