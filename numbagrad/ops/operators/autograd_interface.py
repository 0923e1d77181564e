"""Hands the autograd room the operators that it needs, once all of them exist.

``numbagrad/__init__.py`` imports this file after the families; it calls ``tensor_interface``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd import tensor_interface
from ...autograd.writes.inplace import rebase_history
from ...backend import foreign
from ...dispatch import sparse
from ...executor.builtin import LaunchMiss
from ...executor.families.complex_parts import parts_of_array
from ...executor.families.conversion import in_order, order_of_dense
from ...executor.memory.arrays import filled, scalar
from ...random_filling import fill_uniform
from ...tensor import Tensor, new_tensor
from ...tensor.sparse_array import SparseArray
from ...transforms.functions import apply_transformed
from ...transforms.inplace import compute_and_write
from ...transforms.reading import elements_of
from ..conversion.dtypes import cast
from ..views.expand import sum_to_size
from ..views.join import stack
from ..views.view import clone, clone_in_order, contiguous
from ..writing.inplace import copy_
from .pointwise_operator import binary, pointwise

_add = pointwise("add")


def _add_in_place(a: Tensor, b: Tensor) -> Tensor:
    """``_add.into(a, (a, b))``: the engine does this for every parameter."""
    try:
        _add.launch_into(a, a, b)
    except LaunchMiss:
        if sparse.are_among((a, b)):
            made: Tensor | None = sparse.WRITES["add"](a, a, b)
            return a if made is None else made
        _add.into(a, (a, b))
    return a


_add_tensors = binary(_add)


def _add_gradients(a: Tensor, b: Tensor) -> Tensor:
    """The sum of two gradients. A sparse one comes second, as ``add`` takes it with a dense one."""
    if a._array.__class__ is SparseArray and b._array.__class__ is not SparseArray:
        return _add_tensors(b, a)
    return _add_tensors(a, b)


#: A one of each dtype: a copy costs a tenth of what ``np.ones_like`` does.
def _ones_like(tensor: Tensor) -> Tensor:
    array = tensor._array
    if array.ndim == 0 and array.__class__ is np.ndarray:
        return new_tensor(scalar(1, array.dtype))
    return new_tensor(filled(array.shape, array.dtype, 1, foreign(array)))


def _zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
    return new_tensor(filled(shape, dtype, 0))


def _uniform(
    shape: tuple[int, ...], dtype: np.dtype[Any], low: float, high: float
) -> np.ndarray[Any, Any]:
    array = np.empty(shape, dtype)
    # Of complex numbers both parts.
    fill_uniform(None, parts_of_array(array) if dtype.kind == "c" else array, low, high)
    return array


def _has_own_order(tensor: Tensor) -> bool:
    array = tensor._array
    return not array.flags.c_contiguous and order_of_dense(array) is not None


def _copied(gradient: Tensor, leaf: Tensor) -> Tensor:
    """A copy whose node is that of a copy in place, as torch accumulates what it records.

    It has the leaf's shape, which may have changed since the leaf was used.
    """
    array, order = gradient._array, order_of_dense(leaf._array)
    shape = array.shape if order is None else leaf._array.shape
    memory = in_order(shape, array.dtype, order or tuple(range(len(shape))), foreign(array))
    return copy_(new_tensor(memory), gradient)


def _copied_unrecorded(gradient: Tensor, leaf: Tensor) -> Tensor:
    if gradient._array.shape != leaf._array.shape:
        return _copied(gradient, leaf)
    if not leaf._array.flags.c_contiguous:
        order = order_of_dense(leaf._array)
        if order is not None:
            return clone_in_order(gradient, order)
    return clone(gradient) if gradient._array.flags.c_contiguous else contiguous(gradient)


tensor_interface.register(
    Tensor=Tensor,
    new_tensor=new_tensor,
    ones_like=_ones_like,
    zeros=_zeros,
    uniform=_uniform,
    add=_add_gradients,
    add_=_add_in_place,
    clone=clone,
    cast=cast,
    sum_to_size=sum_to_size,
    stack=stack,
    copy_into=copy_,
    copied=_copied,
    copied_unrecorded=_copied_unrecorded,
    has_own_order=_has_own_order,
    rebase_history=rebase_history,
    apply_transformed=apply_transformed,
    elements_of=elements_of,
    write_transformed=compute_and_write,
)
