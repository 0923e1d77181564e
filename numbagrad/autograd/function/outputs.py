"""Outputs and saved tensors of the ``forward`` of a ``Function``, as its node keeps them.

``Function`` and ``legacy/function.py`` call ``wrap_outputs`` and ``keep`` once ``forward`` has
returned: results get their history, views their rules, and what is to be saved is packed.
"""

from __future__ import annotations

import warnings
from typing import Any

from ... import torch_function
from .. import tensor_interface as interface
from ..engine.grad_dtype import check_declared
from ..hooks import creation_hooks, watching
from ..hooks.saved_hooks import default_hooks, pack
from ..node import UNRECORDED, has_no_history
from ..saved import save, save_output
from ..writes.inplace import FUNCTION, MULTIPLE, NO_GRAD, PURE, check_inplace, register_view
from ..writes.regions import saved_view

__all__ = ["keep", "tuple_of", "wrap_output", "wrap_outputs"]


def wrap_output(ctx: Any, args: tuple[Any, ...], output: Any, record: bool) -> Any:
    """``wrap_outputs`` for one tensor; short for by far the most frequent case, a new one."""
    array = output._array
    if (
        not record
        or output._requires_grad
        or output._viewed is not None
        or ctx.dirty_tensors is not None
        or ctx.non_differentiable is not None
        or array.dtype.kind not in "fcV"
        or _contains(args, output)
    ):
        return wrap_outputs(ctx, args, (output,), record)[0]
    ctx._output_metadata = ((array.shape, array.dtype),)
    interface.set_history(output, ctx, 0)
    return output


def wrap_outputs(ctx: Any, args: tuple[Any, ...], outputs: Any, record: bool) -> tuple[Any, ...]:
    """Connect what ``forward`` returned to the graph; what is not a tensor stays as it is."""
    _check_marked(ctx)
    if ctx._is_pure_view:
        _check_pure_view(args, outputs)
    dirty = ctx.dirty_tensors or ()
    fixed = ctx.non_differentiable or ()
    for value in dirty:
        if not _contains(outputs, value):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as "
                "output. The inputs that are modified inplace must all be outputs of the Function."
            )
    if record:
        ctx._output_count = len(outputs)
        _check_written_views(outputs, dirty)
    if ctx._output_grad_dtypes is not None:
        of_tensors = [_is_differentiable(output, fixed) for output in outputs]
        check_declared(ctx.name(), ctx._output_grad_dtypes, of_tensors)
    wrapped: list[Any] = []
    metadata: list[Any] = []
    for output_nr, output in enumerate(outputs):
        if not isinstance(output, interface.Tensor):
            metadata.append(None)
            wrapped.append(output)
            continue
        array = output._array
        known = ctx._materialize_non_diff_grads or not _contains(fixed, output)
        metadata.append((array.shape, array.dtype) if known else None)
        if _contains(wrapped, output) and output._producer is ctx:
            output._output_nr = output_nr  # returned twice: both are the last one, as in torch
            wrapped.append(output)
            continue
        differentiable = record and array.dtype.kind in "fcV" and not _contains(fixed, output)
        if _contains(dirty, output):
            _check_dirty(output, _contains(args, output), record)
            interface.bump_version(output)
            if differentiable:
                interface.rebase_history(output, ctx, output_nr)
        else:
            own = output._requires_grad and output._producer is not UNRECORDED
            if own or _contains(args, output):  # it has a history or a user, and keeps it
                output = _copy_for_graph(output, differentiable)
            if output._viewed is not None and output._view_origin == NO_GRAD:
                _set_view_origin(output, ctx, outputs, record, differentiable)
            if differentiable:
                interface.set_history(output, ctx, output_nr)
        wrapped.append(output)
    ctx._output_metadata = tuple(metadata)
    return tuple(wrapped)


def _copy_for_graph(output: Any, differentiable: bool) -> Any:
    """Another Tensor on the memory of an output."""
    if torch_function.has_override(type(output)):
        return _view_of_subclass(output)
    return _view_of(output) if differentiable else interface.alias(output)


def _set_view_origin(
    output: Any, ctx: Any, outputs: Any, record: bool, differentiable: bool
) -> None:
    """Say of an output that is a view, made in ``forward``, which writes it allows."""
    if differentiable:
        fixed = ctx.non_differentiable or ()
        output._view_origin = _origin_of_view(output, ctx, outputs, fixed)
        register_view(output, output._version_cell)
    elif not record:
        pure = ctx._is_pure_view and not output._viewed._requires_grad
        output._view_origin = None if pure else FUNCTION


def _check_marked(ctx: Any) -> None:
    """Raise if ``forward`` marked what is no tensor."""
    for index, value in enumerate(tuple_of(ctx, "dirty_tensors")):
        if not isinstance(value, interface.Tensor):
            raise RuntimeError(
                f"mark_dirty can only accept variables, but argument {index} is of type "
                f"{type(value).__name__}"
            )
    for value in tuple_of(ctx, "non_differentiable"):
        if not isinstance(value, interface.Tensor):
            raise RuntimeError(
                f"mark_non_differentiable only accepts variable arguments, but got "
                f"{type(value).__name__}"
            )


def tuple_of(ctx: Any, attribute: str) -> tuple[Any, ...]:
    """An attribute of ``ctx`` that users set by its methods, or themselves.

    Raises:
        RuntimeError: if it is no tuple.
    """
    value = getattr(ctx, attribute)
    if value is not None and not isinstance(value, tuple):
        raise RuntimeError(
            f"autograd internal error: {attribute} attribute is expected to be a tuple but is "
            f"{type(value).__name__}"
        )
    return value or ()


def _check_written_views(outputs: Any, dirty: Any) -> None:
    """Raise if ``forward`` wrote a view in place and returned more than that."""
    if sum([isinstance(output, interface.Tensor) for output in outputs]) < 2:
        return
    if any([tensor._viewed is not None for tensor in dirty]):
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your "
            "Function cannot return more than one Tensor. This is not supported by the current "
            "autograd engine. You should either make sure the input is not a view (using .clone() "
            "for example) or make your Function only return one Tensor (potentially splitting it "
            "into two Functions: one doing the inplace that returns a single Tensor and a second "
            "one that does the other operations). You can ask on the forum "
            "https://discuss.pytorch.org/ if you need help to do this change."
        )


def _is_differentiable(output: Any, fixed: Any) -> bool:
    if not isinstance(output, interface.Tensor) or _contains(fixed, output):
        return False
    return output._array.dtype.kind in "fcV"


def _view_of(tensor: Any) -> Any:
    """A view of all of ``tensor``, to be returned by a Function: it may not be written."""
    view = interface.alias(tensor)
    view._viewed = tensor if tensor._viewed is None else tensor._viewed
    view._view_origin = NO_GRAD
    return view


def _view_of_subclass(tensor: Any) -> Any:
    """A view of a tensor, as its class, which has ``__torch_function__``, makes it."""
    view_as = interface.Tensor.view_as
    if torch_function.state.disabled:
        return view_as(tensor, tensor)
    return torch_function.ask(view_as, "view_as", [tensor], (tensor, tensor), {})


def _origin_of_view(view: Any, ctx: Any, outputs: Any, fixed: Any) -> str:
    """Why a view that a recorded Function returns may not be written, or that it may."""
    if ctx._is_pure_view and view._array.dtype == view._viewed._array.dtype:
        return PURE
    differentiable = [
        isinstance(x, interface.Tensor) and x._array.dtype.kind in "fcV" and not _contains(fixed, x)
        for x in outputs
    ]
    return MULTIPLE if sum(differentiable) > 1 else FUNCTION


def _check_pure_view(args: tuple[Any, ...], outputs: Any) -> None:
    """Raise unless one tensor was given and one was returned."""
    for values in (args, outputs):
        if sum([isinstance(value, interface.Tensor) for value in values]) != 1:
            raise RuntimeError(
                "Pure view custom Function can only have one input Tensor and one output Tensor. "
                "Open an issue if you need to support more."
            )


def _contains(values: Any, tensor: Any) -> bool:
    """``tensor in values`` by identity; ``==`` of tensors is elementwise."""
    for value in values:
        if value is tensor:
            return True
    return False


def _check_dirty(output: Any, is_input: bool, record: bool) -> None:
    if not is_input:
        text = (
            "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that "
            "have been mutated should be passed to ctx.mark_dirty()."
        )
        if record and output._viewed is not None:
            raise RuntimeError(text)
        warnings.warn(text, UserWarning, stacklevel=4)
    elif record and output._viewed is not None:
        check_inplace(output)
    elif record and output._requires_grad and output._producer is None:
        raise RuntimeError(_LEAF_WRITTEN)


_LEAF_WRITTEN = "a leaf Variable that requires grad has been used in an in-place operation."


def refuse_leaves(ctx: Any) -> None:
    """Raise if ``forward`` wrote a view without history whose base is a leaf that requires grad."""
    for tensor in tuple_of(ctx, "dirty_tensors"):
        if isinstance(tensor, interface.Tensor) and tensor.requires_grad:
            raise RuntimeError(_LEAF_WRITTEN)


def keep(ctx: Any, record: bool) -> None:
    """Pack what ``forward`` saved: outputs without their tensor, all else with its version."""
    entries: list[Any] = []
    values = tuple_of(ctx, "to_save")
    # Outputs refer to ctx: no cycle is left if packing raises, as in a checkpoint that stops early.
    ctx.to_save = None
    for index, value in enumerate(values):
        if value is None:
            entries.append(None)
        elif not isinstance(value, interface.Tensor):
            raise TypeError(
                "save_for_backward can only save variables, but argument "
                f"{index} is of type {type(value).__name__}"
            )
        elif value._producer is ctx:
            entries.append(save_output(value, value._output_nr))
        elif ctx.dirty_tensors is not None and _is_written_view(ctx, value):
            entries.append(saved_view(value))
        else:
            entries.append(save(value))
    if record:
        hooks = default_hooks() if watching.count else None
        if hooks is not None:
            entries = [pack(entry, ctx, hooks) for entry in entries]
        ctx._saved_variables = tuple(entries)
        if watching.count and not _wrote_view(ctx):
            creation_hooks.announce(ctx)


def _wrote_view(ctx: Any) -> bool:
    """Whether the history of what ``forward`` wrote contains ``ctx`` in that of a base."""
    return any([_is_written_view(ctx, tensor) for tensor in tuple_of(ctx, "dirty_tensors")])


def _is_written_view(ctx: Any, tensor: Any) -> bool:
    """Whether a tensor is a view that ``forward`` wrote, with a history that leads to ``ctx``."""
    recorded = tensor._viewed is not None and not has_no_history(tensor)
    return recorded and _contains(ctx.dirty_tensors, tensor)
