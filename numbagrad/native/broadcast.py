"""The general launcher of formulas: broadcasting, any strides, any order of dimensions.

``launch.pointwise`` passes on to it what is not a plain run over contiguous arrays. It brings the
operands to one shape, sorts the dimensions by stride so that the innermost loop walks through
memory, and merges neighbours, so that most calls land on a handful of kernels.
"""

from __future__ import annotations

from ..codegen.intrinsics import int64, load, store, subroutine
from ..codegen.record_types import address_of
from ..kernels.layout import (
    ALIAS,
    ARGUMENT_DIMENSIONS,
    ARGUMENT_SIZES,
    MAX_DIMENSIONS,
    MAX_OPERANDS,
    STRIDED,
    UNIT,
    ZERO,
)
from .launch import (
    NULL,
    Frame,
    finish,
    number_code,
    operand_word,
    raise_miss,
    type_number,
)
from .layout import (
    CODE_BITS,
    FLAT,
    MISS_LIMIT,
    MISS_OPERAND,
    MISS_OVERLAP,
    MISS_SHAPES,
    OPERAND_BITS,
    SCALAR_BIT,
    LaunchTable,
)
from .object_heads import ArrayHead, ObjectHead


@subroutine
def broadcast(frame, arguments, count, runtime):
    """Common shape of the operands into ``raw_sizes``; returns its rank.

    -1 if the shapes do not fit together, -2 if there are too many dimensions.
    """
    rank = 0
    array_type = runtime.array_type
    for k in range(count):
        operand = load(arguments, k, int64)
        if ObjectHead(operand).type == array_type:
            rank = max(rank, int64(ArrayHead(operand).dimensions))
    if rank > MAX_DIMENSIONS:
        return -2
    for d in range(rank):
        frame.raw_sizes[d] = 1
    for k in range(count):
        operand = load(arguments, k, int64)
        if ObjectHead(operand).type != array_type:
            continue
        dimensions = int64(ArrayHead(operand).dimensions)
        sizes = ArrayHead(operand).shape
        for d in range(dimensions):
            size = load(sizes, d, int64)
            position = rank - dimensions + d
            common = frame.raw_sizes[position]
            if common == 1:
                frame.raw_sizes[position] = size
            elif size != common and size != 1:
                return -1
    return rank


@subroutine
def raw_strides(frame, operand, k, rank):
    """Strides in bytes of an array broadcast to ``rank`` dimensions, 0 where it repeats."""
    dimensions = int64(ArrayHead(operand).dimensions)
    sizes = ArrayHead(operand).shape
    strides = ArrayHead(operand).strides
    base = k * MAX_DIMENSIONS
    for d in range(rank - dimensions):
        frame.raw_strides[base + d] = 0
    for d in range(dimensions):
        position = rank - dimensions + d
        if load(sizes, d, int64) == frame.raw_sizes[position]:
            frame.raw_strides[base + position] = load(strides, d, int64)
        else:
            frame.raw_strides[base + position] = 0


@subroutine
def belongs_outside(frame, count, inner, outer):
    """1 if dimension ``inner`` has to be outside ``outer``, -1 if it must not, 0 if nobody says."""
    for k in range(count):
        base = k * MAX_DIMENSIONS
        first = frame.raw_strides[base + inner]
        second = frame.raw_strides[base + outer]
        if first == 0 or second == 0:
            continue
        if first != second:
            return 1 if first > second else -1
        if frame.raw_sizes[inner] > frame.raw_sizes[outer]:
            return 1
    return 0


@subroutine
def order_dimensions(frame, count, rank):
    """Sort dimensions by stride into ``order``, outermost first; whether they were sorted already.

    As ``memory_order`` in ``executor/plan/forms.py`` does, which says why.
    """
    sorted_already = True
    for d in range(rank):
        frame.order[d] = d
    for k in range(1, rank):
        lower = rank - 1 - k
        for position in range(rank - k, rank):
            outer = frame.order[lower]
            inner = frame.order[position]
            decided = belongs_outside(frame, count, inner, outer)
            if decided < 0:
                break
            if decided > 0:
                frame.order[lower] = inner
                frame.order[position] = outer
                lower = position
                sorted_already = False
    return sorted_already


@subroutine
def can_merge(frame, count, last, size, dimension):
    """Whether every operand steps through ``dimension`` right inside kept dimension ``last``."""
    for k in range(count):
        outer = load(frame, operand_word(k) + 1 + last, int64)
        inner = frame.raw_strides[k * MAX_DIMENSIONS + dimension]
        if outer != inner * size:
            return False
    return True


@subroutine
def merge_dimensions(frame, count, rank):
    """Sizes and strides into the packed arguments, in that order, neighbours merged."""
    kept = 0
    for position in range(rank):
        dimension = frame.order[position]
        size = frame.raw_sizes[dimension]
        if size == 1:
            continue
        merge = kept > 0 and can_merge(frame, count, kept - 1, size, dimension)
        if merge:
            size *= load(frame, ARGUMENT_SIZES + kept - 1, int64)
        else:
            kept += 1
        store(frame, ARGUMENT_SIZES + kept - 1, size, int64)
        for k in range(count):
            stride = frame.raw_strides[k * MAX_DIMENSIONS + dimension]
            store(frame, operand_word(k) + kept, stride, int64)
    if kept == 0:
        kept = 1
        store(frame, ARGUMENT_SIZES, 1, int64)
        for k in range(count):
            store(frame, operand_word(k) + 1, 0, int64)
    store(frame, ARGUMENT_DIMENSIONS, kept, int64)
    return kept


@subroutine
def overlaps_itself(array):
    sizes = ArrayHead(array).shape
    strides = ArrayHead(array).strides
    repeats = False
    for d in range(ArrayHead(array).dimensions):
        size = load(sizes, d, int64)
        if size == 0:  # nothing to write, and NumPy's strides of such arrays may be 0
            return False
        repeats = repeats or (load(strides, d, int64) == 0 and size > 1)
    return repeats


@subroutine
def same_elements(frame, count, rank, k):
    """Whether operand ``k`` and the output (the last operand) step through memory alike."""
    mine = k * MAX_DIMENSIONS
    output = (count - 1) * MAX_DIMENSIONS
    for d in range(rank):
        moves = frame.raw_sizes[d] != 1
        if moves and frame.raw_strides[mine + d] != frame.raw_strides[output + d]:
            return False
    return True


@subroutine
def extent(array, item_size):
    """Bytes from the first to past the last element of an array without negative strides."""
    reach = item_size
    sizes = ArrayHead(array).shape
    strides = ArrayHead(array).strides
    for d in range(ArrayHead(array).dimensions):
        reach += (load(sizes, d, int64) - 1) * load(strides, d, int64)
    return reach


@subroutine
def runs_backwards(array):
    """Whether a stride is negative, which only arrays that are no Tensor's have."""
    strides = ArrayHead(array).strides
    for d in range(ArrayHead(array).dimensions):
        if load(strides, d, int64) < 0:
            return True
    return False


@subroutine
def bad_output(frame, output, rank):
    """Why the output cannot be written: its shape, or memory it has twice; 0 if it can."""
    if int64(ArrayHead(output).dimensions) != rank:
        return MISS_SHAPES
    sizes = ArrayHead(output).shape
    for d in range(rank):
        if load(sizes, d, int64) != frame.raw_sizes[d]:
            return MISS_SHAPES
    if overlaps_itself(output):
        return MISS_OVERLAP
    return 0


@subroutine
def classify(frame, runtime, operand, k, kept, total):
    """Code and layout of array operand ``k``, whose address goes into the packed arguments."""
    code = type_number(operand)
    word = operand_word(k)
    store(frame, word, ArrayHead(operand).data, int64)
    stride = load(frame, word + kept, int64)
    layout = STRIDED
    if stride == runtime.item_sizes[code] or total <= 1:
        layout = UNIT
    elif stride == 0:
        layout = ZERO
    return code | (layout << CODE_BITS)


@subroutine
def iteration_space(frame, arguments, given, runtime, rank):
    """Strides of every operand over the common shape, dimensions ordered and merged."""
    array_type = runtime.array_type
    for k in range(given):
        operand = load(arguments, k, int64)
        if ObjectHead(operand).type == array_type:
            raw_strides(frame, operand, k, rank)
        else:
            for d in range(rank):
                frame.raw_strides[k * MAX_DIMENSIONS + d] = 0
    ordered = order_dimensions(frame, given, rank)
    merge_dimensions(frame, given, rank)
    return ordered


@subroutine
def overlap(frame, runtime, output, operand, code, given, rank, k):
    """How operand ``k`` shares memory with the output: 0 not, 1 element for element, -1 else."""
    if runs_backwards(operand):
        return -1
    output_code = type_number(output)
    start = ArrayHead(output).data
    end = start + extent(output, runtime.item_sizes[output_code])
    address = ArrayHead(operand).data
    reach = address + extent(operand, runtime.item_sizes[code])
    if address >= end or start >= reach:
        return 0
    if address == start and code == output_code and same_elements(frame, given, rank, k):
        return 1
    return -1


def pointwise_general(self, arguments, given):
    """``launch.pointwise`` for operands of any strides and shapes that broadcast."""
    table = LaunchTable(ArrayHead(self).data)
    runtime = table.runtime
    into = table.into
    array_type = runtime.array_type
    if given > MAX_OPERANDS:
        return raise_miss(runtime, MISS_LIMIT)
    arrays = 0
    for k in range(given):
        kind = ObjectHead(load(arguments, k, int64)).type
        arrays += int64(kind == array_type)
        if kind != array_type and number_code(runtime, kind) < 0:
            return raise_miss(runtime, MISS_OPERAND)
    if arrays == 0:
        return raise_miss(runtime, MISS_OPERAND)
    frame = Frame()
    rank = broadcast(frame, arguments, given, runtime)
    if rank < 0:
        return raise_miss(runtime, MISS_SHAPES if rank == -1 else MISS_LIMIT)
    ordered = iteration_space(frame, arguments, given, runtime, rank)
    kept = load(frame, ARGUMENT_DIMENSIONS, int64)
    total = 1
    for d in range(rank):
        total *= frame.raw_sizes[d]
    output = load(arguments, given - 1, int64)
    if into == 1:
        reason = bad_output(frame, output, rank)
        if reason != 0:
            return raise_miss(runtime, reason)

    key = 0
    strided = False
    for k in range(given):
        operand = load(arguments, k, int64)
        kind = ObjectHead(operand).type
        if kind == array_type:
            code = classify(frame, runtime, operand, k, kept, total)
            strided = strided or code >> CODE_BITS == STRIDED
            if into == 1 and k < given - 1 and total > 0:
                shared = overlap(
                    frame, runtime, output, operand, type_number(operand), given, rank, k
                )
                if shared < 0:
                    return raise_miss(runtime, MISS_OVERLAP)
                if shared == 1:
                    code |= ALIAS << CODE_BITS
            if rank > 0 and ArrayHead(operand).dimensions == 0:
                code |= 1 << SCALAR_BIT
        else:
            code = number_code(runtime, kind) | (ZERO << CODE_BITS)
            store(frame, operand_word(k), frame.numbers + 8 * k, int64)
        key |= code << (OPERAND_BITS * k)
    if strided:
        for k in range(given):
            shift = OPERAND_BITS * k + CODE_BITS
            key = (key & ~(3 << shift)) | (STRIDED << shift)
    elif kept == 1:
        key |= FLAT
    strides = NULL if ordered else address_of(frame.output_strides)
    sizes = address_of(frame.raw_sizes)
    return finish(table, frame, arguments, given, key, total, rank, sizes, strides)
