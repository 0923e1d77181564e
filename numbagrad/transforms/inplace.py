"""Writes in place under transformations: the value is computed first, and then written.

``autograd/writes/inplace.py`` calls ``compute_and_write``, through ``tensor_interface``, when the
tensor or an operand is under a transformation. The write itself goes down the levels: all samples
of a batch are written at once, and the tangent of a dual tensor where it lies, so that views see
it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd import tensor_interface as tensors
from ..autograd.grad_mode import no_grad
from ..autograd.node import edge_of
from ..autograd.writes.inplace import (
    NoGradient,
    check_inplace,
    live_views,
    rebase_history,
    recording,
)
from ..autograd.writes.regions import Geometry, region_of
from ..executor.plan.sharing import repeats
from ..ops.complex.lazy_conj import as_lazy_conj, view_as_lazy_conj
from ..ops.creation.filled import zeros_like
from ..ops.views.strided import view_region
from ..ops.writing.inplace import copy_
from ..tensor import Tensor, new_tensor
from .layouts import zeros_as
from .levels import (
    BATCH,
    GRAD,
    LAZY_CONJ,
    Batched,
    Dual,
    Level,
    batched,
    dual,
    settled,
    stand_in,
    state_of,
)
from .unwrapping import below, deepest, resolved, split

__all__ = ["compute_and_write", "take_tangent"]


def compute_and_write(
    tensor: Tensor, compute: Callable[[Tensor], Tensor], others: Sequence[Any]
) -> Tensor:
    """Write ``compute(tensor)`` into ``tensor`` and return it; ``others`` are what it reads.

    Raises:
        RuntimeError: if the value differs from sample to sample but the tensor does not, or has
            another shape than the tensor.
    """
    recorded = recording(tensor, *others)
    if recorded:
        check_inplace(tensor)
    old = edge_of(tensor)
    value = compute(_as_it_is(tensor))
    if value._array.shape != tensor._array.shape:
        raise RuntimeError(
            f"output with shape {list(tensor._array.shape)} doesn't match the broadcast shape "
            f"{list(value._array.shape)}"
        )
    if value._array.dtype != tensor._array.dtype:
        value = tensors.cast(value, tensor._array.dtype)
    _write(tensor, value)
    if state_of(tensor).__class__ is Batched:  # what lies below has counted its own write
        if tensor._version_cell is None:
            tensor._version_cell = [0]
        tensor._version_cell[0] += 1
    if recorded and value._producer is not None:
        rebase_history(tensor, value._producer, value._output_nr)
    elif recorded and old is not None:
        rebase_history(tensor, NoGradient(old, tensor), 0)
    return tensor


def _as_it_is(tensor: Tensor) -> Tensor:
    """A copy with the history of ``tensor``, for what reads the value before the write."""
    tensor = settled(tensor)
    state = state_of(tensor)
    if state.__class__ is Batched:
        copy = batched(state.level, _as_it_is(state.value))
    elif state.__class__ is Dual:
        tangent = None if state.tangent is None else _as_it_is(state.tangent)
        copy = dual(state.level, _as_it_is(state.primal), tangent)
    elif state is not None:
        copy = tensors.clone(as_lazy_conj(state.primal, (state.conjugated, state.negated)))
    else:
        copy = tensors.clone(tensors.alias(tensor))
    copy._requires_grad, copy._producer = tensor._requires_grad, tensor._producer
    copy._output_nr = tensor._output_nr
    if copy._requires_grad and copy._producer is None:  # a leaf: the copy stands for it
        copy = tensor.view_as(tensor) if state is not None else tensor.clone()
    return copy


def _write(tensor: Tensor, value: Tensor) -> None:
    """Write a value of the same shape and dtype, at the deepest level of the two."""
    tensor, value = settled(tensor), settled(value)
    level = deepest([tensor, value])
    if level is None or level.kind is LAZY_CONJ:
        _write_elements(tensor, resolved(value))
    elif level.kind is BATCH:
        target, mapped = below(level, tensor)
        if not mapped:
            raise RuntimeError(
                "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists "
                "a Tensor `other` in extra_args that has more elements than `self`. This happened "
                "due to `other` being vmapped over but `self` not being vmapped over in a vmap. "
                "Please try to use out-of-place operators instead of inplace arithmetic. If said "
                "operator is being called inside the PyTorch framework, please file a bug report "
                "instead."
            )
        copy_(target, below(level, value)[0])
    else:
        _write_dual(level, tensor, value)


def _write_elements(tensor: Tensor, value: Tensor) -> None:
    """Write to the memory of a Tensor that no transformation but a pending one is on."""
    state = state_of(tensor)
    with no_grad():  # whoever asked for the write gives the tensor its history
        if state is None:
            copy_(tensor, value)
        else:
            copy_(state.primal, as_lazy_conj(value, (state.conjugated, state.negated)))


def _write_dual(level: Level, tensor: Tensor, value: Tensor) -> None:
    primal, tangent = split(level, value)
    state = state_of(tensor)
    if state.__class__ is not Dual or state.level is not level:
        if tangent is None and level.kind is not GRAD:
            copy_(tensor, primal)
            return
        _take_to(level, tensor, tangent)
        state = state_of(tensor)
    if level.kind is not GRAD:
        _require_own_part(level, tensor, state.tangent)
    copy_(state.primal, primal)
    if level.kind is GRAD:
        return
    if tangent is None:
        tangent = zeros_like(state.tangent)
    if 0 not in state.tangent._array.strides:
        copy_(state.tangent, tangent)
    elif tensor._viewed is None and not live_views(tensor):
        state.tangent = tangent
    else:
        raise RuntimeError(
            "a tensor with views is written in place, but its tangent repeats elements of its "
            "memory and cannot be; clone() the tensor before writing to it"
        )


def _require_own_part(level: Level, view: Tensor, tangent: Tensor) -> None:
    """Raise if the tangent of a view is a copy: a write would not reach that of its base."""
    base = None if view._viewed is None else state_of(view._viewed)
    if isinstance(base, Dual) and base.level is level and base.tangent is not None:
        if tangent._version_cell is not base.tangent._version_cell:
            raise RuntimeError(
                "a view by as_strided is written in place, but the tangent of its base lies in "
                "memory otherwise than the base; clone() the base before making views of it"
            )


def _take_to(level: Level, tensor: Tensor, tangent: Tensor | None) -> None:
    """Make a tensor, its base and the views of that tensors of a level.

    In forward mode they get tangents of zeros, in one memory: for each sample that ``tangent``,
    which is written then, has.
    """
    base = tensor if tensor._viewed is None else tensor._viewed
    of_base = None
    if level.kind is not GRAD:
        if repeats(base._array):
            raise RuntimeError(
                "a view of a tensor that repeats elements of its memory gets a tangent by a write "
                "in place; clone() the tensor before making views of it"
            )
        of_base = zeros_as(base, base if tangent is None else tangent)
    views = [view for view in live_views(base) if view is not base]
    if tensor is not base and not any([tensor is view for view in views]):
        views.append(tensor)
    for view in views:
        _become_dual(level, view, None if of_base is None else _same_part(base, view, of_base))
    _become_dual(level, base, of_base)


def _same_part(base: Tensor, view: Tensor, of_base: Tensor) -> Tensor:
    """The part of a tangent that a view is of its base; as a whole, the tangent itself."""
    geometry = Geometry.between(base._array, view._array)
    whole = (base._array.shape, base._array.strides, 0)
    if (view._array.shape, view._array.strides, geometry.offset) == whole:
        return of_base
    return region_of(of_base, geometry, view_region, view_as_lazy_conj)


def take_tangent(level: Level, tensor: Tensor, tangent: Tensor) -> Tensor:
    """Give a tensor, which has none of this level, the tangent of what was written to it."""
    if tensor._viewed is None and not live_views(tensor):
        _become_dual(level, tensor, tangent)
    else:
        _take_to(level, tensor, tangent)
        copy_(state_of(tensor).tangent, tangent)
    return tensor


def _become_dual(level: Level, tensor: Tensor, tangent: Tensor | None) -> None:
    """Make an existing tensor one of a level, whose present self becomes the primal."""
    primal = new_tensor(tensor._array, tensor._requires_grad, tensor._producer, tensor._output_nr)
    if tensor._version_cell is None:
        tensor._version_cell = [0]
    primal._version_cell = tensor._version_cell
    shown = stand_in(tensor._array)
    shown.state = Dual(level, primal, tangent)
    tensor._array = shown
    if tangent is None:  # its history at this level begins with the write
        tensor._requires_grad, tensor._producer, tensor._output_nr = False, None, 0
