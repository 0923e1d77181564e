"""A recorded call again: whether the tensors are as they were, and the program with its results.

Installed as builtins by ``numbagrad/compiling/replay.py``. ``holds`` compares addresses and sizes
with those of the table and calls nothing that runs Python code; what it does not find as it was is
left to Python, which may know better.
"""

from __future__ import annotations

from ..codegen.intrinsics import int64, load, subroutine
from ..kernels.launches.program_layout import ProgramTable
from .allocation import new_output
from .calls import call_launcher
from .object_heads import FLAG_OWNS_DATA, ArrayHead, ObjectHead
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
from .replay_layout import OWNERS_OF_ARRAY, OWNERS_OF_GRADIENT, Argument, ReplayTable
from .tensors import count_writes, is_inference, shared_cell, uncount

NULL = 0
#: How a run of a program ended.
DONE, FAILED, RAISED = range(3)


@subroutine
def has_form(array, sizes, rank, dtype):
    """Whether an array has a shape, strides and a dtype."""
    if ArrayHead(array).descriptor != dtype:
        return False
    if int64(ArrayHead(array).dimensions) != rank:
        return False
    own_sizes = ArrayHead(array).shape
    own_strides = ArrayHead(array).strides
    for d in range(rank):
        if load(own_sizes, d, int64) != load(sizes, d, int64):
            return False
        if load(own_strides, d, int64) != load(sizes, rank + d, int64):
            return False
    return True


@subroutine
def owner_of(runtime, array):
    """The ndarray that owns the memory of an array; NULL if it is owned by something else."""
    array_type = runtime.array_type
    while ArrayHead(array).base != NULL:
        array = ArrayHead(array).base
        if ObjectHead(array).type != array_type:
            return NULL
    if ArrayHead(array).flags & FLAG_OWNS_DATA == 0:
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
        size -= dictionary_has(attributes, runtime.name_view_origin)
    decrement_reference(attributes)
    return size != 0


@subroutine
def is_in(runtime, tensor, owner):
    """Whether a tensor is in memory of this owner."""
    return owner_of(runtime, field(tensor, runtime.tensor.array)) == owner


@subroutine
def is_apart(table, runtime, arguments, k, array):
    """Whether an array shares its memory with no argument before the k-th, and no other tensor."""
    owner = owner_of(runtime, array)
    if owner == NULL:
        return False
    roots = table.roots.first
    for i in range(table.roots.count):
        if roots[i] == owner:
            return False
    entry = table.arguments.first
    for i in range(k):
        if entry.object == NULL:
            other = load(arguments, i, int64)
            if is_in(runtime, other, owner):
                return False
            if entry.gradient != NULL:
                if is_in(runtime, field(other, runtime.tensor.grad), owner):
                    return False
        entry = entry[1]
    return True


@subroutine
def is_alike(table, runtime, arguments, k, tensor, entry):
    """Whether a tensor is like the one in its place, but for a gradient; in memory of its own."""
    if ObjectHead(tensor).type != entry.type:
        return False
    if field(tensor, runtime.tensor.requires_grad) != entry.flag:
        return False
    kind = int64(field(tensor, runtime.tensor.grad_fn) == runtime.none)
    kind += 2 * int64(is_inference(runtime, tensor))
    if kind != entry.kind:
        return False
    array = field(tensor, runtime.tensor.array)
    if array == NULL:
        return False
    if ObjectHead(array).type != runtime.array_type:
        return False
    if has_attributes(runtime, tensor):
        return False
    rank = entry.rank
    sizes = entry.sizes
    if not has_form(array, sizes, rank, entry.dtype):
        return False
    return is_apart(table, runtime, arguments, k, array)


@subroutine
def same_argument(table, runtime, arguments, k, entry):
    """Whether an argument is one that the program was recorded for."""
    argument = load(arguments, k, int64)
    only = entry.object
    if only != NULL:
        return argument == only
    if not is_alike(table, runtime, arguments, k, argument, entry):
        return False
    gradient = field(argument, runtime.tensor.grad)
    form = entry.gradient
    none = runtime.none
    if form == NULL or gradient == none or gradient == NULL:
        return form == NULL and gradient == none
    if field(gradient, runtime.tensor.grad) != none:
        return False
    if not is_alike(table, runtime, arguments, k, gradient, Argument(form)):
        return False
    owner = owner_of(runtime, field(argument, runtime.tensor.array))
    return not is_in(runtime, gradient, owner)


@subroutine
def same_arguments(table, runtime, arguments, given):
    if given != table.arguments.count:
        return False
    entry = table.arguments.first
    for k in range(given):
        if not same_argument(table, runtime, arguments, k, entry):
            return False
        entry = entry[1]
    return True


@subroutine
def same_tensors(table, runtime):
    """Whether the tensors that are no arguments are what they were, with their gradients."""
    none = runtime.none
    entry = table.tensors.first
    for _ in range(table.tensors.count):
        tensor = entry.object
        if field(tensor, runtime.tensor.requires_grad) != entry.flag:
            return False
        if field(tensor, runtime.tensor.array) != entry.array:
            return False
        gradient = field(tensor, runtime.tensor.grad)
        if gradient != entry.gradient:
            return False
        if gradient != none:
            flag = field(gradient, runtime.tensor.requires_grad)
            if flag != entry.gradient_flag:
                return False
            array = field(gradient, runtime.tensor.array)
            if array != entry.gradient_array:
                return False
        entry = entry[1]
    return True


@subroutine
def may_write_kept(table, runtime):
    """Whether nobody else has the gradients of the run before, nor their memory."""
    count = table.kept.count
    entry = table.kept.first
    for _ in range(count):
        gradient = entry.gradient
        array = entry.array
        if field(entry.tensor, runtime.tensor.grad) != gradient:
            return False
        if field(gradient, runtime.tensor.array) != array:
            return False
        if ObjectHead(gradient).references != OWNERS_OF_GRADIENT:
            return False
        if ObjectHead(array).references != OWNERS_OF_ARRAY:
            return False
        if field(gradient, runtime.tensor.requires_grad) == runtime.true:
            return False
        entry = entry[1]
    return count > 0


def holds(self, arguments, given):
    """``builtin(*arguments)``: None if something is not what it was.

    Otherwise whether the run may write the gradients that the one before made.
    """
    table = ReplayTable(ArrayHead(self).data)
    runtime = table.runtime
    result = runtime.none
    if same_arguments(table, runtime, arguments, given) and same_tensors(table, runtime):
        result = runtime.false
        if may_write_kept(table, runtime):
            result = runtime.true
    return new_reference(result)


@subroutine
def make_results(table, runtime, results, keep):
    """Put the arrays of the results into the tuple; False if there is no memory for one."""
    entry = table.results.first
    for j in range(table.results.count):
        array = NULL
        if keep:
            array = new_reference(entry.kept)
        if array == NULL:
            rank = entry.rank
            sizes = entry.sizes
            code = entry.type
            array = new_output(runtime, rank, sizes, code, sizes + 8 * rank)
            if array == NULL:
                return False
        fill(results, j, array)
        entry = entry[1]
    return True


@subroutine
def position_arrays(table, runtime, arguments, results):
    """Put the arrays of results and arguments where the program finds them; hold the latter."""
    arrays = table.arrays.first
    made = table.results.first
    for j in range(table.results.count):
        if made.position >= 0:
            arrays[made.position] = tuple_get_item(results, j)
        made = made[1]
    entry = table.passed.first
    for _ in range(table.passed.count):
        argument = load(arguments, entry.argument, int64)
        array = new_reference(field(argument, runtime.tensor.array))
        arrays[entry.position] = array
        entry = entry[1]


@subroutine
def let_go_of_arguments(table):
    arrays = table.arrays.first
    entry = table.passed.first
    for _ in range(table.passed.count):
        decrement_reference(arrays[entry.position])
        entry = entry[1]


@subroutine
def tensor_at(runtime, entry, arguments):
    """The tensor at a place (``TensorPosition``) that a call can reach; a borrowed reference."""
    position = entry.argument
    tensor = entry.tensor
    if position >= 0:
        tensor = load(arguments, position, int64)
    if entry.of_gradient == 1:
        tensor = field(tensor, runtime.tensor.grad)
    return tensor


@subroutine
def uncount_all(table, counted, number):
    """Take back the first counts of writes; lets go of the tuple that ``count_all`` returned."""
    versions = table.versions.first
    for i in range(number):
        k = number - 1 - i  # from the last, for tensors may share a cell
        writes = versions[k].writes
        before = new_reference(tuple_get_item(counted, 2 * k + 1))
        uncount(tuple_get_item(counted, 2 * k), before, writes)
    decrement_reference(counted)


@subroutine
def count_all(table, runtime, arguments):
    """Count up the versions of the tensors that the program writes in place.

    Returns a tuple of their cells and counts before, for ``uncount_all``; NULL if that failed.
    """
    number = table.versions.count
    counted = tuple_new(2 * number)
    if counted == NULL:
        return NULL
    entry = table.versions.first
    for k in range(number):
        cell = shared_cell(runtime, tensor_at(runtime, entry, arguments))
        before = NULL
        if cell != NULL:
            before = count_writes(cell, entry.writes)
        if before == NULL:
            uncount_all(table, counted, k)
            return NULL
        fill(counted, 2 * k, new_reference(cell))
        fill(counted, 2 * k + 1, before)
        entry = entry[1]
    return counted


@subroutine
def run_placed(table):
    """Run the program on the arrays that were placed; DONE, FAILED in a launch, or RAISED.

    No object is made before it is done.
    """
    program = table.program
    if program == NULL:
        return DONE
    owner = table.program_table
    arrays = table.arrays.first
    done = call_launcher(program, owner, arrays, table.arrays.count)
    let_go_of_arguments(table)
    if done == NULL:
        return RAISED
    decrement_reference(done)
    return DONE if ProgramTable(ArrayHead(owner).data).failed == 0 else FAILED


@subroutine
def run_program(table, runtime, arguments, results):
    """``run_placed`` on the arrays of arguments and results."""
    position_arrays(table, runtime, arguments, results)
    return run_placed(table)


@subroutine
def run_counted(table, runtime, arguments, results):
    """Run the program and count what it writes; False if it was not run."""
    counted = count_all(table, runtime, arguments)
    if counted == NULL:
        return False
    done = run_program(table, runtime, arguments, results)
    if done == DONE:
        decrement_reference(counted)
    else:  # Python raises, and counts what was written
        uncount_all(table, counted, table.versions.count)
    return done != RAISED


def replay(self, arguments, given):
    """``builtin(keep, *arguments) -> tuple`` of the arrays of the results.

    Runs the program; if ``keep``, gradients of the run before are written again.
    """
    table = ReplayTable(ArrayHead(self).data)
    runtime = table.runtime
    if given - 1 != table.arguments.count:  # what a node had saved was taken away
        raise_unusable(runtime)
        return NULL
    keep = load(arguments, 0, int64) == runtime.true
    # First: it may run the collector, and with it code of users.
    results = tuple_new(table.results.count)
    if results == NULL or not make_results(table, runtime, results, keep):
        decrement_reference(results)
        return NULL
    if not run_counted(table, runtime, arguments + 8, results):
        decrement_reference(results)
        return NULL
    return results
