"""Writes in place under autograd: who may be written, and how histories follow the memory.

``ops/operators/view_operator.py`` registers every view here; ``ops/writing/inplace.py`` and
assignment by index write through ``apply_inplace`` and ``write_inplace``. Of operators this file
knows only what their definitions offer; the nodes of what was written through views are those of
``regions.py``.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend import foreign
from ...executor import capture
from ...executor.memory.arrays import assign, copied
from .. import tensor_interface as interface
from ..grad_mode import state as grad_mode
from ..hooks import creation_hooks, watching
from ..hooks.tensor_hooks import move_retained_grad
from ..node import UNRECORDED, Node, edge_of, has_no_history
from ..saved import operator_name
from .regions import AsStridedBackward0, CopySlices
from .view_replay import is_replayed, replayed

__all__ = [
    "FUNCTION", "INFERENCE", "end_history", "MULTIPLE", "NO_GRAD", "PURE", "apply_inplace",
    "before_write", "check_inplace", "check_not_stale", "compute_then_write", "is_stale",
    "live_views", "prune", "rebase_history", "recording", "register_view", "take_history",
    "unrecorded_origin", "write_inplace", "written_at_once",
]  # fmt: skip

# --- views and their memory -----------------------------------------------------------------------
#
# Tensors of one memory share a version cell. Behind the count the cell holds weak references to the
# differentiable views of the memory, so that a write can refresh their histories.

#: Origins of views that cannot be written while recording (attribute ``_view_origin``).
NO_GRAD = "no_grad"
INFERENCE = "inference"
MULTIPLE = "multiple"
#: of a view that a ``Function`` returned
FUNCTION = "function"
#: of a view that a ``Function`` returned, which says that it is nothing but a view: it may be
#: written, and then has the history of any other view
PURE = "pure"
#: of the values of a sparse Tensor
VALUES = "values"

_prune_lock = threading.Lock()
#: From so many entries on, a cell is cleaned each time their number has doubled.
PRUNE_FROM = 64


def register_view(view: Any, cell: list[Any]) -> None:
    """Remember a view made while recording; ``cell`` is the version cell it shares."""
    if cell is watching.INFERENCE_CELL:
        return
    cell.append(weakref.ref(view))
    count = len(cell)
    if count >= PRUNE_FROM and count & (count - 1) == 0:
        prune(cell)


def unrecorded_origin() -> str:
    """The origin of a view that is made while this thread does not record."""
    return INFERENCE if grad_mode.inference else NO_GRAD


def end_history(view: Any, input: Any) -> None:
    """Let a view that is not recorded require grad as its input does, without a history."""
    followed = input._requires_grad and not input.is_inference()
    if followed and view._array.dtype.kind in "fcV":
        view._requires_grad, view._producer, view._output_nr = True, UNRECORDED, 0


def prune(cell: list[Any]) -> None:
    """Drop the references to views that died; appends by other threads stay untouched."""
    if _prune_lock.acquire(blocking=False):
        try:
            for position in range(len(cell) - 1, 0, -1):
                if cell[position]() is None:
                    del cell[position]
        finally:
            _prune_lock.release()


def live_views(base: Any) -> list[Any]:
    """The differentiable views of a tensor that are still in use."""
    cell = base._version_cell
    if cell is None or len(cell) == 1:
        return []
    views = [reference() for reference in cell[1:]]
    return [view for view in views if view is not None and view._viewed is base]


# --- what may be written --------------------------------------------------------------------------


def before_write(tensor: Any) -> None:
    """Say that the memory of ``tensor`` is about to be written in place.

    Raises:
        RuntimeError: if it is an inference tensor, and this thread is not in inference mode.
    """
    if watching.count:
        for look in watching.write_watchers:
            look(tensor)
    if tensor._version_cell is watching.INFERENCE_CELL and not grad_mode.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make "
            "a clone to get a normal tensor before doing inplace update.See "
            "https://github.com/pytorch/rfcs/pull/17 for more details."
        )


def check_inplace(tensor: Any) -> None:
    """Raise unless ``tensor`` may be written in place while the write is recorded.

    Raises:
        RuntimeError: for a leaf that requires grad, a view of one, a view made under ``no_grad`` or
            one of several views that an operator returned.
    """
    base = tensor._viewed
    if base is not None:
        origin = tensor._view_origin
        if origin is not None and origin != PURE:
            raise RuntimeError(_view_text(tensor, origin, "is being"))
        if (tensor._requires_grad or base._requires_grad) and base._producer is None:
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place "
                "operation."
            )
        if origin is not None:
            _show_base(tensor)
    if tensor._requires_grad and tensor._producer is None:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )


def _maker(view: Any) -> str:
    """Which operator made a view, for messages; empty if that was not recorded."""
    node = view._producer
    if has_no_history(view):
        return ""
    if node.__class__ is StaleView:
        known: str = node.maker
        return known
    return f"Output {view._output_nr} of {operator_name(node)} is a view"


def _view_text(view: Any, origin: str, modified: str) -> str:
    """Why a view of this origin may not be used: it (or its base) ``modified`` modified."""
    maker = _maker(view)
    begin = (
        f"{maker} and {modified} modified inplace."
        if maker
        else f"A view was created in no_grad mode and {modified} modified inplace with grad mode "
        "enabled."
    )
    if origin == FUNCTION:
        return (
            f"{begin} This view was created inside a custom Function (or because an input was "
            "returned as-is) and the autograd logic to handle view+inplace would override the "
            "custom backward associated with the custom Function, leading to incorrect gradients. "
            "This behavior is forbidden. You can fix this by cloning the output of the custom "
            "Function."
        )
    if origin == VALUES:
        return (
            f"{begin} The values of a sparse tensor that requires grad may not be written, as the "
            "tensor itself would not take part. Write a clone of them and make a sparse tensor of "
            "that with torch.sparse_coo_tensor()."
        )
    if origin == MULTIPLE:
        return (
            f"{begin} This view is the output of a function that returns multiple views. Such "
            "functions do not allow the output views to be modified inplace. You should replace "
            "the inplace operation by an out-of-place one."
        )
    made = f"{maker} of a view which was created in" if maker else "A view was created in"
    block, how = (
        ("inference_mode", f"inference mode and {modified} modified inplace in normal mode.")
        if origin == INFERENCE
        else ("no_grad", f"no_grad mode and {modified} modified inplace with grad mode enabled.")
    )
    return (
        f"{made} {how} Given that "
        "this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
        f"moving both the view and the inplace either both inside the {block} block (if you don't "
        "want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
    )


# --- writing --------------------------------------------------------------------------------------


def recording(tensor: Any, *operands: Any) -> bool:
    """Whether a write to ``tensor`` that reads ``operands`` (Tensors and others) is recorded."""
    if not grad_mode.enabled:
        return False
    if tensor._requires_grad or (tensor._viewed is not None and tensor._viewed._requires_grad):
        return True
    for operand in operands:
        if isinstance(operand, interface.Tensor) and operand._requires_grad:
            return True
    return False


def _under_transformation(*operands: Any) -> bool:
    for operand in operands:
        if isinstance(operand, interface.Tensor) and operand._array.__class__ is not np.ndarray:
            if foreign(operand._array) is None:
                return True
    return False


def _write_transformed(tensor: Any, operator: Any, operands: tuple[Any, ...]) -> Any:
    """``apply_inplace`` under a transformation."""
    return interface.write_transformed(
        tensor, lambda before: operator(*[before if x is tensor else x for x in operands]), operands
    )


def _operands_before(tensor: Any, operands: tuple[Any, ...], uses: Any) -> tuple[Any, ...]:
    """The operands, with copies of those that a write to ``tensor`` changes and a gradient uses."""
    before = []
    for position, operand in enumerate(operands):
        shared = _shares_memory(operand, tensor)
        before.append(_value_before(operand, position in uses) if shared else operand)
    return tuple(before)


def apply_inplace(tensor: Any, operator: Any, operands: tuple[Any, ...]) -> Any:
    """Write ``operator(*operands)`` of a pointwise operator into ``tensor`` and return it.

    Where the gradient uses the old value of the tensor, or of another operand in the same memory,
    that value is copied first.
    """
    if _under_transformation(tensor, *operands):
        return _write_transformed(tensor, operator, operands)
    if not recording(tensor, *operands):
        operator.into(tensor, operands)
        return tensor
    check_inplace(tensor)
    if tensor._array.dtype.kind == "c":
        operator = operator.variant(operands)
    differentiable = operator.definition.differentiable
    uses = operator.rule(_needed(operands)).uses if differentiable else ()
    before = _operands_before(tensor, operands, uses)
    old = edge_of(tensor)
    operator.into(tensor, operands)
    made = _with_memory_of(tensor)
    # An operator without a gradient leaves a node that raises.
    _record(tensor, operator.record, made, before)
    if made._producer is not None:
        rebase_history(tensor, made._producer, 0)
    elif old is not None:
        rebase_history(tensor, NoGradient(old, tensor), 0)
    return tensor


def written_at_once(tensor: Any, write: Callable[..., Any], *arguments: Any) -> bool:
    """Whether ``write(array, *arguments)`` wrote a tensor; of the arguments the arrays are given.

    It writes or does nothing, as a launcher does, and is asked where nobody follows the write.
    """
    if capture.active is not None or watching.count or recording(tensor, *arguments):
        return False
    if tensor._version_cell is watching.INFERENCE_CELL:
        return False
    arrays = [x._array if isinstance(x, interface.Tensor) else x for x in arguments]
    if not write(tensor._array, *arrays):
        return False
    interface.bump_version(tensor)
    return True


def write_inplace(
    tensor: Any, operator: Any, write: Callable[[np.ndarray[Any, Any]], Any], *arguments: Any
) -> Any:
    """Run ``write(array)`` on the memory of ``tensor`` and return the tensor.

    ``operator(tensor, *arguments)`` is the TensorOperator of the same value; its node is recorded.
    Its gradient must not use the old value of the tensor.
    """
    if _under_transformation(tensor, *arguments):
        return interface.write_transformed(
            tensor, lambda before: operator(before, *arguments), arguments
        )
    before_write(tensor)
    if not recording(tensor, *arguments):
        write(tensor._array)
        interface.bump_version(tensor)
        return tensor
    check_inplace(tensor)
    before = _value_before(tensor, False)
    write(tensor._array)
    interface.bump_version(tensor)
    made = _with_memory_of(tensor)
    _record(tensor, operator.record, made, (before, *arguments))
    if made._producer is not None:
        rebase_history(tensor, made._producer, made._output_nr)
    return tensor


def compute_then_write(tensor: Any, compute: Callable[[Any], Any], *others: Any) -> Any:
    """Write ``compute(tensor)`` into ``tensor`` and return it, for what makes a new array first.

    ``others`` are the further operands: if one of them requires grad, the write is recorded.
    """
    if _under_transformation(tensor, *others):
        return interface.write_transformed(tensor, compute, others)
    recorded = recording(tensor, *others)
    before_write(tensor)
    if recorded:
        check_inplace(tensor)
        value = _record(tensor, compute, _value_before(tensor, True))
    else:
        value = compute(tensor)
    if value._array.shape != tensor._array.shape:
        raise RuntimeError(
            f"output with shape {list(tensor._array.shape)} doesn't match the broadcast shape "
            f"{list(value._array.shape)}"
        )
    assign(tensor._array, value._array)
    interface.bump_version(tensor)
    if recorded and value._producer is not None:
        rebase_history(tensor, value._producer, value._output_nr)
    return tensor


def _record(tensor: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call what records the new value of a tensor; of a view ``CopySlices`` will contain that."""
    if watching.count and tensor._viewed is not None:
        return creation_hooks.quietly(function, *arguments)
    return function(*arguments)


def _needed(operands: tuple[Any, ...]) -> tuple[int | None, ...]:
    """The places of the operands that need a gradient, as ``PointwiseOperator.rule`` takes them."""
    return tuple(
        [
            position if isinstance(x, interface.Tensor) and x._requires_grad else None
            for position, x in enumerate(operands)
        ]
    )


def _shares_memory(operand: Any, tensor: Any) -> bool:
    if operand is tensor:
        return True
    return (
        isinstance(operand, interface.Tensor)
        and operand._version_cell is not None
        and operand._version_cell is tensor._version_cell
    )


def _value_before(tensor: Any, copy: bool) -> Any:
    """A stand-in for ``tensor`` as it is now: its history and, if ``copy``, a copy of its value."""
    array = copied(tensor._array) if copy else tensor._array
    return interface.new_tensor(array, tensor._requires_grad, tensor._producer, tensor._output_nr)


def _with_memory_of(tensor: Any) -> Any:
    made = interface.new_tensor(tensor._array, False, None, 0)
    made._version_cell = tensor._version_cell
    return made


# --- histories ------------------------------------------------------------------------------------


def rebase_history(tensor: Any, node: Any, output_nr: int) -> None:
    """Make ``node`` the producer of ``tensor``, just written, and refresh its base and views."""
    base = tensor._viewed
    if base is None:
        before = tensor._producer
        take_history(tensor, node, output_nr)
        base = tensor
    else:
        before = base._producer
        take_history(base, CopySlices(base, tensor, node, output_nr), 0)
    if base._version_cell is not None and len(base._version_cell) > 1:
        _refresh_views(base, before)
    if watching.count and base is not tensor:
        creation_hooks.announce(base._producer)


def take_history(tensor: Any, grad_fn: Node | None, output_nr: int) -> None:
    """Make ``grad_fn`` the producer of ``tensor``; the grad it retains is that of its new value."""
    old, old_output_nr = tensor._producer, tensor._output_nr
    tensor._requires_grad = grad_fn is not None
    tensor._producer = grad_fn
    tensor._output_nr = output_nr
    if tensor._retains_grad and grad_fn is not None:
        move_retained_grad(tensor, old, old_output_nr)


def _refresh_views(base: Any, before: Node | None) -> None:
    """Make the histories of all live views of ``base`` start from its present one.

    ``before`` is the node that produced the base until it was written.
    """
    for view in live_views(base):
        if view._array.dtype != base._array.dtype and not _shows_parts(view, base):
            continue
        origin = view._view_origin
        if origin is not None and origin != PURE:
            take_history(view, StaleView(base, view), 0)
        elif is_replayed(view, before):
            take_history(view, replayed(view, before, edge_of(base)), 0)
        else:
            _show_base(view)


def _show_base(view: Any) -> None:
    """Let the history of a view be that it shows a part of its base, as the base is now."""
    view._view_origin = None
    take_history(view, AsStridedBackward0.of_view(view._viewed, view), 0)


def _shows_parts(view: Any, base: Any) -> bool:
    """Whether one of them is complex and the other has its parts as elements."""
    mine, other = view._array.dtype, base._array.dtype
    complex_one, real_one = (mine, other) if mine.kind == "c" else (other, mine)
    return complex_one.kind == "c" and 2 * real_one.itemsize == complex_one.itemsize


def is_stale(view: Any) -> bool:
    """Whether a view may not be used since its memory was written, so that it has no history."""
    if not has_no_history(view):
        return view._producer.__class__ is StaleView
    return (
        view._unrecorded_at is not None
        and view._view_origin is not None
        and view._version_cell is not watching.INFERENCE_CELL
        and view._version_cell[0] != view._unrecorded_at
        and view._viewed._requires_grad
    )


def check_not_stale(view: Any) -> None:
    """Raise if ``is_stale`` holds.

    Raises:
        RuntimeError: says how the view was made.
    """
    if is_stale(view):
        node = view._producer
        if node.__class__ is StaleView:
            raise RuntimeError(node.text)
        made = "its base or another view of its base has been"
        raise RuntimeError(_view_text(view, view._view_origin, made))


class StaleView(Node):
    """Node of a view that may not be used after its base was written; its backward says why."""

    __slots__ = ("maker", "text")

    #: The operator that made the view, as messages have it.
    maker: str
    text: str

    def __init__(self, base: Any, view: Any) -> None:
        self.maker = _maker(view)
        made = "its base or another view of its base has been"
        self.text = _view_text(view, view._view_origin, made)
        super().__init__((edge_of(base),))

    def backward(self, *grads: Any) -> tuple[Any, ...]:
        raise RuntimeError(self.text)


class NoGradient(Node):
    """Node of a tensor that was overwritten with a value that does not vary with the old one."""

    __slots__ = ("dtype", "shape")

    def __init__(self, edge: tuple[Any, int], tensor: Any) -> None:
        super().__init__((edge,))
        self.shape = tensor._array.shape
        self.dtype = tensor._array.dtype

    def backward(self, *grads: Any) -> tuple[Any, ...]:
        return (interface.zeros(self.shape, self.dtype),)
