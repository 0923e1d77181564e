"""Checkpoints of this package's former format, as it wrote them, which ``load`` still reads."""

import bisect
import ctypes
import hashlib
import io
import pickle
from collections import deque

import numpy as np

from numbagrad import Tensor
from numbagrad.dtype import from_numpy
from numbagrad.nn import Parameter
from numbagrad.serialization import values

HEADS = (b"numbagrad checkpoint 2\n", b"numbagrad checkpoint 1\n")
_ALIGNMENT = 16


def packed(content, head=HEADS[0]):
    """A file with pickle's part ``content``, with the checksum that belongs to it."""
    return head + content + hashlib.sha256(content).digest()


def save(value, file, pickle_protocol=pickle.DEFAULT_PROTOCOL):
    """Write a file of the second version."""
    buffer = io.BytesIO()
    writer = Writer(value)

    class Pickler(pickle.Pickler):
        def reducer_override(self, value):
            return writer.reduced(value)

    Pickler(buffer, protocol=pickle_protocol).dump(value)
    file.write(packed(buffer.getvalue()))


def in_first_format(value, protocol=pickle.DEFAULT_PROTOCOL):
    """A file as the first version wrote it: tensors with NumPy's own functions."""
    return packed(pickle.dumps(value, protocol), HEADS[1])


class Block:
    """What lies from address ``start`` to ``stop``."""

    def content(self):
        """What is written. It begins where any element may, so that all lie at such places."""
        padding = self.start % _ALIGNMENT
        held = (ctypes.c_char * (self.stop - self.start)).from_address(self.start).raw
        return bytes(padding) + held if padding else held

    def offset(self, array):
        """Where in the content an array begins."""
        return _address(array) - self.start + self.start % _ALIGNMENT


class Writer:
    """What picklers write for tensors and NumPy's arrays and numbers, through ``reduced``.

    Arrays whose memory overlaps share it in the file, if they are found in the containers of what
    is saved; elements that no array shows are written only where they lie between others.
    """

    def __init__(self, saved):
        arrays = {id(each): each for each in map(_array_of, _leaves(saved))}
        self._blocks = []
        sharing = {}  # arrays of each block
        for start, stop in sorted(_range(each) for each in arrays.values() if _is_regular(each)):
            if not self._blocks or start >= self._blocks[-1].stop:
                self._blocks.append(_memory_from(start, stop))
            block = self._blocks[-1]
            block.stop = max(block.stop, stop)
            sharing[id(block)] = sharing.get(id(block), 0) + 1
        # A single array is written without the memory between its elements.
        self._blocks = [block for block in self._blocks if sharing[id(block)] > 1]
        #: By id, arrays and the memory and the array that were written for them.
        self._written = {}

    def reduced(self, value):
        """What stands for an object in the file, or NotImplemented if pickle knows that itself."""
        if isinstance(value, Tensor):
            if not _is_reduced_here(type(value)):
                return NotImplemented
            return self._tensor(value)
        if type(value) is Block:
            return values.memory, (value.content(),)
        kind = value if isinstance(value, np.dtype) else getattr(value, "dtype", None)
        text = _text_of(kind)
        if text is None:
            return NotImplemented
        if value is kind:
            return values.numpy_dtype, (text,)
        if isinstance(value, np.generic):
            return values.number, (text, value.tobytes())
        return (
            (values.array, self._parts(value, text))
            if type(value) is np.ndarray
            else NotImplemented
        )

    def _tensor(self, value: Tensor):
        _, (cls, found, _, requires_grad, attributes) = value.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        cls = cls or Tensor
        kept = {}
        for name, attribute in attributes.items():
            if values.may_be_attribute(name, attribute):
                kept[name] = attribute
            elif not name.startswith("_"):
                raise pickle.PicklingError(
                    f"save: a tensor has an attribute {name!r}, which hides Tensor.{name}; "
                    "delete it, or give it another name"
                )
        parts = self._parts(found, from_numpy(found.dtype).name)
        return values.tensor, (cls, *parts, requires_grad, kept)

    def _parts(self, found, dtype):
        """The arguments of :func:`array` that rebuild an array."""
        _, block, written = self._written.get(id(found)) or self._placed(found)
        offset = block.offset(written) if written.size else 0
        return block, dtype, offset, written.shape, written.strides

    def _placed(self, found):
        written, block = found, None
        if _is_regular(found):
            start, stop = _range(found)
            position = bisect.bisect_right(self._blocks, start, key=lambda block: block.start)
            if position and stop <= self._blocks[position - 1].stop:
                block = self._blocks[position - 1]
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


def _is_reduced_here(kind):
    """Whether a class of tensors leaves it to this package how it is pickled.

    Asked anew each time: while a class overrides functions, methods of Tensor are other objects.
    """
    ours = (Tensor.__reduce_ex__, Parameter.__reduce_ex__)
    return kind.__reduce_ex__ in ours and kind.__reduce__ is Tensor.__reduce__


def _address(array):
    return array.__array_interface__["data"][0]


def _span(array):
    """The bytes from the first element of an array without negative strides to behind the last."""
    if not array.size or array.flags.forc:
        return array.nbytes
    steps = zip(array.shape, array.strides, strict=True)
    return array.itemsize + sum((size - 1) * step for size, step in steps)


def _range(array):
    return _address(array), _address(array) + _span(array)


def _memory_from(start, stop):
    made = Block()
    made.start, made.stop = start, stop
    return made


def _text_of(kind):
    """The text of a NumPy dtype that :func:`numpy_dtype` reads, if it has one."""
    if not isinstance(kind, np.dtype) or values._NUMPY_TYPE.fullmatch(kind.str) is None:
        return None
    return kind.str if np.dtype(kind.str) == kind else None  # "V8" may have fields


def _is_regular(array):
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


def _array_of(value):
    return value._array if isinstance(value, Tensor) else value


def _leaves(saved):
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
