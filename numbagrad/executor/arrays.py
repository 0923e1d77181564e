"""New ndarrays for what Python fills: small ones from NumPy, large ones from the pool of buffers.

Called by the operators that create or copy. Memory of the pool begins at a page and lies in huge
pages, which operators on large arrays read a tenth faster; ``memory.py`` has the pool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import half_precision as half
from ..native import buffer_layout
from . import capture, memory
from .builtin import runtime
from .mode import NATIVE


def new_array(shape: Sequence[int], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An ndarray in C order whose elements are not set."""
    made: np.ndarray[Any, Any] = np.empty(shape, kind)  # a large one costs nothing until it is used
    if made.nbytes < buffer_layout.LARGE_BYTES or not NATIVE:
        return made
    runtime()
    large = memory.new_large_array(shape, kind)
    return made if large is None else large


def filled(shape: Sequence[int], kind: np.dtype[Any], value: Any) -> np.ndarray[Any, Any]:
    """A new ndarray of which every element is ``value``."""
    if value or (array := np.zeros(shape, kind)).nbytes >= buffer_layout.LARGE_BYTES:
        array = new_array(shape, kind)
        half.fill(array, value)
    if capture.active is not None:
        capture.note_fill(array, value)
    return array


def embedded(
    array: np.ndarray[Any, Any],
    shape: Sequence[int],
    part: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]],
) -> np.ndarray[Any, Any]:
    """New zeros of a shape with ``array`` in the view of them that ``part`` returns."""
    made = filled(shape, array.dtype, 0)
    target = part(made)
    target[...] = array
    capture.note_copy(array, target)
    return made
