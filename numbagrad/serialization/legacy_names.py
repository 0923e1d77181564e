"""Names in checkpoints of the first format, and the objects for them.

They were written with NumPy's own functions, which trust what they are called with: a file could
make objects of its bytes. Here functions that check their arguments stand for those, with
stand-ins for an array and a dtype that are not complete before their state is set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import FROM_TYPE_NUM, bfloat16, from_numpy
from ..tensor import Tensor
from ..tensor.copies import unpickled
from . import allowed, values
from .unpickler import Incomplete
from .values import Array, check


class _Array(Incomplete):
    """An ndarray before its state is set."""

    __slots__ = ()


class _DType(Incomplete):
    """A dtype of NumPy before its state is set, which has the byte order and the rest of it."""

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind


#: Stand for classes of NumPy, which files may name but not call or have.
_NDARRAY, _DTYPE = object(), object()


def _reconstruct(kind: Any, shape: Any, code: Any) -> _Array:
    check(kind is _NDARRAY, "only plain arrays are data")
    return _Array()


def _dtype(text: Any, align: Any, copy: Any) -> _DType:
    check(type(text) is str and len(text) < 16, "a dtype is written as text")
    return _DType(text)


def _dtype_built(target: _DType, state: Any) -> np.dtype[Any]:
    check(type(state) is tuple and len(state) in (8, 9), "a dtype has another state")
    order, parts = state[1], state[2:5]
    plain = all(part is None for part in parts)
    check(type(order) is str and plain, "only dtypes without fields are data")
    unit = ""
    if len(state) == 9 and state[8] is not None:  # dates: ("metadata", (unit, number, ...))
        check(type(state[8]) is tuple and len(state[8]) == 2, "a date has another state")
        found = state[8][1]
        check(type(found) is tuple and len(found) == 4, "a date has another unit")
        name, number, divided, _ = found
        whole = type(number) is int and type(divided) is int and divided == 1
        check(type(name) is bytes and whole, "a date has another unit")
        unit = "" if name == b"generic" else f"[{number}{name.decode('ascii')}]"
    return values.numpy_dtype(f"{order}{target.kind}{unit}")


def _array_built(target: _Array, state: Any) -> Array:
    check(type(state) is tuple and len(state) == 5, "an array has another state")
    _, shape, kind, fortran, content = state
    return _filled(content, kind, shape, "F" if fortran is True else "C")


def _filled(content: Any, kind: Any, shape: Any, order: Any) -> Array:
    """An array of all the bytes, in the order of the indices or ("F") in the opposite one."""
    check(isinstance(kind, np.dtype) and type(shape) is tuple, "an array has no dtype or shape")
    check(
        len(shape) <= 64 and all(type(size) is int and 0 <= size < 2**62 for size in shape),
        "an array has sizes that are no integers, negative or too large",
    )
    check(type(order) is str and order in ("C", "F"), "an array has an unknown order")
    strides, step = [], kind.itemsize
    for size in shape if order == "F" else shape[::-1]:
        strides.append(step)
        step *= max(size, 1)
    check(0 in shape or step == len(content), "an array has as many bytes as its elements")
    steps = tuple(strides if order == "F" else strides[::-1])
    return values.array(values.memory(content), kind.str, 0, shape, steps)


def _frombuffer(content: Any, kind: Any, shape: Any, order: Any, axes: Any = None) -> Array:
    if type(order) is str and order == "K":
        made = _filled(content, kind, shape, "C")
        check(_is_permutation(axes, made.ndim), "an array has no such order of dimensions")
        return made.transpose(axes)
    return _filled(content, kind, shape, order)


def _scalar(kind: Any, content: Any) -> Any:
    check(isinstance(kind, np.dtype), "a number has no dtype")
    return values.number(kind.str, content)


def _tensor(cls: Any, array: Any, order: Any, requires_grad: Any, attributes: Any) -> Tensor:
    cls = Tensor if cls is None else cls
    check(isinstance(cls, type) and issubclass(cls, Tensor), "a tensor has no class")
    check(type(array) is np.ndarray and array.dtype.isnative, "a tensor is made of an array")
    check(_is_permutation(order, array.ndim), "a tensor has no such order of dimensions")
    if array.dtype.kind == "V":
        check(array.dtype.itemsize == 2, "a tensor has no such dtype")
        array = array.view(bfloat16.numpy)
    else:
        check(FROM_TYPE_NUM[from_numpy(array.dtype).type_num] is not None, "no such dtype")
    made = unpickled(Tensor, array, order, False, {})
    return values.leaf(cls, made._array, requires_grad, attributes)


def _is_permutation(order: Any, rank: int) -> bool:
    return (
        type(order) is tuple
        and len(order) == rank
        and all(type(axis) is int for axis in order)
        and sorted(order) == list(range(rank))
    )


_FUNCTIONS = {
    **{
        (f"numpy.{core}.{module}", name): function
        for core in ("core", "_core")
        for module, name, function in (
            ("multiarray", "_reconstruct", _reconstruct),
            ("multiarray", "scalar", _scalar),
            ("numeric", "_frombuffer", _frombuffer),
        )
    },
    ("numbagrad.tensor", "_unpickled"): _tensor,
}

NAMES = {
    **allowed.NAMES,
    **_FUNCTIONS,
    ("numpy", "ndarray"): _NDARRAY,
    ("numpy", "dtype"): _DTYPE,
}
CONSTRUCTORS = {
    **allowed.CONSTRUCTORS,
    **{function: function for function in _FUNCTIONS.values()},
    _DTYPE: _dtype,
}
BUILDERS = {**allowed.BUILDERS, _Array: _array_built, _DType: _dtype_built}

__all__ = ["BUILDERS", "CONSTRUCTORS", "NAMES"]
