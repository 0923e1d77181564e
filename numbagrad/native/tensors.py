"""Tensors, edges and saved tensors made by launchers, and the version counts of memory.

``pointwise_operator.py``, ``tensor_operator.py``, ``duals.py``, ``jvp.py`` and ``replay.py`` are
made of these. ``numbagrad/ops/native_launchers.py`` says in the runtime block where the slots of
such objects lie. What is made here is complete, or it is NULL (see ``objects.py``). Imported only
to compile.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..codegen.intrinsics import int32, int64, load, subroutine
from ..kernels.layout import *  # noqa: F403 - the words of the tables
from .calls import new_from_descriptor
from .layout import *  # noqa: F403 - the words of the tables, all of them
from .objects import (
    allocate,
    decrement_reference,
    error_clear,
    field,
    fill,
    get_attribute,
    give,
    has_type,
    held,
    increment_reference,
    is_subtype,
    list_get_item,
    list_new,
    list_set_item,
    list_size,
    long_as_long,
    long_from_long,
    new_reference,
    pair,
    put,
    raise_unusable,
    replace,
    tuple_new,
)

NULL = 0
#: A switch of the thread. FAILED, with an exception: the first look in a thread makes its switches.
OFF, ON, FAILED = 0, 1, -1


# --- switches -------------------------------------------------------------------------------------


@subroutine
def switch(runtime, switches, name):
    """A switch of this thread, an attribute of a ``threading.local``: ON, OFF or FAILED."""
    value = get_attribute(load(runtime, switches, int64), load(runtime, name, int64))
    if value == NULL:
        return FAILED
    decrement_reference(value)  # True and False live for ever
    return ON if value == load(runtime, RUNTIME_TRUE, int64) else OFF


@subroutine
def recording_mode(runtime):
    """``grad_mode.state.enabled``, whether this thread records the graph: ON, OFF or FAILED."""
    return switch(runtime, RUNTIME_GRAD_MODE, RUNTIME_NAME_ENABLED)


@subroutine
def inference_mode(runtime):
    """Whether this thread makes inference tensors: ON, OFF or FAILED."""
    if load(runtime, RUNTIME_INFERENCE_THREADS, int64) == 0:
        return OFF
    return switch(runtime, RUNTIME_GRAD_MODE, RUNTIME_NAME_INFERENCE)


@subroutine
def is_outside_inference(runtime):
    """Whether this thread surely makes no inference tensors; else Python has to look."""
    mode = inference_mode(runtime)
    if mode == FAILED:
        error_clear()  # Python raises it again
    return mode == OFF


@subroutine
def is_watched(runtime):
    """Whether nodes have to be made by Python: somebody looks at each of them."""
    return load(runtime, RUNTIME_WATCHED, int64) != 0


# --- arrays ---------------------------------------------------------------------------------------


@subroutine
def is_array(runtime, object):
    """Whether it is an ndarray or of a subclass."""
    array_type = load(runtime, RUNTIME_ARRAY_TYPE, int64)
    if has_type(object, array_type):
        return True
    return object != NULL and is_subtype(load(object + OBJECT_TYPE, 0, int64), array_type) != 0


@subroutine
def array_in(runtime, object, name):
    """The array that a slot of an object holds; NULL if somebody put something else there."""
    value = field(runtime, object, name)
    return value if is_array(runtime, value) else NULL


@subroutine
def held_array(runtime, object, name):
    """``array_in``, with AttributeError set where it is NULL."""
    array = array_in(runtime, object, name)
    if array == NULL:
        raise_unusable(runtime)
    return array


@intrinsic
def _set_base(typing_context, function, array, base):
    """NumPy's ``PyArray_SetBaseObject`` at address ``function``; takes over the reference."""

    def codegen(context, builder, signature, arguments):
        word = ir.IntType(64)
        function_type = ir.FunctionType(ir.IntType(32), [word, word])
        pointer = builder.inttoptr(arguments[0], function_type.as_pointer())
        return builder.call(pointer, arguments[1:])

    return types.int32(*[types.int64] * 3), codegen


@subroutine
def set_base(function, view, base):
    """Have a new array keep another object alive; returns the array, or NULL."""
    if view != NULL and _set_base(function, view, new_reference(base)) != 0:
        decrement_reference(view)
        return NULL
    return view


@subroutine
def new_view(runtime, subtype, array, rank, sizes, strides):
    """An array over the memory of another one, from its first element on, which it keeps alive."""
    new = load(runtime, RUNTIME_NEW_FROM_DESCRIPTOR, int64)
    view = new_from_descriptor(
        new,
        subtype,
        new_reference(load(array + ARRAY_DESCRIPTOR, 0, int64)),
        rank,
        sizes,
        strides,
        load(array + ARRAY_DATA, 0, int64),
        FLAG_ALIGNED_WRITEABLE,
    )
    return set_base(load(runtime, RUNTIME_SET_BASE, int64), view, array)


@subroutine
def view_of_same_form(runtime, subtype, array):
    """``new_view`` of the shape and the strides of the array."""
    return new_view(
        runtime,
        subtype,
        array,
        int64(load(array + ARRAY_DIMENSIONS, 0, int32)),
        load(array + ARRAY_SHAPE, 0, int64),
        load(array + ARRAY_STRIDES, 0, int64),
    )


@subroutine
def shape_of(array):
    """The shape of an array as a tuple."""
    rank = int64(load(array + ARRAY_DIMENSIONS, 0, int32))
    sizes = load(array + ARRAY_SHAPE, 0, int64)
    shape = tuple_new(rank)
    if shape == NULL:
        return NULL
    for d in range(rank):
        if not fill(shape, d, long_from_long(load(sizes, d, int64))):
            return NULL
    return shape


@subroutine
def shape_and_dtype(array):
    """A tuple of the shape and the dtype of an array."""
    shape = shape_of(array)
    return pair(shape, new_reference(load(array + ARRAY_DESCRIPTOR, 0, int64)))


# --- Tensors --------------------------------------------------------------------------------------


@subroutine
def is_tensor(runtime, object):
    """Whether it is a Tensor or of a subclass."""
    if object == NULL:
        return False
    kind = load(object + OBJECT_TYPE, 0, int64)
    tensor_type = load(runtime, RUNTIME_TENSOR_TYPE, int64)
    return kind == tensor_type or is_subtype(kind, tensor_type) != 0


@subroutine
def is_inference(runtime, tensor):
    """Whether a Tensor was made in inference mode."""
    cell = field(runtime, tensor, FIELD_VERSION_CELL)
    return cell == load(runtime, RUNTIME_INFERENCE_CELL, int64)


@subroutine
def needs_gradient(runtime, operand):
    """Whether it is a Tensor that requires grad."""
    if not is_tensor(runtime, operand):
        return False
    return field(runtime, operand, FIELD_REQUIRES_GRAD) == load(runtime, RUNTIME_TRUE, int64)


@subroutine
def new_tensor(runtime, array, requires_grad):
    """A Tensor without a history that takes over the reference to ``array``."""
    mode = inference_mode(runtime)
    tensor = NULL
    if mode != FAILED:
        tensor = allocate(load(runtime, RUNTIME_TENSOR_TYPE, int64), 0)
    if tensor == NULL:
        decrement_reference(array)
        return NULL
    none = load(runtime, RUNTIME_NONE, int64)
    cell = none
    if mode == ON:
        cell = load(runtime, RUNTIME_INFERENCE_CELL, int64)
    give(runtime, tensor, FIELD_ARRAY, array)
    put(runtime, tensor, FIELD_REQUIRES_GRAD, requires_grad)
    put(runtime, tensor, FIELD_GRAD_FN, none)
    put(runtime, tensor, FIELD_OUTPUT_NR, load(runtime, RUNTIME_ZERO, int64))
    put(runtime, tensor, FIELD_VERSION_CELL, cell)
    put(runtime, tensor, FIELD_GRAD, none)
    put(runtime, tensor, FIELD_BASE, none)
    return tensor


# --- version counts -------------------------------------------------------------------------------


@subroutine
def new_version_cell(runtime):
    """``[0]``, the version cell of memory that was not written."""
    cell = list_new(1)
    if cell != NULL:
        list_set_item(cell, 0, new_reference(load(runtime, RUNTIME_ZERO, int64)))
    return cell


@subroutine
def is_cell(runtime, object):
    """Whether it may be a version cell: a list that begins with an int."""
    if not has_type(object, load(runtime, RUNTIME_LIST_TYPE, int64)) or list_size(object) == 0:
        return False
    return has_type(list_get_item(object, 0), load(runtime, RUNTIME_INT_TYPE, int64))


@subroutine
def held_cell(runtime, tensor):
    """The version cell of a tensor, or None; NULL with AttributeError set if it is neither."""
    cell = field(runtime, tensor, FIELD_VERSION_CELL)
    if cell != load(runtime, RUNTIME_NONE, int64) and not is_cell(runtime, cell):
        raise_unusable(runtime)
        return NULL
    return cell


@subroutine
def shared_cell(runtime, tensor):
    """The version cell of a tensor, which it gets if it has none; a borrowed reference, or NULL."""
    cell = held_cell(runtime, tensor)
    if cell == load(runtime, RUNTIME_NONE, int64):
        cell = new_version_cell(runtime)
        if cell != NULL:
            replace(runtime, tensor, FIELD_VERSION_CELL, cell)
    return cell


@subroutine
def count_writes(cell, writes):
    """Count writes in place in a version cell; returns the count before, for ``uncount``, or NULL.

    Launchers count before they write: once memory is written, nothing may fail any more.
    """
    before = list_get_item(cell, 0)
    count = long_from_long(long_as_long(before) + writes)
    if count == NULL:
        return NULL
    increment_reference(before)
    list_set_item(cell, 0, count)
    return before


@subroutine
def uncount(cell, before, writes):
    """Take back what ``count_writes`` did, since nothing was written; takes over the reference.

    Not if another thread has counted since: a count that is too high is no harm.
    """
    if long_as_long(list_get_item(cell, 0)) == long_as_long(before) + writes:
        list_set_item(cell, 0, before)
    else:
        decrement_reference(before)


# --- what nodes hold ------------------------------------------------------------------------------


@subroutine
def new_edge(runtime, operand):
    """``(operand, 0)`` for a leaf, else ``(grad_fn, output_nr)``."""
    target = held(runtime, operand, FIELD_GRAD_FN)
    if target == load(runtime, RUNTIME_NONE, int64):
        target = operand
    number = NULL
    if target != NULL:
        number = held(runtime, operand, FIELD_OUTPUT_NR)
    if number == NULL:
        return NULL
    return pair(new_reference(target), new_reference(number))


@subroutine
def edge_or_none(runtime, operand):
    """The edge to an operand, or None if it needs no gradient."""
    if needs_gradient(runtime, operand):
        return new_edge(runtime, operand)
    return new_reference(load(runtime, RUNTIME_NONE, int64))


@subroutine
def save(runtime, tensor):
    """What ``autograd.saved.save`` returns for a tensor."""
    cell = held_cell(runtime, tensor)
    if cell == NULL:
        return NULL
    if cell == load(runtime, RUNTIME_NONE, int64):
        return new_reference(tensor)
    saved = allocate(load(runtime, RUNTIME_SAVED_INPUT_TYPE, int64), 0)
    if saved != NULL:
        put(runtime, saved, FIELD_INPUT_TENSOR, tensor)
        put(runtime, saved, FIELD_INPUT_CELL, cell)
        put(runtime, saved, FIELD_INPUT_VERSION, list_get_item(cell, 0))
    return saved


@subroutine
def save_output(runtime, tensor, number):
    """What ``autograd.saved.save_output`` returns for output ``number`` of a node."""
    cell = shared_cell(runtime, tensor)
    if cell == NULL:
        return NULL
    saved = allocate(load(runtime, RUNTIME_SAVED_OUTPUT_TYPE, int64), 0)
    if saved == NULL:
        return NULL
    put(runtime, saved, FIELD_KEPT_ARRAY, field(runtime, tensor, FIELD_ARRAY))
    put(runtime, saved, FIELD_KEPT_CELL, cell)
    put(runtime, saved, FIELD_KEPT_VERSION, list_get_item(cell, 0))
    if not give(runtime, saved, FIELD_KEPT_OUTPUT_NR, long_from_long(number)):
        decrement_reference(saved)
        return NULL
    return saved
