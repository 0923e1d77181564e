"""Launchers that take and return Tensors for what is no formula: views, and operators in Python.

``numbagrad.ops.operators.native_launchers`` installs them as builtins. A ``view`` becomes a Tensor
that shares the version count and the history of another; an ``operator`` calls the forward of a
``TensorOperator`` on the memory of its arguments and records the node. What is not the ordinary
case is left to the Python code of ``numbagrad/ops``, which does the same.
"""

from __future__ import annotations

from ..codegen.intrinsics import address_of_stack, int64, load, store, subroutine
from .launch import is_captured, type_number
from .layout import (
    BFLOAT16,
    MAX_RESULTS,
    MAX_VALUES,
    NOT_RECORDED,
    OPERATOR_ARGUMENTS,
    NodeRecipe,
    OperatorTable,
)
from .nodes import is_list, new_operator_node, set_history
from .object_heads import ArrayHead, ObjectHead
from .objects import (
    call,
    decrement_reference,
    error_clear,
    field,
    fill,
    fill_list,
    get_attribute,
    has_type,
    let_go_of_all,
    list_append,
    list_get_item,
    list_new,
    list_size,
    new_reference,
    new_weak_reference,
    replace,
    set_attribute,
    tuple_get_item,
    tuple_new,
    tuple_size,
)
from .tensors import (
    FAILED,
    OFF,
    ON,
    array_in,
    inference_mode,
    is_array,
    is_inference,
    is_tensor,
    is_watched,
    new_tensor,
    recording_mode,
    shared_cell,
)

NULL = 0


@subroutine
def has_fractions(array):
    """Whether an array is of a float or complex dtype, which may have a gradient."""
    code = type_number(array)
    return code == 11 or code == 12 or code == 23 or code == BFLOAT16 or code == 14 or code == 15


@subroutine
def is_empty(array):
    """Whether an array has no elements."""
    sizes = ArrayHead(array).shape
    for d in range(int64(ArrayHead(array).dimensions)):
        if load(sizes, d, int64) == 0:
            return True
    return False


@subroutine
def is_half(array):
    """Whether an array is of float16 or bfloat16."""
    code = type_number(array)
    return code == 23 or code == BFLOAT16


# --- views ----------------------------------------------------------------------------------------


@subroutine
def register_view(runtime, tensor, cell):
    """Remember a view made while recording: ``autograd.inplace.register_view``."""
    if cell == runtime.inference_cell:
        return True
    reference = new_weak_reference(tensor, NULL)
    if reference == NULL:
        return False
    failed = list_append(cell, reference) != 0
    decrement_reference(reference)
    if failed:
        return False
    count = list_size(cell)
    if count >= runtime.prune_from and count & (count - 1) == 0:
        frame = address_of_stack(1)
        store(frame, 0, cell, int64)
        made = call(runtime.prune, frame, 1)
        if made == NULL:
            return False
        decrement_reference(made)
    return True


@subroutine
def set_base_of(runtime, tensor, input):
    """Set the base of a new Tensor in the memory of ``input``; whether that is a view itself."""
    none = runtime.none
    base = field(input, runtime.tensor.base)
    is_view = base != none
    replace(tensor, runtime.tensor.base, new_reference(base if is_view else input))
    return is_view


@subroutine
def set_base_of_view(runtime, tensor, input):
    """Set the base of a view; its origin too, if the input is a view that has one."""
    none = runtime.none
    if not set_base_of(runtime, tensor, input):
        return True
    origin_name = runtime.name_view_origin
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
    cell = shared_cell(runtime, input)
    if cell == NULL:
        return NULL
    result = new_tensor(runtime, new_reference(array), runtime.false)
    if result == NULL:
        return NULL
    replace(result, runtime.tensor.version_cell, new_reference(cell))
    if not set_base_of_view(runtime, result, input):
        decrement_reference(result)
        return NULL
    return result


@subroutine
def set_origin(runtime, tensor, origin):
    """Note why a view may not be written while recording."""
    return set_attribute(tensor, runtime.name_view_origin, origin) == 0


@subroutine
def unrecorded_origin(runtime):
    """Why a view that was not recorded may not be written while recording; NULL if that failed."""
    mode = inference_mode(runtime)
    if mode == FAILED:
        return NULL
    return runtime.inference_origin if mode == ON else runtime.no_grad


@subroutine
def known_arguments(input, values, known):
    """Write the arguments of a view operator to ``known``."""
    store(known, 0, input, int64)
    for k in range(tuple_size(values)):
        store(known, 1 + k, tuple_get_item(values, k), int64)


@subroutine
def is_transformed(runtime, tensor):
    """Whether a Tensor has another array than an ndarray.

    Then it is under a transformation, or on another device, and Python knows what to do.
    """
    array = field(tensor, runtime.tensor.array)
    if array == NULL:  # forward will say so
        return False
    return not has_type(array, runtime.array_type)


@subroutine
def any_transformed(runtime, arguments, count, variadic):
    """Whether one of the Tensors among the arguments of an operator is."""
    for k in range(count):
        argument = load(arguments, k, int64)
        if is_tensor(runtime, argument):
            if is_transformed(runtime, argument):
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
    true = runtime.true
    requires_grad = field(tensor, runtime.tensor.requires_grad) == true
    return requires_grad and not is_inference(runtime, tensor)


@subroutine
def set_unrecorded(runtime, view, input):
    """Note why a view that was not recorded has no history, and the count of writes until now."""
    count = list_get_item(field(view, runtime.tensor.version_cell), 0)
    name = runtime.name_unrecorded_at
    origin = unrecorded_origin(runtime)
    if origin == NULL or not set_origin(runtime, view, origin):
        return False
    if set_attribute(view, name, count) != 0:
        return False
    if not is_followed(runtime, input) or not has_fractions(field(view, runtime.tensor.array)):
        return True
    return set_history(runtime, view, runtime.unrecorded, 0)


@subroutine
def wrapped_view(runtime, recipe, array, input, values):
    """``array`` as a Tensor in the memory of ``input``, with its history."""
    mode = recording_mode(runtime)
    result = NULL
    if mode != FAILED:
        result = share(runtime, array, input)
    if result == NULL:
        return NULL
    if mode == ON:
        done = register_view(runtime, result, field(input, runtime.tensor.version_cell))
        if done and is_followed(runtime, input) and has_fractions(array):
            known = address_of_stack(MAX_VALUES)
            known_arguments(input, values, known)
            node = new_operator_node(runtime, recipe, known, NULL, 1)
            done = node != NULL and set_history(runtime, result, node, 0)
            decrement_reference(node)
    else:
        done = set_unrecorded(runtime, result, input)
    if not done:
        decrement_reference(result)
        return NULL
    return result


def view(self, arguments, given):
    """``builtin(array, input, values) -> Tensor``: ``array``, in the memory of ``input``.

    ``values`` are the further arguments of the operator, of which the node may keep some.
    """
    recipe = NodeRecipe(ArrayHead(self).data)
    runtime = recipe.runtime
    if is_watched(runtime):
        return call(recipe.python, arguments, 3)
    array = load(arguments, 0, int64)
    input = load(arguments, 1, int64)
    values = load(arguments, 2, int64)
    if not is_array(runtime, array):  # of another device: nothing here knows how it lies
        return call(recipe.python, arguments, given)
    if is_empty(array):
        return call(recipe.python, arguments, given)
    if is_transformed(runtime, input):
        return call(recipe.python, arguments, given)
    return wrapped_view(runtime, recipe, array, input, values)


@subroutine
def one_of_views(runtime, array, input, node, n, mode):
    """View number ``n`` that an operator of several makes; ``node`` is NULL without a history."""
    result = share(runtime, array, input)
    if result == NULL:
        return NULL
    if mode == OFF:
        done = set_unrecorded(runtime, result, input)
    else:
        cell = field(input, runtime.tensor.version_cell)
        done = (
            set_origin(runtime, result, runtime.multiple)
            and register_view(runtime, result, cell)
            and (node == NULL or set_history(runtime, result, node, n))
        )
    if not done:
        decrement_reference(result)
        return NULL
    return result


@subroutine
def views_of_all(runtime, arrays, input, node, mode):
    """A tuple of what ``one_of_views`` makes of each of a tuple of arrays."""
    count = tuple_size(arrays)
    results = tuple_new(count)
    if results == NULL:
        return NULL
    for n in range(count):
        array = tuple_get_item(arrays, n)
        if not fill(results, n, one_of_views(runtime, array, input, node, n, mode)):
            return NULL
    return results


def views(self, arguments, given):
    """``builtin(arrays, input, values) -> tuple``: a Tensor for each array of a tuple.

    Once they are recorded, none of them may be written.
    """
    recipe = NodeRecipe(ArrayHead(self).data)
    runtime = recipe.runtime
    if is_watched(runtime):
        return call(recipe.python, arguments, 3)
    arrays = load(arguments, 0, int64)
    input = load(arguments, 1, int64)
    if is_transformed(runtime, input):
        return call(recipe.python, arguments, given)
    count = tuple_size(arrays)
    mode = recording_mode(runtime)
    if mode == FAILED:
        return NULL
    node = NULL
    if mode == ON and is_followed(runtime, input) and count > 0:
        known = address_of_stack(MAX_VALUES)
        known_arguments(input, load(arguments, 2, int64), known)
        node = new_operator_node(runtime, recipe, known, NULL, count)
        if node == NULL:
            return NULL
    results = views_of_all(runtime, arrays, input, node, mode)
    decrement_reference(node)
    return results


# --- operators ------------------------------------------------------------------------------------


@subroutine
def array_of(runtime, argument):
    """The array of a Tensor, or the argument itself; a new reference."""
    array = argument
    if is_tensor(runtime, argument):
        array = array_in(runtime, argument, runtime.tensor.array)
        if array == NULL:  # a Tensor that was not made by this package: forward will say so
            array = argument
    return new_reference(array)


@subroutine
def arrays_of(runtime, tensors):
    """A list of the arrays of a list of Tensors."""
    count = list_size(tensors)
    arrays = list_new(count)
    if arrays != NULL:
        for k in range(count):
            fill_list(arrays, k, array_of(runtime, list_get_item(tensors, k)))
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
    true = runtime.true
    if is_tensor(runtime, argument):
        return field(argument, runtime.tensor.requires_grad) == true
    if variadic and is_list(runtime, argument):
        for k in range(list_size(argument)):
            if field(list_get_item(argument, k), runtime.tensor.requires_grad) == true:
                return True
    return False


@subroutine
def find_node_recipe(runtime, table, arguments, count):
    """The recipe for the node, NULL if Python has to make it; NOT_RECORDED if there is none."""
    needed = 0
    inference = False
    variadic = table.variadic == 1
    takes_half = table.takes_half == 1
    for k in range(count):
        argument = load(arguments, k, int64)
        if variadic and is_list(runtime, argument) and not holds_tensors(runtime, argument):
            return NULL
        if is_tensor(runtime, argument):
            inference = inference or is_inference(runtime, argument)
            array = array_in(runtime, argument, runtime.tensor.array)
            if not takes_half and array != NULL and is_half(array):
                return NULL
        if any_needs_gradient(runtime, argument, variadic):
            needed |= 1 << k
    if needed == 0:
        return NOT_RECORDED
    mode = recording_mode(runtime)
    if mode == FAILED:
        error_clear()  # Python raises it again
        return NULL
    if mode == OFF:
        return NOT_RECORDED
    recipes = table.recipes
    if recipes == NULL or count > OPERATOR_ARGUMENTS or inference or is_watched(runtime):
        return NULL
    recipe = recipes[needed]
    if recipe.plan == NULL:
        return NULL
    return recipe


@subroutine
def count_arrays(runtime, made):
    """1 for an array, how many for a tuple of them, and -1 for anything else."""
    if is_array(runtime, made):
        return 1
    if ObjectHead(made).type != runtime.tuple_type:
        return -1
    count = tuple_size(made)
    for k in range(count):
        if not is_array(runtime, tuple_get_item(made, k)):
            return -1
    return count if count <= MAX_RESULTS else -1


@subroutine
def run_forward(runtime, table, arguments, count):
    """The result of the forward for the arguments, with arrays in place of Tensors."""
    operands = address_of_stack(MAX_VALUES)
    variadic = table.variadic == 1
    for k in range(count):
        argument = load(arguments, k, int64)
        if variadic and is_list(runtime, argument):
            argument = arrays_of(runtime, argument)
        else:
            argument = array_of(runtime, argument)
        if argument == NULL:
            let_go_of_all(operands, k)
            return NULL
        store(operands, k, argument, int64)
    made = call(table.forward, operands, count)
    let_go_of_all(operands, count)
    return made


@subroutine
def leave_to_python(table, made, arguments, count):
    """Have Python make Tensors of what forward returned; takes over the reference to it."""
    rest = tuple_new(count)
    if rest == NULL:
        decrement_reference(made)
        return NULL
    for k in range(count):
        fill(rest, k, new_reference(load(arguments, k, int64)))
    frame = address_of_stack(2)
    store(frame, 0, made, int64)
    store(frame, 1, rest, int64)
    finished = call(table.finish, frame, 2)
    decrement_reference(made)
    decrement_reference(rest)
    return finished


@subroutine
def new_results(runtime, made, count, results):
    """Write a new Tensor for each array that forward returned; how many of them are floats.

    -1 if there is no memory for them.
    """
    floats = 0
    false = runtime.false
    several = not is_array(runtime, made)
    for n in range(count):
        array = made
        if several:
            array = tuple_get_item(made, n)
        floats += int64(has_fractions(array))
        result = new_tensor(runtime, new_reference(array), false)
        if result == NULL:
            let_go_of_all(results, n)
            return -1
        store(results, n, result, int64)
    return floats


@subroutine
def add_history(runtime, recipe, arguments, results, count):
    """Make the node of new Tensors; False if that failed."""
    node = new_operator_node(runtime, recipe, arguments, results, count)
    done = node != NULL
    for n in range(count):
        result = load(results, n, int64)
        if done and has_fractions(field(result, runtime.tensor.array)):
            done = set_history(runtime, result, node, n)
    decrement_reference(node)
    return done


@subroutine
def tuple_of_all(results, count):
    """A tuple of an array of references, which it takes over; or NULL."""
    together = tuple_new(count)
    if together == NULL:
        let_go_of_all(results, count)
        return NULL
    for n in range(count):
        fill(together, n, load(results, n, int64))
    return together


def operator(self, arguments, given):
    """``builtin(*arguments)``: a Tensor or a tuple of them, computed by forward and recorded.

    A node of a kind that was not met before is left to the Python function that the table names.
    """
    table = OperatorTable(ArrayHead(self).data)
    runtime = table.runtime
    recipe = NULL
    variadic = table.variadic == 1
    transformed = any_transformed(runtime, arguments, given, variadic)
    if given <= MAX_VALUES and not transformed and not is_captured(runtime):
        recipe = find_node_recipe(runtime, table, arguments, given)
    if recipe == NULL:
        return call(table.python, arguments, given)
    made = run_forward(runtime, table, arguments, given)
    if made == NULL:
        return NULL
    count = count_arrays(runtime, made)
    if count < 0:
        return leave_to_python(table, made, arguments, given)
    results = address_of_stack(MAX_RESULTS)
    several = not is_array(runtime, made)
    floats = new_results(runtime, made, count, results)
    if floats > 0 and recipe != NOT_RECORDED and recipe.node_type == NULL:
        let_go_of_all(results, count)
        # Python says that there is no gradient.
        return leave_to_python(table, made, arguments, given)
    decrement_reference(made)
    if floats < 0:
        return NULL
    if recipe != NOT_RECORDED and floats > 0:
        if not add_history(runtime, recipe, arguments, results, count):
            let_go_of_all(results, count)
            return NULL
    if several:
        return tuple_of_all(results, count)
    return load(results, 0, int64)
