"""Tensors, edges and saved tensors made by launchers, and the version counts of memory.

``pointwise_operator.py``, ``tensor_operator.py`` and ``replay.py`` are made of these.
``numbagrad/ops/operators/native_launchers.py`` says in the runtime block where the slots of such
objects lie. What is made here is complete, or it is NULL (see ``objects.py``). Imported only to
compile.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..awake import INFERENCE, WATCHERS
from ..codegen.intrinsics import int64, load, subroutine
from .calls import new_from_descriptor
from .object_heads import FLAG_ALIGNED_WRITEABLE, ArrayHead, ObjectHead
from .objects import (
    allocate,
    decrement_reference,
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
    value = get_attribute(switches, name)
    if value == NULL:
        return FAILED
    decrement_reference(value)  # True and False live for ever
    return ON if value == runtime.true else OFF


@subroutine
def recording_mode(runtime):
    """``grad_mode.state.enabled``, whether this thread records the graph: ON, OFF or FAILED."""
    return switch(runtime, runtime.grad_mode, runtime.name_enabled)


@subroutine
def inference_mode(runtime):
    """Whether this thread makes inference tensors: ON, OFF or FAILED."""
    if runtime.awake & INFERENCE == 0:
        return OFF
    return switch(runtime, runtime.grad_mode, runtime.name_inference)


@subroutine
def is_watched(runtime):
    """Whether nodes have to be made by Python: somebody looks at each of them."""
    return runtime.awake & WATCHERS != 0


# --- arrays ---------------------------------------------------------------------------------------


@subroutine
def is_array(runtime, object):
    """Whether it is an ndarray or of a subclass."""
    array_type = runtime.array_type
    if has_type(object, array_type):
        return True
    return object != NULL and is_subtype(ObjectHead(object).type, array_type) != 0


@subroutine
def array_in(runtime, object, slot):
    """The array that a slot of an object holds; NULL if somebody put something else there."""
    value = field(object, slot)
    return value if is_array(runtime, value) else NULL


@subroutine
def held_array(runtime, object, slot):
    """``array_in``, with AttributeError set where it is NULL."""
    array = array_in(runtime, object, slot)
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
    new = runtime.new_from_descriptor
    view = new_from_descriptor(
        new,
        subtype,
        new_reference(ArrayHead(array).descriptor),
        rank,
        sizes,
        strides,
        ArrayHead(array).data,
        FLAG_ALIGNED_WRITEABLE,
    )
    return set_base(runtime.set_base, view, array)


@subroutine
def shape_of(array):
    """The shape of an array as a tuple."""
    rank = int64(ArrayHead(array).dimensions)
    sizes = ArrayHead(array).shape
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
    return pair(shape, new_reference(ArrayHead(array).descriptor))


# --- Tensors --------------------------------------------------------------------------------------


@subroutine
def is_tensor(runtime, object):
    """Whether it is a Tensor or of a subclass."""
    if object == NULL:
        return False
    kind = ObjectHead(object).type
    tensor_type = runtime.tensor_type
    return kind == tensor_type or is_subtype(kind, tensor_type) != 0


@subroutine
def is_inference(runtime, tensor):
    """Whether a Tensor was made in inference mode."""
    cell = field(tensor, runtime.tensor.version_cell)
    return cell == runtime.inference_cell


@subroutine
def needs_gradient(runtime, operand):
    """Whether it is a Tensor that requires grad."""
    if not is_tensor(runtime, operand):
        return False
    return field(operand, runtime.tensor.requires_grad) == runtime.true


@subroutine
def new_tensor(runtime, array, requires_grad):
    """A Tensor without a history that takes over the reference to ``array``."""
    mode = inference_mode(runtime)
    tensor = NULL
    if mode != FAILED:
        tensor = allocate(runtime.tensor_type, 0)
    if tensor == NULL:
        decrement_reference(array)
        return NULL
    none = runtime.none
    cell = none
    if mode == ON:
        cell = runtime.inference_cell
    give(tensor, runtime.tensor.array, array)
    put(tensor, runtime.tensor.requires_grad, requires_grad)
    put(tensor, runtime.tensor.grad_fn, none)
    put(tensor, runtime.tensor.output_nr, runtime.zero)
    put(tensor, runtime.tensor.version_cell, cell)
    put(tensor, runtime.tensor.grad, none)
    put(tensor, runtime.tensor.base, none)
    return tensor


# --- version counts -------------------------------------------------------------------------------


@subroutine
def new_version_cell(runtime):
    """``[0]``, the version cell of memory that was not written."""
    cell = list_new(1)
    if cell != NULL:
        list_set_item(cell, 0, new_reference(runtime.zero))
    return cell


@subroutine
def is_cell(runtime, object):
    """Whether it may be a version cell: a list that begins with an int."""
    if not has_type(object, runtime.list_type) or list_size(object) == 0:
        return False
    return has_type(list_get_item(object, 0), runtime.int_type)


@subroutine
def held_cell(runtime, tensor):
    """The version cell of a tensor, or None; NULL with AttributeError set if it is neither."""
    cell = field(tensor, runtime.tensor.version_cell)
    if cell != runtime.none and not is_cell(runtime, cell):
        raise_unusable(runtime)
        return NULL
    return cell


@subroutine
def shared_cell(runtime, tensor):
    """The version cell of a tensor, which it gets if it has none; a borrowed reference, or NULL."""
    cell = held_cell(runtime, tensor)
    if cell == runtime.none:
        cell = new_version_cell(runtime)
        if cell != NULL:
            replace(tensor, runtime.tensor.version_cell, cell)
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
    target = held(runtime, operand, runtime.tensor.grad_fn)
    if target == runtime.none:
        target = operand
    number = NULL
    if target != NULL:
        number = held(runtime, operand, runtime.tensor.output_nr)
    if number == NULL:
        return NULL
    return pair(new_reference(target), new_reference(number))


@subroutine
def edge_or_none(runtime, operand):
    """The edge to an operand, or None if it needs no gradient."""
    if needs_gradient(runtime, operand):
        return new_edge(runtime, operand)
    return new_reference(runtime.none)


@subroutine
def save(runtime, tensor):
    """The result of ``autograd.saved.save`` for a tensor."""
    cell = held_cell(runtime, tensor)
    if cell == NULL:
        return NULL
    if cell == runtime.none:
        return new_reference(tensor)
    saved = allocate(runtime.saved_input_type, 0)
    if saved != NULL:
        put(saved, runtime.saved_input.tensor, tensor)
        put(saved, runtime.saved_input.cell, cell)
        put(saved, runtime.saved_input.version, list_get_item(cell, 0))
    return saved


@subroutine
def save_output(runtime, tensor, number):
    """The result of ``autograd.saved.save_output`` for output ``number`` of a node."""
    cell = shared_cell(runtime, tensor)
    if cell == NULL:
        return NULL
    saved = allocate(runtime.saved_output_type, 0)
    if saved == NULL:
        return NULL
    put(saved, runtime.saved_output.array, field(tensor, runtime.tensor.array))
    put(saved, runtime.saved_output.cell, cell)
    put(saved, runtime.saved_output.version, list_get_item(cell, 0))
    if not give(saved, runtime.saved_output.output_nr, long_from_long(number)):
        decrement_reference(saved)
        return NULL
    return saved
