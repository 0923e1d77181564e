"""New ndarrays for what Python fills, and what it writes into others; each tells the trace.

Called by the operators that create or copy: so none of them has to know whether its thread
captures. Large arrays come from the pool of buffers, whose memory begins at a page and lies in huge
pages, which operators on large arrays read a tenth faster; ``buffers.py`` has the pool.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import half_precision as half
from ...backend import Backend, array_namespace, foreign, home_of, on_host
from ...native import buffer_layout
from .. import capture
from ..builtin import runtime
from ..mode import NATIVE
from ..plan.forms import contiguous
from . import buffers as memory
from . import copies

Array = np.ndarray[Any, Any]

#: Elements from which on several passes of NumPy may take less time than one.
_SEVERAL = 2048


def new_array(shape: Sequence[int], kind: np.dtype[Any], where: Backend | None = None) -> Array:
    """An array in C order whose elements are not set; an ndarray if no backend is named."""
    if where is not None:
        return where.allocate(*contiguous(tuple(shape), kind))
    made: Array = np.empty(shape, kind)  # a large one costs nothing until it is used
    if made.nbytes < buffer_layout.LARGE_BYTES or not NATIVE:
        return made
    runtime()
    large = memory.new_large_array(shape, kind)
    return made if large is None else large


#: Filler of new memory whose elements are not set, while deterministic algorithms are asked for.
fill_unset: Callable[[Array], None] | None = None


def unset(array: Array) -> Array:
    """A new array whose elements may be any; a program sets them to 0, to make it again."""
    if fill_unset is not None:
        fill_unset(array)
    elif capture.is_capturing():
        set_all(array, 0)
    return array


def filled(
    shape: Sequence[int], kind: np.dtype[Any], value: Any, where: Backend | None = None
) -> Array:
    """A new array of which every element is ``value``; an ndarray if no backend is named."""
    small = math.prod(shape) * kind.itemsize < buffer_layout.LARGE_BYTES
    if where is None and small and not value:
        array = np.zeros(shape, kind)
        if capture.active is not None:
            capture.note_fill(array, value)
        return array
    array = new_array(shape, kind, where)
    set_all(array, value)
    return array


def filled_like(array: Array, shape: Sequence[int], kind: np.dtype[Any], value: Any) -> Array:
    """``filled`` by the backend of an array."""
    return filled(shape, kind, value, home_of(array))


def constant(values: Array, where: Backend | None = None) -> Any:
    """An array whose elements follow from shapes and Python values alone, by a backend if named."""
    array = values if where is None else where.constant(values)
    if capture.active is not None:
        capture.note_constant(array)
    return array


def constant_of(given: Array) -> Array:
    """An array of a user, who may write to it later: in a program its elements as they are now."""
    return given if capture.active is None else constant(given.copy())


def constant_beside(array: Array, values: Array) -> Any:
    """``constant`` by the backend of an array that it is used with."""
    return constant(values, home_of(array))


def held_by(where: Backend, array: Array) -> Any:
    """A copy of an ndarray that a backend holds."""
    return capture.call(where.constant, array)


def scalar(value: Any, kind: np.dtype[Any]) -> Array:
    """A new array without dimensions that holds a number."""
    made = half.converted(np.array(value), kind) if kind.kind == "V" else np.array(value, kind)
    if capture.active is not None:
        capture.note_fill(made, value)
    return made


def copied(array: Array) -> Any:
    """A copy of an array in C order."""
    made = in_new_memory(array) if array.__class__ is np.ndarray else array.copy("C")
    if capture.active is not None:
        capture.note_copy(array, made, made=True)
    return made


def in_new_memory(array: Array) -> Array:
    """A copy of an ndarray in C order, which no trace is told of."""
    if array.nbytes < copies.LARGE:
        return array.copy("C")
    made = new_array(array.shape, array.dtype)
    if array.flags.c_contiguous or not copies.copy_into(made, array):
        made[...] = array
    return made


def in_c_order(array: Array) -> Array:
    """An array whose elements lie side by side: itself, or a copy."""
    return array if array.flags.c_contiguous else copied(array)


def set_all(array: Array, value: Any, made: bool = True) -> None:
    """Write a number to every element of an array; ``made`` says that its memory is new."""
    where = foreign(array)
    if where is None:
        _fill(array, value)
    else:
        where.fill(array, value)
    if capture.active is not None:
        capture.note_fill(array, value, made)


def _fill(array: Array, value: Any) -> None:
    if array.nbytes >= copies.LARGE and array.__class__ is np.ndarray and array.flags.c_contiguous:
        pattern = np.empty(1, array.dtype)
        half.fill(pattern, value)
        if copies.fill(array, pattern):
            return
    half.fill(array, value)


def assign(target: Array, source: Array) -> None:
    """``target[...] = source``, converted to the dtype of the target, for arrays of one backend."""
    if capture.active is not None:
        _assign_noted(target, source)
    elif target.__class__ is np.ndarray and source.dtype == target.dtype:
        target[...] = source
    else:
        _assign_converted(target, source)


def _assign_noted(target: Array, source: Array) -> None:
    """A program has it as a loop if that reads nothing that was written, else as a call."""
    if foreign(target) is not None or (
        target.dtype == source.dtype and not np.may_share_memory(target, source)
    ):
        _assign_converted(target, source)
        capture.note_copy(source, target)
    else:
        capture.write(_assign_converted, target, source)


def _assign_converted(target: Array, source: Array) -> None:
    if (where := foreign(target)) is not None:
        where.copy(target, source)
        return
    if source.dtype.kind == "c" and target.dtype.kind not in "cb":
        source = source.real
    half.copy_into(target, source)


def may_use_elements(array: Array) -> bool:
    """Whether Python may read or write the elements of an array by itself, where that is faster.

    Not so in a program, which goes the way that is right whatever they are, under a transformation,
    or where they lie on another device.
    """
    return array.__class__ is np.ndarray and not capture.is_capturing()


def values_on_host(array: Array, reader: str) -> Array:
    """The elements as an ndarray, for Python to go by; no program holds what comes of it.

    ``reader`` says for the warning what reads them, and why.
    """
    capture.refuse(reader)
    values: Array = on_host(array)
    return values


def positions_where(mask: Array, reader: str) -> tuple[Array, ...]:
    """Indices of the elements that hold, an array for each dimension, on the device of the mask.

    As their number depends on values, no program holds them; ``reader`` as above.
    """
    capture.refuse(reader)
    return coordinates_of_nonzero(mask)


def coordinates_of_nonzero(array: Array) -> tuple[Array, ...]:
    """``nonzero`` of an array of at least one dimension, as NumPy has it.

    NumPy finds them fast in a vector of bools alone, so that is what it is given of a large one.
    """
    if array.__class__ is not np.ndarray or array.dtype.kind == "V" or array.size < _SEVERAL:
        return tuple(array_namespace(array).nonzero(array))
    flat = (array if array.dtype.kind == "b" else array != 0).reshape(-1)
    (found,) = flat.nonzero()
    coordinates = [found]
    for size in array.shape[:0:-1]:
        rest = coordinates[-1] // size
        coordinates[-1] -= rest * size
        coordinates.append(rest)
    return tuple(coordinates[::-1])


def embedded(
    array: Array,
    shape: Sequence[int],
    part: Callable[[Array], Array],
    value: Any = 0,
) -> Array:
    """A new array of one value with ``array`` in the view of it that ``part`` returns."""
    made = filled_like(array, shape, array.dtype, value)
    assign(part(made), array)
    return made
