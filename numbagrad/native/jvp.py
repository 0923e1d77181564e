"""Launchers around forward mode: ``func.jvp`` of one call, and the dual Tensors that users make.

``jvp`` opens a level, makes the dual Tensors of the arguments, calls the function, takes its result
apart and closes the level. It does so for tuples of ordinary Tensors; what is nested, lies in
another way or has a history is left to ``numbagrad/func/derivatives.py``.
"""

from __future__ import annotations

from ..codegen.intrinsics import address_of_stack, int64, load, store, subroutine
from .duals import dual_of_tensors, is_open, part_of_dual, plain_array, state_of
from .heads import FLAG_ALIGNED_WRITEABLE, FLAG_CONTIGUOUS, ArrayHead, ObjectHead
from .launch import element_count, same_shape, type_number
from .layout import Runtime
from .objects import (
    allocate,
    call,
    call_with_tuple,
    decrement_reference,
    drop_last,
    error_occurred,
    field,
    fill,
    fill_list,
    get_attribute,
    give,
    has_type,
    list_append,
    list_get_item,
    list_new,
    list_size,
    long_from_long,
    new_reference,
    pair,
    put,
    replace,
    tuple_get_item,
    tuple_new,
    tuple_size,
)
from .tensor_operator import has_fractions, register_view, set_base_of, set_unrecorded, share
from .tensors import (
    FAILED,
    ON,
    is_inference,
    is_outside_inference,
    recording_mode,
    switch,
    view_of_same_form,
)

NULL = 0


# --- dual Tensors ---------------------------------------------------------------------------------


@subroutine
def is_whole(array):
    """Whether an array is all of the memory that it lies in, in C order, and may be written."""
    wanted = FLAG_CONTIGUOUS | FLAG_ALIGNED_WRITEABLE
    if ArrayHead(array).flags & wanted != wanted:
        return False
    owner = array
    kind = ObjectHead(array).type
    base = ArrayHead(owner).base
    while base != NULL and ObjectHead(base).type == kind:
        owner = base
        base = ArrayHead(owner).base
    return type_number(owner) == type_number(array) and element_count(owner) == element_count(array)


@subroutine
def lie_alike(one, other):
    """Whether two float arrays have one shape and dtype, and each is all of its memory."""
    if not same_shape(one, other) or type_number(one) != type_number(other):
        return False
    return has_fractions(one) and is_whole(one) and is_whole(other)


@subroutine
def are_ordinary(runtime, primal, tangent):
    """Whether two Tensors lie alike, and have no history."""
    value = plain_array(runtime, primal, True)
    direction = plain_array(runtime, tangent, True)
    if value == NULL or direction == NULL or not lie_alike(value, direction):
        return False
    return not is_inference(runtime, primal) and not is_inference(runtime, tangent)


@subroutine
def dual_of_user(runtime, level, primal, tangent):
    """A dual view of two ordinary Tensors, as ``forward_ad.dual_view`` makes it."""
    made = dual_of_tensors(runtime, level, new_reference(primal), new_reference(tangent))
    if made != NULL:
        set_base_of(runtime, made, primal)
    return made


def duals(self, arguments, given):
    """``builtin(level, primals, tangents, otherwise) -> list``: dual Tensors of pairs of two lists.

    ``otherwise(level, primal, tangent)`` makes those that are not of the ordinary kind.
    """
    runtime = Runtime(ArrayHead(self).data)
    level = load(arguments, 0, int64)
    primals = load(arguments, 1, int64)
    tangents = load(arguments, 2, int64)
    count = list_size(primals)
    ordinary = is_outside_inference(runtime) and is_open(runtime, level)
    made = list_new(count)
    if made == NULL:
        return NULL
    frame = address_of_stack(3)
    store(frame, 0, level, int64)
    for k in range(count):
        primal = list_get_item(primals, k)
        tangent = list_get_item(tangents, k)
        dual = NULL
        if ordinary and are_ordinary(runtime, primal, tangent):
            dual = dual_of_user(runtime, level, primal, tangent)
        else:
            store(frame, 1, primal, int64)
            store(frame, 2, tangent, int64)
            dual = call(load(arguments, 3, int64), frame, 3)
        if not fill_list(made, k, dual):
            return NULL
    return made


# --- jvp ------------------------------------------------------------------------------------------


@subroutine
def is_tuple(runtime, object):
    return has_type(object, runtime.tuple_type)


@subroutine
def is_exact_tensor(runtime, object):
    """Whether it is a Tensor, and of no subclass."""
    return has_type(object, runtime.tensor_type)


@subroutine
def are_ordinary_pairs(runtime, primals, tangents):
    """Whether two arguments are tuples of ordinary Tensors that lie alike, at least one each."""
    if not is_tuple(runtime, primals) or not is_tuple(runtime, tangents):
        return False
    count = tuple_size(primals)
    if count == 0 or tuple_size(tangents) != count:
        return False
    for k in range(count):
        primal = tuple_get_item(primals, k)
        tangent = tuple_get_item(tangents, k)
        if not is_exact_tensor(runtime, primal) or not is_exact_tensor(runtime, tangent):
            return False
        if not are_ordinary(runtime, primal, tangent):
            return False
    return True


@subroutine
def open_level(runtime, levels):
    """A new level of forward mode at the end of the list of open ones; a new reference, or NULL."""
    level = allocate(runtime.level_type, 0)
    if level == NULL:
        return NULL
    false = runtime.false
    put(level, runtime.level.kind, runtime.forward_mode)
    put(level, runtime.level.alive, runtime.true)
    put(level, runtime.level.paused, false)
    put(level, runtime.level.explicit, false)
    put(level, runtime.level.history, false)
    put(level, runtime.level.size, runtime.zero)
    put(level, runtime.level.randomness, runtime.randomness)
    depth = long_from_long(list_size(levels) + 1)
    if not give(level, runtime.level.depth, depth) or list_append(levels, level) != 0:
        decrement_reference(level)
        return NULL
    return level


@subroutine
def close_level(runtime, levels, level):
    """Take a level from the end of the list of open ones; False if that raised."""
    count = list_size(levels)
    if count == 0 or list_get_item(levels, count - 1) != level:
        if error_occurred() != NULL:  # which says more than that levels were left open
            return True
        frame = address_of_stack(1)
        store(frame, 0, level, int64)
        closed = call(runtime.close_level, frame, 1)
        decrement_reference(closed)
        return closed != NULL
    drop_last(levels)
    false = runtime.false
    replace(level, runtime.level.alive, new_reference(false))
    return True


@subroutine
def duals_of_pairs(runtime, level, primals, tangents):
    """A tuple of the dual Tensors of two tuples of ordinary Tensors, or NULL."""
    count = tuple_size(primals)
    made = tuple_new(count)
    if made == NULL:
        return NULL
    for k in range(count):
        primal, tangent = tuple_get_item(primals, k), tuple_get_item(tangents, k)
        if not fill(made, k, dual_of_user(runtime, level, primal, tangent)):
            return NULL
    return made


@subroutine
def view_of_all(runtime, tensor):
    """``tensor.view_as(tensor)`` of an ordinary Tensor without a history."""
    mode = recording_mode(runtime)
    if mode == FAILED:
        return NULL
    array_type = runtime.array_type
    shown = view_of_same_form(runtime, array_type, field(tensor, runtime.tensor.array))
    if shown == NULL:
        return NULL
    result = share(runtime, shown, tensor)
    decrement_reference(shown)
    if result == NULL:
        return NULL
    if mode == ON:
        done = register_view(runtime, result, field(tensor, runtime.tensor.version_cell))
    else:
        done = set_unrecorded(runtime, result, tensor)
    if not done:
        decrement_reference(result)
        return NULL
    return result


@subroutine
def dual_array(runtime, level, output):
    """The array of an output that is a dual of a level, both parts without a history; or NULL."""
    if not is_exact_tensor(runtime, output):
        return NULL
    array = field(output, runtime.tensor.array)
    if array == NULL:
        return NULL
    if ObjectHead(array).type != runtime.transformed_type:
        return NULL
    state = state_of(runtime, array)
    if state == NULL:
        return NULL
    if field(state, runtime.dual.level) != level:
        return NULL
    primal = field(state, runtime.dual.primal)
    tangent = field(state, runtime.dual.tangent)
    if plain_array(runtime, primal, True) == NULL or plain_array(runtime, tangent, True) == NULL:
        return NULL
    return array


@subroutine
def taken_apart(runtime, array):
    """A tuple of a view of the primal and the tangent of a dual Tensor, or NULL."""
    primal = part_of_dual(runtime, array, runtime.dual.primal)
    tangent = NULL
    view = NULL
    if primal != NULL:
        tangent = part_of_dual(runtime, array, runtime.dual.tangent)
    if tangent != NULL:
        view = view_of_all(runtime, primal)
    if view == NULL:
        return NULL
    return pair(view, new_reference(tangent))


@subroutine
def are_duals(runtime, level, made):
    """Whether a result is a tuple of what ``dual_array`` knows, at least one."""
    if not is_tuple(runtime, made):
        return False
    count = tuple_size(made)
    for k in range(count):
        if dual_array(runtime, level, tuple_get_item(made, k)) == NULL:
            return False
    return count > 0


@subroutine
def all_taken_apart(runtime, level, made):
    """A tuple of two: of views of the primals, and of the tangents, of a tuple; or NULL."""
    count = tuple_size(made)
    first = tuple_new(count)
    both = pair(first, NULL if first == NULL else tuple_new(count))
    if both == NULL:
        return NULL
    for k in range(count):
        parts = taken_apart(runtime, dual_array(runtime, level, tuple_get_item(made, k)))
        if parts == NULL:
            decrement_reference(both)
            return NULL
        for which in range(2):
            part = new_reference(tuple_get_item(parts, which))
            fill(tuple_get_item(both, which), k, part)
        decrement_reference(parts)
    return both


@subroutine
def result_of(runtime, level, made, arguments):
    """The result of ``jvp`` for the outputs of the function.

    Python makes it of all but a dual Tensor, or a tuple of them.
    """
    has_aux = load(arguments, 4, int64) == runtime.true
    if not has_aux and is_outside_inference(runtime):
        array = dual_array(runtime, level, made)
        if array != NULL:
            return taken_apart(runtime, array)
        if are_duals(runtime, level, made):
            return all_taken_apart(runtime, level, made)
    frame = address_of_stack(4)
    store(frame, 0, level, int64)
    store(frame, 1, made, int64)
    store(frame, 2, load(arguments, 3, int64), int64)
    store(frame, 3, load(arguments, 4, int64), int64)
    return call(load(arguments, 5, int64), frame, 4)


@subroutine
def called(runtime, level, arguments):
    """The result of ``jvp``, or NULL if something raised; the level is open meanwhile."""
    primals = load(arguments, 1, int64)
    duals = duals_of_pairs(runtime, level, primals, load(arguments, 2, int64))
    if duals == NULL:
        return NULL
    made = call_with_tuple(load(arguments, 0, int64), duals, NULL)
    result = NULL
    if made != NULL:
        result = result_of(runtime, level, made, arguments)
        decrement_reference(made)
    decrement_reference(duals)
    return result


def jvp(self, arguments, given):
    """``builtin(function, primals, tangents, strict, has_aux, unpack) -> tuple``: see ``func.jvp``.

    Returns None, with nothing done, for other primals and tangents than tuples of ordinary Tensors.
    ``unpack(level, made, strict, has_aux)`` makes the result that ``result_of`` leaves to Python.
    """
    runtime = Runtime(ArrayHead(self).data)
    sees_tangents = switch(runtime, runtime.level_stack, runtime.name_tangents_enabled)
    if sees_tangents == FAILED:
        return NULL
    ordinary = sees_tangents == ON and is_outside_inference(runtime)
    if not ordinary or not are_ordinary_pairs(
        runtime, load(arguments, 1, int64), load(arguments, 2, int64)
    ):
        return new_reference(runtime.none)
    stack = runtime.level_stack
    levels = get_attribute(stack, runtime.name_levels)
    if levels == NULL:
        return NULL
    level = open_level(runtime, levels)
    if level == NULL:
        decrement_reference(levels)
        return NULL
    result = called(runtime, level, arguments)
    closed = close_level(runtime, levels, level)
    decrement_reference(levels)
    decrement_reference(level)
    if not closed:
        decrement_reference(result)
        return NULL
    return result
