"""Launchers that take and return Tensors: a pointwise operator with its node, and its gradient.

Small tensors are bound by what surrounds the kernel, so the ordinary case of that is compiled too.
``numbagrad.ops.operators.native_launchers`` installs them as builtins and says in the runtime block
where the slots of Tensors and nodes lie. The kernel is run by a launcher of ``launch.py``; what is
not the ordinary case is left to the Python code of
``numbagrad/ops/operators/pointwise_operator.py``, which does the same.
"""

from __future__ import annotations

from ..codegen.intrinsics import address_of_stack, int64, load, store, subroutine
from ..kernels.layout import MAX_DIMENSIONS, MAX_OPERANDS
from .calls import call_launcher
from .launch import raise_miss
from .layout import (
    MISS_LIMIT,
    MISS_OPERAND,
    POSITION_BITS,
    RECIPE_OPERANDS,
    SOURCE_OUTPUT,
    SOURCE_PASSED,
    LaunchTable,
    Runtime,
)
from .nodes import add_pointwise_node, edges_of_inputs, new_node, saved_of_tuple
from .object_heads import ArrayHead, ObjectHead
from .objects import (
    call,
    decrement_reference,
    field,
    fill,
    has_type,
    increment_reference,
    let_go_of_all,
    list_get_item,
    long_as_long,
    new_reference,
    replace,
    tuple_get_item,
    tuple_new,
    tuple_size,
)
from .tensors import (
    ON,
    array_in,
    count_writes,
    inference_mode,
    is_cell,
    is_inference,
    is_tensor,
    is_watched,
    new_tensor,
    new_view,
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
    for k in range(count):
        operand = load(arguments, k, int64)
        if is_tensor(runtime, operand):
            if field(operand, runtime.tensor.requires_grad) == true:
                if table.recorded == 1:
                    needed = recording
            operand = array_in(runtime, operand, runtime.tensor.array)
            if operand == NULL:  # a Tensor that was made without one, or with something else
                return raise_miss(runtime, MISS_OPERAND)
        elif ObjectHead(operand).type == array_type:
            return raise_miss(runtime, MISS_OPERAND)  # Python says that it is no Tensor
        store(operands, k, operand, int64)
    array = run_holding(table, self, operands, count)
    if array == NULL:
        return NULL
    result = new_tensor(runtime, array, needed)
    if result != NULL and needed == true:
        recipe = find_recipe(runtime, table, arguments, count)
        if recipe != NULL and not add_pointwise_node(runtime, recipe, arguments, count, result):
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
    edges = edges_of_inputs(runtime, inputs)
    saved = NULL
    if edges != NULL:
        saved = saved_of_tuple(runtime, kept)
    node = new_node(runtime, load(arguments, 1, int64), edges, saved)
    if node == NULL:
        return NULL
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
    positions = table.positions
    results = tuple_new(inputs)
    if results == NULL:
        return NULL
    for k in range(inputs):
        position = (positions >> (POSITION_BITS * k)) & 15
        if position >= SOURCE_OUTPUT:
            array = made
            if outputs > 1:
                array = tuple_get_item(made, position - SOURCE_OUTPUT)
            value = new_tensor(runtime, new_reference(array), false)
        else:
            value = new_reference(grad if position == SOURCE_PASSED else none)
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
