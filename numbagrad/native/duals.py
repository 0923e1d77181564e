"""Launchers of forward mode: operators on Tensors that carry a tangent, and such Tensors.

The launchers of ``pointwise_operator.py`` and ``tensor_operator.py`` go on here when they meet an
array that is ``Transformed``. The ordinary case is done at once: operands that are numbers,
ordinary Tensors, or duals of one open level of which both parts are ordinary Tensors, where nothing
is to be recorded. Whatever else is left to ``dispatch/transformations.py``, which does the same.
"""

from __future__ import annotations

from ..codegen.intrinsics import address_of_stack, int64, load, store, subroutine
from ..kernels.layout import MAX_OPERANDS
from .calls import call_launcher
from .heads import ArrayHead, ObjectHead
from .launch import is_captured, raise_miss
from .layout import (
    MAX_VALUES,
    MISS_OPERAND,
    TANGENT_OPERANDS,
    LaunchTable,
    NodeRecipe,
    OperatorTable,
    Runtime,
)
from .objects import (
    call,
    decrement_reference,
    error_clear,
    error_matches,
    field,
    give,
    has_type,
    held,
    increment_reference,
    let_go_of_all,
    new_reference,
    put,
    replace,
    tuple_get_item,
    tuple_size,
)
from .tensor_operator import has_fractions, is_half, known_arguments, wrapped_view
from .tensors import (
    FAILED,
    OFF,
    ON,
    array_in,
    is_outside_inference,
    is_tensor,
    needs_gradient,
    new_tensor,
    new_version_cell,
    recording_mode,
    shared_cell,
    view_of_same_form,
)

NULL = 0
#: The result of ``split`` for an argument that Python has to look at, or one that is no dual.
REFUSED, ORDINARY = -1, 0


# --- taking apart ---------------------------------------------------------------------------------


@subroutine
def is_plain_array(runtime, object):
    return has_type(object, runtime.array_type)


@subroutine
def plain_array(runtime, tensor, recording):
    """The array of an ordinary Tensor of which nothing is to be recorded, or NULL.

    A part of a dual may be an array itself.
    """
    if is_plain_array(runtime, tensor):
        return tensor
    if not is_tensor(runtime, tensor):
        return NULL
    array = field(tensor, runtime.tensor.array)
    if not is_plain_array(runtime, array):
        return NULL
    if recording and needs_gradient(runtime, tensor):
        return NULL
    return array


@subroutine
def is_open(runtime, level):
    """Whether a level is one of forward mode whose tangents are taken into account."""
    if not has_type(level, runtime.level_type):
        return False
    if field(level, runtime.level.kind) != runtime.forward_mode:
        return False
    alive = field(level, runtime.level.alive) == runtime.true
    return alive and (field(level, runtime.level.paused) == runtime.false)


@subroutine
def state_of(runtime, array):
    """The ``Dual`` of a transformed array, or its slots within the array; NULL for anything else.

    A borrowed address, to be used with ``field`` and its like alone: it may be no object.
    """
    state = field(array, runtime.transformed.state)
    if state != NULL:
        if ObjectHead(state).type != runtime.dual_type:
            return NULL
        return state
    if field(array, runtime.transformed.own_level) == NULL:
        return NULL
    return array + runtime.own_state


@subroutine
def split(runtime, argument, operands, tangents, k, recording):
    """Write the array of an argument to place ``k``, and that of its tangent, or NULL.

    Returns the level of the tangent, which is open.
    """
    store(operands, k, argument, int64)
    store(tangents, k, NULL, int64)
    if not is_tensor(runtime, argument):
        return ORDINARY
    array = field(argument, runtime.tensor.array)
    if array == NULL or (recording and needs_gradient(runtime, argument)):
        return REFUSED
    kind = ObjectHead(array).type
    if kind == runtime.array_type:
        store(operands, k, array, int64)
        return ORDINARY
    if kind != runtime.transformed_type:
        return REFUSED
    state = state_of(runtime, array)
    if state == NULL:
        return REFUSED
    level = field(state, runtime.dual.level)
    primal = plain_array(runtime, field(state, runtime.dual.primal), recording)
    tangent = plain_array(runtime, field(state, runtime.dual.tangent), recording)
    if primal == NULL or tangent == NULL or not is_open(runtime, level):
        return REFUSED
    store(operands, k, primal, int64)
    store(tangents, k, tangent, int64)
    return level


@subroutine
def split_all(runtime, arguments, count, operands, tangents, recording):
    """``split`` for each argument: the one level of all tangents, or REFUSED."""
    found = REFUSED
    for k in range(count):
        level = split(runtime, load(arguments, k, int64), operands, tangents, k, recording)
        if level == REFUSED or (level != ORDINARY and found != REFUSED and level != found):
            return REFUSED
        if level != ORDINARY:
            found = level
    return found


@subroutine
def split_below(runtime, arguments, count, operands, tangents):
    """``split_all``, which asks whether this thread records only if that matters."""
    level = split_all(runtime, arguments, count, operands, tangents, True)
    if level == REFUSED:
        mode = recording_mode(runtime)
        if mode == FAILED:
            error_clear()  # Python raises it again
        if mode == OFF:
            level = split_all(runtime, arguments, count, operands, tangents, False)
    return level


# --- putting together -----------------------------------------------------------------------------


@subroutine
def new_dual(runtime, level, value, primal, tangent, cell):
    """A dual of two parts, Tensors or arrays, as ``transforms.levels.dual`` makes it.

    ``value`` is the array of the primal, ``cell`` the count of writes to it, or NULL if there is no
    memory for one. Takes over the references to both parts and to the cell.
    """
    shown = NULL
    if cell != NULL:
        kind = runtime.transformed_type
        shown = view_of_same_form(runtime, kind, value)
    if shown == NULL:
        decrement_reference(primal)
        decrement_reference(tangent)
        decrement_reference(cell)
        return NULL
    state = shown + runtime.own_state
    put(state, runtime.dual.level, level)
    give(state, runtime.dual.primal, primal)
    give(state, runtime.dual.tangent, tangent)
    give(state, runtime.dual.cell, cell)
    result = new_tensor(runtime, shown, runtime.false)
    if result != NULL:
        replace(result, runtime.tensor.version_cell, new_reference(cell))
    return result


@subroutine
def dual_of_arrays(runtime, level, value, tangent):
    """A dual Tensor of two new arrays; takes over the references to them."""
    return new_dual(runtime, level, value, value, tangent, new_version_cell(runtime))


@subroutine
def dual_of_tensors(runtime, level, primal, tangent):
    """A dual Tensor of two Tensors; takes over the references to them."""
    cell = new_reference(shared_cell(runtime, primal))
    array = field(primal, runtime.tensor.array)
    return new_dual(runtime, level, array, primal, tangent, cell)


@subroutine
def part_of_dual(runtime, array, name):
    """The primal or the tangent of a dual array as a Tensor, which it becomes if it was an array.

    A borrowed reference, or NULL.
    """
    part = held(runtime, state_of(runtime, array), name)
    if not is_plain_array(runtime, part):
        return part
    tensor = new_tensor(runtime, new_reference(part), runtime.false)
    if tensor == NULL:
        return NULL
    state = state_of(runtime, array)
    present = field(state, name)
    if present != part:  # the collector ran code that asked for it
        decrement_reference(tensor)
        return present
    if name == runtime.dual.primal:
        cell = field(state, runtime.dual.cell)
        replace(tensor, runtime.tensor.version_cell, new_reference(cell))
    replace(state, name, tensor)
    return tensor


# --- operators ------------------------------------------------------------------------------------


def dual_pointwise(self, arguments, given):
    """``builtin(*operands, recording) -> Tensor`` of a pointwise operator, one of them a dual.

    One kernel computes the value and the tangent. Misses where Python has to look closer.
    """
    table = LaunchTable(ArrayHead(self).data)
    runtime = table.runtime
    count = given - 1
    programs = table.tangents
    if programs == NULL or count > TANGENT_OPERANDS or not is_outside_inference(runtime):
        return raise_miss(runtime, MISS_OPERAND)
    recording = load(arguments, count, int64) == runtime.true
    operands = address_of_stack(MAX_OPERANDS)
    tangents = address_of_stack(MAX_OPERANDS)
    level = split_all(runtime, arguments, count, operands, tangents, recording)
    if level == REFUSED:
        return raise_miss(runtime, MISS_OPERAND)
    which = 0
    total = count
    array_type = runtime.array_type
    for k in range(count):
        tangent = load(tangents, k, int64)
        if tangent != NULL:
            which |= 1 << k
            store(operands, total, tangent, int64)
            total += 1
        elif ObjectHead(load(arguments, k, int64)).type == array_type:
            return raise_miss(runtime, MISS_OPERAND)  # an array that is no Tensor
    both = load(programs, which, int64)
    if both == NULL:
        return raise_miss(runtime, MISS_OPERAND)
    increment_reference(level)
    for k in range(total):  # the launcher may let go of the GIL
        increment_reference(load(operands, k, int64))
    launcher = LaunchTable(ArrayHead(both).data).launcher
    runtime.pair = 1
    value = call_launcher(launcher, both, operands, total)
    runtime.pair = 0
    result = NULL
    if value != NULL:
        result = dual_of_arrays(runtime, level, value, runtime.second)
    let_go_of_all(operands, total)
    decrement_reference(level)
    return result


@subroutine
def with_directions(table, runtime, operands, tangents):
    """The value and the tangent of an operator of two operands, by its rule for both at once.

    A tuple; None where the rule makes none; NULL if it raised.
    """
    none = runtime.none
    frame = address_of_stack(4)
    for k in range(2):
        tangent = load(tangents, k, int64)
        store(frame, k, load(operands, k, int64), int64)
        store(frame, 2 + k, none if tangent == NULL else tangent, int64)
    found = table.both_builtin
    builtin = NULL if found == NULL else load(found, 0, int64)
    if builtin != NULL:
        made = call(builtin, frame, 4)
        if made != NULL or error_matches(runtime.miss) == 0:
            return made
        error_clear()  # a kernel is missing, or Python sees to such arrays
    return call(table.both, frame, 4)


@subroutine
def add_to(table, total, term):
    """Add an array to another one; takes over both references, and returns one or NULL."""
    frame = address_of_stack(2)
    store(frame, 0, total, int64)
    store(frame, 1, term, int64)
    done = NULL
    if term != NULL:
        done = call(table.add, frame, 2)
    decrement_reference(term)
    if done == NULL:
        decrement_reference(total)
        return NULL
    decrement_reference(done)
    return total


@subroutine
def tangent_of_linear(table, runtime, operands, tangents, count):
    """The tangent of an operator that is linear in each operand: the sum over those that have one.

    NULL if something raised.
    """
    total = NULL
    frame = address_of_stack(MAX_VALUES)
    for k in range(count):
        if load(tangents, k, int64) != NULL:
            for i in range(count):
                store(frame, i, load(operands, i, int64), int64)
            store(frame, k, load(tangents, k, int64), int64)
            term = call(table.forward, frame, count)
            total = term if total == NULL else add_to(table, total, term)
            if total == NULL:
                return NULL
    return total


@subroutine
def both_of_linear(table, runtime, level, operands, tangents, count):
    """The dual that an operator makes which is linear in each operand, or None for Python."""
    none = runtime.none
    value = NULL
    tangent = NULL
    if count == 2 and table.both != NULL:
        both = with_directions(table, runtime, operands, tangents)
        if both == NULL:
            return NULL
        if both != none:
            value = new_reference(tuple_get_item(both, 0))
            tangent = new_reference(tuple_get_item(both, 1))
        decrement_reference(both)
    if value == NULL:
        value = call(table.forward, operands, count)
        if value == NULL:
            return NULL
        tangent = tangent_of_linear(table, runtime, operands, tangents, count)
        if tangent == NULL:
            decrement_reference(value)
            return NULL
    if is_plain_array(runtime, value) and has_fractions(value):
        return dual_of_arrays(runtime, level, value, tangent)
    decrement_reference(value)
    decrement_reference(tangent)
    return new_reference(none)


@subroutine
def any_half(runtime, arguments, count):
    """Whether there is a Tensor of float16 or bfloat16 among the arguments."""
    for k in range(count):
        argument = load(arguments, k, int64)
        if is_tensor(runtime, argument):
            array = array_in(runtime, argument, runtime.tensor.array)
            if array != NULL and is_half(array):
                return True
    return False


def dual_operator(self, arguments, given):
    """``builtin(*arguments) -> Tensor`` of an operator that is linear in each Tensor, or of Python.

    The forward is called for the value, and for each operand that has a tangent.
    """
    table = OperatorTable(ArrayHead(self).data)
    runtime = table.runtime
    none = runtime.none
    operands = address_of_stack(MAX_VALUES)
    tangents = address_of_stack(MAX_VALUES)
    level = REFUSED
    takes_all = table.takes_half == 1 or not any_half(runtime, arguments, given)
    if table.add != NULL and given <= MAX_VALUES and takes_all:
        if not is_captured(runtime) and is_outside_inference(runtime):
            level = split_below(runtime, arguments, given, operands, tangents)
    if level == REFUSED:
        return call(table.python, arguments, given)
    for k in range(given):  # what Python runs in between must not free them
        increment_reference(load(operands, k, int64))
        increment_reference(load(tangents, k, int64))
    increment_reference(level)
    result = both_of_linear(table, runtime, level, operands, tangents, given)
    let_go_of_all(operands, given)
    let_go_of_all(tangents, given)
    decrement_reference(level)
    if result == none:
        decrement_reference(none)
        return call(table.python, arguments, given)
    return result


def linear_of_dual(self, arguments, given):
    """``builtin(function, input, *values) -> Tensor``: the dual of ``function`` of both parts.

    ``function(array, *values)`` is linear in the array, and returns a new one. Returns None where
    Python has to look closer.
    """
    runtime = Runtime(ArrayHead(self).data)
    operands = address_of_stack(MAX_VALUES)
    tangents = address_of_stack(MAX_VALUES)
    count = given - 1
    level = REFUSED
    if count <= MAX_VALUES and not is_captured(runtime) and is_outside_inference(runtime):
        level = split_below(runtime, arguments + 8, count, operands, tangents)
    tangent = load(tangents, 0, int64) if level != REFUSED else NULL
    if tangent == NULL:
        return new_reference(runtime.none)
    primal = load(operands, 0, int64)
    increment_reference(level)
    increment_reference(primal)
    increment_reference(tangent)
    function = load(arguments, 0, int64)
    value = call(function, operands, count)
    store(operands, 0, tangent, int64)
    direction = NULL
    if value != NULL:
        direction = call(function, operands, count)
    result = NULL
    if direction == NULL:
        decrement_reference(value)
    elif has_fractions(value):
        result = dual_of_arrays(runtime, level, value, direction)
    else:
        decrement_reference(value)
        decrement_reference(direction)
        result = new_reference(runtime.none)
    decrement_reference(primal)
    decrement_reference(tangent)
    decrement_reference(level)
    return result


@subroutine
def view_of_part(runtime, recipe, part, values):
    """The view of a primal or a tangent that an operator makes."""
    if part == NULL:
        return NULL
    count = 1 + tuple_size(values)
    known = address_of_stack(MAX_VALUES)
    known_arguments(field(part, runtime.tensor.array), values, known)
    array = call(recipe.forward, known, count)
    if array == NULL:
        return NULL
    result = wrapped_view(runtime, recipe, array, part, values)
    decrement_reference(array)
    return result


@subroutine
def dual_of_views(runtime, recipe, level, array, values):
    """The views of both parts of a dual array as one Tensor."""
    part = part_of_dual(runtime, array, runtime.dual.primal)
    primal = view_of_part(runtime, recipe, part, values)
    tangent = NULL
    if primal != NULL:
        part = part_of_dual(runtime, array, runtime.dual.tangent)
        tangent = view_of_part(runtime, recipe, part, values)
    if tangent == NULL:
        decrement_reference(primal)
        return NULL
    return dual_of_tensors(runtime, level, primal, tangent)


def dual_view(self, arguments, given):
    """``builtin(array, input, values) -> Tensor`` of a view operator whose input is a dual."""
    recipe = NodeRecipe(ArrayHead(self).data)
    runtime = recipe.runtime
    array = load(arguments, 0, int64)
    input = load(arguments, 1, int64)
    values = load(arguments, 2, int64)
    level = REFUSED
    mode = recording_mode(runtime)
    if mode == FAILED:
        return NULL
    if recipe.forward != NULL and tuple_size(values) < MAX_VALUES:
        if is_outside_inference(runtime) and has_fractions(array):
            parts = address_of_stack(2)
            level = split(runtime, input, parts, parts + 8, 0, mode == ON)
    if level == REFUSED:
        return call(recipe.python, arguments, given)
    array = field(input, runtime.tensor.array)
    increment_reference(array)
    made = dual_of_views(runtime, recipe, level, array, values)
    decrement_reference(array)
    if made == NULL or mode == OFF:
        return made
    result = wrapped_view(runtime, recipe, field(made, runtime.tensor.array), input, values)
    decrement_reference(made)
    return result
