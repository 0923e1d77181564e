"""Launchers: from Python objects to a running kernel without Python in between.

Compiled once and installed as CPython builtins with the fastcall convention by
``numbagrad.executor.builtin``. A launcher reads addresses, shapes and strides from the ndarray
objects, broadcasts them, orders and merges dimensions, looks the kernel of that signature up in the
operator's table, allocates the outputs and runs the kernel. What it cannot do it raises as
``LaunchMiss``, with a reason or with the key of the kernel that is missing.
"""

from __future__ import annotations

from numba import types

from .intrinsics import (
    address_of_stack,
    call_kernel,
    external,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    load,
    new_array,
    store,
    subroutine,
)
from .layout import *  # noqa: F403 - the words of the tables, all of them
from .threads import parallel_for

increment_reference = external("Py_IncRef", types.void, types.int64)
decrement_reference = external("Py_DecRef", types.void, types.int64)
float_as_double = external("PyFloat_AsDouble", types.float64, types.int64)
long_as_long = external("PyLong_AsLongLong", types.int64, types.int64)
long_from_long = external("PyLong_FromLongLong", types.int64, types.int64)
error_occurred = external("PyErr_Occurred", types.int64)
error_clear = external("PyErr_Clear", types.void)
error_set_object = external("PyErr_SetObject", types.void, types.int64, types.int64)
tuple_new = external("PyTuple_New", types.int64, types.int64)
tuple_set_item = external("PyTuple_SetItem", types.int32, types.int64, types.int64, types.int64)
release_gil = external("PyEval_SaveThread", types.int64)
restore_gil = external("PyEval_RestoreThread", types.void, types.int64)

NULL = 0

# The frame of a launch on the stack: packed arguments, then scratch.
RAW_SIZES = ARGUMENT_OPERANDS + OPERAND_WORDS * (MAX_OPERANDS + 4)
RAW_STRIDES = RAW_SIZES + MAX_DIMENSIONS
ORDER = RAW_STRIDES + MAX_DIMENSIONS * (MAX_OPERANDS + 1)
NUMBERS = ORDER + MAX_DIMENSIONS
OUTPUT_STRIDES = NUMBERS + MAX_OPERANDS + 1
FRAME_WORDS = OUTPUT_STRIDES + MAX_DIMENSIONS


@subroutine
def raise_miss(runtime, reason):
    """Set LaunchMiss(reason) as the current exception; returns NULL for the caller to return."""
    value = long_from_long(reason)
    error_set_object(load(runtime, RUNTIME_MISS, int64), value)
    decrement_reference(value)
    return NULL


@subroutine
def type_number(array):
    descriptor = load(array + ARRAY_DESCRIPTOR, 0, int64)
    return int64(load(descriptor + DESCRIPTOR_TYPE_NUMBER, 0, int32))


@subroutine
def same_shape(first, second):
    dimensions = load(first + ARRAY_DIMENSIONS, 0, int32)
    if load(second + ARRAY_DIMENSIONS, 0, int32) != dimensions:
        return False
    sizes = load(first + ARRAY_SHAPE, 0, int64)
    others = load(second + ARRAY_SHAPE, 0, int64)
    for d in range(dimensions):
        if load(sizes, d, int64) != load(others, d, int64):
            return False
    return True


@subroutine
def element_count(array):
    count = 1
    sizes = load(array + ARRAY_SHAPE, 0, int64)
    for d in range(load(array + ARRAY_DIMENSIONS, 0, int32)):
        count *= load(sizes, d, int64)
    return count


@subroutine
def number_code(runtime, kind):
    """Key code of a Python number of this type, or -1."""
    if kind == load(runtime, RUNTIME_FLOAT_TYPE, int64):
        return PYTHON_FLOAT
    if kind == load(runtime, RUNTIME_INT_TYPE, int64):
        return PYTHON_INT
    if kind == load(runtime, RUNTIME_BOOL_TYPE, int64):
        return PYTHON_BOOL
    return -1


@subroutine
def write_number(runtime, value, target, type_code):
    """Write a Python number at ``target`` as ``type_code``; False if it does not fit."""
    if type_code == 11 or type_code == 12 or type_code == 23:
        number = float_as_double(value)
        if type_code == 12:
            store(target, 0, number, float64)
        else:  # float16 computes in float32
            store(target, 0, float32(number), float32)
    else:
        if load(value + OBJECT_TYPE, 0, int64) == load(runtime, RUNTIME_BOOL_TYPE, int64):
            integer = int64(value == load(runtime, RUNTIME_TRUE, int64))
        else:
            integer = long_as_long(value)
        size = load(runtime, RUNTIME_ITEM_SIZES + type_code, int64)
        if size == 1:
            store(target, 0, int8(integer), int8)
        elif size == 2:
            store(target, 0, int16(integer), int16)
        elif size == 4:
            store(target, 0, int32(integer), int32)
        else:
            store(target, 0, integer, int64)
    if error_occurred() != NULL:
        error_clear()
        return False
    return True


@subroutine
def operand_word(k):
    return ARGUMENT_OPERANDS + k * OPERAND_WORDS


@subroutine
def find_slot(table, key):
    """Address of the slot of ``key``, or NULL."""
    mask = load(table, TABLE_MASK, int64)
    slots = load(table, TABLE_SLOTS, int64)
    position = ((key * HASH_MULTIPLIER) >> HASH_SHIFT) & mask
    while True:
        slot = slots + 8 * SLOT_WORDS * position
        found = load(slot, SLOT_KEY, int64)
        if found == key:
            return slot
        if found == EMPTY_KEY:
            return NULL
        position = (position + 1) & mask


@subroutine
def broadcast(frame, arguments, count, runtime):
    """Common shape of the operands into RAW_SIZES; returns its rank, or -1 if there is none."""
    rank = 0
    array_type = load(runtime, RUNTIME_ARRAY_TYPE, int64)
    for k in range(count):
        operand = load(arguments, k, int64)
        if load(operand + OBJECT_TYPE, 0, int64) == array_type:
            rank = max(rank, int64(load(operand + ARRAY_DIMENSIONS, 0, int32)))
    if rank > MAX_DIMENSIONS:
        return -1
    for d in range(rank):
        store(frame, RAW_SIZES + d, 1, int64)
    for k in range(count):
        operand = load(arguments, k, int64)
        if load(operand + OBJECT_TYPE, 0, int64) != array_type:
            continue
        dimensions = int64(load(operand + ARRAY_DIMENSIONS, 0, int32))
        sizes = load(operand + ARRAY_SHAPE, 0, int64)
        for d in range(dimensions):
            size = load(sizes, d, int64)
            where = RAW_SIZES + rank - dimensions + d
            common = load(frame, where, int64)
            if common == 1:
                store(frame, where, size, int64)
            elif size != common and size != 1:
                return -1
    return rank


@subroutine
def raw_strides(frame, operand, k, rank):
    """Strides in bytes of an array broadcast to ``rank`` dimensions, 0 where it repeats."""
    dimensions = int64(load(operand + ARRAY_DIMENSIONS, 0, int32))
    sizes = load(operand + ARRAY_SHAPE, 0, int64)
    strides = load(operand + ARRAY_STRIDES, 0, int64)
    base = RAW_STRIDES + k * MAX_DIMENSIONS
    for d in range(rank - dimensions):
        store(frame, base + d, 0, int64)
    for d in range(dimensions):
        stride = load(strides, d, int64)
        if load(sizes, d, int64) == 1:
            stride = 0
        store(frame, base + rank - dimensions + d, stride, int64)


@subroutine
def belongs_outside(frame, count, first, second):
    """Whether dimension ``second`` should be outside ``first`` (larger strides go outside)."""
    for k in range(count):
        base = RAW_STRIDES + k * MAX_DIMENSIONS
        a = load(frame, base + first, int64)
        b = load(frame, base + second, int64)
        if a == 0 or b == 0:
            continue
        if a != b:
            return b > a
    return False


@subroutine
def order_dimensions(frame, count, rank):
    """Sort dimensions by stride into ORDER, outermost first, keeping the order of ties."""
    sorted_already = True
    for d in range(rank):
        store(frame, ORDER + d, d, int64)
        position = d
        while position > 0:
            before = load(frame, ORDER + position - 1, int64)
            if not belongs_outside(frame, count, before, d):
                break
            store(frame, ORDER + position, before, int64)
            position -= 1
            sorted_already = False
        store(frame, ORDER + position, d, int64)
    return sorted_already


@subroutine
def can_merge(frame, count, last, size, dimension):
    """Whether every operand steps through ``dimension`` right inside kept dimension ``last``."""
    for k in range(count):
        outer = load(frame, operand_word(k) + 1 + last, int64)
        inner = load(frame, RAW_STRIDES + k * MAX_DIMENSIONS + dimension, int64)
        if outer != inner * size:
            return False
    return True


@subroutine
def merge_dimensions(frame, count, rank):
    """Sizes and strides into the packed arguments, in ORDER, neighbours merged."""
    kept = 0
    for position in range(rank):
        dimension = load(frame, ORDER + position, int64)
        size = load(frame, RAW_SIZES + dimension, int64)
        if size == 1:
            continue
        merge = kept > 0 and can_merge(frame, count, kept - 1, size, dimension)
        if merge:
            size *= load(frame, ARGUMENT_SIZES + kept - 1, int64)
        else:
            kept += 1
        store(frame, ARGUMENT_SIZES + kept - 1, size, int64)
        for k in range(count):
            stride = load(frame, RAW_STRIDES + k * MAX_DIMENSIONS + dimension, int64)
            store(frame, operand_word(k) + kept, stride, int64)
    if kept == 0:
        kept = 1
        store(frame, ARGUMENT_SIZES, 1, int64)
        for k in range(count):
            store(frame, operand_word(k) + 1, 0, int64)
    store(frame, ARGUMENT_DIMENSIONS, kept, int64)
    return kept


@subroutine
def extent(frame, array, item_size):
    """Bytes from the first to past the last element of an array without negative strides."""
    reach = item_size
    sizes = load(array + ARRAY_SHAPE, 0, int64)
    strides = load(array + ARRAY_STRIDES, 0, int64)
    for d in range(load(array + ARRAY_DIMENSIONS, 0, int32)):
        reach += (load(sizes, d, int64) - 1) * load(strides, d, int64)
    return reach


@subroutine
def overlaps_itself(array):
    sizes = load(array + ARRAY_SHAPE, 0, int64)
    strides = load(array + ARRAY_STRIDES, 0, int64)
    for d in range(load(array + ARRAY_DIMENSIONS, 0, int32)):
        if load(strides, d, int64) == 0 and load(sizes, d, int64) > 1:
            return True
    return False


@subroutine
def same_elements(frame, count, rank, k):
    """Whether operand ``k`` and the output (the last operand) step through memory alike."""
    mine = RAW_STRIDES + k * MAX_DIMENSIONS
    output = RAW_STRIDES + (count - 1) * MAX_DIMENSIONS
    for d in range(rank):
        if load(frame, mine + d, int64) != load(frame, output + d, int64):
            return False
    return True


@subroutine
def run(frame, table, runtime, kernel, total):
    """Run the kernel over the whole space; large work lets go of the GIL and uses the pool."""
    if total == 0:
        return
    grain = load(table, TABLE_GRAIN, int64)
    if total < 2 * grain:
        call_kernel(kernel, frame, 0, total)
        return
    state = release_gil()
    parallel_for(load(runtime, RUNTIME_POOL, int64), kernel, frame, total, grain)
    restore_gil(state)


def pointwise(self, arguments, given):
    """``builtin(*operands) -> ndarray``, or a tuple of them: the launcher of a formula.

    If the table says so the last argument is the output, and None is returned.
    """
    table = load(self + ARRAY_DATA, 0, int64)
    into = load(table, TABLE_INTO, int64)
    runtime = load(table, TABLE_RUNTIME, int64)
    frame = address_of_stack(FRAME_WORDS)
    array_type = load(runtime, RUNTIME_ARRAY_TYPE, int64)
    if given > MAX_OPERANDS:
        return raise_miss(runtime, MISS_LIMIT)

    # What the operands are, and whether they are all contiguous arrays of one shape.
    first = NULL
    simple = True
    for k in range(given):
        operand = load(arguments, k, int64)
        kind = load(operand + OBJECT_TYPE, 0, int64)
        if kind == array_type:
            if load(operand + ARRAY_FLAGS, 0, int32) & FLAG_CONTIGUOUS == 0:
                simple = False
            if first == NULL:
                first = operand
            elif simple and not same_shape(first, operand):
                simple = False
        elif number_code(runtime, kind) < 0:
            return raise_miss(runtime, MISS_OPERAND)
    if first == NULL:
        return raise_miss(runtime, MISS_OPERAND)

    # The iteration space.
    ordered = True
    rank = int64(load(first + ARRAY_DIMENSIONS, 0, int32))
    if simple:
        total = element_count(first)
        store(frame, ARGUMENT_DIMENSIONS, 1, int64)
        store(frame, ARGUMENT_SIZES, total, int64)
        kept = 1
    else:
        rank = broadcast(frame, arguments, given, runtime)
        if rank < 0:
            return raise_miss(runtime, MISS_SHAPES)
        for k in range(given):
            operand = load(arguments, k, int64)
            if load(operand + OBJECT_TYPE, 0, int64) == array_type:
                raw_strides(frame, operand, k, rank)
            else:
                for d in range(rank):
                    store(frame, RAW_STRIDES + k * MAX_DIMENSIONS + d, 0, int64)
        ordered = order_dimensions(frame, given, rank)
        kept = merge_dimensions(frame, given, rank)
        total = 1
        for d in range(rank):
            total *= load(frame, RAW_SIZES + d, int64)

    # The output must not share memory with an input, unless element for element.
    output = NULL
    output_start = 0
    output_end = 0
    if into == 1:
        output = load(arguments, given - 1, int64)
        if not simple:
            dimensions = int64(load(output + ARRAY_DIMENSIONS, 0, int32))
            if dimensions != rank:
                return raise_miss(runtime, MISS_SHAPES)
            sizes = load(output + ARRAY_SHAPE, 0, int64)
            for d in range(rank):
                if load(sizes, d, int64) != load(frame, RAW_SIZES + d, int64):
                    return raise_miss(runtime, MISS_SHAPES)
            if overlaps_itself(output):
                return raise_miss(runtime, MISS_OVERLAP)
        output_start = load(output + ARRAY_DATA, 0, int64)
        item_size = load(runtime, RUNTIME_ITEM_SIZES + type_number(output), int64)
        output_end = output_start + extent(frame, output, item_size)

    # Addresses, and the key of the signature.
    key = 0
    strided = False
    for k in range(given):
        operand = load(arguments, k, int64)
        kind = load(operand + OBJECT_TYPE, 0, int64)
        word = operand_word(k)
        if kind == array_type:
            code = type_number(operand)
            item_size = load(runtime, RUNTIME_ITEM_SIZES + code, int64)
            address = load(operand + ARRAY_DATA, 0, int64)
            store(frame, word, address, int64)
            if simple:
                layout = UNIT
                store(frame, word + 1, item_size, int64)
            else:
                stride = load(frame, word + kept, int64)
                if stride == item_size or total <= 1:
                    layout = UNIT
                elif stride == 0:
                    layout = ZERO
                else:
                    layout = STRIDED
                    strided = True
            if rank > 0 and load(operand + ARRAY_DIMENSIONS, 0, int32) == 0:
                key |= 1 << (OPERAND_BITS * k + SCALAR_BIT)
            if into == 1 and k < given - 1 and total > 0:
                if address < output_end and output_start < address + extent(
                    frame, operand, item_size
                ):
                    alike = (
                        address == output_start
                        and code == type_number(output)
                        and (simple or same_elements(frame, given, rank, k))
                    )
                    if not alike:
                        return raise_miss(runtime, MISS_OVERLAP)
                    layout = ALIAS
        else:
            code = number_code(runtime, kind)
            layout = ZERO
            store(frame, word, frame + 8 * (NUMBERS + k), int64)
            if simple:
                store(frame, word + 1, 0, int64)
        key |= (code | (layout << CODE_BITS)) << (OPERAND_BITS * k)
    if strided:
        for k in range(given):
            shift = OPERAND_BITS * k + CODE_BITS
            key = (key & ~(3 << shift)) | (STRIDED << shift)

    slot = find_slot(table, key)
    if slot == NULL:
        return raise_miss(runtime, key)
    scalar_types = load(slot, SLOT_SCALAR_TYPES, int64)
    for k in range(given):
        operand = load(arguments, k, int64)
        if load(operand + OBJECT_TYPE, 0, int64) != array_type:
            code = (scalar_types >> (CODE_BITS * k)) & 31
            if not write_number(runtime, operand, frame + 8 * (NUMBERS + k), code):
                return raise_miss(runtime, MISS_NUMBER)
    kernel = load(slot, SLOT_KERNEL, int64)
    if into == 1:
        run(frame, table, runtime, kernel, total)
        none = load(runtime, RUNTIME_NONE, int64)
        increment_reference(none)
        return none

    # Allocate the outputs, laid out in the order of the inputs' strides.
    outputs = load(table, TABLE_OUTPUTS, int64)
    output_types = load(slot, SLOT_OUTPUT_TYPES, int64)
    result = NULL
    if outputs > 1:
        result = tuple_new(outputs)
    for j in range(outputs):
        code = (output_types >> (CODE_BITS * j)) & 31
        item_size = load(runtime, RUNTIME_ITEM_SIZES + code, int64)
        sizes = frame + 8 * RAW_SIZES
        strides = NULL
        if simple:
            sizes = load(first + ARRAY_SHAPE, 0, int64)
        elif not ordered:
            strides = frame + 8 * OUTPUT_STRIDES
            step = item_size
            for p in range(rank):
                dimension = load(frame, ORDER + rank - 1 - p, int64)
                store(strides, dimension, step, int64)
                step *= max(load(sizes, dimension, int64), 1)
        array = new_array(
            load(runtime, RUNTIME_NEW_ARRAY, int64), array_type, rank, sizes, code, strides
        )
        if array == NULL:
            if outputs > 1:
                decrement_reference(result)
            return NULL
        if outputs > 1:
            tuple_set_item(result, j, array)
        else:
            result = array
        word = operand_word(given + j)
        store(frame, word, load(array + ARRAY_DATA, 0, int64), int64)
        step = item_size
        for p in range(kept):
            d = kept - 1 - p
            store(frame, word + 1 + d, step, int64)
            step *= load(frame, ARGUMENT_SIZES + d, int64)
    run(frame, table, runtime, kernel, total)
    return result
