"""Launchers that take and return Tensors for what is no formula: views, and operators in Python.

``numbagrad.ops.recorder`` installs them as builtins. A ``view`` becomes a Tensor that shares the
version count and the history of another; an ``operator`` calls the forward of a ``TensorOperator``
on the memory of its arguments and records the node. What is not the ordinary case is left to the
Python code of ``numbagrad/ops``, which does the same.
"""

from __future__ import annotations

from numba import types

from .intrinsics import (
    address_of_stack,
    call_launcher,
    external,
    int64,
    load,
    store,
    subroutine,
)
from .launch import (
    decrement_reference,
    increment_reference,
    is_captured,
    long_from_long,
    tuple_new,
    tuple_set_item,
    type_number,
)
from .layout import *  # noqa: F403 - the words of the tables, all of them
from .record import (
    allocate,
    call,
    field,
    get_attribute,
    give,
    has_switch,
    in_inference_mode,
    is_inference,
    is_subtype,
    is_tensor,
    is_watched,
    list_get_item,
    list_new,
    list_set_item,
    new_edge,
    new_tensor,
    next_of,
    put,
    save,
    shape_and_dtype,
    tuple_get_item,
    tuple_size,
)

set_attribute = external("PyObject_SetAttr", types.int32, types.int64, types.int64, types.int64)
new_weak_reference = external("PyWeakref_NewRef", types.int64, types.int64, types.int64)
list_append = external("PyList_Append", types.int32, types.int64, types.int64)
list_size = external("PyList_Size", types.int64, types.int64)

NULL = 0


@subroutine
def is_recording(runtime):
    """Whether this thread records the graph: ``grad_mode.state.enabled``."""
    return has_switch(runtime, RUNTIME_NAME_ENABLED)


@subroutine
def has_fractions(array):
    """Whether an array is of a float or complex dtype, which may have a gradient."""
    code = type_number(array)
    return code == 11 or code == 12 or code == 23 or code == BFLOAT16 or code == 14 or code == 15


@subroutine
def is_half(array):
    """Whether an array is of float16 or bfloat16."""
    code = type_number(array)
    return code == 23 or code == BFLOAT16


@subroutine
def shape_of(array):
    """The shape of an array as a tuple."""
    both = shape_and_dtype(array)
    shape = tuple_get_item(both, 0)
    increment_reference(shape)
    decrement_reference(both)
    return shape


@subroutine
def shared_cell(runtime, tensor):
    """The version cell of a tensor, which it gets if it has none; a borrowed reference."""
    cell = field(runtime, tensor, FIELD_VERSION_CELL)
    none = load(runtime, RUNTIME_NONE, int64)
    if cell == none:
        zero = load(runtime, RUNTIME_ZERO, int64)
        cell = list_new(1)
        increment_reference(zero)
        list_set_item(cell, 0, zero)
        decrement_reference(none)
        give(runtime, tensor, FIELD_VERSION_CELL, cell)
    return cell


# --- nodes ----------------------------------------------------------------------------------------


@subroutine
def kept_value(runtime, argument, as_shape):
    """What a node keeps of an argument: the value, its shape, or the shapes of a list."""
    if as_shape == 0:
        increment_reference(argument)
        return argument
    if is_tensor(runtime, argument):
        return shape_of(field(runtime, argument, FIELD_ARRAY))
    count = list_size(argument)
    shapes = list_new(count)
    for k in range(count):
        array = field(runtime, list_get_item(argument, k), FIELD_ARRAY)
        list_set_item(shapes, k, shape_of(array))
    return shapes


@subroutine
def kept_values(runtime, keeps, arguments):
    """``values`` of a node; ``keeps`` has places plus one, and a mark for shapes."""
    count = 0
    while keeps >> (KEPT_BITS * count) != 0:
        count += 1
    values = tuple_new(count)
    for k in range(count):
        kept = keeps >> (KEPT_BITS * k)
        argument = load(arguments, (kept & KEPT_PLACE) - 1, int64)
        tuple_set_item(values, k, kept_value(runtime, argument, kept & KEPT_AS_SHAPE))
    return values


@subroutine
def edge_or_none(runtime, operand):
    """The edge to an operand, or None if it needs no gradient."""
    if is_tensor(runtime, operand):
        if field(runtime, operand, FIELD_REQUIRES_GRAD) == load(runtime, RUNTIME_TRUE, int64):
            return new_edge(runtime, operand)
    none = load(runtime, RUNTIME_NONE, int64)
    increment_reference(none)
    return none


@subroutine
def is_list(runtime, argument):
    return load(argument + OBJECT_TYPE, 0, int64) == load(runtime, RUNTIME_LIST_TYPE, int64)


@subroutine
def edges_to(runtime, inputs, arguments):
    """``next_edges``: one for each of the places ``inputs``, or for each Tensor of a list."""
    count = 0
    k = 0
    while inputs >> (PLACE_BITS * k) != 0:
        argument = load(arguments, ((inputs >> (PLACE_BITS * k)) & 15) - 1, int64)
        count += list_size(argument) if is_list(runtime, argument) else 1
        k += 1
    edges = tuple_new(count)
    position = 0
    k = 0
    while inputs >> (PLACE_BITS * k) != 0:
        argument = load(arguments, ((inputs >> (PLACE_BITS * k)) & 15) - 1, int64)
        if is_list(runtime, argument):
            for i in range(list_size(argument)):
                edge = edge_or_none(runtime, list_get_item(argument, i))
                tuple_set_item(edges, position, edge)
                position += 1
        else:
            tuple_set_item(edges, position, edge_or_none(runtime, argument))
            position += 1
        k += 1
    return edges


@subroutine
def save_numbered(runtime, tensor, number):
    """What ``autograd.saved.save_output`` returns for an output; takes over no reference."""
    cell = shared_cell(runtime, tensor)
    saved = allocate(load(runtime, RUNTIME_SAVED_OUTPUT_TYPE, int64), 0)
    put(runtime, saved, FIELD_KEPT_ARRAY, field(runtime, tensor, FIELD_ARRAY))
    put(runtime, saved, FIELD_KEPT_CELL, cell)
    put(runtime, saved, FIELD_KEPT_VERSION, list_get_item(cell, 0))
    give(runtime, saved, FIELD_KEPT_OUTPUT_NR, long_from_long(number))
    return saved


@subroutine
def saved_tensors(runtime, recipe, arguments, results):
    """``saved`` of a node: inputs first, then outputs; ``results`` is an array of Tensors."""
    saves = load(recipe, NODE_SAVES, int64)
    numbers = load(recipe, NODE_RESULTS, int64)
    count = 0
    while saves >> (PLACE_BITS * count) != 0:
        count += 1
    outputs = 0
    while numbers >> (PLACE_BITS * outputs) != 0:
        outputs += 1
    saved = tuple_new(count + outputs)
    for k in range(count):
        entry = load(arguments, ((saves >> (PLACE_BITS * k)) & 15) - 1, int64)
        if is_tensor(runtime, entry):
            entry = save(runtime, entry)
        else:
            increment_reference(entry)
        tuple_set_item(saved, k, entry)
    for k in range(outputs):
        n = ((numbers >> (PLACE_BITS * k)) & 15) - 1
        tuple_set_item(saved, count + k, save_numbered(runtime, load(results, n, int64), n))
    return saved


@subroutine
def new_node(runtime, recipe, arguments, results, outputs):
    """A node as a recipe says, for the Tensors at ``results``."""
    node = allocate(load(recipe, NODE_TYPE, int64), 0)
    edges = edges_to(runtime, load(recipe, NODE_INPUTS, int64), arguments)
    give(runtime, node, FIELD_NEXT_EDGES, edges)
    put(runtime, node, FIELD_HOOKS, load(runtime, RUNTIME_NONE, int64))
    give(runtime, node, FIELD_SEQUENCE_NR, next_of(load(runtime, RUNTIME_SEQUENCE, int64)))
    put(runtime, node, FIELD_PLAN, load(recipe, NODE_PLAN, int64))
    give(runtime, node, FIELD_OUTPUT_COUNT, long_from_long(outputs))
    values = kept_values(runtime, load(recipe, NODE_KEEPS, int64), arguments)
    give(runtime, node, FIELD_VALUES, values)
    give(runtime, node, FIELD_SAVED, saved_tensors(runtime, recipe, arguments, results))
    return node


@subroutine
def set_history(runtime, tensor, node, number):
    """Make a new Tensor output ``number`` of a node."""
    decrement_reference(field(runtime, tensor, FIELD_REQUIRES_GRAD))
    put(runtime, tensor, FIELD_REQUIRES_GRAD, load(runtime, RUNTIME_TRUE, int64))
    decrement_reference(field(runtime, tensor, FIELD_GRAD_FN))
    put(runtime, tensor, FIELD_GRAD_FN, node)
    if number > 0:
        decrement_reference(field(runtime, tensor, FIELD_OUTPUT_NR))
        give(runtime, tensor, FIELD_OUTPUT_NR, long_from_long(number))


# --- views ----------------------------------------------------------------------------------------


@subroutine
def register_view(runtime, tensor, cell):
    """Remember a view made while recording: ``autograd.inplace.register_view``."""
    if cell == load(runtime, RUNTIME_INFERENCE_CELL, int64):
        return True
    reference = new_weak_reference(tensor, NULL)
    if reference == NULL:
        return False
    failed = list_append(cell, reference) != 0
    decrement_reference(reference)
    count = list_size(cell)
    if count >= load(runtime, RUNTIME_PRUNE_FROM, int64) and count & (count - 1) == 0:
        frame = address_of_stack(1)
        store(frame, 0, cell, int64)
        made = call(load(runtime, RUNTIME_PRUNE, int64), frame, 1)
        if made == NULL:
            return False
        decrement_reference(made)
    return not failed


@subroutine
def set_base_of(runtime, tensor, input):
    """Set the base of a new Tensor in the memory of ``input``; whether that is a view itself."""
    none = load(runtime, RUNTIME_NONE, int64)
    base = field(runtime, input, FIELD_BASE)
    is_view = base != none
    decrement_reference(none)
    put(runtime, tensor, FIELD_BASE, base if is_view else input)
    return is_view


@subroutine
def set_base_of_view(runtime, tensor, input):
    """Set the base of a view; its origin too, if the input is a view that has one."""
    none = load(runtime, RUNTIME_NONE, int64)
    if not set_base_of(runtime, tensor, input):
        return True
    origin_name = load(runtime, RUNTIME_NAME_VIEW_ORIGIN, int64)
    origin = get_attribute(input, origin_name)
    if origin == NULL:
        return False
    failed = False
    if origin != none:
        failed = set_attribute(tensor, origin_name, origin) != 0
    decrement_reference(origin)
    return not failed


@subroutine
def share(runtime, array, input):
    """A new Tensor of an array in the memory of ``input``, with its version cell and base."""
    increment_reference(array)
    result = new_tensor(runtime, array, load(runtime, RUNTIME_FALSE, int64))
    if result == NULL:
        return NULL
    cell = shared_cell(runtime, input)
    decrement_reference(field(runtime, result, FIELD_VERSION_CELL))
    put(runtime, result, FIELD_VERSION_CELL, cell)
    if not set_base_of_view(runtime, result, input):
        decrement_reference(result)
        return NULL
    return result


@subroutine
def set_origin(runtime, tensor, origin):
    """Note why a view may not be written while recording."""
    return set_attribute(tensor, load(runtime, RUNTIME_NAME_VIEW_ORIGIN, int64), origin) == 0


@subroutine
def unrecorded_origin(runtime):
    """Why a view that was not recorded may not be written while recording."""
    if in_inference_mode(runtime):
        return load(runtime, RUNTIME_INFERENCE_ORIGIN, int64)
    return load(runtime, RUNTIME_NO_GRAD, int64)


@subroutine
def set_unrecorded(runtime, view):
    """Note why a view that was not recorded has no history, and the count of writes until now."""
    count = list_get_item(field(runtime, view, FIELD_VERSION_CELL), 0)
    name = load(runtime, RUNTIME_NAME_UNRECORDED_AT, int64)
    if not set_origin(runtime, view, unrecorded_origin(runtime)):
        return False
    return set_attribute(view, name, count) == 0


@subroutine
def known_arguments(input, values, known):
    """Write the arguments of a view operator to ``known``."""
    store(known, 0, input, int64)
    for k in range(tuple_size(values)):
        store(known, 1 + k, tuple_get_item(values, k), int64)


@subroutine
def is_transformed(runtime, tensor):
    """Whether the array of a Tensor is more than an ndarray: it is under a transformation."""
    array = field(runtime, tensor, FIELD_ARRAY)
    return load(array + OBJECT_TYPE, 0, int64) != load(runtime, RUNTIME_ARRAY_TYPE, int64)


@subroutine
def any_transformed(runtime, arguments, count, variadic):
    """Whether one of the Tensors among the arguments of an operator is."""
    for k in range(count):
        argument = load(arguments, k, int64)
        if is_tensor(runtime, argument):
            if field(runtime, argument, FIELD_ARRAY) != NULL and is_transformed(runtime, argument):
                return True
        elif variadic and is_list(runtime, argument):
            for i in range(list_size(argument)):
                item = list_get_item(argument, i)
                if is_tensor(runtime, item) and is_transformed(runtime, item):
                    return True
    return False


@subroutine
def is_followed(runtime, tensor):
    """Whether views of a Tensor have its history: it requires grad, and is no inference tensor."""
    true = load(runtime, RUNTIME_TRUE, int64)
    requires_grad = field(runtime, tensor, FIELD_REQUIRES_GRAD) == true
    return requires_grad and not is_inference(runtime, tensor)


@subroutine
def wrapped_view(runtime, recipe, array, input, values):
    """``array`` as a Tensor in the memory of ``input``, with its history."""
    result = share(runtime, array, input)
    if result == NULL:
        return NULL
    if is_recording(runtime):
        done = register_view(runtime, result, field(runtime, input, FIELD_VERSION_CELL))
        if is_followed(runtime, input) and has_fractions(array):
            known = address_of_stack(MAX_VALUES)
            known_arguments(input, values, known)
            node = new_node(runtime, recipe, known, NULL, 1)
            set_history(runtime, result, node, 0)
            decrement_reference(node)
    else:
        done = set_unrecorded(runtime, result)
    if not done:
        decrement_reference(result)
        return NULL
    return result


def view(self, arguments, given):
    """``builtin(array, input, values) -> Tensor``: ``array``, in the memory of ``input``.

    ``values`` are the further arguments of the operator, of which the node may keep some.
    """
    recipe = load(self + ARRAY_DATA, 0, int64)
    runtime = load(recipe, NODE_RUNTIME, int64)
    if is_watched(runtime):
        return call(load(recipe, NODE_PYTHON, int64), arguments, 3)
    array = load(arguments, 0, int64)
    input = load(arguments, 1, int64)
    values = load(arguments, 2, int64)
    if is_transformed(runtime, input):
        of_duals = load(runtime, RUNTIME_DUAL_VIEW, int64)
        if of_duals != NULL:
            return call_launcher(of_duals, self, arguments, given)
        return call(load(recipe, NODE_PYTHON, int64), arguments, given)
    return wrapped_view(runtime, recipe, array, input, values)


def views(self, arguments, given):
    """``builtin(arrays, input, values) -> tuple``: a Tensor for each array of a tuple.

    Once they are recorded, none of them may be written.
    """
    recipe = load(self + ARRAY_DATA, 0, int64)
    runtime = load(recipe, NODE_RUNTIME, int64)
    if is_watched(runtime):
        return call(load(recipe, NODE_PYTHON, int64), arguments, 3)
    arrays = load(arguments, 0, int64)
    input = load(arguments, 1, int64)
    if is_transformed(runtime, input):
        return call(load(recipe, NODE_PYTHON, int64), arguments, given)
    count = tuple_size(arrays)
    results = tuple_new(count)
    recording = is_recording(runtime)
    node = NULL
    if recording and is_followed(runtime, input) and count > 0:
        known = address_of_stack(MAX_VALUES)
        known_arguments(input, load(arguments, 2, int64), known)
        node = new_node(runtime, recipe, known, NULL, count)
    for n in range(count):
        result = share(runtime, tuple_get_item(arrays, n), input)
        done = result != NULL
        if done and not recording:
            done = set_unrecorded(runtime, result)
        elif done:
            done = set_origin(runtime, result, load(runtime, RUNTIME_MULTIPLE, int64))
        if done and recording:
            done = register_view(runtime, result, field(runtime, input, FIELD_VERSION_CELL))
        if not done:
            decrement_reference(results)
            return NULL
        if node != NULL:
            set_history(runtime, result, node, n)
        tuple_set_item(results, n, result)
    if node != NULL:
        decrement_reference(node)
    return results


# --- operators ------------------------------------------------------------------------------------


@subroutine
def array_of(runtime, argument):
    """The array of a Tensor, or the argument itself; a new reference."""
    array = argument
    if is_tensor(runtime, argument):
        array = field(runtime, argument, FIELD_ARRAY)
        if array == NULL:  # a Tensor that was not made by this package: forward will say so
            array = argument
    increment_reference(array)
    return array


@subroutine
def arrays_of(runtime, tensors):
    """A list of the arrays of a list of Tensors."""
    count = list_size(tensors)
    arrays = list_new(count)
    for k in range(count):
        list_set_item(arrays, k, array_of(runtime, list_get_item(tensors, k)))
    return arrays


@subroutine
def holds_tensors(runtime, argument):
    """Whether there are only Tensors in a list."""
    for k in range(list_size(argument)):
        if not is_tensor(runtime, list_get_item(argument, k)):
            return False
    return True


@subroutine
def any_needs_gradient(runtime, argument, variadic):
    """Whether a Tensor requires grad, or one of a list of them if lists are ``variadic``."""
    true = load(runtime, RUNTIME_TRUE, int64)
    if is_tensor(runtime, argument):
        return field(runtime, argument, FIELD_REQUIRES_GRAD) == true
    if variadic and is_list(runtime, argument):
        for k in range(list_size(argument)):
            if field(runtime, list_get_item(argument, k), FIELD_REQUIRES_GRAD) == true:
                return True
    return False


@subroutine
def find_node_recipe(runtime, table, arguments, count):
    """The recipe for the node, NULL if Python has to make it; NOT_RECORDED if there is none."""
    needed = 0
    inference = False
    variadic = load(table, OPERATOR_VARIADIC, int64) == 1
    takes_half = load(table, OPERATOR_TAKES_HALF, int64) == 1
    for k in range(count):
        argument = load(arguments, k, int64)
        if variadic and is_list(runtime, argument) and not holds_tensors(runtime, argument):
            return NULL
        if is_tensor(runtime, argument):
            inference = inference or is_inference(runtime, argument)
            array = field(runtime, argument, FIELD_ARRAY)
            if not takes_half and array != NULL and is_half(array):
                return NULL
        if any_needs_gradient(runtime, argument, variadic):
            needed |= 1 << k
    if needed == 0 or not is_recording(runtime):
        return NOT_RECORDED
    recipes = load(table, OPERATOR_RECIPES, int64)
    if recipes == NULL or count > OPERATOR_ARGUMENTS or inference or is_watched(runtime):
        return NULL
    recipe = recipes + 8 * NODE_WORDS * needed
    if load(recipe, NODE_PLAN, int64) == NULL:
        return NULL
    return recipe


@subroutine
def is_array(runtime, object):
    kind = load(object + OBJECT_TYPE, 0, int64)
    array_type = load(runtime, RUNTIME_ARRAY_TYPE, int64)
    return kind == array_type or is_subtype(kind, array_type) != 0


@subroutine
def count_arrays(runtime, made):
    """1 for an array, how many for a tuple of them, and -1 for anything else."""
    if is_array(runtime, made):
        return 1
    if load(made + OBJECT_TYPE, 0, int64) != load(runtime, RUNTIME_TUPLE_TYPE, int64):
        return -1
    count = tuple_size(made)
    for k in range(count):
        if not is_array(runtime, tuple_get_item(made, k)):
            return -1
    return count if count <= MAX_RESULTS else -1


@subroutine
def run_forward(runtime, table, arguments, count):
    """What forward returns for the arguments with their arrays in place of Tensors."""
    operands = address_of_stack(MAX_VALUES)
    variadic = load(table, OPERATOR_VARIADIC, int64) == 1
    for k in range(count):
        argument = load(arguments, k, int64)
        if variadic and is_list(runtime, argument):
            argument = arrays_of(runtime, argument)
        else:
            argument = array_of(runtime, argument)
        store(operands, k, argument, int64)
    made = call(load(table, OPERATOR_FORWARD, int64), operands, count)
    for k in range(count):
        decrement_reference(load(operands, k, int64))
    return made


@subroutine
def leave_to_python(table, made, arguments, count):
    """Have Python make Tensors of what forward returned; takes over the reference to it."""
    rest = tuple_new(count)
    for k in range(count):
        argument = load(arguments, k, int64)
        increment_reference(argument)
        tuple_set_item(rest, k, argument)
    frame = address_of_stack(2)
    store(frame, 0, made, int64)
    store(frame, 1, rest, int64)
    finished = call(load(table, OPERATOR_FINISH, int64), frame, 2)
    decrement_reference(made)
    decrement_reference(rest)
    return finished


@subroutine
def new_results(runtime, made, count, results):
    """Write a new Tensor for each array that forward returned; how many of them are floats."""
    floats = 0
    false = load(runtime, RUNTIME_FALSE, int64)
    several = not is_array(runtime, made)
    for n in range(count):
        array = made
        if several:
            array = tuple_get_item(made, n)
        floats += int64(has_fractions(array))
        increment_reference(array)
        store(results, n, new_tensor(runtime, array, false), int64)
    return floats


def operator(self, arguments, given):
    """``builtin(*arguments)``: a Tensor or a tuple of them, computed by forward and recorded.

    A node of a kind that was not met before is left to the Python function that the table names.
    """
    table = load(self + ARRAY_DATA, 0, int64)
    runtime = load(table, OPERATOR_RUNTIME, int64)
    recipe = NULL
    variadic = load(table, OPERATOR_VARIADIC, int64) == 1
    transformed = any_transformed(runtime, arguments, given, variadic)
    of_duals = load(runtime, RUNTIME_DUAL_OPERATOR, int64)
    if transformed and of_duals != NULL:
        return call_launcher(of_duals, self, arguments, given)
    if given <= MAX_VALUES and not transformed and not is_captured(runtime):
        recipe = find_node_recipe(runtime, table, arguments, given)
    if recipe == NULL:
        return call(load(table, OPERATOR_PYTHON, int64), arguments, given)
    made = run_forward(runtime, table, arguments, given)
    if made == NULL:
        return NULL
    count = count_arrays(runtime, made)
    if count < 0:
        return leave_to_python(table, made, arguments, given)
    results = address_of_stack(MAX_RESULTS)
    floats = new_results(runtime, made, count, results)
    if recipe != NOT_RECORDED and floats > 0:
        node = new_node(runtime, recipe, arguments, results, count)
        for n in range(count):
            result = load(results, n, int64)
            if has_fractions(field(runtime, result, FIELD_ARRAY)):
                set_history(runtime, result, node, n)
        decrement_reference(node)
    several = not is_array(runtime, made)
    decrement_reference(made)
    if not several:
        return load(results, 0, int64)
    together = tuple_new(count)
    for n in range(count):
        tuple_set_item(together, n, load(results, n, int64))
    return together
