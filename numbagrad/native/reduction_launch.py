"""The launcher of reductions: an array and the dimensions to reduce in, the result out.

Installed as builtins by ``numbagrad.executor.families.reduction``. ``reduce`` sorts and merges the
kept and the reduced dimensions, chooses the kernel that walks memory in order, allocates the
result, and splits large work into segments whose results a second kernel joins. ``reduce_all`` is
the short way for small contiguous arrays; it compiles in a fraction of the time.
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
from ..kernels.layout import MAX_DIMENSIONS
from ..kernels.reduction.layout import (
    ELEMENTS,
    GRAIN,
    INDICES,
    INNER,
    INPUT,
    INPUT_STEPS,
    JOIN_SHIFT,
    KEPT,
    LENGTH,
    NUMBER,
    OUTPUT,
    OUTPUT_STEPS,
    OUTPUTS,
    PARTIALS,
    REDUCED,
    SEGMENTS,
    SHIFT,
    SIZES,
    VARIANT_SHIFT,
    WORDS,
    grain_of,
    groups_of,
    is_small,
    join_variant_of,
    segments_of,
    variant_of,
)
from .allocation import usual_array
from .launch import (
    element_count,
    find_slot,
    is_captured,
    is_contiguous,
    raise_miss,
    run_in_threads,
    type_number,
)
from .layout import MISS_CAPTURE, MISS_GENERAL, MISS_LIMIT, MISS_OPERAND, LaunchTable
from .object_heads import ArrayHead, ObjectHead
from .objects import decrement_reference, long_as_long, pair

NULL = 0
INT64 = 7  # NumPy type number

SHAPE = WORDS  # of the result, behind the packed arguments
STEPS = SHAPE + MAX_DIMENSIONS  # of the result, for every dimension of the input
FRAME_WORDS = STEPS + MAX_DIMENSIONS


@subroutine
def move_dimension(frame, source, target):
    store(frame, SIZES + target, load(frame, SIZES + source, int64), int64)
    store(frame, INPUT_STEPS + target, load(frame, INPUT_STEPS + source, int64), int64)
    store(frame, OUTPUT_STEPS + target, load(frame, OUTPUT_STEPS + source, int64), int64)


@subroutine
def describe_result(frame, array, rank, mask, keep_dimensions):
    """Shape of the result and its strides in elements; returns its rank. Counts both sides."""
    sizes = ArrayHead(array).shape
    outputs = 1
    number = 1
    for p in range(rank):
        d = rank - 1 - p
        size = load(sizes, d, int64)
        if (mask >> d) & 1:
            store(frame, STEPS + d, 0, int64)
            number *= size
        else:
            store(frame, STEPS + d, outputs, int64)
            outputs *= size
    store(frame, OUTPUTS, outputs, int64)
    store(frame, NUMBER, number, int64)
    result_rank = 0
    for d in range(rank):
        reduced = (mask >> d) & 1
        if keep_dimensions or not reduced:
            store(frame, SHAPE + result_rank, 1 if reduced else load(sizes, d, int64), int64)
            result_rank += 1
    return result_rank


@subroutine
def pack_dimensions(frame, array, rank, mask, reduced, begin):
    """Pack the kept or the reduced dimensions from place ``begin`` on; returns the end.

    They are sorted by stride, the largest outside, and neighbours that are one run are merged.
    """
    sizes = ArrayHead(array).shape
    strides = ArrayHead(array).strides
    end = begin
    for d in range(rank):
        size = load(sizes, d, int64)
        if size == 1 or (mask >> d) & 1 != reduced:
            continue
        stride = load(strides, d, int64)
        position = end
        while position > begin and load(frame, INPUT_STEPS + position - 1, int64) < stride:
            move_dimension(frame, position - 1, position)
            position -= 1
        store(frame, SIZES + position, size, int64)
        store(frame, INPUT_STEPS + position, stride, int64)
        store(frame, OUTPUT_STEPS + position, load(frame, STEPS + d, int64), int64)
        end += 1
    last = begin
    for position in range(begin + 1, end):
        size = load(frame, SIZES + position, int64)
        step = load(frame, INPUT_STEPS + position, int64)
        output_step = load(frame, OUTPUT_STEPS + position, int64)
        run = load(frame, INPUT_STEPS + last, int64) == step * size
        if run and load(frame, OUTPUT_STEPS + last, int64) == output_step * size:
            size *= load(frame, SIZES + last, int64)
        else:
            last += 1
        store(frame, SIZES + last, size, int64)
        store(frame, INPUT_STEPS + last, step, int64)
        store(frame, OUTPUT_STEPS + last, output_step, int64)
    return min(end, last + 1)


@subroutine
def iteration_space(frame, array, rank, mask, item_size):
    """Pack the kept dimensions and the reduced ones, of which there is at least one."""
    kept = pack_dimensions(frame, array, rank, mask, 0, 0)
    reduced = pack_dimensions(frame, array, rank, mask, 1, kept) - kept
    if reduced == 0:
        reduced = 1
        store(frame, SIZES + kept, 1, int64)
        store(frame, INPUT_STEPS + kept, item_size if kept == 0 else 0, int64)
        store(frame, OUTPUT_STEPS + kept, 0, int64)
    store(frame, KEPT, kept, int64)
    store(frame, REDUCED, reduced, int64)
    store(frame, ELEMENTS, load(frame, NUMBER, int64), int64)


_variant, _join_variant = subroutine(variant_of), subroutine(join_variant_of)
_groups, _segments = subroutine(groups_of), subroutine(segments_of)
_is_small, _grain = subroutine(is_small), subroutine(grain_of)


@subroutine
def innermost(frame, words, kept):
    """The step of the innermost kept dimension in ``words``; 0 if no dimension is kept."""
    if kept == 0:
        return 0
    return load(frame, words + kept - 1, int64)


@subroutine
def run_units(runtime, frame, kernel, units, elements):
    """Run the kernel; large work lets go of the GIL and uses the pool."""
    if _is_small(units, elements):
        call_kernel(kernel, frame, 0, units)
        return
    run_in_threads(runtime, kernel, frame, units, _grain(elements))


@subroutine
def new_result(runtime, frame, rank, result_type):
    """A new array for the result, whose memory goes into the packed arguments; or NULL."""
    result = usual_array(runtime, rank, frame + 8 * SHAPE, result_type, NULL)
    if result != NULL:
        store(frame, OUTPUT, ArrayHead(result).data, int64)
    return result


@subroutine
def add_indices(runtime, frame, values, rank):
    """A tuple of the values and a new array for their indices, or NULL; takes over the values."""
    indices = usual_array(runtime, rank, frame + 8 * SHAPE, INT64, NULL)
    if indices != NULL:
        store(frame, INDICES, ArrayHead(indices).data, int64)
    return pair(values, indices)


@subroutine
def run_whole(table, runtime, frame, slot, rank, units, elements):
    """Reduce into a new result; returns that, or NULL."""
    result = new_result(runtime, frame, rank, slot.output_types)
    if result == NULL:
        return NULL
    store(frame, PARTIALS, NULL, int64)
    if table.outputs == 2:
        result = add_indices(runtime, frame, result, rank)
        if result == NULL:
            return NULL
    run_units(runtime, frame, slot.kernel, units, elements)
    return result


@subroutine
def prepare_join(frame, partials, kept, segments, state_size):
    """Rewrite the packed arguments: the results of segments are the input of another reduction."""
    outputs = load(frame, OUTPUTS, int64)
    store(frame, INPUT, partials, int64)
    store(frame, PARTIALS, NULL, int64)
    store(frame, SEGMENTS, 1, int64)
    store(frame, LENGTH, segments, int64)
    store(frame, ELEMENTS, segments, int64)
    for d in range(kept):
        step = load(frame, OUTPUT_STEPS + d, int64)
        store(frame, INPUT_STEPS + d, step * state_size, int64)
    store(frame, REDUCED, 1, int64)
    store(frame, SIZES + kept, segments, int64)
    store(frame, INPUT_STEPS + kept, outputs * state_size, int64)


@subroutine
def run_segments(table, runtime, frame, slot, type_code, rank, units, elements):
    """Reduce segment by segment, and join what they give; returns the result, or NULL."""
    kept = load(frame, KEPT, int64)
    segments = load(frame, SEGMENTS, int64)
    outputs = load(frame, OUTPUTS, int64)
    state_size = slot.scalar_types
    # The joining kernel walks the results of the segments as they lie.
    variant = _join_variant(innermost(frame, OUTPUT_STEPS, kept))
    key = type_code | (variant << VARIANT_SHIFT) | (1 << JOIN_SHIFT)
    join_slot = find_slot(table, key)
    if join_slot == NULL:
        return raise_miss(runtime, key)
    size = address_of_stack(1)
    store(size, 0, (segments * outputs * state_size + 7) // 8, int64)
    partials = usual_array(runtime, 1, size, INT64, NULL)
    if partials == NULL:
        return NULL
    result = new_result(runtime, frame, rank, slot.output_types)
    if result != NULL:
        address = ArrayHead(partials).data
        store(frame, PARTIALS, address, int64)
        run_units(runtime, frame, slot.kernel, units, elements)
        prepare_join(frame, address, kept, segments, state_size)
        groups, _ = _groups(variant, outputs, innermost(frame, SIZES, kept), state_size)
        call_kernel(join_slot.kernel, frame, 0, groups)
    decrement_reference(partials)
    return result


def reduce_all(self, arguments, given):
    """``builtin(array, -1, False) -> ndarray`` for a contiguous array that needs no threads.

    Anything else misses with ``MISS_GENERAL``: it is for :func:`reduce`.
    """
    table = LaunchTable(ArrayHead(self).data)
    runtime = table.runtime
    if is_captured(runtime):
        return raise_miss(runtime, MISS_CAPTURE)
    array_type = runtime.array_type
    array = load(arguments, 0, int64)
    general = given != 3 or ObjectHead(array).type != array_type
    if general or not is_contiguous(array) or long_as_long(load(arguments, 1, int64)) != -1:
        return raise_miss(runtime, MISS_GENERAL)
    number = element_count(array)
    keep_dimensions = load(arguments, 2, int64) == runtime.true
    if keep_dimensions or number >= 2 * GRAIN:
        return raise_miss(runtime, MISS_GENERAL)
    key = type_number(array) | (INNER << VARIANT_SHIFT)
    slot = find_slot(table, key)
    if slot == NULL:
        return raise_miss(runtime, key)
    frame = address_of_stack(WORDS)
    result_type = slot.output_types
    result = usual_array(runtime, 0, frame, result_type, NULL)
    if result == NULL:
        return NULL
    store(frame, KEPT, 0, int64)
    store(frame, REDUCED, 1, int64)
    store(frame, INPUT, ArrayHead(array).data, int64)
    store(frame, OUTPUT, ArrayHead(result).data, int64)
    store(frame, PARTIALS, NULL, int64)
    store(frame, OUTPUTS, 1, int64)
    store(frame, NUMBER, number, int64)
    store(frame, ELEMENTS, number, int64)
    store(frame, SEGMENTS, 1, int64)
    store(frame, LENGTH, number, int64)
    store(frame, SIZES, number, int64)
    item_size = runtime.item_sizes[type_number(array)]
    store(frame, INPUT_STEPS, item_size, int64)
    call_kernel(slot.kernel, frame, 0, 1)
    return result


def reduce(self, arguments, given):
    """``builtin(array, mask, keepdim, shift=None, parameters=None) -> ndarray``.

    Bit d of ``mask`` says that dimension d is reduced. ``shift`` holds a value for each result,
    contiguous; ``parameters`` holds float64 numbers. Where the table asks for two outputs the
    second is that of the indices, and a tuple is returned.
    """
    table = LaunchTable(ArrayHead(self).data)
    runtime = table.runtime
    if is_captured(runtime):
        return raise_miss(runtime, MISS_CAPTURE)
    array_type = runtime.array_type
    frame = address_of_stack(FRAME_WORDS)
    array = load(arguments, 0, int64)
    if ObjectHead(array).type != array_type:
        return raise_miss(runtime, MISS_OPERAND)
    rank = int64(ArrayHead(array).dimensions)
    if rank > MAX_DIMENSIONS:
        return raise_miss(runtime, MISS_LIMIT)
    mask = long_as_long(load(arguments, 1, int64))
    keep_dimensions = load(arguments, 2, int64) == runtime.true
    for k in range(3, given):
        extra = load(arguments, k, int64)
        if ObjectHead(extra).type == array_type:
            store(frame, SHIFT + k - 3, ArrayHead(extra).data, int64)
    type_code = type_number(array)
    item_size = runtime.item_sizes[type_code]

    result_rank = describe_result(frame, array, rank, mask, keep_dimensions)
    iteration_space(frame, array, rank, mask, item_size)
    kept = load(frame, KEPT, int64)
    reduced_step = load(frame, INPUT_STEPS + kept + load(frame, REDUCED, int64) - 1, int64)
    variant = _variant(innermost(frame, INPUT_STEPS, kept), reduced_step, item_size)
    key = type_code | (variant << VARIANT_SHIFT)
    slot = find_slot(table, key)
    if slot == NULL:
        return raise_miss(runtime, key)

    # How the work is cut.
    number = load(frame, NUMBER, int64)
    outputs = load(frame, OUTPUTS, int64)
    state_size = slot.scalar_types
    groups, together = _groups(variant, outputs, innermost(frame, SIZES, kept), state_size)
    segments = 1
    length = number
    if table.outputs == 1:
        segments, length = _segments(number, outputs, groups, together)
    store(frame, SEGMENTS, segments, int64)
    store(frame, LENGTH, length, int64)
    units, elements = groups * segments, together * length

    store(frame, INPUT, ArrayHead(array).data, int64)
    if segments == 1:
        return run_whole(table, runtime, frame, slot, result_rank, units, elements)
    return run_segments(table, runtime, frame, slot, type_code, result_rank, units, elements)
