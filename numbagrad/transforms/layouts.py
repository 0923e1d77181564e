"""Layouts of tangents: of the dtype and strides of their Tensors, so that views fit.

``forward_ad`` lays out the tangents that users give, as torch does; the rule of ``as_strided`` asks
whether a part of the memory of a primal is the same part of that of its tangent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.writes.regions import Geometry
from ..executor import capture
from ..executor.families.indexing import strided_view
from ..executor.plan.sharing import reach, repeats
from ..ops.complex.lazy_conj import view_as_lazy_conj
from ..tensor import Tensor, new_tensor
from ..untyped_storage import owner_of
from .levels import Transformed
from .unwrapping import new_samples

__all__ = ["laid_out_as", "of_dtype", "shows_as", "zeros_as"]

Array = np.ndarray[Any, Any]
#: The value of ``Transformed.lazy_conj`` for other arrays.
NOTHING = (False, False)


def laid_out_as(primal: Tensor, tangent: Tensor) -> Tensor:
    """The tangent itself if it lies in its memory as the primal does; else a copy that does.

    Where elements of the primal are conjugated or negated when they are read, so are those of the
    copy.

    The memory of the copy is as large as that of the primal, with zeros around it. The tangent of
    a primal that repeats elements of its memory stays as it is.
    """
    array, other = primal._array, tangent._array
    change = getattr(array, "lazy_conj", NOTHING)
    if change != getattr(other, "lazy_conj", NOTHING):
        memory = zeros_as(primal, tangent)
        view_as_lazy_conj(memory, change).copy_(tangent)
        return view_as_lazy_conj(memory, change)
    if _same_strides(array, other):
        if Transformed in (array.__class__, other.__class__) or _is_whole(array, other):
            return tangent
        size, start = _memory_of(array)
        if (size, start if array.size else 0) == _memory_of(other):
            return tangent
    if repeats(array):
        return tangent
    return zeros_as(primal, tangent).copy_(tangent)


def check_differentiable(tangent: Tensor) -> None:
    """Raise a ValueError for a tangent that has no fractions."""
    if tangent._array.dtype.kind not in "fcV":
        raise ValueError(
            f"Expected tangent to be floating point or complex, but got: {tangent.dtype}"
        )


def of_dtype(primal: Tensor, tangent: Tensor) -> Tensor:
    """The tangent in the dtype of its primal, which operators take it to have.

    Raises:
        ValueError: for a tangent of integers, and for a complex one of a real primal.
    """
    if tangent._array.dtype == primal._array.dtype:
        return tangent
    check_differentiable(tangent)
    if tangent.is_complex() and not primal.is_complex():
        raise ValueError(
            f"Expected tangent to be real, as its primal of {primal.dtype} is, but got: "
            f"{tangent.dtype}"
        )
    return tangent.to(primal.dtype)


def zeros_as(primal: Tensor, tangent: Tensor) -> Tensor:
    """Zeros that lie as the primal in a memory as large; for each sample that a tangent has."""
    array = primal._array
    size, start = _memory_of(array)
    steps = [stride // array.itemsize for stride in array.strides]

    def make(shape: tuple[int, ...]) -> Tensor:
        samples = shape[: len(shape) - array.ndim]
        around = np.zeros((*samples, size), tangent._array.dtype)  # what is not used costs nothing
        if capture.active is not None:
            capture.note_fill(around, 0)
        item = around.itemsize
        strides = (*around.strides[:-1], *[step * item for step in steps])
        return new_tensor(strided_view(around, shape, strides, start * item))

    return new_samples(tangent, array.shape, make)


def shows_as(primal: Array, tangent: Array, geometry: Geometry) -> bool:
    """Whether a region of the memory of a primal is that of its tangent's memory, too."""
    if not _same_strides(primal, tangent):
        return False
    size, start = _memory_of(tangent)
    first = start + geometry.offset
    return first >= 0 and first + reach(geometry.shape, geometry.strides) <= size


def _same_strides(one: Array, other: Array) -> bool:
    if one.strides == other.strides or not one.size:
        return True
    steps = zip(one.shape, one.strides, other.strides, strict=True)
    return all([size == 1 or a == b for size, a, b in steps])


def _is_whole(*arrays: Array) -> bool:
    """Whether each of some arrays is all of the memory that it lies in: most are."""
    return all([owner_of(array).nbytes == array.nbytes for array in arrays])


def _memory_of(array: Array) -> tuple[int, int]:
    """The size of the memory that an array lies in, and where the array begins, in elements."""
    owner = owner_of(array)
    item = array.itemsize
    if not array.size:
        return owner.nbytes // item, 0
    return owner.nbytes // item, (array.ctypes.data - owner.ctypes.data) // item
