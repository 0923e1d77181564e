"""The call of a compiled function: whether its program holds, the run, and what that returns.

Installed as a builtin by ``numbagrad/compiling/direct_call.py`` for captured calls whose effects
are writes, results and one node. It does in one step what Python does with ``unchanged`` of
``guards.py``, and ``holds`` and ``replay`` of ``replay.py``; what it does not find as it was is
left to Python.
"""

from __future__ import annotations

from ..awake import INFERENCE, SETTINGS, WATCHERS
from ..codegen.intrinsics import address_of_stack, int64, load, subroutine
from .compiled_call_layout import CallTable
from .guards import same_containers
from .nodes import new_node, set_history
from .object_heads import ArrayHead
from .objects import (
    decrement_reference,
    error_clear,
    field,
    fill,
    fill_list,
    give,
    list_append,
    list_get_item,
    list_new,
    new_reference,
    put,
    replace,
    tuple_get_item,
    tuple_new,
)
from .replay import (
    DONE,
    count_all,
    make_results,
    run_program,
    same_arguments,
    same_tensors,
    tensor_at,
    uncount_all,
)
from .tensors import (
    FAILED,
    edge_or_none,
    held_array,
    new_tensor,
    recording_mode,
    shared_cell,
)

NULL = 0


# --- whether the program holds --------------------------------------------------------------------


@subroutine
def same_settings(table, runtime):
    """Whether the switches of the process and of this thread are what they were."""
    mode = recording_mode(runtime)
    if mode == FAILED:
        error_clear()  # Python raises it again
    if mode != table.recording or runtime.awake & (WATCHERS | INFERENCE | SETTINGS) != 0:
        return False
    entry = table.switches.first
    for _ in range(table.switches.count):
        if load(entry.position, 0, int64) != entry.value:
            return False
        entry = entry[1]
    return True


@subroutine
def stands(table, runtime, arguments, given):
    """Whether the program does what the function would do."""
    if table.known == 0 or not same_settings(table, runtime):
        return False
    guards = table.guards
    if guards == NULL or not same_arguments(table, runtime, arguments, given):
        return False
    frame = address_of_stack(3)
    return same_tensors(table, runtime) and same_containers(guards, frame)


# --- node and results -----------------------------------------------------------------------------


@subroutine
def watched_version(array, cell):
    """A tuple of an array that a node keeps, the count of its writes, and its value; or NULL."""
    entry = tuple_new(3)
    if entry != NULL:
        fill(entry, 0, new_reference(array))
        fill(entry, 1, new_reference(cell))
        fill(entry, 2, new_reference(list_get_item(cell, 0)))
    return entry


@subroutine
def edges_to_inputs(plan, runtime, arguments):
    """``next_edges`` of the node."""
    edges = tuple_new(plan.inputs.count)
    if edges == NULL:
        return NULL
    entry = plan.inputs.first
    for k in range(plan.inputs.count):
        if not fill(edges, k, edge_or_none(runtime, tensor_at(runtime, entry, arguments))):
            return NULL
        entry = entry[1]
    return edges


@subroutine
def kept_arrays(plan, runtime, arguments, results):
    """``saved`` of the node: results of the program, then arrays that it was given."""
    count = plan.saved.count
    kept = tuple_new(count + plan.given.count)
    if kept == NULL:
        return NULL
    positions = plan.saved.first
    for k in range(count):
        fill(kept, k, new_reference(tuple_get_item(results, positions[k])))
    entry = plan.given.first
    for k in range(plan.given.count):
        array = held_array(runtime, tensor_at(runtime, entry, arguments), runtime.tensor.array)
        if array == NULL:
            decrement_reference(kept)
            return NULL
        fill(kept, count + k, new_reference(array))
        entry = entry[1]
    return kept


@subroutine
def versions_of_given(plan, runtime, arguments):
    """``versions`` of the node, as far as it keeps what it was given."""
    versions = list_new(plan.given.count)
    if versions == NULL:
        return NULL
    entry = plan.given.first
    for k in range(plan.given.count):
        tensor = tensor_at(runtime, entry, arguments)
        cell = shared_cell(runtime, tensor)
        watched = NULL
        if cell != NULL:
            watched = watched_version(field(tensor, runtime.tensor.array), cell)
        if not fill_list(versions, k, watched):
            return NULL
        entry = entry[1]
    return versions


@subroutine
def new_compiled_node(plan, runtime, arguments, results):
    """The node of one run, a ``CompiledFunctionBackward``; or NULL."""
    edges = edges_to_inputs(plan, runtime, arguments)
    kept = NULL
    if edges != NULL:
        kept = kept_arrays(plan, runtime, arguments, results)
    node = new_node(runtime, plan.type, edges, kept)
    if node == NULL:
        return NULL
    own = plan.slots
    put(node, own.plan, plan.plan)
    put(node, own.output_count, plan.output_count)
    put(node, own.numbers, plan.numbers)
    if not give(node, own.versions, versions_of_given(plan, runtime, arguments)):
        decrement_reference(node)
        return NULL
    return node


@subroutine
def watch(runtime, node_versions, tensor):
    """Have a node notice if somebody writes a result that it keeps; False if that failed."""
    cell = shared_cell(runtime, tensor)
    if cell == NULL:
        return False
    watched = watched_version(field(tensor, runtime.tensor.array), cell)
    if watched == NULL:
        return False
    failed = list_append(node_versions, watched)
    decrement_reference(watched)
    return failed == 0


@subroutine
def returned_tensor(runtime, entry, results, node):
    """A new Tensor that holds a result of the program; or NULL."""
    array = new_reference(tuple_get_item(results, entry.result))
    tensor = new_tensor(runtime, array, entry.requires_grad)
    if tensor == NULL:
        return NULL
    done = True
    if entry.version != NULL:
        cell = list_new(1)
        done = cell != NULL
        if done:
            fill_list(cell, 0, new_reference(entry.version))
            replace(tensor, runtime.tensor.version_cell, cell)
    if done and entry.output >= 0:
        done = set_history(runtime, tensor, node, entry.output)
    if not done:
        decrement_reference(tensor)
        return NULL
    return tensor


@subroutine
def returned_value(runtime, entry, arguments, results, node):
    """One of the values that a call returns; or NULL."""
    if entry.argument >= 0:
        return new_reference(load(arguments, entry.argument, int64))
    if entry.object != NULL:
        return new_reference(entry.object)
    return returned_tensor(runtime, entry, results, node)


@subroutine
def returned_values(table, runtime, arguments, results, node):
    """The returned value, or a tuple of several; or NULL."""
    entry = table.returned.first
    if table.several == 0:
        return returned_value(runtime, entry, arguments, results, node)
    values = tuple_new(table.returned.count)
    if values == NULL:
        return NULL
    for k in range(table.returned.count):
        if not fill(values, k, returned_value(runtime, entry, arguments, results, node)):
            return NULL
        entry = entry[1]
    return values


@subroutine
def watch_all(table, plan, runtime, node, values):
    """Have the node notice writes of all results that it keeps; False if that failed."""
    versions = field(node, plan.slots.versions)
    positions = plan.watched.first
    for k in range(plan.watched.count):
        tensor = values
        if table.several != 0:
            tensor = tuple_get_item(values, positions[k])
        if not watch(runtime, versions, tensor):
            return False
    return True


@subroutine
def values_of_call(table, runtime, arguments, results):
    """The returned value, with its history, before the run; or NULL."""
    plan = table.node
    if plan == NULL:
        return returned_values(table, runtime, arguments, results, NULL)
    node = new_compiled_node(plan, runtime, arguments, results)
    if node == NULL:
        return NULL
    values = returned_values(table, runtime, arguments, results, node)
    if values != NULL and not watch_all(table, plan, runtime, node, values):
        decrement_reference(values)
        values = NULL
    decrement_reference(node)
    return values


@subroutine
def value_of_run(table, runtime, arguments, results, known):
    """The returned value, after the run; or NULL. CHANGED if the table is no longer ``known``.

    All objects are made before the run: that may run the collector, and with it code of users,
    which may have Python learn anew.
    """
    counted = count_all(table, runtime, arguments)
    if counted == NULL:
        return NULL
    versions = table.versions.count
    values = values_of_call(table, runtime, arguments, results)
    stale = table.known != known
    done = False
    if values != NULL and not stale:
        done = run_program(table, runtime, arguments, results) == DONE
    if done:
        decrement_reference(counted)
        return values
    decrement_reference(values)
    uncount_all(table, counted, versions)
    return new_reference(table.changed) if values != NULL and stale else NULL


def call(self, arguments, given):
    """``builtin(*arguments)``: the value that the function returns, or ``CHANGED``."""
    table = CallTable(ArrayHead(self).data)
    runtime = table.runtime
    known = table.known
    if not stands(table, runtime, arguments, given):
        return new_reference(table.changed)
    results = tuple_new(table.results.count)
    if results == NULL or not make_results(table, runtime, results, False):
        decrement_reference(results)
        return NULL
    value = value_of_run(table, runtime, arguments, results, known)
    decrement_reference(results)
    return value
