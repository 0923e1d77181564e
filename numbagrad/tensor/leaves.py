"""Assignments to leaves, and how tensors leave the graph: flags, gradients, data."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.engine import grad_dtype
from ..autograd.grad_mode import state as grad_mode
from ..autograd.hooks import tensor_hooks as hooks
from ..autograd.hooks import watching
from ..autograd.node import UNRECORDED, detached, has_no_history
from ..backend import foreign
from ..type_names import type_name
from .sparse_array import SparseArray
from .state import TensorState, under_transformation

GRAD_OF_NON_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
    "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you "
    "access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead."
)


def set_requires_grad(tensor: Any, value: Any) -> None:
    """``tensor.requires_grad = value``."""
    if not isinstance(value, bool):
        raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}")
    if tensor._producer is UNRECORDED:
        if value:
            tensor._producer = None  # it is a leaf now
        return
    if not value and tensor._producer is not None:
        raise RuntimeError(
            "you can only change requires_grad flags of leaf variables. If you want to use a "
            "computed variable in a subgraph that doesn't require differentiation use "
            "var_no_grad = var.detach()."
        )
    if value and tensor._producer is not None:
        raise RuntimeError("you can only change requires_grad flags of leaf variables.")
    if value and tensor._array.dtype.kind not in "fcV":
        raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
    if value and tensor._version_cell is watching.INFERENCE_CELL and not grad_mode.inference:
        raise RuntimeError(
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
        )
    if tensor._requires_grad and not value:
        hooks.switched_off(tensor)
    tensor._requires_grad = bool(value)


def switch(tensor: Any, requires_grad: Any) -> None:
    """``tensor.requires_grad_(requires_grad)``."""
    if requires_grad.__class__ is not bool:
        raise TypeError(
            "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
            f"{type_name(requires_grad)}"
        )
    if not requires_grad or has_no_history(tensor):  # what has a history requires grad already
        tensor.requires_grad = requires_grad


def memory_of(tensor: Any) -> np.ndarray[Any, Any]:
    """The array whose memory a tensor is a view of, also if it was detached since."""
    base = tensor if tensor._viewed is None else tensor._viewed
    whole: np.ndarray[Any, Any] = base._array if base._memory is None else base._memory
    return whole


def with_own_memory(tensor: Any, made: Any) -> Any:
    """Let ``made``, which was detached, know the whole memory of which a tensor is a view."""
    memory = memory_of(tensor)
    if memory is not tensor._array:
        made._memory = memory
    return made


def assign_grad(tensor: Any, value: Any) -> None:
    """``tensor.grad = value``, which is not None."""
    if not isinstance(value, TensorState):
        raise TypeError(
            "assigned grad expected to be a Tensor or None but got grad of type "
            f"{type(value).__name__}"
        )
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if value._array.shape != tensor._array.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value._array.shape)}' to a tensor "
            f"of size '{list(tensor._array.shape)}'. Please ensure that the gradient and the "
            "tensor are the same size"
        )
    if value._array.dtype != tensor._array.dtype or tensor._grad_dtype is not grad_dtype.OWN:
        grad_dtype.check_assigned(tensor, value)
    tensor._accumulated = value


def detach_in_place(tensor: Any) -> None:
    """``tensor.detach_()``; in inference mode the history of what was made before stays."""
    if grad_mode.inference and not tensor.is_inference():
        return
    if tensor._is_view():
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
            "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
            "function in torch/optim/optimizer.py as the solution."
        )
    if tensor._array.__class__ is not np.ndarray and foreign(tensor._array) is None:
        tensor._array = under_transformation().detached(tensor)._array
    if not has_no_history(tensor):
        detached.note(tensor)
    elif tensor._requires_grad:
        hooks.switched_off(tensor)
    tensor._producer = None
    tensor._requires_grad = False
    tensor._output_nr = 0


def _is_compressed(array: Any) -> bool | None:
    """Whether a sparse array has the layout CSR; None for one that is not sparse."""
    return array.places.compressed is not None if array.__class__ is SparseArray else None


def assign_data(tensor: Any, value: Any) -> None:
    """``tensor.data = value``."""
    if not isinstance(value, TensorState):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if tensor.requires_grad and value._array.dtype.kind not in "fcV":
        raise RuntimeError(
            "data set to a tensor that requires gradients must be floating point or complex dtype"
        )
    own, new = tensor._array, value._array
    if _is_compressed(own) is not _is_compressed(new):
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
            "incompatible tensor type."
        )
    if not has_no_history(tensor) and (own.shape != new.shape or own.dtype != new.dtype):
        hooks.fit_gradients(tensor)
    tensor._array = new
