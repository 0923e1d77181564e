"""A recorded call again: whether the tensors are as they were, and the program with its results.

Installed as builtins by ``numbagrad/compiling/replay.py``. ``holds`` compares addresses and sizes
with those of the table and calls nothing that runs Python code; what it does not find as it was is
left to Python, which may know better.
"""

from __future__ import annotations

from ..codegen.intrinsics import int32, int64, load, store, subroutine
from ..kernels.layout import *  # noqa: F403 - the words of the tables
from ..kernels.program_layout import PROGRAM_FAILED
from .allocation import new_output
from .calls import call_launcher
from .layout import *  # noqa: F403 - the words of the tables, all of them
from .objects import (
    attributes_of,
    decrement_reference,
    dictionary_has,
    dictionary_size,
    error_clear,
    field,
    fill,
    new_reference,
    raise_unusable,
    tuple_get_item,
    tuple_new,
)
from .replay_layout import *  # noqa: F403
from .tensors import count_writes, is_inference, shared_cell, uncount

NULL = 0


@subroutine
def has_form(array, sizes, rank, dtype):
    """Whether an array has a shape, strides and a dtype."""
    if load(array + ARRAY_DESCRIPTOR, 0, int64) != dtype:
        return False
    if int64(load(array + ARRAY_DIMENSIONS, 0, int32)) != rank:
        return False
    own_sizes = load(array + ARRAY_SHAPE, 0, int64)
    own_strides = load(array + ARRAY_STRIDES, 0, int64)
    for d in range(rank):
        if load(own_sizes, d, int64) != load(sizes, d, int64):
            return False
        if load(own_strides, d, int64) != load(sizes, rank + d, int64):
            return False
    return True


@subroutine
def owner_of(runtime, array):
    """The ndarray that owns the memory of an array; NULL if it is owned by something else."""
    array_type = load(runtime, RUNTIME_ARRAY_TYPE, int64)
    while load(array + ARRAY_BASE, 0, int64) != NULL:
        array = load(array + ARRAY_BASE, 0, int64)
        if load(array + OBJECT_TYPE, 0, int64) != array_type:
            return NULL
    if load(array + ARRAY_FLAGS, 0, int32) & FLAG_OWNS_DATA == 0:
        return NULL
    return array


@subroutine
def has_attributes(runtime, tensor):
    """Whether a tensor has hooks or attributes: more than what views have."""
    attributes = attributes_of(tensor, NULL)
    if attributes == NULL:
        error_clear()  # Python looks again, and raises it
        return True
    size = dictionary_size(attributes)
    if size != 0:
        size -= dictionary_has(attributes, load(runtime, RUNTIME_NAME_VIEW_ORIGIN, int64))
    decrement_reference(attributes)
    return size != 0


@subroutine
def is_apart(table, runtime, arguments, k, array):
    """Whether an argument shares its memory with no argument before it, and no other tensor."""
    owner = owner_of(runtime, array)
    if owner == NULL:
        return False
    roots = load(table, REPLAY_ROOTS + 1, int64)
    for i in range(load(table, REPLAY_ROOTS, int64)):
        if load(roots, i, int64) == owner:
            return False
    entry = load(table, REPLAY_ARGUMENTS + 1, int64)
    for i in range(k):
        if load(entry, ARGUMENT_OBJECT, int64) == NULL:
            other = field(runtime, load(arguments, i, int64), FIELD_ARRAY)
            if owner_of(runtime, other) == owner:
                return False
        entry += 8 * ARGUMENT_WORDS
    return True


@subroutine
def same_argument(table, runtime, arguments, k, entry):
    """Whether an argument is one that the program was recorded for."""
    argument = load(arguments, k, int64)
    only = load(entry, ARGUMENT_OBJECT, int64)
    if only != NULL:
        return argument == only
    if load(argument + OBJECT_TYPE, 0, int64) != load(entry, ARGUMENT_TYPE, int64):
        return False
    if field(runtime, argument, FIELD_REQUIRES_GRAD) != load(entry, ARGUMENT_FLAG, int64):
        return False
    none = load(runtime, RUNTIME_NONE, int64)
    kind = int64(field(runtime, argument, FIELD_GRAD_FN) == none)
    kind += 2 * int64(is_inference(runtime, argument))
    if kind != load(entry, ARGUMENT_KIND, int64):
        return False
    array = field(runtime, argument, FIELD_ARRAY)
    if array == NULL or field(runtime, argument, FIELD_GRAD) != none:
        return False
    if load(array + OBJECT_TYPE, 0, int64) != load(runtime, RUNTIME_ARRAY_TYPE, int64):
        return False
    if has_attributes(runtime, argument):
        return False
    rank = load(entry, ARGUMENT_RANK, int64)
    sizes = load(entry, ARGUMENT_SIZES, int64)
    if not has_form(array, sizes, rank, load(entry, ARGUMENT_DTYPE, int64)):
        return False
    return is_apart(table, runtime, arguments, k, array)


@subroutine
def same_arguments(table, runtime, arguments, given):
    if given != load(table, REPLAY_ARGUMENTS, int64):
        return False
    entry = load(table, REPLAY_ARGUMENTS + 1, int64)
    for k in range(given):
        if not same_argument(table, runtime, arguments, k, entry):
            return False
        entry += 8 * ARGUMENT_WORDS
    return True


@subroutine
def same_tensors(table, runtime):
    """Whether the tensors that are no arguments are what they were, with their gradients."""
    none = load(runtime, RUNTIME_NONE, int64)
    entry = load(table, REPLAY_TENSORS + 1, int64)
    for _ in range(load(table, REPLAY_TENSORS, int64)):
        tensor = load(entry, TENSOR_OBJECT, int64)
        if field(runtime, tensor, FIELD_REQUIRES_GRAD) != load(entry, TENSOR_FLAG, int64):
            return False
        if field(runtime, tensor, FIELD_ARRAY) != load(entry, TENSOR_ARRAY, int64):
            return False
        gradient = field(runtime, tensor, FIELD_GRAD)
        if gradient != load(entry, TENSOR_GRADIENT, int64):
            return False
        if gradient != none:
            flag = field(runtime, gradient, FIELD_REQUIRES_GRAD)
            if flag != load(entry, TENSOR_GRADIENT_FLAG, int64):
                return False
            array = field(runtime, gradient, FIELD_ARRAY)
            if array != load(entry, TENSOR_GRADIENT_ARRAY, int64):
                return False
        entry += 8 * TENSOR_WORDS
    return True


@subroutine
def may_write_kept(table, runtime):
    """Whether nobody else has the gradients of the run before, nor their memory."""
    count = load(table, REPLAY_KEPT, int64)
    entry = load(table, REPLAY_KEPT + 1, int64)
    for _ in range(count):
        gradient = load(entry, KEPT_GRADIENT, int64)
        array = load(entry, KEPT_ARRAY, int64)
        if field(runtime, load(entry, KEPT_TENSOR, int64), FIELD_GRAD) != gradient:
            return False
        if field(runtime, gradient, FIELD_ARRAY) != array:
            return False
        if load(gradient, 0, int32) != OWNERS_OF_GRADIENT:
            return False
        if load(array, 0, int32) != OWNERS_OF_ARRAY:
            return False
        if field(runtime, gradient, FIELD_REQUIRES_GRAD) == load(runtime, RUNTIME_TRUE, int64):
            return False
        entry += 8 * KEPT_WORDS
    return count > 0


def holds(self, arguments, given):
    """``builtin(*arguments)``: None if something is not what it was.

    Otherwise whether the run may write the gradients that the one before made.
    """
    table = load(self + ARRAY_DATA, 0, int64)
    runtime = load(table, TABLE_RUNTIME, int64)
    result = load(runtime, RUNTIME_NONE, int64)
    if same_arguments(table, runtime, arguments, given) and same_tensors(table, runtime):
        result = load(runtime, RUNTIME_FALSE, int64)
        if may_write_kept(table, runtime):
            result = load(runtime, RUNTIME_TRUE, int64)
    return new_reference(result)


@subroutine
def add_results(table, runtime, results, keep):
    """Put the arrays of the results into the tuple, and where the program finds them."""
    arrays = load(table, REPLAY_ARRAYS + 1, int64)
    entry = load(table, REPLAY_RESULTS + 1, int64)
    for j in range(load(table, REPLAY_RESULTS, int64)):
        array = NULL
        if keep:
            array = new_reference(load(entry, RESULT_KEPT, int64))
        if array == NULL:
            rank = load(entry, RESULT_RANK, int64)
            sizes = load(entry, RESULT_SIZES, int64)
            code = load(entry, RESULT_TYPE, int64)
            array = new_output(runtime, rank, sizes, code, sizes + 8 * rank)
            if array == NULL:
                return False
        fill(results, j, array)
        place = load(entry, RESULT_PLACE, int64)
        if place >= 0:
            store(arrays, place, array, int64)
        entry += 8 * RESULT_WORDS
    return True


@subroutine
def add_arguments(table, runtime, arguments):
    """Put the arrays of the arguments where the program finds them, and hold them."""
    arrays = load(table, REPLAY_ARRAYS + 1, int64)
    entry = load(table, REPLAY_PASSED + 1, int64)
    for _ in range(load(table, REPLAY_PASSED, int64)):
        argument = load(arguments, load(entry, PASSED_ARGUMENT, int64), int64)
        array = new_reference(field(runtime, argument, FIELD_ARRAY))
        store(arrays, load(entry, PASSED_PLACE, int64), array, int64)
        entry += 8 * PASSED_WORDS


@subroutine
def let_go_of_arguments(table):
    arrays = load(table, REPLAY_ARRAYS + 1, int64)
    entry = load(table, REPLAY_PASSED + 1, int64)
    for _ in range(load(table, REPLAY_PASSED, int64)):
        decrement_reference(load(arrays, load(entry, PASSED_PLACE, int64), int64))
        entry += 8 * PASSED_WORDS


@subroutine
def written_tensor(runtime, entry, arguments):
    """The tensor that an entry of the table says is written in place; a borrowed reference."""
    place = load(entry, VERSION_ARGUMENT, int64)
    tensor = load(entry, VERSION_TENSOR, int64)
    if place >= 0:
        tensor = load(arguments, place, int64)
    if load(entry, VERSION_OF_GRADIENT, int64) == 1:
        tensor = field(runtime, tensor, FIELD_GRAD)
    return tensor


@subroutine
def uncount_all(table, counted, number):
    """Take back the first counts of writes; lets go of the tuple that ``count_all`` returned."""
    versions = load(table, REPLAY_VERSIONS + 1, int64)
    for i in range(number):
        k = number - 1 - i  # from the last, for tensors may share a cell
        writes = load(versions, k * VERSION_WORDS + VERSION_WRITES, int64)
        before = new_reference(tuple_get_item(counted, 2 * k + 1))
        uncount(tuple_get_item(counted, 2 * k), before, writes)
    decrement_reference(counted)


@subroutine
def count_all(table, runtime, arguments):
    """Count up the versions of the tensors that the program writes in place.

    Returns a tuple of their cells and counts before, for ``uncount_all``; NULL if that failed.
    """
    number = load(table, REPLAY_VERSIONS, int64)
    counted = tuple_new(2 * number)
    if counted == NULL:
        return NULL
    entry = load(table, REPLAY_VERSIONS + 1, int64)
    for k in range(number):
        cell = shared_cell(runtime, written_tensor(runtime, entry, arguments))
        before = NULL
        if cell != NULL:
            before = count_writes(cell, load(entry, VERSION_WRITES, int64))
        if before == NULL:
            uncount_all(table, counted, k)
            return NULL
        fill(counted, 2 * k, new_reference(cell))
        fill(counted, 2 * k + 1, before)
        entry += 8 * VERSION_WORDS
    return counted


@subroutine
def run_counted(table, runtime, arguments):
    """Run the program and count what it writes; False if it was not run."""
    program = load(table, REPLAY_PROGRAM, int64)
    counted = count_all(table, runtime, arguments)
    if counted == NULL:
        return False
    if program == NULL:
        decrement_reference(counted)
        return True
    add_arguments(table, runtime, arguments)
    owner = load(table, REPLAY_PROGRAM_TABLE, int64)
    arrays = load(table, REPLAY_ARRAYS + 1, int64)
    done = call_launcher(program, owner, arrays, load(table, REPLAY_ARRAYS, int64))
    let_go_of_arguments(table)
    failed = done == NULL or load(load(owner + ARRAY_DATA, 0, int64), PROGRAM_FAILED, int64) != 0
    if failed:  # Python raises, and counts what was written
        uncount_all(table, counted, load(table, REPLAY_VERSIONS, int64))
    else:
        decrement_reference(counted)
    decrement_reference(done)
    return done != NULL


def replay(self, arguments, given):
    """``builtin(keep, *arguments) -> tuple`` of the arrays of the results.

    Runs the program; if ``keep``, gradients of the run before are written again.
    """
    table = load(self + ARRAY_DATA, 0, int64)
    runtime = load(table, TABLE_RUNTIME, int64)
    if given - 1 != load(table, REPLAY_ARGUMENTS, int64):  # what a node had saved was taken away
        raise_unusable(runtime)
        return NULL
    keep = load(arguments, 0, int64) == load(runtime, RUNTIME_TRUE, int64)
    # First: it may run the collector, and with it code of users.
    results = tuple_new(load(table, REPLAY_RESULTS, int64))
    if results == NULL or not add_results(table, runtime, results, keep):
        decrement_reference(results)
        return NULL
    if not run_counted(table, runtime, arguments + 8):
        decrement_reference(results)
        return NULL
    return results
