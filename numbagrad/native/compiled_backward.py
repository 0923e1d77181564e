"""The backward of a compiled function: its program, from the gradients of results to Tensors.

Installed as a builtin by ``numbagrad/compiling/direct_backward.py`` for the nodes that
``compiled_call.py`` or Python makes. It looks at what the node keeps and whether that was written
since; whatever is not as it should be is left to Python, which says what.
"""

from __future__ import annotations

from ..codegen.intrinsics import int64, load, subroutine
from .compiled_call_layout import BackwardTable
from .object_heads import ArrayHead, ObjectHead
from .objects import (
    decrement_reference,
    error_clear,
    field,
    fill,
    has_type,
    list_get_item,
    list_size,
    new_reference,
    tuple_get_item,
    tuple_new,
)
from .replay import DONE, has_form, make_results, position_arrays, run_placed
from .tensors import OFF, new_tensor, recording_mode

NULL = 0


@subroutine
def are_unwritten(runtime, versions):
    """Whether the memory that a node keeps was not written: its ``versions``."""
    if not has_type(versions, runtime.list_type):
        return False
    for k in range(list_size(versions)):
        entry = list_get_item(versions, k)
        if list_get_item(tuple_get_item(entry, 1), 0) != tuple_get_item(entry, 2):
            return False  # or an equal number, which Python sees
    return True


@subroutine
def is_incoming(runtime, entry, gradient):
    """Whether a gradient is a Tensor that lies as the program expects."""
    if ObjectHead(gradient).type != runtime.tensor_type:
        return False
    array = field(gradient, runtime.tensor.array)
    if array == NULL or ObjectHead(array).type != runtime.array_type:
        return False
    return has_form(array, entry.sizes, entry.rank, entry.dtype)


@subroutine
def is_usual(table, runtime, node, gradients, given):
    """Whether this is a first backward, with all gradients, of memory that was not written."""
    mode = recording_mode(runtime)
    if mode != OFF:
        error_clear()  # Python raises
        return False
    if given != table.incoming.count:
        return False
    entry = table.incoming.first
    for k in range(given):
        if not is_incoming(runtime, entry, load(gradients, k, int64)):
            return False
        entry = entry[1]
    if not has_type(field(node, runtime.node.saved), runtime.tuple_type):
        return False
    return are_unwritten(runtime, field(node, table.slots.versions))


@subroutine
def new_gradients(table, runtime, results):
    """A tuple of Tensors, or None, that hold results of the program; or NULL."""
    count = table.gradients.count
    made = tuple_new(count)
    if made == NULL:
        return NULL
    positions = table.gradients.first
    for k in range(count):
        value = new_reference(runtime.none)
        if positions[k] >= 0:
            array = new_reference(tuple_get_item(results, positions[k]))
            value = new_tensor(runtime, array, runtime.false)
        if not fill(made, k, value):
            return NULL
    return made


@subroutine
def run_backward(table, runtime, kept, gradients, results):
    """Run the program on the gradients and what the node keeps."""
    position_arrays(table, runtime, gradients, results)
    arrays = table.arrays.first
    entry = table.saved.first
    for _ in range(table.saved.count):
        arrays[entry.position] = tuple_get_item(kept, entry.kept)
        entry = entry[1]
    return run_placed(table)


def backward(self, arguments, given):
    """``builtin(node, *gradients)``: a tuple of gradients of the inputs; None for Python to do it.

    All objects are made before the run: that may run the collector, and with it code of users,
    which may come here as well.
    """
    table = BackwardTable(ArrayHead(self).data)
    runtime = table.runtime
    node = load(arguments, 0, int64)
    gradients = arguments + 8
    if not is_usual(table, runtime, node, gradients, given - 1):
        return new_reference(runtime.none)
    kept = new_reference(field(node, runtime.node.saved))
    results = tuple_new(table.results.count)
    made = NULL
    if results != NULL and make_results(table, runtime, results, False):
        made = new_gradients(table, runtime, results)
    if made != NULL and run_backward(table, runtime, kept, gradients, results) != DONE:
        decrement_reference(made)
        made = NULL
    decrement_reference(results)
    decrement_reference(kept)
    return made
