"""How tensors were made before torch 0.4: ``Tensor(2, 3)``, ``FloatTensor([1, 2])``, ``x.new(2)``.

Importing the file gives the class Tensor its constructor. Code of today calls ``ops/creation.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import (
    DTYPES,
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
from ..dtype import dtype as DType
from ..size import Size
from ..tensor import Tensor, new_tensor
from .creation import array_of, shape_of
from .registry import method

__all__ = [
    "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor",
    "IntTensor", "LongTensor", "ShortTensor", "set_default_tensor_type",
]  # fmt: skip


def _make(name: str, dtype: DType, arguments: tuple[Any, ...]) -> Tensor:
    """Sizes give memory that is not set, a sequence or an array its elements."""
    if not arguments:
        return new_tensor(np.empty(0, dtype.numpy))
    data = arguments[0]
    if len(arguments) == 1 and not isinstance(data, int) and not isinstance(data, Size):
        if isinstance(data, Tensor):
            if data.dtype is not dtype:
                raise TypeError(
                    f"expected {type_string(dtype)} (got {type_string(data.dtype)}); convert with "
                    ".to(dtype)"
                )
            return data.detach()
        if isinstance(data, float):
            raise TypeError(f"{name}(): argument must be sizes or a sequence, not float")
        return new_tensor(array_of(data, dtype.numpy))
    return new_tensor(np.empty(shape_of(name, arguments), dtype.numpy))


def _new(cls: type[Tensor], *arguments: Any, **keywords: Any) -> Tensor:
    """``Tensor(2, 3)`` and ``Tensor([1, 2])``, of the default dtype."""
    made = _make("Tensor", get_default_dtype(), arguments)
    if cls is Tensor:
        return made
    other: Tensor = object.__new__(cls)
    for slot in ("_array", "_requires_grad", "_grad_fn", "_output_nr", "_version_cell"):
        setattr(other, slot, getattr(made, slot))
    return other


Tensor.__new__ = staticmethod(_new)  # type: ignore[assignment]


@method("new")
def _new_like(self: Tensor, *arguments: Any, device: Any = None) -> Tensor:
    """A tensor of the dtype of this one, from sizes or from data."""
    return _make("new", self.dtype, arguments)


class _TensorType(type):
    """The type of ``FloatTensor`` and the others: a dtype that looks like a class."""

    dtype: DType

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __call__(cls, *arguments: Any) -> Any:
        return _make(cls.__name__, cls.dtype, arguments)

    def __repr__(cls) -> str:
        return f"<class '{type_string(cls.dtype)}'>"


def _tensor_type(dtype: DType) -> Any:
    name = type_string(dtype).removeprefix("torch.")
    documentation = f"Tensors of {dtype}: makes one, and ``isinstance`` recognises them."
    return _TensorType(name, (), {"dtype": dtype, "__doc__": documentation})


BoolTensor, ByteTensor, CharTensor = map(_tensor_type, (bool_, uint8, int8))
ShortTensor, IntTensor, LongTensor = map(_tensor_type, (int16, int32, int64))
HalfTensor, FloatTensor, DoubleTensor = map(_tensor_type, (float16, float32, float64))


def set_default_tensor_type(t: Any) -> None:
    """Choose the dtype of tensors made from Python floats by a type or its name.

    Raises:
        TypeError: for a type of no float dtype.
    """
    dtype = from_type_string(t)[0] if isinstance(t, str) else getattr(t, "dtype", None)
    if dtype not in DTYPES:
        raise TypeError(f"invalid type object: {t!r} is no type of tensors")
    set_default_dtype(dtype)
