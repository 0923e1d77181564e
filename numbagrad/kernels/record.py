"""Launchers that take and return Tensors: a pointwise operator with its node, and its gradient.

Small tensors are bound by what surrounds the kernel, so the ordinary case of that is compiled too.
``numbagrad.ops.recorder`` installs them as builtins and says in the runtime block where the slots
of Tensors and nodes lie. The kernel is run by a launcher of ``launch.py``; what is not the ordinary
case is left to the Python code of ``numbagrad/ops/operator.py``, which does the same.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .intrinsics import (
    address_of_stack,
    call_launcher,
    external,
    int32,
    int64,
    load,
    new_from_descriptor,
    store,
    subroutine,
)
from .launch import (
    decrement_reference,
    increment_reference,
    long_as_long,
    long_from_long,
    raise_miss,
    same_shape,
    tuple_new,
    tuple_set_item,
)
from .layout import *  # noqa: F403 - the words of the tables, all of them

is_subtype = external("PyType_IsSubtype", types.int32, types.int64, types.int64)
allocate = external("PyType_GenericAlloc", types.int64, types.int64, types.int64)
next_of = external("PyIter_Next", types.int64, types.int64)
list_new = external("PyList_New", types.int64, types.int64)
list_get_item = external("PyList_GetItem", types.int64, types.int64, types.int64)
list_set_item = external("PyList_SetItem", types.int32, types.int64, types.int64, types.int64)
tuple_get_item = external("PyTuple_GetItem", types.int64, types.int64, types.int64)
tuple_size = external("PyTuple_Size", types.int64, types.int64)
get_attribute = external("PyObject_GetAttr", types.int64, types.int64, types.int64)
# Called without keywords; the plainer PyObject_Vectorcall is no symbol of Python 3.10.
vectorcall = external(
    "PyObject_VectorcallDict", types.int64, types.int64, types.int64, types.int64, types.int64
)

NULL = 0


@subroutine
def new_view(runtime, subtype, array, rank, sizes, strides):
    """An array over the memory of another one, from its first element on; it keeps no reference."""
    descriptor = load(array + ARRAY_DESCRIPTOR, 0, int64)
    increment_reference(descriptor)
    new = load(runtime, RUNTIME_NEW_FROM_DESCRIPTOR, int64)
    data = load(array + ARRAY_DATA, 0, int64)
    return new_from_descriptor(
        new, subtype, descriptor, rank, sizes, strides, data, FLAG_ALIGNED_WRITEABLE
    )


@intrinsic
def set_base(typing_context, function, array, base):
    """NumPy's ``PyArray_SetBaseObject`` at address ``function``; takes over the reference."""

    def codegen(context, builder, signature, arguments):
        word = ir.IntType(64)
        function_type = ir.FunctionType(ir.IntType(32), [word, word])
        pointer = builder.inttoptr(arguments[0], function_type.as_pointer())
        return builder.call(pointer, arguments[1:])

    return types.int32(*[types.int64] * 3), codegen


@subroutine
def field(runtime, object, name):
    """What the slot ``name`` (a FIELD word) of an object holds; a borrowed reference."""
    return load(object + load(runtime, name, int64), 0, int64)


@subroutine
def give(runtime, object, name, value):
    """Set a slot of a new object; the reference to ``value`` goes with it."""
    store(object + load(runtime, name, int64), 0, value, int64)


@subroutine
def put(runtime, object, name, value):
    """Set a slot of a new object."""
    increment_reference(value)
    store(object + load(runtime, name, int64), 0, value, int64)


@subroutine
def is_tensor(runtime, object):
    """Whether it is a Tensor or of a subclass."""
    kind = load(object + OBJECT_TYPE, 0, int64)
    tensor_type = load(runtime, RUNTIME_TENSOR_TYPE, int64)
    return kind == tensor_type or is_subtype(kind, tensor_type) != 0


@subroutine
def call(function, arguments, count):
    """``function(*arguments)`` of a Python object and an array of references."""
    return vectorcall(function, arguments, count, NULL)


@subroutine
def has_switch(runtime, name):
    """Whether a switch of this thread is on: an attribute of ``grad_mode.state``."""
    value = get_attribute(load(runtime, RUNTIME_GRAD_MODE, int64), load(runtime, name, int64))
    decrement_reference(value)  # True and False live for ever
    return value == load(runtime, RUNTIME_TRUE, int64)


@subroutine
def is_watched(runtime):
    """Whether nodes have to be made by Python: somebody looks at each of them."""
    return load(runtime, RUNTIME_WATCHED, int64) != 0


@subroutine
def in_inference_mode(runtime):
    """Whether this thread makes inference tensors."""
    if load(runtime, RUNTIME_INFERENCE_THREADS, int64) == 0:
        return False
    return has_switch(runtime, RUNTIME_NAME_INFERENCE)


@subroutine
def is_inference(runtime, tensor):
    """Whether a Tensor was made in inference mode."""
    cell = field(runtime, tensor, FIELD_VERSION_CELL)
    return cell == load(runtime, RUNTIME_INFERENCE_CELL, int64)


@subroutine
def run_holding(table, self, operands, count):
    """Run the launcher of ndarrays; it may let go of the GIL, so hold its operands meanwhile."""
    for k in range(count):
        increment_reference(load(operands, k, int64))
    made = call_launcher(load(table, TABLE_LAUNCHER, int64), self, operands, count)
    for k in range(count):
        decrement_reference(load(operands, k, int64))
    return made


@subroutine
def new_tensor(runtime, array, requires_grad):
    """A Tensor without a history that takes over the reference to ``array``."""
    tensor = allocate(load(runtime, RUNTIME_TENSOR_TYPE, int64), 0)
    if tensor == NULL:
        decrement_reference(array)
        return NULL
    give(runtime, tensor, FIELD_ARRAY, array)
    put(runtime, tensor, FIELD_REQUIRES_GRAD, requires_grad)
    put(runtime, tensor, FIELD_GRAD_FN, load(runtime, RUNTIME_NONE, int64))
    put(runtime, tensor, FIELD_OUTPUT_NR, load(runtime, RUNTIME_ZERO, int64))
    cell = load(runtime, RUNTIME_NONE, int64)
    if in_inference_mode(runtime):
        cell = load(runtime, RUNTIME_INFERENCE_CELL, int64)
    put(runtime, tensor, FIELD_VERSION_CELL, cell)
    put(runtime, tensor, FIELD_GRAD, load(runtime, RUNTIME_NONE, int64))
    put(runtime, tensor, FIELD_BASE, load(runtime, RUNTIME_NONE, int64))
    return tensor


@subroutine
def new_edge(runtime, operand):
    """``(operand, 0)`` for a leaf, else ``(grad_fn, output_nr)``."""
    edge = tuple_new(2)
    target = field(runtime, operand, FIELD_GRAD_FN)
    number = field(runtime, operand, FIELD_OUTPUT_NR)
    if target == load(runtime, RUNTIME_NONE, int64):
        target = operand
    increment_reference(target)
    increment_reference(number)
    tuple_set_item(edge, 0, target)
    tuple_set_item(edge, 1, number)
    return edge


@subroutine
def save(runtime, tensor):
    """What ``autograd.saved.save`` returns for a tensor."""
    cell = field(runtime, tensor, FIELD_VERSION_CELL)
    if cell == load(runtime, RUNTIME_NONE, int64):
        increment_reference(tensor)
        return tensor
    saved = allocate(load(runtime, RUNTIME_SAVED_INPUT_TYPE, int64), 0)
    put(runtime, saved, FIELD_INPUT_TENSOR, tensor)
    put(runtime, saved, FIELD_INPUT_CELL, cell)
    put(runtime, saved, FIELD_INPUT_VERSION, list_get_item(cell, 0))
    return saved


@subroutine
def save_output(runtime, tensor):
    """What ``autograd.saved.save_output`` returns for the only output, which is new."""
    zero = load(runtime, RUNTIME_ZERO, int64)
    cell = list_new(1)
    increment_reference(zero)
    list_set_item(cell, 0, zero)
    decrement_reference(field(runtime, tensor, FIELD_VERSION_CELL))
    put(runtime, tensor, FIELD_VERSION_CELL, cell)
    saved = allocate(load(runtime, RUNTIME_SAVED_OUTPUT_TYPE, int64), 0)
    put(runtime, saved, FIELD_KEPT_ARRAY, field(runtime, tensor, FIELD_ARRAY))
    give(runtime, saved, FIELD_KEPT_CELL, cell)
    put(runtime, saved, FIELD_KEPT_VERSION, zero)
    put(runtime, saved, FIELD_KEPT_OUTPUT_NR, zero)
    return saved


@subroutine
def needs_gradient(runtime, operand):
    if not is_tensor(runtime, operand):
        return False
    return field(runtime, operand, FIELD_REQUIRES_GRAD) == load(runtime, RUNTIME_TRUE, int64)


@subroutine
def find_recipe(runtime, table, arguments, count):
    """The recipe for the node of a result, or NULL: then Python has to make it."""
    recipes = load(table, TABLE_RECIPES, int64)
    if recipes == NULL or count > RECIPE_OPERANDS or is_watched(runtime):
        return NULL
    first = load(arguments, 0, int64)
    which = 0
    for k in range(count):
        operand = load(arguments, k, int64)
        if is_tensor(runtime, operand):
            if is_inference(runtime, operand):
                return NULL
            if field(runtime, operand, FIELD_REQUIRES_GRAD) == load(runtime, RUNTIME_TRUE, int64):
                which |= (1 + (int64(operand == first) << RECIPE_OPERANDS)) << k
    recipe = recipes + 8 * RECIPE_WORDS * which
    if load(recipe, RECIPE_RULE, int64) == NULL:
        return NULL
    return recipe


@subroutine
def shape_and_dtype(array):
    """A tuple of the shape and the dtype of an array."""
    rank = int64(load(array + ARRAY_DIMENSIONS, 0, int32))
    sizes = load(array + ARRAY_SHAPE, 0, int64)
    shape = tuple_new(rank)
    for d in range(rank):
        tuple_set_item(shape, d, long_from_long(load(sizes, d, int64)))
    dtype = load(array + ARRAY_DESCRIPTOR, 0, int64)
    increment_reference(dtype)
    both = tuple_new(2)
    tuple_set_item(both, 0, shape)
    tuple_set_item(both, 1, dtype)
    return both


@subroutine
def new_restore(runtime, arguments, count, array):
    """``restore`` of a node, or None if no operand has another shape or dtype than the result."""
    none = load(runtime, RUNTIME_NONE, int64)
    dtype = load(array + ARRAY_DESCRIPTOR, 0, int64)
    restore = none
    for k in range(count):
        operand = load(arguments, k, int64)
        if needs_gradient(runtime, operand):
            own = field(runtime, operand, FIELD_ARRAY)
            if load(own + ARRAY_DESCRIPTOR, 0, int64) != dtype or not same_shape(own, array):
                if restore == none:
                    restore = tuple_new(count)
                tuple_set_item(restore, k, shape_and_dtype(own))
    if restore != none:
        for k in range(count):
            if tuple_get_item(restore, k) == NULL:
                increment_reference(none)
                tuple_set_item(restore, k, none)
    else:
        increment_reference(none)
    return restore


@subroutine
def new_edges(runtime, arguments, count):
    """``next_edges`` of a node; operands that are the first again share its edge."""
    edges = tuple_new(count)
    for k in range(count):
        operand = load(arguments, k, int64)
        if needs_gradient(runtime, operand):
            if k > 0 and operand == load(arguments, 0, int64):
                edge = tuple_get_item(edges, 0)
                increment_reference(edge)
            else:
                edge = new_edge(runtime, operand)
        else:
            edge = load(runtime, RUNTIME_NONE, int64)
            increment_reference(edge)
        tuple_set_item(edges, k, edge)
    return edges


@subroutine
def keep_used(runtime, recipe, node, arguments, result):
    """Set ``saved`` of a node, and ``numbers`` if its gradient uses Python numbers as well."""
    uses = load(recipe, RECIPE_USES, int64)
    uses_result = load(recipe, RECIPE_USES_RESULT, int64)
    count = 0
    tensors = 0
    while uses >> (PLACE_BITS * count) != 0:
        place = ((uses >> (PLACE_BITS * count)) & 15) - 1
        tensors += int64(is_tensor(runtime, load(arguments, place, int64)))
        count += 1
    saved = tuple_new(tensors + uses_result)
    numbers = load(runtime, RUNTIME_NONE, int64)
    if tensors < count:
        numbers = tuple_new(count + uses_result)
        if uses_result:
            none = load(runtime, RUNTIME_NONE, int64)
            increment_reference(none)
            tuple_set_item(numbers, count, none)
    else:
        increment_reference(numbers)
    position = 0
    for i in range(count):
        operand = load(arguments, ((uses >> (PLACE_BITS * i)) & 15) - 1, int64)
        number = operand
        if is_tensor(runtime, operand):
            tuple_set_item(saved, position, save(runtime, operand))
            position += 1
            number = load(runtime, RUNTIME_NONE, int64)
        if tensors < count:
            increment_reference(number)
            tuple_set_item(numbers, i, number)
    if uses_result:
        tuple_set_item(saved, position, save_output(runtime, result))
    give(runtime, node, FIELD_SAVED, saved)
    give(runtime, node, FIELD_NUMBERS, numbers)


@subroutine
def add_node(runtime, recipe, arguments, count, result):
    """Make the node of a result, which requires grad, as a recipe says."""
    none = load(runtime, RUNTIME_NONE, int64)
    node = allocate(load(recipe, RECIPE_NODE_TYPE, int64), 0)
    give(runtime, node, FIELD_NEXT_EDGES, new_edges(runtime, arguments, count))
    put(runtime, node, FIELD_HOOKS, none)
    give(runtime, node, FIELD_SEQUENCE_NR, next_of(load(runtime, RUNTIME_SEQUENCE, int64)))
    put(runtime, node, FIELD_RULE, load(recipe, RECIPE_RULE, int64))
    array = field(runtime, result, FIELD_ARRAY)
    give(runtime, node, FIELD_RESTORE, new_restore(runtime, arguments, count, array))
    keep_used(runtime, recipe, node, arguments, result)
    decrement_reference(field(runtime, result, FIELD_GRAD_FN))
    give(runtime, result, FIELD_GRAD_FN, node)


def pointwise_recorded(self, arguments, given):
    """``builtin(*operands, recording) -> Tensor`` of Tensors and Python numbers.

    A result that requires grad and has no node is one that Python has to record. Misses as the
    launcher of ndarrays does, and for other operands.
    """
    table = load(self + ARRAY_DATA, 0, int64)
    runtime = load(table, TABLE_RUNTIME, int64)
    true = load(runtime, RUNTIME_TRUE, int64)
    count = given - 1
    recording = load(arguments, count, int64)
    if count > MAX_OPERANDS:
        return raise_miss(runtime, MISS_LIMIT)
    operands = address_of_stack(MAX_OPERANDS)
    needed = load(runtime, RUNTIME_FALSE, int64)
    transformed = load(runtime, RUNTIME_TRANSFORMED_TYPE, int64)  # 0 before duals are known
    for k in range(count):
        operand = load(arguments, k, int64)
        if is_tensor(runtime, operand):
            if field(runtime, operand, FIELD_REQUIRES_GRAD) == true:
                if load(table, TABLE_RECORDED, int64) == 1:
                    needed = recording
            operand = field(runtime, operand, FIELD_ARRAY)
            if operand == NULL:  # a Tensor that was made without one
                return raise_miss(runtime, MISS_OPERAND)
            if load(operand + OBJECT_TYPE, 0, int64) == transformed:
                return call_launcher(
                    load(runtime, RUNTIME_DUAL_POINTWISE, int64), self, arguments, given
                )
        store(operands, k, operand, int64)
    array = run_holding(table, self, operands, count)
    if array == NULL:
        return NULL
    result = new_tensor(runtime, array, needed)
    if result != NULL and needed == true:
        recipe = find_recipe(runtime, table, arguments, count)
        if recipe != NULL:
            add_node(runtime, recipe, arguments, count, result)
    return result


@subroutine
def bump_version(runtime, tensor):
    """Count one write in place to the memory of a tensor."""
    cell = field(runtime, tensor, FIELD_VERSION_CELL)
    none = load(runtime, RUNTIME_NONE, int64)
    if cell == none:
        cell = list_new(1)
        list_set_item(cell, 0, long_from_long(1))
        decrement_reference(none)
        give(runtime, tensor, FIELD_VERSION_CELL, cell)
    else:
        count = long_as_long(list_get_item(cell, 0))
        list_set_item(cell, 0, long_from_long(count + 1))


def pointwise_into(self, arguments, given):
    """``builtin(output, *operands) -> None``: write the result of Tensors and numbers to a Tensor.

    Nothing is recorded; the version of the output is counted up.
    """
    table = load(self + ARRAY_DATA, 0, int64)
    runtime = load(table, TABLE_RUNTIME, int64)
    output = load(arguments, 0, int64)
    if given > MAX_OPERANDS or not is_tensor(runtime, output):
        return raise_miss(runtime, MISS_OPERAND)
    if is_watched(runtime) or (is_inference(runtime, output) and not in_inference_mode(runtime)):
        return raise_miss(runtime, MISS_OPERAND)  # Python knows whom to ask, and what to say
    operands = address_of_stack(MAX_OPERANDS)
    for k in range(given):
        operand = load(arguments, k, int64)
        if is_tensor(runtime, operand):
            operand = field(runtime, operand, FIELD_ARRAY)
            if operand == NULL:
                return raise_miss(runtime, MISS_OPERAND)
        store(operands, k - 1 if k > 0 else given - 1, operand, int64)
    made = run_holding(table, self, operands, given)
    if made != NULL:
        bump_version(runtime, output)
    return made


def attach(self, arguments, given):
    """``builtin(array, node_type, inputs, saved) -> Tensor``: made by a new node of that type.

    ``inputs`` is a tuple of what the edges lead to, as far as it is a Tensor that requires grad;
    ``saved`` is one of the Tensors that the node keeps, or None. Slots that nodes of the type have
    beyond those of ``Node`` are left to the caller.
    """
    runtime = load(self + ARRAY_DATA, 0, int64)
    none = load(runtime, RUNTIME_NONE, int64)
    array = load(arguments, 0, int64)
    inputs = load(arguments, 2, int64)
    kept = load(arguments, 3, int64)
    in_python = is_watched(runtime)
    for k in range(tuple_size(kept)):
        entry = tuple_get_item(kept, k)
        if entry != none:
            in_python = in_python or is_inference(runtime, entry)
    if in_python:
        return call(load(runtime, RUNTIME_ATTACH, int64), arguments, 4)
    increment_reference(array)
    result = new_tensor(runtime, array, load(runtime, RUNTIME_TRUE, int64))
    if result == NULL:
        return NULL
    node = allocate(load(arguments, 1, int64), 0)
    count = tuple_size(inputs)
    edges = tuple_new(count)
    for k in range(count):
        operand = tuple_get_item(inputs, k)
        edge = none
        if needs_gradient(runtime, operand):
            edge = new_edge(runtime, operand)
        else:
            increment_reference(edge)
        tuple_set_item(edges, k, edge)
    count = tuple_size(kept)
    saved = tuple_new(count)
    for k in range(count):
        entry = tuple_get_item(kept, k)
        if entry == none:
            increment_reference(none)
        else:
            entry = save(runtime, entry)
        tuple_set_item(saved, k, entry)
    give(runtime, node, FIELD_NEXT_EDGES, edges)
    give(runtime, node, FIELD_SAVED, saved)
    put(runtime, node, FIELD_HOOKS, none)
    give(runtime, node, FIELD_SEQUENCE_NR, next_of(load(runtime, RUNTIME_SEQUENCE, int64)))
    decrement_reference(none)  # the history of a new Tensor
    give(runtime, result, FIELD_GRAD_FN, node)
    return result


def repeated(self, arguments, given):
    """``builtin(array, shape) -> Tensor``: one element as a tensor of a shape, without a copy."""
    runtime = load(self + ARRAY_DATA, 0, int64)
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
    array_type = load(runtime, RUNTIME_ARRAY_TYPE, int64)
    view = new_view(runtime, array_type, array, rank, sizes, strides)
    if view == NULL:
        return NULL
    increment_reference(array)
    set_base(load(runtime, RUNTIME_SET_BASE, int64), view, array)
    return new_tensor(runtime, view, load(runtime, RUNTIME_FALSE, int64))


@subroutine
def saved_array(runtime, entry):
    """The array of a saved tensor, or NULL if Python has to look at it more closely."""
    kind = load(entry + OBJECT_TYPE, 0, int64)
    if is_tensor(runtime, entry):
        if field(runtime, entry, FIELD_VERSION_CELL) != load(runtime, RUNTIME_NONE, int64):
            return NULL
        return field(runtime, entry, FIELD_ARRAY)
    if kind == load(runtime, RUNTIME_SAVED_INPUT_TYPE, int64):
        # A write in place makes another number of the count, so the same object means no write.
        cell = field(runtime, entry, FIELD_INPUT_CELL)
        version = list_get_item(cell, 0)
        if version != field(runtime, entry, FIELD_INPUT_VERSION):
            return NULL
        return field(runtime, field(runtime, entry, FIELD_INPUT_TENSOR), FIELD_ARRAY)
    if kind == load(runtime, RUNTIME_SAVED_OUTPUT_TYPE, int64):
        cell = field(runtime, entry, FIELD_KEPT_CELL)
        version = list_get_item(cell, 0)
        if version != field(runtime, entry, FIELD_KEPT_VERSION):
            return NULL
        return field(runtime, entry, FIELD_KEPT_ARRAY)
    return NULL


@subroutine
def unpack(runtime, node, operands):
    """Write what the gradient of a node uses behind the first operand; returns how many, or -1."""
    none = load(runtime, RUNTIME_NONE, int64)
    saved = field(runtime, node, FIELD_SAVED)
    numbers = field(runtime, node, FIELD_NUMBERS)
    if saved == none:
        return -1
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
            operand = saved_array(runtime, tuple_get_item(saved, position))
            position += 1
        if operand == NULL:
            return -1
        store(operands, 1 + k, operand, int64)
    return 1 + count


def pointwise_gradients(self, arguments, given):
    """``builtin(node, grad) -> tuple``: a Tensor or None for each input of the node's operator.

    Returns None where the Python code has to do it: for a gradient that is no plain Tensor, and for
    saved tensors that were freed or written, where there is an error to raise.
    """
    table = load(self + ARRAY_DATA, 0, int64)
    runtime = load(table, TABLE_RUNTIME, int64)
    none = load(runtime, RUNTIME_NONE, int64)
    node = load(arguments, 0, int64)
    grad = load(arguments, 1, int64)
    operands = address_of_stack(MAX_OPERANDS)
    count = -1
    if is_tensor(runtime, grad):
        store(operands, 0, field(runtime, grad, FIELD_ARRAY), int64)
        count = unpack(runtime, node, operands)
    if count < 0:
        increment_reference(none)
        return none
    made = run_holding(table, self, operands, count)
    if made == NULL:
        return NULL
    outputs = load(table, TABLE_OUTPUTS, int64)
    inputs = load(table, TABLE_INPUTS, int64)
    places = load(table, TABLE_PLACES, int64)
    results = tuple_new(inputs)
    for k in range(inputs):
        place = (places >> (PLACE_BITS * k)) & 15
        value = none
        if place == PLACE_PASSED:
            value = grad
        increment_reference(value)
        if place >= PLACE_OUTPUT:
            array = made
            if outputs > 1:
                array = tuple_get_item(made, place - PLACE_OUTPUT)
            increment_reference(array)
            decrement_reference(value)
            value = new_tensor(runtime, array, load(runtime, RUNTIME_FALSE, int64))
        tuple_set_item(results, k, value)
    decrement_reference(made)
    return results
