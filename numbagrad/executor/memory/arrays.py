"""New ndarrays for what Python fills: small ones from NumPy, large ones from the pool of buffers.

Called by the operators that create or copy. Memory of the pool begins at a page and lies in huge
pages, which operators on large arrays read a tenth faster; ``memory.py`` has the pool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import half_precision as half
from ...backend import Backend, foreign, home_of
from ...native import buffer_layout
from .. import capture
from ..builtin import runtime
from ..mode import NATIVE
from ..plan.forms import contiguous
from . import buffers as memory


def new_array(
    shape: Sequence[int], kind: np.dtype[Any], where: Backend | None = None
) -> np.ndarray[Any, Any]:
    """An array in C order whose elements are not set; an ndarray if no backend is named."""
    if where is not None:
        return where.allocate(*contiguous(tuple(shape), kind))
    made: np.ndarray[Any, Any] = np.empty(shape, kind)  # a large one costs nothing until it is used
    if made.nbytes < buffer_layout.LARGE_BYTES or not NATIVE:
        return made
    runtime()
    large = memory.new_large_array(shape, kind)
    return made if large is None else large


def filled(
    shape: Sequence[int], kind: np.dtype[Any], value: Any, where: Backend | None = None
) -> np.ndarray[Any, Any]:
    """A new array of which every element is ``value``; an ndarray if no backend is named."""
    if where is not None:
        made = new_array(shape, kind, where)
        where.fill(made, value)
        if capture.active is not None:
            capture.note_fill(made, value)
        return made
    if value or (array := np.zeros(shape, kind)).nbytes >= buffer_layout.LARGE_BYTES:
        array = new_array(shape, kind)
        half.fill(array, value)
    if capture.active is not None:
        capture.note_fill(array, value)
    return array


def filled_like(
    array: np.ndarray[Any, Any], shape: Sequence[int], kind: np.dtype[Any], value: Any
) -> np.ndarray[Any, Any]:
    """``filled`` by the backend of an array."""
    return filled(shape, kind, value, home_of(array))


def constant_beside(array: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> Any:
    """Values that follow from shapes alone, by the backend of an array that they are used with."""
    where = home_of(array)
    return capture.constant(values if where is None else where.constant(values))


def set_all(array: np.ndarray[Any, Any], value: Any) -> None:
    """Write a number to every element of a new array, of whatever backend."""
    fill_elements(array, value)
    if capture.active is None:
        return
    elsewhere = foreign(array) is not None or not array.size
    capture.note_fill(array, value if elsewhere else half.readable(array).flat[0])


def fill_elements(array: np.ndarray[Any, Any], value: Any) -> None:
    """Write a number to every element of an array of any backend; no trace is told."""
    where = foreign(array)
    if where is None:
        half.fill(array, value)
    else:
        where.fill(array, value)


def copy_elements(target: np.ndarray[Any, Any], source: np.ndarray[Any, Any]) -> None:
    """``target[...] = source`` for arrays of one backend."""
    where = foreign(target)
    if where is None:
        target[...] = source
    else:
        where.copy(target, source)


def assign(target: np.ndarray[Any, Any], source: np.ndarray[Any, Any]) -> None:
    """``target[...] = source``, converted to the dtype of the target, for arrays of one backend."""
    where = foreign(target)
    if where is None:
        half.assign(target, ..., source)
    else:
        where.copy(target, source)


def embedded(
    array: np.ndarray[Any, Any],
    shape: Sequence[int],
    part: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]],
    value: Any = 0,
) -> np.ndarray[Any, Any]:
    """A new array of one value with ``array`` in the view of it that ``part`` returns."""
    made = filled_like(array, shape, array.dtype, value)
    target = part(made)
    copy_elements(target, array)
    capture.note_copy(array, target)
    return made
