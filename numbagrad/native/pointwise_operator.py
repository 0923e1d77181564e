"""Launchers that take and return Tensors: a pointwise operator with its node, and its gradient.

Small tensors are bound by what surrounds the kernel, so the ordinary case of that is compiled too.
``numbagrad.ops.native_launchers`` installs them as builtins and says in the runtime block where the
slots of Tensors and nodes lie. The kernel is run by a launcher of ``launch.py``; what is not the
ordinary case is left to the Python code of ``numbagrad/ops/operator.py``, which does the same.
"""

from __future__ import annotations

from ..codegen.intrinsics import address_of_stack, int64, load, store, subroutine
from ..kernels.layout import MAX_DIMENSIONS, MAX_OPERANDS
from .calls import call_launcher
from .heads import ArrayHead, ObjectHead
from .launch import raise_miss, same_shape
from .layout import (
    MISS_LIMIT,
    MISS_OPERAND,
    PLACE_BITS,
    PLACE_OUTPUT,
    PLACE_PASSED,
    RECIPE_OPERANDS,
    LaunchTable,
    Runtime,
)
from .objects import (
    allocate,
    call,
    decrement_reference,
    field,
    fill,
    give,
    has_type,
    increment_reference,
    let_go_of_all,
    list_get_item,
    long_as_long,
    new_reference,
    next_of,
    put,
    replace,
    tuple_get_item,
    tuple_new,
    tuple_size,
)
from .tensors import (
    ON,
    array_in,
    count_writes,
    edge_or_none,
    inference_mode,
    is_cell,
    is_inference,
    is_tensor,
    is_watched,
    needs_gradient,
    new_tensor,
    new_view,
    save,
    save_output,
    shape_and_dtype,
    shared_cell,
    uncount,
)

NULL = 0


@subroutine
def run_holding(table, self, operands, count):
    """Run the launcher of ndarrays; it may let go of the GIL, so hold its operands meanwhile."""
    for k in range(count):
        increment_reference(load(operands, k, int64))
    made = call_launcher(table.launcher, self, operands, count)
    let_go_of_all(operands, count)
    return made


@subroutine
def find_recipe(runtime, table, arguments, count):
    """The recipe for the node of a result, or NULL: then Python has to make it."""
    recipes = table.recipes
    if recipes == NULL or count > RECIPE_OPERANDS or is_watched(runtime):
        return NULL
    first = load(arguments, 0, int64)
    which = 0
    for k in range(count):
        operand = load(arguments, k, int64)
        if is_tensor(runtime, operand):
            if is_inference(runtime, operand):
                return NULL
            if field(operand, runtime.tensor.requires_grad) == runtime.true:
                which |= (1 + (int64(operand == first) << RECIPE_OPERANDS)) << k
    recipe = recipes[which]
    if recipe.rule == NULL:
        return NULL
    return recipe


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
def new_edges(runtime, arguments, count):
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
    place = (recipe.uses >> (PLACE_BITS * i)) & 15
    return NULL if place == 0 else load(arguments, place - 1, int64)


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
def add_node(runtime, recipe, arguments, count, result):
    """Make the node of a result, which requires grad, as a recipe says; False if that failed."""
    node = allocate(recipe.node_type, 0)
    if node == NULL:
        return False
    put(node, runtime.node.hooks, runtime.none)
    put(node, runtime.pointwise_node.rule, recipe.rule)
    array = field(result, runtime.tensor.array)
    own = runtime.pointwise_node
    if not (
        give(node, runtime.node.next_edges, new_edges(runtime, arguments, count))
        and give(node, runtime.node.sequence_nr, next_of(runtime.sequence))
        and give(node, own.restore, new_restore(runtime, arguments, count, array))
        and give(node, runtime.node.saved, saved_of_formula(runtime, recipe, arguments, result))
        and give(node, own.numbers, numbers_of_formula(runtime, recipe, arguments))
    ):
        decrement_reference(node)
        return False
    replace(result, runtime.tensor.grad_fn, node)
    return True


def pointwise_recorded(self, arguments, given):
    """``builtin(*operands, recording) -> Tensor`` of Tensors and Python numbers.

    A result that requires grad and has no node is one that Python has to record. Misses as the
    launcher of ndarrays does, and for other operands.
    """
    table = LaunchTable(ArrayHead(self).data)
    runtime = table.runtime
    true = runtime.true
    count = given - 1
    recording = load(arguments, count, int64)
    if count > MAX_OPERANDS:
        return raise_miss(runtime, MISS_LIMIT)
    operands = address_of_stack(MAX_OPERANDS)
    needed = runtime.false
    array_type = runtime.array_type
    transformed = runtime.transformed_type  # 0 before duals are known
    for k in range(count):
        operand = load(arguments, k, int64)
        if is_tensor(runtime, operand):
            if field(operand, runtime.tensor.requires_grad) == true:
                if table.recorded == 1:
                    needed = recording
            operand = array_in(runtime, operand, runtime.tensor.array)
            if operand == NULL:  # a Tensor that was made without one, or with something else
                return raise_miss(runtime, MISS_OPERAND)
            if ObjectHead(operand).type == transformed:
                return call_launcher(runtime.dual_pointwise, self, arguments, given)
        elif ObjectHead(operand).type == array_type:
            return raise_miss(runtime, MISS_OPERAND)  # Python says that it is no Tensor
        store(operands, k, operand, int64)
    array = run_holding(table, self, operands, count)
    if array == NULL:
        return NULL
    result = new_tensor(runtime, array, needed)
    if result != NULL and needed == true:
        recipe = find_recipe(runtime, table, arguments, count)
        if recipe != NULL and not add_node(runtime, recipe, arguments, count, result):
            decrement_reference(result)
            return NULL
    return result


def pointwise_into(self, arguments, given):
    """``builtin(output, *operands) -> None``: write the result of Tensors and numbers to a Tensor.

    Nothing is recorded; the version of the output is counted up.
    """
    table = LaunchTable(ArrayHead(self).data)
    runtime = table.runtime
    output = load(arguments, 0, int64)
    if given > MAX_OPERANDS or not is_tensor(runtime, output):
        return raise_miss(runtime, MISS_OPERAND)
    if is_watched(runtime) or (is_inference(runtime, output) and inference_mode(runtime) != ON):
        return raise_miss(runtime, MISS_OPERAND)  # Python knows whom to ask, and what to say
    operands = address_of_stack(MAX_OPERANDS)
    array_type = runtime.array_type
    for k in range(given):
        operand = load(arguments, k, int64)
        if is_tensor(runtime, operand):
            operand = array_in(runtime, operand, runtime.tensor.array)
            if operand == NULL:
                return raise_miss(runtime, MISS_OPERAND)
        elif ObjectHead(operand).type == array_type:
            return raise_miss(runtime, MISS_OPERAND)
        store(operands, k - 1 if k > 0 else given - 1, operand, int64)
    cell = shared_cell(runtime, output)
    before = NULL
    if cell != NULL:
        before = count_writes(cell, 1)
    if before == NULL:
        return NULL
    increment_reference(cell)
    made = run_holding(table, self, operands, given)
    if made == NULL:
        uncount(cell, before, 1)
    else:
        decrement_reference(before)
    decrement_reference(cell)
    return made


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


def attach(self, arguments, given):
    """``builtin(array, node_type, inputs, saved) -> Tensor``: made by a new node of that type.

    ``inputs`` is a tuple of what the edges lead to, as far as it is a Tensor that requires grad;
    ``saved`` is one of the Tensors that the node keeps, or None. Slots that nodes of the type have
    beyond those of ``Node`` are left to the caller.
    """
    runtime = Runtime(ArrayHead(self).data)
    none = runtime.none
    array = load(arguments, 0, int64)
    inputs = load(arguments, 2, int64)
    kept = load(arguments, 3, int64)
    in_python = is_watched(runtime)
    for k in range(tuple_size(kept)):
        entry = tuple_get_item(kept, k)
        if entry != none:
            in_python = in_python or is_inference(runtime, entry)
    if in_python:
        return call(runtime.attach, arguments, 4)
    node = allocate(load(arguments, 1, int64), 0)
    if node == NULL:
        return NULL
    put(node, runtime.node.hooks, none)
    result = NULL
    if (
        give(node, runtime.node.next_edges, edges_of_inputs(runtime, inputs))
        and give(node, runtime.node.saved, saved_of_tuple(runtime, kept))
        and give(node, runtime.node.sequence_nr, next_of(runtime.sequence))
    ):
        result = new_tensor(runtime, new_reference(array), runtime.true)
    if result == NULL:
        decrement_reference(node)
        return NULL
    replace(result, runtime.tensor.grad_fn, node)
    return result


def repeated(self, arguments, given):
    """``builtin(array, shape) -> Tensor``: one element as a tensor of a shape, without a copy."""
    runtime = Runtime(ArrayHead(self).data)
    array = load(arguments, 0, int64)
    shape = load(arguments, 1, int64)
    rank = tuple_size(shape)
    sizes = address_of_stack(MAX_DIMENSIONS)
    strides = address_of_stack(MAX_DIMENSIONS)
    if rank > MAX_DIMENSIONS:
        return raise_miss(runtime, MISS_LIMIT)
    for d in range(rank):
        store(sizes, d, long_as_long(tuple_get_item(shape, d)), int64)
        store(strides, d, 0, int64)
    array_type = runtime.array_type
    view = new_view(runtime, array_type, array, rank, sizes, strides)
    if view == NULL:
        return NULL
    return new_tensor(runtime, view, runtime.false)


@subroutine
def saved_array(runtime, entry):
    """The array of a saved tensor, or NULL if Python has to look at it more closely."""
    kind = ObjectHead(entry).type
    if is_tensor(runtime, entry):
        if field(entry, runtime.tensor.version_cell) != runtime.none:
            return NULL
        return array_in(runtime, entry, runtime.tensor.array)
    if kind == runtime.saved_input_type:
        # A write in place makes another number of the count, so the same object means no write.
        cell = field(entry, runtime.saved_input.cell)
        tensor = field(entry, runtime.saved_input.tensor)
        if not is_cell(runtime, cell) or not is_tensor(runtime, tensor):
            return NULL
        version = list_get_item(cell, 0)
        if version != field(entry, runtime.saved_input.version):
            return NULL
        return array_in(runtime, tensor, runtime.tensor.array)
    if kind == runtime.saved_output_type:
        cell = field(entry, runtime.saved_output.cell)
        if not is_cell(runtime, cell):
            return NULL
        version = list_get_item(cell, 0)
        if version != field(entry, runtime.saved_output.version):
            return NULL
        return array_in(runtime, entry, runtime.saved_output.array)
    return NULL


@subroutine
def unpack(runtime, node, operands):
    """Write what the gradient of a node uses behind the first operand; returns how many, or -1."""
    none = runtime.none
    saved = field(node, runtime.node.saved)
    numbers = field(node, runtime.pointwise_node.numbers)
    tuple_type = runtime.tuple_type
    if not has_type(saved, tuple_type) or (numbers != none and not has_type(numbers, tuple_type)):
        return -1  # freed, or what somebody put there
    count = tuple_size(saved)
    if numbers != none:
        count = tuple_size(numbers)
    if count >= MAX_OPERANDS:
        return -1
    position = 0
    for k in range(count):
        operand = none
        if numbers != none:
            operand = tuple_get_item(numbers, k)
        if operand == none:
            if position == tuple_size(saved):
                return -1
            operand = saved_array(runtime, tuple_get_item(saved, position))
            position += 1
        if operand == NULL:
            return -1
        store(operands, 1 + k, operand, int64)
    return 1 + count


@subroutine
def gradients_of(table, runtime, made, grad):
    """A tuple of the gradients of the inputs, of what the kernel made and the incoming one."""
    none = runtime.none
    false = runtime.false
    outputs = table.outputs
    inputs = table.inputs
    places = table.places
    results = tuple_new(inputs)
    if results == NULL:
        return NULL
    for k in range(inputs):
        place = (places >> (PLACE_BITS * k)) & 15
        if place >= PLACE_OUTPUT:
            array = made
            if outputs > 1:
                array = tuple_get_item(made, place - PLACE_OUTPUT)
            value = new_tensor(runtime, new_reference(array), false)
        else:
            value = new_reference(grad if place == PLACE_PASSED else none)
        if not fill(results, k, value):
            return NULL
    return results


def pointwise_gradients(self, arguments, given):
    """``builtin(node, grad) -> tuple``: a Tensor or None for each input of the node's operator.

    Returns None where the Python code has to do it: for a gradient that is no plain Tensor, and for
    saved tensors that were freed or written, where there is an error to raise.
    """
    table = LaunchTable(ArrayHead(self).data)
    runtime = table.runtime
    none = runtime.none
    node = load(arguments, 0, int64)
    grad = load(arguments, 1, int64)
    operands = address_of_stack(MAX_OPERANDS)
    count = -1
    if is_tensor(runtime, grad):
        array = array_in(runtime, grad, runtime.tensor.array)
        store(operands, 0, array, int64)
        if array != NULL:
            count = unpack(runtime, node, operands)
    if count < 0:
        return new_reference(none)
    made = run_holding(table, self, operands, count)
    if made == NULL:
        return NULL
    results = gradients_of(table, runtime, made, grad)
    decrement_reference(made)
    return results
