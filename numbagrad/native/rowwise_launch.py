"""The launcher of kernels along one dimension: softmax, its relatives, and scans.

Installed as a builtin by ``numbagrad.executor.families.rowwise``. The inputs are contiguous arrays
of one shape, and the outputs have that shape too.
"""

from __future__ import annotations

from ..codegen.intrinsics import (
    address_of_stack,
    call_kernel,
    int64,
    load,
    store,
    subroutine,
)
from ..kernels.rowwise.scan import (
    INNER_SIZE,
    MISS_CONTIGUOUS,
    OPERANDS,
    SIZE,
    TILE,
    VARIANT_SHIFT,
    WORDS,
    cut,
)
from .allocation import output_at
from .launch import find_slot, is_captured, is_contiguous, raise_miss, run_in_threads, type_number
from .layout import CODE_BITS, MISS_CAPTURE, MISS_OPERAND, LaunchTable
from .object_heads import ArrayHead, ObjectHead
from .objects import fill, has_type, long_as_long, tuple_new

NULL = 0

_cut = subroutine(cut)


@subroutine
def new_results(table, runtime, frame, slot, first, inputs):
    """A new array of the shape of ``first``, or a tuple of as many as there are outputs; or NULL.

    Their addresses go behind those of the inputs.
    """
    rank = int64(ArrayHead(first).dimensions)
    sizes = ArrayHead(first).shape
    outputs = table.outputs
    results = NULL
    if outputs > 1:
        results = tuple_new(outputs)
        if results == NULL:
            return NULL
    for j in range(outputs):
        code = (slot.output_types >> (CODE_BITS * j)) & 31
        array = output_at(frame, OPERANDS + inputs + j, runtime, rank, sizes, code, NULL)
        if outputs == 1:
            return array
        if not fill(results, j, array):
            return NULL
    return results


def along(self, arguments, given):
    """``builtin(dim, *inputs) -> ndarray``, or a tuple of them: run the kernel along ``dim``."""
    table = LaunchTable(ArrayHead(self).data)
    runtime = table.runtime
    if is_captured(runtime):
        return raise_miss(runtime, MISS_CAPTURE)
    array_type = runtime.array_type
    frame = address_of_stack(WORDS)
    for k in range(1, given):
        array = load(arguments, k, int64)
        if ObjectHead(array).type != array_type:
            return raise_miss(runtime, MISS_OPERAND)
        if not is_contiguous(array):
            return raise_miss(runtime, MISS_CONTIGUOUS)
        store(frame, OPERANDS + k - 1, ArrayHead(array).data, int64)

    # The operands as (outer, size, inner).
    first = load(arguments, 1, int64)
    rank = int64(ArrayHead(first).dimensions)
    sizes = ArrayHead(first).shape
    if not has_type(load(arguments, 0, int64), runtime.int_type):
        return raise_miss(runtime, MISS_OPERAND)
    dim = long_as_long(load(arguments, 0, int64))
    outer = 1
    size = 1
    inner = 1
    for d in range(rank):
        extent = load(sizes, d, int64)
        if d < dim:
            outer *= extent
        elif d == dim:
            size = extent
        else:
            inner *= extent
    variant, tile, units, grain = _cut(outer, size, inner)
    key = type_number(first) | (variant << VARIANT_SHIFT)
    slot = find_slot(table, key)
    if slot == NULL:
        return raise_miss(runtime, key)
    store(frame, SIZE, size, int64)
    store(frame, INNER_SIZE, inner, int64)
    store(frame, TILE, tile, int64)

    result = new_results(table, runtime, frame, slot, first, given - 1)
    if result == NULL:
        return NULL
    if outer * size * inner == 0:
        return result
    kernel = slot.kernel
    if units <= grain:
        call_kernel(kernel, frame, 0, units)
    else:
        run_in_threads(runtime, kernel, frame, units, grain)
    return result
