"""Tensors, arrays and numbers as views of the bytes of a checkpoint, made with checks.

A checkpoint holds the bytes of memory, and for every tensor or array in it a dtype, its place,
shape and strides. The functions here can be called with anything: they raise where the parts do not
fit each other. Checkpoints of this package's former format call them by name (``allowed.py``).
"""

from __future__ import annotations

import functools
import pickle
import re
from typing import Any

import numpy as np

from ..dtype import dtype_from_name, from_numpy
from ..tensor import Tensor
from ..tensor.copies import rebuilt
from ..tensor.state import new_version_cell

Array = np.ndarray[Any, Any]

#: NumPy's types of numbers, dates, text and bytes as it writes them; none that holds objects.
_NUMPY_TYPE = re.compile(
    r"[<>|=](?:b1|[iu][1248]|f(?:2|4|8|12|16)|c(?:8|16|24|32)|[SUV][0-9]{1,9}"
    r"|[mM]8(?:\[[0-9]{0,9}[a-zA-Z]{1,3}\])?)"
)
_LARGEST = 2**62
_INT = frozenset([int])
#: The largest number of dimensions of NumPy.
_DIMENSIONS = 64


class Memory:
    """The bytes of one or several arrays."""

    __slots__ = ("held",)

    held: Array


def memory(content: bytes | bytearray) -> Memory:
    """Memory that holds ``content``."""
    check(type(content) in (bytes, bytearray), "memory() takes bytes")
    made = Memory()
    made.held = np.empty(len(content), np.uint8)
    made.held[:] = np.frombuffer(content, np.uint8)
    return made


def tensor(
    cls: type[Tensor],
    memory: Memory,
    dtype: str,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
    attributes: dict[str, Any],
) -> Tensor:
    """A leaf of class ``cls`` over memory, with ``strides`` in bytes."""
    check(isinstance(cls, type) and issubclass(cls, Tensor), "tensor() takes a class of tensors")
    check(type(dtype) is str, "tensor() takes the name of a dtype")
    kind = dtype_from_name(dtype).numpy
    array = view(memory, kind, offset, shape, strides)
    size = kind.itemsize
    if offset % size or any([step % size for step in strides]):
        raise pickle.UnpicklingError(
            f"a tensor's elements begin at multiples of their size, not at {offset} with {strides}"
        )
    return leaf(cls, array, requires_grad, attributes)


def leaf(
    cls: type[Tensor], array: Array, requires_grad: bool, attributes: dict[str, Any]
) -> Tensor:
    """A leaf of class ``cls`` with the memory of an array of one of our dtypes."""
    found = from_numpy(array.dtype)
    check(type(requires_grad) is bool, "requires_grad is no bool")
    if requires_grad and not found.has_fractions:
        raise pickle.UnpicklingError(f"a tensor of {found} requires no gradient")
    check(type(attributes) is dict, "the attributes of a tensor are no dict")
    for name, value in attributes.items():
        check(type(name) is str, "the name of an attribute is text")
        check(may_be_attribute(name, value), f"a tensor cannot be given its attribute {name!r}")
    return rebuilt(cls, array, new_version_cell(), requires_grad, attributes)


def array(
    memory: Memory, dtype: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> Array:
    """An ndarray over memory."""
    return view(memory, numpy_dtype(dtype), offset, shape, strides)


def number(dtype: str, content: bytes) -> Any:
    """One of NumPy's numbers, dates or texts."""
    kind = numpy_dtype(dtype)
    check(type(content) is bytes and len(content) == kind.itemsize, "a number has other bytes")
    if not content:
        return kind.type()
    return array(memory(content), dtype, 0, (), ())[()]


def numpy_dtype(text: str) -> np.dtype[Any]:
    """NumPy's dtype that it writes as ``text``; none with fields or objects."""
    check(type(text) is str, "a dtype is written as text")
    check(_NUMPY_TYPE.fullmatch(text) is not None, f"there is no dtype {text!r} of plain values")
    return np.dtype(text)


def view(
    memory: Memory, kind: np.dtype[Any], offset: int, shape: tuple[int, ...], strides: Any
) -> Array:
    """An array over memory, if all of it lies there and its elements can be what they claim."""
    check(type(memory) is Memory, "an array lies in memory, not in something else")
    span = checked_span(kind, offset, shape, strides)
    if offset % kind.alignment:
        raise _misplaced(kind)
    size = memory.held.size
    if offset + span > size:
        raise pickle.UnpicklingError(
            f"an array of {shape} with strides {strides} does not fit {size} bytes from {offset} on"
        )
    made: Array = np.ndarray(shape, kind, memory.held, offset, strides)
    if span and kind.kind in "bU":
        _check_values(made, memory.held[offset : offset + span])
    return made


def checked_span(kind: np.dtype[Any], offset: Any, shape: Any, strides: Any) -> int:
    """The bytes of an array of a form, if it is one; strides in bytes."""
    check(
        _are_ints(shape)
        and _are_ints(strides)
        and type(offset) is int
        and len(shape) == len(strides) <= _DIMENSIONS,
        "an array has as many sizes as strides, all of them integers, 64 at most",
    )
    numbers = (*shape, *strides, offset)
    check(
        min(numbers) >= 0 and max(numbers) < _LARGEST,
        "an array has a size, a stride or an offset that is negative or too large",
    )
    return _span_of(kind, shape, strides)


@functools.lru_cache(maxsize=1024)
def _span_of(kind: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """The bytes from the first element of an array to behind the last one.

    Raises for forms that no array has, whatever memory it lies in. The layers of a network have few
    forms, so these are looked at once.
    """
    sizes = [max(size, 1) for size in shape]
    count = 1
    for size in sizes:
        count *= size
    check(count * max(kind.itemsize, 1) < _LARGEST, f"an array of {shape} is too large")
    if any(step % kind.alignment for step in strides):
        raise _misplaced(kind)
    if 0 in shape:
        return 0
    steps = zip(sizes, strides, strict=True)
    return kind.itemsize + sum((size - 1) * step for size, step in steps)


def _misplaced(kind: np.dtype[Any]) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(
        f"elements of {kind} begin at multiples of {kind.alignment} bytes"
    )


def _check_values(made: Array, held: Array) -> None:
    """Raise for bytes that are no value of the dtype."""
    # Of a view that repeats elements, the memory has fewer of them.
    seen = held if made.nbytes > held.size else np.ascontiguousarray(made).reshape(-1)
    if made.dtype.kind == "b":
        check(bool((seen.view(np.uint8) <= 1).all()), "a bool is neither 0 nor 1")
    elif made.dtype.kind == "U" and made.dtype.itemsize:
        points = seen.view(np.dtype(np.uint32).newbyteorder(made.dtype.str[0]))
        check(bool((points <= 0x10FFFF).all()), "a text has a character that there is not")


def _are_ints(values: Any) -> bool:
    return type(values) is tuple and _INT.issuperset(map(type, values))


def may_be_attribute(name: str, value: Any) -> bool:
    """Whether an object may have an attribute beside those that make it a tensor."""
    if name == "_grad":
        return value is None or isinstance(value, Tensor)
    return not hasattr(Tensor, name) and not name.startswith("__")


def check(fits: bool, text: str) -> None:
    """Raise for what does not belong into a checkpoint."""
    if not fits:
        raise pickle.UnpicklingError(text)


__all__ = ["Memory", "array", "leaf", "memory", "number", "numpy_dtype", "tensor", "view"]
