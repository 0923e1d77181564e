"""New ndarrays for the outputs of launchers: small ones from NumPy, large ones from the pool.

Imported by the launchers, therefore only when compiling.
"""

from __future__ import annotations

from numba import types

from .atomics import call_5
from .intrinsics import external, int64, load, new_array, new_from_descriptor, subroutine
from .layout import (
    BFLOAT16,
    RUNTIME_ARRAY_TYPE,
    RUNTIME_BFLOAT16,
    RUNTIME_ITEM_SIZES,
    RUNTIME_LARGE_BYTES,
    RUNTIME_NEW_ARRAY,
    RUNTIME_NEW_FROM_DESCRIPTOR,
    RUNTIME_NEW_LARGE_ARRAY,
)

increment_reference = external("Py_IncRef", types.void, types.int64)


@subroutine
def usual_array(runtime, rank, sizes, code, strides):
    """``new_output`` from the memory that NumPy's handler has."""
    array_type = load(runtime, RUNTIME_ARRAY_TYPE, int64)
    if code == BFLOAT16:
        descriptor = load(runtime, RUNTIME_BFLOAT16, int64)
        increment_reference(descriptor)
        new = load(runtime, RUNTIME_NEW_FROM_DESCRIPTOR, int64)
        return new_from_descriptor(new, array_type, descriptor, rank, sizes, strides, 0, 0)
    new = load(runtime, RUNTIME_NEW_ARRAY, int64)
    return new_array(new, array_type, rank, sizes, code, strides)


@subroutine
def new_output(runtime, rank, sizes, code, strides):
    """A new ndarray of NumPy's type number ``code``; strides may be NULL. NULL if that fails."""
    size = load(runtime, RUNTIME_ITEM_SIZES + code, int64)
    for d in range(rank):
        size *= load(sizes, d, int64)
    if size >= load(runtime, RUNTIME_LARGE_BYTES, int64):
        new_large_array = load(runtime, RUNTIME_NEW_LARGE_ARRAY, int64)
        return call_5(new_large_array, runtime, rank, sizes, code, strides)
    return usual_array(runtime, rank, sizes, code, strides)
