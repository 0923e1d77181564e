"""New ndarrays for the outputs of launchers: small ones from NumPy, large ones from the pool.

Imported by the launchers, therefore only when compiling.
"""

from __future__ import annotations

from ..codegen.atomics import call_5
from ..codegen.intrinsics import int64, load, store, subroutine
from .calls import new_array, new_from_descriptor
from .layout import BFLOAT16
from .object_heads import ArrayHead
from .objects import call, decrement_reference, new_reference

NULL = 0


@subroutine
def usual_array(runtime, rank, sizes, code, strides):
    """``new_output`` from the memory that NumPy's handler has."""
    array_type = runtime.array_type
    if code == BFLOAT16:
        descriptor = new_reference(runtime.bfloat16)
        new = runtime.new_from_descriptor
        return new_from_descriptor(new, array_type, descriptor, rank, sizes, strides, 0, 0)
    new = runtime.new_array
    return new_array(new, array_type, rank, sizes, code, strides)


@subroutine
def prepare_pool(runtime, size):
    """Have Python make the pool of buffers if that pays by now; False if that raised."""
    made = call(runtime.prepare_pool, NULL, 0)
    decrement_reference(made)
    before = runtime.made_without
    runtime.made_without = before + size
    return made != NULL


@subroutine
def new_output(runtime, rank, sizes, code, strides):
    """A new ndarray of NumPy's type number ``code``; strides may be NULL. NULL if that fails."""
    size = runtime.item_sizes[code]
    for d in range(rank):
        size *= load(sizes, d, int64)
    if size >= runtime.large_bytes:
        if runtime.new_large_array == NULL:
            if not prepare_pool(runtime, size):
                return NULL
        make = runtime.new_large_array
        if make != NULL:
            return call_5(make, runtime, rank, sizes, code, strides)
    return usual_array(runtime, rank, sizes, code, strides)


@subroutine
def output_at(frame, word, runtime, rank, sizes, code, strides):
    """``new_output``, the address of whose memory becomes a word of packed arguments."""
    array = new_output(runtime, rank, sizes, code, strides)
    if array != NULL:
        store(frame, word, ArrayHead(array).data, int64)
    return array
