"""Inputs of a derivative in reverse mode: copies of Tensors that require grad.

``numbagrad.func`` and the transposed rules of ``tangents.py`` take derivatives by them.
"""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor, new_tensor
from .levels import BATCH, Batched, Dual, Level, Transformed, dual, stack, state_of

__all__ = ["follow", "has_history", "requires_grad"]


def follow(level: Level, tensor: Tensor) -> Tensor:
    """A copy of a Tensor that requires grad, for a derivative taken at this level of kind ``GRAD``.

    It shares the memory. If samples of a batch are around, which have no history of their own, it
    is a Tensor of this level: what is computed from it is recorded here, and computed below from
    the original, whose history stays apart from this one.
    """
    if any([outer.kind is BATCH for outer in stack.levels]):
        copy = dual(level, tensor, None)
        copy._requires_grad = True
        if copy.is_inference():
            copy._version_cell = [0]
        return copy
    if tensor._requires_grad:
        return tensor.view_as(tensor)
    copy = new_tensor(tensor._array, True)
    if tensor.is_inference():
        copy._version_cell = [0]
        return copy
    if tensor._version_cell is None:
        tensor._version_cell = [0]
    copy._version_cell = tensor._version_cell
    return copy


def requires_grad(argument: Any) -> bool:
    """Whether an argument, or one of a list, requires grad."""
    if isinstance(argument, Tensor):
        return argument._requires_grad
    if argument.__class__ is list or argument.__class__ is tuple:
        for item in argument:  # the items of arguments are most often Tensors themselves
            if item._requires_grad if isinstance(item, Tensor) else requires_grad(item):
                return True
    return False


def has_history(tensor: Tensor) -> bool:
    """Whether a Tensor, or what it stands for at a level below, requires grad."""
    while not tensor._requires_grad:
        if tensor._array.__class__ is not Transformed:
            return False
        state = state_of(tensor)
        if state.__class__ is Dual and state.tangent is not None and has_history(state.tangent):
            return True
        tensor = state.value if state.__class__ is Batched else state.primal
    return True
