"""The nodes of views and of operators that are no formula, made by launchers.

``tensor_operator.py`` makes them, as recipes say that ``numbagrad/ops/native_launchers.py`` writes.
A node is complete, or it is NULL (see ``objects.py``). Imported only to compile.
"""

from __future__ import annotations

from ..codegen.intrinsics import int64, load, subroutine
from .layout import KEPT_AS_SHAPE, KEPT_BITS, KEPT_PLACE, PLACE_BITS
from .objects import (
    allocate,
    decrement_reference,
    fill,
    fill_list,
    give,
    has_type,
    list_get_item,
    list_new,
    list_size,
    long_from_long,
    new_reference,
    next_of,
    put,
    replace,
    tuple_new,
)
from .tensors import edge_or_none, held_array, is_tensor, save, save_output, shape_of

NULL = 0


@subroutine
def shapes_of(runtime, tensors):
    """A list of the shapes of a list of Tensors."""
    count = list_size(tensors)
    shapes = list_new(count)
    if shapes == NULL:
        return NULL
    for k in range(count):
        array = held_array(runtime, list_get_item(tensors, k), runtime.tensor.array)
        if not fill_list(shapes, k, NULL if array == NULL else shape_of(array)):
            return NULL
    return shapes


@subroutine
def kept_value(runtime, argument, as_shape):
    """What a node keeps of an argument: the value, its shape, or the shapes of a list."""
    if as_shape == 0:
        return new_reference(argument)
    if is_tensor(runtime, argument):
        array = held_array(runtime, argument, runtime.tensor.array)
        return NULL if array == NULL else shape_of(array)
    return shapes_of(runtime, argument)


@subroutine
def kept_values(runtime, keeps, arguments):
    """``values`` of a node; ``keeps`` has places plus one, and a mark for shapes."""
    count = 0
    while keeps >> (KEPT_BITS * count) != 0:
        count += 1
    values = tuple_new(count)
    if values == NULL:
        return NULL
    for k in range(count):
        kept = keeps >> (KEPT_BITS * k)
        argument = load(arguments, (kept & KEPT_PLACE) - 1, int64)
        if not fill(values, k, kept_value(runtime, argument, kept & KEPT_AS_SHAPE)):
            return NULL
    return values


@subroutine
def is_list(runtime, argument):
    return has_type(argument, runtime.list_type)


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
    if edges == NULL:
        return NULL
    position = 0
    k = 0
    while inputs >> (PLACE_BITS * k) != 0:
        argument = load(arguments, ((inputs >> (PLACE_BITS * k)) & 15) - 1, int64)
        listed = is_list(runtime, argument)
        for i in range(list_size(argument) if listed else 1):
            operand = list_get_item(argument, i) if listed else argument
            if not fill(edges, position, edge_or_none(runtime, operand)):
                return NULL
            position += 1
        k += 1
    return edges


@subroutine
def saved_tensors(runtime, recipe, arguments, results):
    """``saved`` of a node: inputs first, then outputs; ``results`` is an array of Tensors."""
    saves = recipe.saves
    numbers = recipe.results
    count = 0
    while saves >> (PLACE_BITS * count) != 0:
        count += 1
    outputs = 0
    while numbers >> (PLACE_BITS * outputs) != 0:
        outputs += 1
    saved = tuple_new(count + outputs)
    if saved == NULL:
        return NULL
    for k in range(count):
        entry = load(arguments, ((saves >> (PLACE_BITS * k)) & 15) - 1, int64)
        kept = save(runtime, entry) if is_tensor(runtime, entry) else new_reference(entry)
        if not fill(saved, k, kept):
            return NULL
    for k in range(outputs):
        n = ((numbers >> (PLACE_BITS * k)) & 15) - 1
        if not fill(saved, count + k, save_output(runtime, load(results, n, int64), n)):
            return NULL
    return saved


@subroutine
def new_node(runtime, recipe, arguments, results, outputs):
    """A node as a recipe says, for the Tensors at ``results``; or NULL."""
    node = allocate(recipe.node_type, 0)
    if node == NULL:
        return NULL
    put(node, runtime.node.hooks, runtime.none)
    put(node, runtime.operator_node.plan, recipe.plan)
    inputs, keeps = recipe.inputs, recipe.keeps
    if not (
        give(node, runtime.node.next_edges, edges_to(runtime, inputs, arguments))
        and give(node, runtime.node.sequence_nr, next_of(runtime.sequence))
        and give(node, runtime.operator_node.output_count, long_from_long(outputs))
        and give(node, runtime.operator_node.values, kept_values(runtime, keeps, arguments))
        and give(node, runtime.node.saved, saved_tensors(runtime, recipe, arguments, results))
    ):
        decrement_reference(node)
        return NULL
    return node


@subroutine
def set_history(runtime, tensor, node, number):
    """Make a new Tensor output ``number`` of a node; False if that failed."""
    place = long_from_long(number)
    if place == NULL:
        return False
    replace(tensor, runtime.tensor.output_nr, place)
    true = runtime.true
    replace(tensor, runtime.tensor.requires_grad, new_reference(true))
    replace(tensor, runtime.tensor.grad_fn, new_reference(node))
    return True
