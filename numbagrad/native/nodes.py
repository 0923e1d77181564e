"""The nodes that launchers make: of formulas, of views, and of operators that are no formula.

``new_node`` makes all of them. What they hold beyond that is said by recipes, which
``numbagrad/ops/operators/native_launchers.py`` writes. A node is complete, or it is NULL (see
``objects.py``). Imported only to compile.
"""

from __future__ import annotations

from ..codegen.intrinsics import int64, load, subroutine
from .launch import same_shape
from .layout import KEPT_AS_SHAPE, KEPT_BITS, KEPT_POSITION, POSITION_BITS
from .object_heads import ArrayHead
from .objects import (
    allocate,
    decrement_reference,
    field,
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
    tuple_get_item,
    tuple_new,
    tuple_size,
)
from .tensors import (
    edge_or_none,
    held_array,
    is_tensor,
    needs_gradient,
    save,
    save_output,
    shape_and_dtype,
    shape_of,
)

NULL = 0


@subroutine
def new_node(runtime, kind, edges, saved):
    """A node of a class, with what all nodes have; or NULL.

    Takes over the references to ``edges`` and ``saved``, each of which may be NULL. The slots that
    nodes of the class have beyond those of ``Node`` are left to the caller.
    """
    node = NULL
    if edges != NULL and saved != NULL:
        node = allocate(kind, 0)
    if node == NULL:
        decrement_reference(edges)
        decrement_reference(saved)
        return NULL
    put(node, runtime.node.hooks, runtime.none)
    give(node, runtime.node.next_edges, edges)
    give(node, runtime.node.saved, saved)
    if not give(node, runtime.node.sequence_nr, next_of(runtime.sequence)):
        decrement_reference(node)
        return NULL
    return node


@subroutine
def set_history(runtime, tensor, node, number):
    """Make a new Tensor output ``number`` of a node; False if that failed."""
    position = long_from_long(number)
    if position == NULL:
        return False
    replace(tensor, runtime.tensor.output_nr, position)
    true = runtime.true
    replace(tensor, runtime.tensor.requires_grad, new_reference(true))
    replace(tensor, runtime.tensor.grad_fn, new_reference(node))
    return True


# --- of a formula ---------------------------------------------------------------------------------


@subroutine
def new_restore(runtime, arguments, count, array):
    """``restore`` of a node, or None if no operand has another shape or dtype than the result."""
    none = runtime.none
    dtype = ArrayHead(array).descriptor
    restore = none
    for k in range(count):
        operand = load(arguments, k, int64)
        if needs_gradient(runtime, operand):
            own = field(operand, runtime.tensor.array)
            if ArrayHead(own).descriptor != dtype or not same_shape(own, array):
                if restore == none:
                    restore = tuple_new(count)
                if restore == NULL or not fill(restore, k, shape_and_dtype(own)):
                    return NULL
    if restore == none:
        return new_reference(none)
    for k in range(count):
        if tuple_get_item(restore, k) == NULL:
            fill(restore, k, new_reference(none))
    return restore


@subroutine
def edges_of_operands(runtime, arguments, count):
    """``next_edges`` of a node; operands that are the first again share its edge."""
    edges = tuple_new(count)
    if edges == NULL:
        return NULL
    for k in range(count):
        operand = load(arguments, k, int64)
        if k > 0 and operand == load(arguments, 0, int64) and needs_gradient(runtime, operand):
            edge = new_reference(tuple_get_item(edges, 0))
        else:
            edge = edge_or_none(runtime, operand)
        if not fill(edges, k, edge):
            return NULL
    return edges


@subroutine
def used(recipe, arguments, i):
    """The operand that a gradient uses as its number ``i``, or NULL behind the last."""
    position = (recipe.uses >> (POSITION_BITS * i)) & 15
    return NULL if position == 0 else load(arguments, position - 1, int64)


@subroutine
def saved_of_formula(runtime, recipe, arguments, result):
    """``saved`` of a node: the Tensors that its gradient uses."""
    uses_result = recipe.uses_result
    tensors = 0
    i = 0
    while used(recipe, arguments, i) != NULL:
        tensors += int64(is_tensor(runtime, used(recipe, arguments, i)))
        i += 1
    saved = tuple_new(tensors + uses_result)
    if saved == NULL:
        return NULL
    position = 0
    for k in range(i):
        operand = used(recipe, arguments, k)
        if is_tensor(runtime, operand):
            if not fill(saved, position, save(runtime, operand)):
                return NULL
            position += 1
    if uses_result and not fill(saved, position, save_output(runtime, result, 0)):
        return NULL
    return saved


@subroutine
def numbers_of_formula(runtime, recipe, arguments):
    """``numbers`` of a node: the Python numbers that its gradient uses, or None without any.

    None stands in the places of Tensors.
    """
    none = runtime.none
    numbers = 0
    count = 0
    while used(recipe, arguments, count) != NULL:
        numbers += int64(not is_tensor(runtime, used(recipe, arguments, count)))
        count += 1
    if numbers == 0:
        return new_reference(none)
    uses_result = recipe.uses_result
    kept = tuple_new(count + uses_result)
    if kept == NULL:
        return NULL
    for i in range(count):
        operand = used(recipe, arguments, i)
        fill(kept, i, new_reference(none if is_tensor(runtime, operand) else operand))
    if uses_result:
        fill(kept, count, new_reference(none))
    return kept


@subroutine
def add_pointwise_node(runtime, recipe, arguments, count, result):
    """Make the node of a result, which requires grad, as a recipe says; False if that failed."""
    edges = edges_of_operands(runtime, arguments, count)
    saved = NULL
    if edges != NULL:
        saved = saved_of_formula(runtime, recipe, arguments, result)
    node = new_node(runtime, recipe.node_type, edges, saved)
    if node == NULL:
        return False
    own = runtime.pointwise_node
    put(node, own.rule, recipe.rule)
    array = field(result, runtime.tensor.array)
    if not (
        give(node, own.restore, new_restore(runtime, arguments, count, array))
        and give(node, own.numbers, numbers_of_formula(runtime, recipe, arguments))
    ):
        decrement_reference(node)
        return False
    replace(result, runtime.tensor.grad_fn, node)
    return True


# --- of what Python computed ----------------------------------------------------------------------


@subroutine
def edges_of_inputs(runtime, inputs):
    """``next_edges`` of a node: one for each of a tuple."""
    count = tuple_size(inputs)
    edges = tuple_new(count)
    if edges == NULL:
        return NULL
    for k in range(count):
        if not fill(edges, k, edge_or_none(runtime, tuple_get_item(inputs, k))):
            return NULL
    return edges


@subroutine
def saved_of_tuple(runtime, kept):
    """``saved`` of a node: of a tuple of Tensors and None."""
    none = runtime.none
    count = tuple_size(kept)
    saved = tuple_new(count)
    if saved == NULL:
        return NULL
    for k in range(count):
        entry = tuple_get_item(kept, k)
        if not fill(saved, k, new_reference(none) if entry == none else save(runtime, entry)):
            return NULL
    return saved


# --- of views, and of operators that are no formula -----------------------------------------------


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
    """The kept part of an argument: the value, its shape, or the shapes of a list."""
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
        argument = load(arguments, (kept & KEPT_POSITION) - 1, int64)
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
    while inputs >> (POSITION_BITS * k) != 0:
        argument = load(arguments, ((inputs >> (POSITION_BITS * k)) & 15) - 1, int64)
        count += list_size(argument) if is_list(runtime, argument) else 1
        k += 1
    edges = tuple_new(count)
    if edges == NULL:
        return NULL
    position = 0
    k = 0
    while inputs >> (POSITION_BITS * k) != 0:
        argument = load(arguments, ((inputs >> (POSITION_BITS * k)) & 15) - 1, int64)
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
    while saves >> (POSITION_BITS * count) != 0:
        count += 1
    outputs = 0
    while numbers >> (POSITION_BITS * outputs) != 0:
        outputs += 1
    saved = tuple_new(count + outputs)
    if saved == NULL:
        return NULL
    for k in range(count):
        entry = load(arguments, ((saves >> (POSITION_BITS * k)) & 15) - 1, int64)
        kept = save(runtime, entry) if is_tensor(runtime, entry) else new_reference(entry)
        if not fill(saved, k, kept):
            return NULL
    for k in range(outputs):
        n = ((numbers >> (POSITION_BITS * k)) & 15) - 1
        if not fill(saved, count + k, save_output(runtime, load(results, n, int64), n)):
            return NULL
    return saved


@subroutine
def new_operator_node(runtime, recipe, arguments, results, outputs):
    """A node as a recipe says, for the Tensors at ``results``; or NULL."""
    edges = edges_to(runtime, recipe.inputs, arguments)
    saved = NULL
    if edges != NULL:
        saved = saved_tensors(runtime, recipe, arguments, results)
    node = new_node(runtime, recipe.node_type, edges, saved)
    if node == NULL:
        return NULL
    own = runtime.operator_node
    put(node, own.plan, recipe.plan)
    if not (
        give(node, own.output_count, long_from_long(outputs))
        and give(node, own.values, kept_values(runtime, recipe.keeps, arguments))
    ):
        decrement_reference(node)
        return NULL
    return node
