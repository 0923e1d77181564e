"""How tensors, arrays and numbers are written to checkpoints, and rebuilt from them with checks.

A checkpoint holds the bytes of memory, and for every tensor or array in it the name of its dtype,
its place, shape and strides. The functions here that rebuild them can be called with anything: they
raise where the parts do not fit each other. ``Writer`` tells a pickler to write calls of them;
``unpickler.py`` follows no calls but of these and of a few classes of Python (``allowed.py``).
"""

from __future__ import annotations

import bisect
import ctypes
import functools
import pickle
import re
from collections import deque
from typing import Any

import numpy as np

from ..dtype import dtype_from_name, from_numpy
from ..nn.parameter import Parameter
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
#: What NumPy has at most.
_DIMENSIONS = 64
#: A multiple of the alignment of every dtype.
_ALIGNMENT = 16


class Memory:
    """The bytes of one or several arrays."""

    __slots__ = ("held", "start", "stop")

    #: What was read; while writing it is what lies from address ``start`` to ``stop``.
    held: Array
    start: int
    stop: int

    def content(self) -> bytes:
        """What is written. It begins where any element may, so that all lie at such places."""
        padding = self.start % _ALIGNMENT
        held = (ctypes.c_char * (self.stop - self.start)).from_address(self.start).raw
        return bytes(padding) + held if padding else held

    def offset(self, array: Array) -> int:
        """Where in the content an array begins."""
        return _address(array) - self.start + self.start % _ALIGNMENT


# ---------------------------------------------------------------------------------------------
# Rebuilding
# ---------------------------------------------------------------------------------------------


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
    array = _view(memory, kind, offset, shape, strides)
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
        check(_may_be_attribute(name, value), f"a tensor cannot be given its attribute {name!r}")
    return rebuilt(cls, array, new_version_cell(), requires_grad, attributes)


def array(
    memory: Memory, dtype: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> Array:
    """An ndarray over memory."""
    return _view(memory, numpy_dtype(dtype), offset, shape, strides)


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


def _view(
    memory: Memory, kind: np.dtype[Any], offset: int, shape: tuple[int, ...], strides: Any
) -> Array:
    """An array over memory, if all of it lies there and its elements can be what they claim."""
    check(type(memory) is Memory, "an array lies in memory, not in something else")
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
    span = _span_of(kind, shape, strides)
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


def _may_be_attribute(name: str, value: Any) -> bool:
    """Whether an object may have an attribute beside those that make it a tensor."""
    if name == "_grad":
        return value is None or isinstance(value, Tensor)
    return not hasattr(Tensor, name) and not name.startswith("__")


def check(fits: bool, text: str) -> None:
    """Raise for what does not belong into a checkpoint."""
    if not fits:
        raise pickle.UnpicklingError(text)


# ---------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------


class Writer:
    """What picklers write for tensors and NumPy's arrays and numbers, through ``reduced``.

    Arrays whose memory overlaps share it in the file, if they are found in the containers of what
    is saved; elements that no array shows are written only where they lie between others.
    """

    def __init__(self, saved: Any) -> None:
        arrays = {id(each): each for each in map(_array_of, _leaves(saved))}
        self._blocks: list[Memory] = []
        sharing: dict[int, int] = {}  # arrays of each block
        for start, stop in sorted(_range(each) for each in arrays.values() if _is_regular(each)):
            if not self._blocks or start >= self._blocks[-1].stop:
                self._blocks.append(_memory_from(start, stop))
            block = self._blocks[-1]
            block.stop = max(block.stop, stop)
            sharing[id(block)] = sharing.get(id(block), 0) + 1
        # A single array is written without the memory between its elements.
        self._blocks = [block for block in self._blocks if sharing[id(block)] > 1]
        #: By id, arrays and the memory and the array that were written for them.
        self._written: dict[int, tuple[Array, Memory, Array]] = {}

    def reduced(self, value: Any) -> Any:
        """What stands for an object in the file, or NotImplemented if pickle knows that itself."""
        if isinstance(value, Tensor):
            if not _is_reduced_here(type(value)):
                return NotImplemented
            return self._tensor(value)
        if type(value) is Memory:
            return memory, (value.content(),)
        kind = value if isinstance(value, np.dtype) else getattr(value, "dtype", None)
        text = _text_of(kind)
        if text is None:
            return NotImplemented
        if value is kind:
            return numpy_dtype, (text,)
        if isinstance(value, np.generic):
            return number, (text, value.tobytes())
        return (array, self._parts(value, text)) if type(value) is np.ndarray else NotImplemented

    def _tensor(self, value: Tensor) -> Any:
        _, (cls, found, _, requires_grad, attributes) = value.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        kept = {}
        for name, attribute in attributes.items():
            if _may_be_attribute(name, attribute):
                kept[name] = attribute
            elif not name.startswith("_"):
                raise pickle.PicklingError(
                    f"save: a tensor has an attribute {name!r}, which hides Tensor.{name}; "
                    "delete it, or give it another name"
                )
        parts = self._parts(found, from_numpy(found.dtype).name)
        return tensor, (cls, *parts, requires_grad, kept)

    def _parts(self, found: Array, dtype: str) -> tuple[Any, ...]:
        """The arguments of :func:`array` that rebuild an array."""
        _, block, written = self._written.get(id(found)) or self._placed(found)
        offset = block.offset(written) if written.size else 0
        return block, dtype, offset, written.shape, written.strides

    def _placed(self, found: Array) -> tuple[Array, Memory, Array]:
        written, block = found, None
        if _is_regular(found):
            start, stop = _range(found)
            place = bisect.bisect_right(self._blocks, start, key=lambda block: block.start)
            if place and stop <= self._blocks[place - 1].stop:
                block = self._blocks[place - 1]
        if block is None:
            if not _is_regular(found) or stop - start > found.nbytes:
                written = found.copy("K")
            start = _address(written)
            block = _memory_from(start, start + _span(written))
            if written is found and found.size:
                bisect.insort(self._blocks, block, key=lambda block: block.start)
        # Kept: while one of them lives, no other array has its id or its place.
        self._written[id(found)] = found, block, written
        return self._written[id(found)]


def _is_reduced_here(kind: type[Tensor]) -> bool:
    """Whether a class of tensors leaves it to this package how it is pickled.

    Asked anew each time: while a class overrides functions, methods of Tensor are other objects.
    """
    ours = (Tensor.__reduce_ex__, Parameter.__reduce_ex__)
    return kind.__reduce_ex__ in ours and kind.__reduce__ is Tensor.__reduce__


def _address(array: Array) -> int:
    return array.__array_interface__["data"][0]


def _span(array: Array) -> int:
    """The bytes from the first element of an array without negative strides to behind the last."""
    if not array.size or array.flags.forc:
        return array.nbytes
    steps = zip(array.shape, array.strides, strict=True)
    return array.itemsize + sum((size - 1) * step for size, step in steps)


def _range(array: Array) -> tuple[int, int]:
    return _address(array), _address(array) + _span(array)


def _memory_from(start: int, stop: int) -> Memory:
    made = Memory()
    made.start, made.stop = start, stop
    return made


def _text_of(kind: Any) -> str | None:
    """The text of a NumPy dtype that :func:`numpy_dtype` reads, if it has one."""
    if not isinstance(kind, np.dtype) or _NUMPY_TYPE.fullmatch(kind.str) is None:
        return None
    return kind.str if np.dtype(kind.str) == kind else None  # "V8" may have fields


def _is_regular(array: Array) -> bool:
    """Whether an array can be written with the memory that it has, among others there."""
    if (
        type(array) is not np.ndarray
        or not array.nbytes
        or not array.dtype.isnative
        or array.dtype.hasobject
    ):
        return False
    size = array.itemsize
    return _address(array) % size == 0 and all(s >= 0 and s % size == 0 for s in array.strides)


def _array_of(value: Any) -> Array:
    return value._array if isinstance(value, Tensor) else value


def _leaves(saved: Any) -> list[Any]:
    """The tensors and arrays in containers, each once."""
    seen, found, left = set(), [], [saved]
    while left:
        value = left.pop()
        if isinstance(value, (Tensor, np.ndarray)):
            if id(value) not in seen:
                seen.add(id(value))
                found.append(value)
        elif isinstance(value, (dict, list, tuple, deque)):
            if id(value) not in seen:
                seen.add(id(value))
                left.extend(value.values() if isinstance(value, dict) else value)
    return found


__all__ = ["Memory", "Writer", "array", "leaf", "memory", "number", "numpy_dtype", "tensor"]
