"""New ndarrays for the outputs of launchers: small ones from NumPy, large ones from the pool.

Imported by the launchers, therefore only when compiling.
"""

from __future__ import annotations

from ..codegen.atomics import call_5
from ..codegen.intrinsics import int64, load, store, subroutine
from .calls import new_array, new_from_descriptor
from .layout import (
    BFLOAT16,
    RUNTIME_ARRAY_TYPE,
    RUNTIME_BFLOAT16,
    RUNTIME_ITEM_SIZES,
    RUNTIME_LARGE_BYTES,
    RUNTIME_MADE_WITHOUT,
    RUNTIME_NEW_ARRAY,
    RUNTIME_NEW_FROM_DESCRIPTOR,
    RUNTIME_NEW_LARGE_ARRAY,
    RUNTIME_PREPARE_POOL,
)
from .objects import call, decrement_reference, new_reference

NULL = 0


@subroutine
def usual_array(runtime, rank, sizes, code, strides):
    """``new_output`` from the memory that NumPy's handler has."""
    array_type = load(runtime, RUNTIME_ARRAY_TYPE, int64)
    if code == BFLOAT16:
        descriptor = new_reference(load(runtime, RUNTIME_BFLOAT16, int64))
        new = load(runtime, RUNTIME_NEW_FROM_DESCRIPTOR, int64)
        return new_from_descriptor(new, array_type, descriptor, rank, sizes, strides, 0, 0)
    new = load(runtime, RUNTIME_NEW_ARRAY, int64)
    return new_array(new, array_type, rank, sizes, code, strides)


@subroutine
def prepare_pool(runtime, size):
    """Have Python make the pool of buffers if that pays by now; False if that raised."""
    made = call(load(runtime, RUNTIME_PREPARE_POOL, int64), NULL, 0)
    decrement_reference(made)
    before = load(runtime, RUNTIME_MADE_WITHOUT, int64)
    store(runtime, RUNTIME_MADE_WITHOUT, before + size, int64)
    return made != NULL


@subroutine
def new_output(runtime, rank, sizes, code, strides):
    """A new ndarray of NumPy's type number ``code``; strides may be NULL. NULL if that fails."""
    size = load(runtime, RUNTIME_ITEM_SIZES + code, int64)
    for d in range(rank):
        size *= load(sizes, d, int64)
    if size >= load(runtime, RUNTIME_LARGE_BYTES, int64):
        if load(runtime, RUNTIME_NEW_LARGE_ARRAY, int64) == NULL:
            if not prepare_pool(runtime, size):
                return NULL
        make = load(runtime, RUNTIME_NEW_LARGE_ARRAY, int64)
        if make != NULL:
            return call_5(make, runtime, rank, sizes, code, strides)
    return usual_array(runtime, rank, sizes, code, strides)
