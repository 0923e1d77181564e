"""Shapes, sizes and dimensions as arguments: completed, counted from 0, and checked.

Called by the operators of this folder; nothing here knows Tensors beyond taking sizes from one.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...executor.plan.forms import ShapesDiffer, broadcast, with_sizes
from ...tensor import Tensor
from ...type_names import type_name

__all__: list[str] = []

Shape = tuple[int, ...]


def sizes_of(arguments: Sequence[Any]) -> Shape:
    """The sizes given as ``(2, 3)``, ``([2, 3],)`` or ``(Size([2, 3]),)``.

    Raises:
        TypeError: for what is no int.
    """
    if len(arguments) == 1 and arguments[0].__class__ is not int:
        only = arguments[0]
        arguments = only if isinstance(only, (tuple, list)) else _several(only)
    for size in arguments:
        if size.__class__ is not int:
            return _converted(arguments)
    return tuple(arguments)


def _converted(sizes: Sequence[Any]) -> Shape:
    """Sizes as ints; as in torch a bool is refused in the first place only."""
    found = []
    for position, size in enumerate(sizes):
        known = position and isinstance(size, bool)
        found.append(int(size) if known else as_int(size, "sizes must be ints, but got"))
    return tuple(found)


def nothing_given(function: str) -> TypeError:
    """The error of a method that takes sizes or dimensions and was given none."""
    return TypeError(
        f"{function}() missing 1 required positional argument: ints, as in {function}(2, 3), or a "
        "tuple of them"
    )


def _several(sizes: Any) -> Sequence[Any]:
    """A tensor or an int-like as a sequence of sizes."""
    return sizes.tolist() if isinstance(sizes, Tensor) and sizes._array.ndim else (sizes,)


def as_int(value: Any, what: str) -> int:
    """An int for what stands for one: a NumPy integer, or a Tensor that holds a single integer.

    Bools are none, although Python counts them as ints: ``what`` and their class make the error.
    """
    if isinstance(value, Tensor):
        if value._array.size == 1 and value._array.dtype.kind in "iu":
            return int(value)
    elif hasattr(value, "__index__") and not isinstance(value, (bool, np.bool_, np.ndarray)):
        return operator.index(value)
    raise TypeError(f"{what} {type_name(value)}")


def as_dimension(dim: Any) -> int:
    """The number of a dimension, for what is no plain int."""
    return as_int(dim, "argument 'dim' must be int, the number of a dimension, not")


def dimension(rank: int, dim: int) -> int:
    """A dimension counted from 0; raises torch's IndexError if there is none such."""
    limit = rank or 1
    if dim.__class__ is not int:
        dim = as_dimension(dim)
    if not -limit <= dim < limit:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got "
            f"{dim})"
        )
    return dim + limit if dim < 0 else dim


def dimensions(rank: int, dims: Sequence[int]) -> list[int]:
    """Dimensions counted from 0, each at most once."""
    found = [dimension(rank, dim) for dim in dims]
    for position, dim in enumerate(found):
        if dim in found[:position]:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
    return found


@functools.lru_cache(maxsize=4096)
def complete_shape(shape: Shape, count: int) -> Shape:
    """``shape`` with its -1 replaced, for a tensor of ``count`` elements."""
    known = 1
    unknown = -1
    for position, size in enumerate(shape):
        if size >= 0:
            known *= size
        elif size == -1:
            if unknown >= 0:
                raise RuntimeError("only one dimension can be inferred")
            unknown = position
        else:
            raise RuntimeError(
                f"invalid shape dimension {size} at index {position} of shape {list(shape)}"
            )
    if unknown < 0:
        if known == count:
            return shape
    elif known > 0:
        if count % known == 0:
            return with_sizes(shape, unknown, count // known)
    elif count == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")


def common_shape(shapes: Sequence[Shape]) -> Shape:
    """The shape to which all ``shapes`` broadcast; raises torch's error if there is none."""
    try:
        return broadcast(shapes)
    except ShapesDiffer as error:
        raise RuntimeError(str(error)) from None


def check_expands(own: Shape, shape: Shape) -> None:
    """Raise torch's error unless a tensor of shape ``own`` expands to ``shape``."""
    expansion(own, (0,) * len(own), shape)


@functools.lru_cache(maxsize=4096)
def expansion(own: Shape, own_strides: Shape, shape: Shape) -> tuple[Shape, Shape]:
    """Shape and strides of an array of shape ``own`` expanded to ``shape``."""
    added = len(shape) - len(own)
    if added < 0 or min(shape[:added], default=0) < 0:
        raise _bad_expand(own, shape)
    complete, strides = list(shape), [0] * len(shape)
    for position, (old, stride) in enumerate(zip(own, own_strides, strict=True), added):
        new = shape[position]
        if new in (old, -1):
            complete[position] = old
            strides[position] = stride
        elif old != 1 or new < 0:
            raise _bad_expand(own, shape)
    if own:  # of a new dimension that repeats nothing
        for position in range(added - 1, -1, -1):
            if complete[position] == 1:
                strides[position] = complete[position + 1] * strides[position + 1]
    return tuple(complete), tuple(strides)


def _bad_expand(own: Shape, shape: Shape) -> RuntimeError:
    added = len(shape) - len(own)
    if added < 0:
        return RuntimeError(
            f"expand({list(own)}, size={list(shape)}): the number of sizes provided "
            f"({len(shape)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(own)})"
        )
    for position, size in enumerate(shape):
        if position < added and size < 0:
            return RuntimeError(
                f"The expanded size of the tensor ({size}) isn't allowed in a leading, "
                f"non-existing dimension {position}"
            )
        if position >= added and own[position - added] not in (1, size) and size != -1:
            return RuntimeError(
                f"The expanded size of the tensor ({size}) must match the existing size "
                f"({own[position - added]}) at non-singleton dimension {position}.  Target sizes: "
                f"{list(shape)}.  Tensor sizes: {list(own)}"
            )
    return RuntimeError(f"expand: the sizes {list(shape)} are negative")


def check_broadcast(shape: Shape, to: Shape) -> None:
    """Raise torch's error unless ``shape`` broadcasts to the shape ``to``."""
    common = common_shape([to, shape])
    if common != to:
        raise RuntimeError(
            f"output with shape {list(to)} doesn't match the broadcast shape {list(common)}"
        )
