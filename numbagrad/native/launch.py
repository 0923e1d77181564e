"""Launchers: from Python objects to a running kernel without Python in between.

Compiled once and installed as CPython builtins with the fastcall convention by
``numbagrad.executor.builtin``. A launcher reads addresses, shapes and strides from the ndarray
objects, broadcasts them, orders and merges dimensions, looks the kernel of that signature up in the
operator's table, allocates the outputs and runs the kernel. What it cannot do it raises as
``LaunchMiss``, with a reason or with the key of the kernel that is missing.
"""

from __future__ import annotations

from numba import types

from ..awake import CAPTURE
from ..codegen.intrinsics import (
    call_kernel,
    external,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    load,
    store,
    subroutine,
)
from ..codegen.record import Record, Words
from ..kernels.layout import (
    ALIAS,
    ARGUMENT_DIMENSIONS,
    ARGUMENT_OPERANDS,
    ARGUMENT_SIZES,
    MAX_DIMENSIONS,
    MAX_OPERANDS,
    OPERAND_WORDS,
    STREAM_ROW_BYTES,
    UNIT,
    ZERO,
)
from .allocation import output_at
from .calls import call_launcher
from .layout import (
    BFLOAT16,
    CODE_BITS,
    EMPTY_KEY,
    FLAT,
    FOREIGN,
    HASH_MULTIPLIER,
    HASH_SHIFT,
    MISS_CAPTURE,
    MISS_GENERAL,
    MISS_NUMBER,
    MISS_OPERAND,
    MISS_OVERLAP,
    OPERAND_BITS,
    PYTHON_BOOL,
    PYTHON_FLOAT,
    PYTHON_INT,
    SCALAR_BIT,
    STREAMED,
    LaunchTable,
)
from .object_heads import FLAG_CONTIGUOUS, ArrayHead, DescriptorHead, ObjectHead
from .objects import (
    decrement_reference,
    error_clear,
    error_occurred,
    error_set_object,
    fill,
    float_as_double,
    long_as_long,
    long_from_long,
    new_reference,
    tuple_new,
)
from .threads import parallel_for

release_gil = external("PyEval_SaveThread", types.int64)
restore_gil = external("PyEval_RestoreThread", types.void, types.int64)

thread_state = external("PyThreadState_Get", types.int64)

NULL = 0
LARGEST_DOUBLE = 1.7976931348623157e308


class ShortFrame(Record):
    """The memory of a launch on the stack: packed arguments, and the Python numbers among them."""

    arguments = Words(ARGUMENT_OPERANDS + OPERAND_WORDS * 2 * MAX_OPERANDS)
    numbers = Words(MAX_OPERANDS)


class Frame(ShortFrame):
    """The memory of the general launcher: sizes and strides before dimensions are merged."""

    raw_sizes = Words(MAX_DIMENSIONS)
    raw_strides = Words(MAX_DIMENSIONS * MAX_OPERANDS)
    order = Words(MAX_DIMENSIONS)
    output_strides = Words(MAX_DIMENSIONS)


@subroutine
def raise_miss(runtime, reason):
    """Set LaunchMiss(reason) as the current exception; returns NULL for the caller to return."""
    value = long_from_long(reason)
    if value != NULL:
        error_set_object(runtime.miss, value)
        decrement_reference(value)
    return NULL


@subroutine
def is_captured(runtime):
    """Whether the calling thread records its launches (``program/``)."""
    return runtime.awake & CAPTURE != 0 and runtime.capture == thread_state()


@subroutine
def type_number(array):
    """NumPy's number of the dtype of an array, or FOREIGN."""
    descriptor = ArrayHead(array).descriptor
    number = int64(DescriptorHead(descriptor).type_number)
    order = DescriptorHead(descriptor).byte_order
    if number > 23 or order == 60 or order == 62:  # "<" or ">": NumPy calls the host's order "="
        return FOREIGN
    return number


@subroutine
def same_shape(first, second):
    dimensions = ArrayHead(first).dimensions
    if ArrayHead(second).dimensions != dimensions:
        return False
    sizes = ArrayHead(first).shape
    others = ArrayHead(second).shape
    for d in range(dimensions):
        if load(sizes, d, int64) != load(others, d, int64):
            return False
    return True


@subroutine
def element_count(array):
    count = 1
    sizes = ArrayHead(array).shape
    for d in range(ArrayHead(array).dimensions):
        count *= load(sizes, d, int64)
    return count


@subroutine
def number_code(runtime, kind):
    """Key code of a Python number of this type, or -1."""
    if kind == runtime.float_type:
        return PYTHON_FLOAT
    if kind == runtime.int_type:
        return PYTHON_INT
    if kind == runtime.bool_type:
        return PYTHON_BOOL
    return -1


@subroutine
def largest_number(type_code):
    """The largest number of a floating point dtype that is stored as a float32."""
    if type_code == 23:
        return 65504.0
    if type_code == BFLOAT16:
        return 3.3895313892515355e38
    return 3.4028234663852886e38


@subroutine
def write_float(number, target, type_code):
    """Write a double at ``target`` as ``type_code``; False if it does not fit."""
    if type_code == 12:
        store(target, 0, number, float64)
        return True
    store(target, 0, float32(number), float32)  # as which float16 and bfloat16 compute, too
    largest = largest_number(type_code)
    return -largest <= number <= largest or not -LARGEST_DOUBLE <= number <= LARGEST_DOUBLE


@subroutine
def write_integer(integer, target, size):
    """Write an int64 at ``target`` in so many bytes; False if they do not hold it.

    Negative ints wrap around in a single unsigned byte, as they do for torch.
    """
    if size == 1:
        store(target, 0, int8(integer), int8)
        return -128 <= integer <= 127
    if size == 2:
        store(target, 0, int16(integer), int16)
        return -(1 << 15) <= integer < 1 << 15
    if size == 4:
        store(target, 0, int32(integer), int32)
        return -(1 << 31) <= integer < 1 << 31
    store(target, 0, integer, int64)
    return True


@subroutine
def write_number(runtime, value, target, type_code):
    """Write a Python number at ``target`` as ``type_code``; False if it does not fit."""
    kind = ObjectHead(value).type
    floating = type_code == 11 or type_code == 12 or type_code == 23 or type_code == BFLOAT16
    if kind == runtime.float_type:
        # Of integers, the cut to a whole number is left to Python.
        return floating and write_float(float_as_double(value), target, type_code)
    integer = long_as_long(value)
    if integer == -1 and error_occurred() != NULL:
        error_clear()
        return False
    if floating:
        return write_float(float64(integer), target, type_code)
    fits = write_integer(integer, target, runtime.item_sizes[type_code])
    if type_code == 0:
        return 0 <= integer <= 1
    return fits or (type_code == 2 and -255 <= integer <= 255)


@subroutine
def operand_word(k):
    return ARGUMENT_OPERANDS + k * OPERAND_WORDS


@subroutine
def find_slot(table, key):
    """Address of the slot of ``key``, or NULL."""
    mask = table.slots.mask
    slots = table.slots.first
    position = ((key * HASH_MULTIPLIER) >> HASH_SHIFT) & mask
    while True:
        slot = slots[position]
        found = slot.key
        if found == key:
            return slot
        if found == EMPTY_KEY:
            return NULL
        position = (position + 1) & mask


@subroutine
def too_large_to_cache(frame, runtime, code, total):
    """Whether outputs of type ``code`` are so large that their kernel should stream them."""
    item_size = runtime.item_sizes[code]
    row = load(frame, load(frame, ARGUMENT_DIMENSIONS, int64), int64)  # sizes are words 1 and on
    large = total * item_size >= runtime.stream_bytes
    return large and row * item_size >= STREAM_ROW_BYTES


@subroutine
def run_in_threads(runtime, kernel, frame, total, grain):
    """Run the kernel without the GIL, on several threads where there are several chunks."""
    state = release_gil()
    parallel_for(runtime.pool, kernel, frame, total, grain)
    restore_gil(state)


@subroutine
def run_range(runtime, kernel, frame, total, grain):
    """Run the kernel; work for more than one thread lets go of the GIL and uses the pool."""
    if total < 2 * grain:
        call_kernel(kernel, frame, 0, total)
    else:
        run_in_threads(runtime, kernel, frame, total, grain)


@subroutine
def run(frame, table, runtime, kernel, total):
    """Run the kernel over the whole space, unless that is empty."""
    if total == 0:
        return
    run_range(runtime, kernel, frame, total, table.grain)


@subroutine
def write_numbers(frame, runtime, arguments, given, scalar_types):
    """The Python numbers among the operands, in the dtypes the kernel reads; False on overflow."""
    array_type = runtime.array_type
    for k in range(given):
        operand = load(arguments, k, int64)
        if ObjectHead(operand).type != array_type:
            code = (scalar_types >> (CODE_BITS * k)) & 31
            if not write_number(runtime, operand, frame.numbers + 8 * k, code):
                return False
    return True


@subroutine
def add_output(frame, runtime, position, code, rank, sizes, strides):
    """A new ndarray as operand ``position`` of the kernel, dense in the order of the dimensions."""
    item_size = runtime.item_sizes[code]
    if strides != NULL:
        step = item_size
        for p in range(rank):
            dimension = frame.order[rank - 1 - p]
            store(strides, dimension, step, int64)
            step *= max(load(sizes, dimension, int64), 1)
    word = operand_word(position)
    array = output_at(frame, word, runtime, rank, sizes, code, strides)
    if array == NULL:
        return NULL
    step = item_size
    kept = load(frame, ARGUMENT_DIMENSIONS, int64)
    for p in range(kept):
        d = kept - 1 - p
        store(frame, word + 1 + d, step, int64)
        step *= load(frame, ARGUMENT_SIZES + d, int64)
    return array


@subroutine
def finish_pair(table, frame, given, output_types, kernel, total, rank, sizes, strides):
    """Allocate two outputs and run a kernel: returns one, leaves the other in the runtime block."""
    runtime = table.runtime
    code = output_types & 31
    first = add_output(frame, runtime, given, code, rank, sizes, strides)
    if first == NULL:
        return NULL
    code = (output_types >> CODE_BITS) & 31
    second = add_output(frame, runtime, given + 1, code, rank, sizes, strides)
    if second == NULL:
        decrement_reference(first)
        return NULL
    run(frame, table, runtime, kernel, total)
    runtime.second = second  # last: other threads may have run meanwhile
    return first


@subroutine
def finish(table, frame, arguments, given, key, total, rank, sizes, strides):
    """Find the kernel of ``key``, allocate what it returns, and run it.

    ``sizes`` and ``strides`` (or NULL) describe new outputs; the packed arguments are complete but
    for those and for the Python numbers.
    """
    runtime = table.runtime
    slot = find_slot(table, key)
    if slot == NULL:
        return raise_miss(runtime, key)
    output_types = slot.output_types
    if too_large_to_cache(frame, runtime, output_types & 31, total):
        key |= STREAMED
        slot = find_slot(table, key)
        if slot == NULL:
            return raise_miss(runtime, key)
    if not write_numbers(frame, runtime, arguments, given, slot.scalar_types):
        return raise_miss(runtime, MISS_NUMBER)
    kernel = slot.kernel
    if table.into == 1:
        run(frame, table, runtime, kernel, total)
        return new_reference(runtime.none)
    outputs = table.outputs
    if runtime.pair == 1:
        runtime.pair = 0  # what is launched from here on returns tuples
        return finish_pair(table, frame, given, output_types, kernel, total, rank, sizes, strides)
    if outputs == 1:
        result = add_output(frame, runtime, given, output_types & 31, rank, sizes, strides)
        if result == NULL:
            return NULL
    else:
        result = tuple_new(outputs)
        if result == NULL:
            return NULL
        for j in range(outputs):
            code = (output_types >> (CODE_BITS * j)) & 31
            array = add_output(frame, runtime, given + j, code, rank, sizes, strides)
            if not fill(result, j, array):
                return NULL
    run(frame, table, runtime, kernel, total)
    return result


@subroutine
def is_contiguous(array):
    return ArrayHead(array).flags & FLAG_CONTIGUOUS != 0


@subroutine
def repeats_one_element(array):
    strides = ArrayHead(array).strides
    for d in range(ArrayHead(array).dimensions):
        if load(strides, d, int64) != 0:
            return False
    return True


@subroutine
def full_operand(runtime, arguments, given):
    """A contiguous array, one with dimensions if there is any; NULL if there is none."""
    array_type = runtime.array_type
    found = NULL
    for k in range(given):
        operand = load(arguments, k, int64)
        if ObjectHead(operand).type == array_type and is_contiguous(operand):
            if found == NULL or ArrayHead(found).dimensions == 0:
                found = operand
    return found


@subroutine
def pass_on(self, arguments, given, runtime):
    """Leave the call to the general launcher, or ask Python to compile that first."""
    general = runtime.general
    if general == NULL:
        return raise_miss(runtime, MISS_GENERAL)
    return call_launcher(general, self, arguments, given)


def pointwise(self, arguments, given):
    """``builtin(*operands) -> ndarray``, or a tuple of them: the launcher of a formula.

    If the table says so the last argument is the output, and None is returned. This is the short
    way, for contiguous arrays of one shape, arrays of one repeated element, and Python numbers;
    everything else goes on to ``broadcast.pointwise_general``.
    """
    table = LaunchTable(ArrayHead(self).data)
    runtime = table.runtime
    if is_captured(runtime):
        return raise_miss(runtime, MISS_CAPTURE)
    array_type = runtime.array_type
    full = NULL
    if given <= MAX_OPERANDS:
        full = full_operand(runtime, arguments, given)
    if full == NULL:
        return pass_on(self, arguments, given, runtime)
    frame = Frame(ShortFrame())  # as the functions below know it: they read no more of it
    rank = int64(ArrayHead(full).dimensions)
    total = element_count(full)
    output_start = 0
    output_end = 0
    output_code = 0
    if table.into == 1:
        output = load(arguments, given - 1, int64)
        output_code = type_number(output)
        output_start = ArrayHead(output).data
        output_end = output_start + total * runtime.item_sizes[output_code]
        if not (is_contiguous(output) and same_shape(full, output)):
            return pass_on(self, arguments, given, runtime)
    store(frame, ARGUMENT_DIMENSIONS, 1, int64)
    store(frame, ARGUMENT_SIZES, total, int64)
    key = FLAT
    for k in range(given):
        operand = load(arguments, k, int64)
        kind = ObjectHead(operand).type
        word = operand_word(k)
        layout = ZERO
        if kind == array_type:
            code = type_number(operand)
            item_size = runtime.item_sizes[code]
            address = ArrayHead(operand).data
            store(frame, word, address, int64)
            store(frame, word + 1, item_size, int64)
            size = item_size
            if same_shape(full, operand):
                if is_contiguous(operand):
                    layout = UNIT
                    size = total * item_size
                elif not repeats_one_element(operand):
                    return pass_on(self, arguments, given, runtime)
            elif ArrayHead(operand).dimensions == 0:
                code |= 1 << SCALAR_BIT
            else:
                return pass_on(self, arguments, given, runtime)
            if address < output_end and output_start < address + size and k < given - 1:
                if address != output_start or code != output_code or layout != UNIT:
                    return raise_miss(runtime, MISS_OVERLAP)
                layout = ALIAS
        else:
            code = number_code(runtime, kind)
            if code < 0:
                return raise_miss(runtime, MISS_OPERAND)
            store(frame, word, frame.numbers + 8 * k, int64)
        key |= (code | (layout << CODE_BITS)) << (OPERAND_BITS * k)
    sizes = ArrayHead(full).shape
    return finish(table, frame, arguments, given, key, total, rank, sizes, NULL)
