"""New ndarrays for the outputs of launchers: small ones from NumPy, large ones from the pool.

Imported by the launchers, therefore only when compiling.
"""

from __future__ import annotations

from .atomics import call_5
from .intrinsics import int64, load, new_array, subroutine
from .layout import (
    RUNTIME_ARRAY_TYPE,
    RUNTIME_ITEM_SIZES,
    RUNTIME_LARGE_BYTES,
    RUNTIME_NEW_ARRAY,
    RUNTIME_NEW_LARGE_ARRAY,
)


@subroutine
def new_output(runtime, rank, sizes, code, strides):
    """A new ndarray of NumPy's type number ``code``; strides may be NULL. NULL if that fails."""
    size = load(runtime, RUNTIME_ITEM_SIZES + code, int64)
    for d in range(rank):
        size *= load(sizes, d, int64)
    if size >= load(runtime, RUNTIME_LARGE_BYTES, int64):
        new_large_array = load(runtime, RUNTIME_NEW_LARGE_ARRAY, int64)
        return call_5(new_large_array, runtime, rank, sizes, code, strides)
    new = load(runtime, RUNTIME_NEW_ARRAY, int64)
    array_type = load(runtime, RUNTIME_ARRAY_TYPE, int64)
    return new_array(new, array_type, rank, sizes, code, strides)
