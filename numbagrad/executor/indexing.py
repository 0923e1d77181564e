"""Views and indexed copies of ndarrays, as native launchers where Python would be slow.

Called by the operators of ``ops/view.py`` and ``ops/indexing.py``; runs what
``kernels/indexing.py`` holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def strided_view(
    array: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> Array:
    """A view of the memory of ``array``; strides and offset (from its first element) in bytes."""
    start = np.lib.stride_tricks.as_strided(array, shape, strides)
    assert offset == 0
    return start
