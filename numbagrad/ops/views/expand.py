"""Repeating without copying: expand and its relatives, and the sum that is its gradient.

Broadcasting operators sum their gradients back with ``sum_to_size``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dispatch import layers
from ...executor.families.indexing import strided_view
from ...executor.plan.forms import ShapesDiffer, broadcast
from ...size import Size
from ...tensor import Tensor
from ...transforms.batching import aligned
from ...type_names import type_name
from ..arguments.kinds import Ints
from ..arguments.requirements import tensors_of
from ..arguments.shapes import common_shape, expansion, nothing_given, sizes_of
from ..methods.registry import method
from ..operators.view_operator import ViewOperator
from .view import reshape

__all__ = ["broadcast_shapes", "broadcast_tensors", "broadcast_to", "expand"]

Array = np.ndarray[Any, Any]
_ndarray = np.ndarray
_make_array = np.ndarray.__new__


def _expanded(array: Array, shape: tuple[int, ...]) -> Array:
    """``array`` repeated to ``shape``, in which a size of -1 stands for the present one.

    Raises:
        RuntimeError: for another shape, and for more bytes than there are addresses, which NumPy
            has no array of even where it is one element repeated.
    """
    complete, strides = expansion(array.shape, array.strides, shape)
    try:
        if array.__class__ is _ndarray and array.flags.c_contiguous:
            return _make_array(_ndarray, complete, array.dtype, array, 0, strides)
        return strided_view(array, complete, strides)
    except ValueError:
        raise RuntimeError(
            f"expand(): Storage size calculation overflowed with sizes={list(complete)}"
        ) from None


_expand = ViewOperator(
    "expand",
    lambda input, shape: _expanded(input, shape),
    lambda grad, input_shape: sum_to_size(grad, input_shape),
    batch=lambda operator, size, arguments, mapped: operator(
        aligned(arguments[0], True, len(arguments[1])), (size, *arguments[1])
    ),
)


@method()
def expand(input: Tensor, *sizes: Any, implicit: bool = False) -> Tensor:
    """Dimensions of size 1 repeated to ``sizes``, and dimensions put in front; -1 keeps a size."""
    if layers.everywhere and layers.asks(expand):
        return layers.ask(expand, [input], {"implicit": implicit}, sizes)
    if not sizes:
        raise nothing_given("expand")
    shape = sizes_of(sizes)
    return _expand.launch(_expanded(input._array, shape), input, (shape,))


@method()
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """``input`` repeated to the shape of ``other``."""
    return expand(input, other._array.shape)


def broadcast_to(input: Tensor, size: Ints) -> Tensor:
    """``input.expand(size)``."""
    shape = sizes_of((size,))
    return _expand.launch(_expanded(input._array, shape), input, (shape,))


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors, each expanded to their common shape; those that have it themselves.

    >>> a, b = torch.broadcast_tensors(torch.ones(3, 1), torch.ones(4))
    >>> a.shape, b.shape
    (torch.Size([3, 4]), torch.Size([3, 4]))
    """
    given = tensors_of("broadcast_tensors", tensors)
    shape = common_shape([tensor._array.shape for tensor in given])
    return tuple([x if x._array.shape == shape else expand(x, shape) for x in given])


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape to which tensors of these shapes broadcast; a number is the shape of a vector.

    Raises:
        ValueError: for a negative size.
        RuntimeError: if there is none.
    """
    found: tuple[int, ...] = ()
    for number, given in enumerate(shapes):
        if not isinstance(given, (int, np.integer, tuple, list)):
            error = TypeError if isinstance(given, str) else RuntimeError
            raise error(
                "broadcast_shapes(): Input shapes should be of type ints, a tuple of ints, or a "
                f"list of ints, got {type_name(given)}"
            )
        shape = tuple(given) if isinstance(given, (tuple, list)) else (given,)
        if min(shape, default=0) < 0:
            raise ValueError("Attempting to broadcast a dimension with negative length!")
        found = _joined(found, shape, number)
    return Size(found)


def _joined(found: tuple[int, ...], shape: tuple[int, ...], number: int) -> tuple[int, ...]:
    """The common shape with one shape more, that of the argument with this number."""
    try:
        return broadcast([found, shape])
    except ShapesDiffer as differ:
        raise RuntimeError(
            f"Attempting to broadcast a dimension of length {differ.size} at {differ.position}! "
            f"Mismatching argument at index {number} had {shape}; but expected shape should "
            f"be broadcastable to {differ.common}"
        ) from None


def sum_to_size(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The adjoint of expanding ``shape`` to the shape of ``tensor``: the sum of what was repeated.

    Args:
        tensor: of a shape that ``shape`` expands to.
        shape: of the result.
    """
    own = tensor._array.shape
    if own == shape:
        return tensor
    added = len(own) - len(shape)
    dims = list(range(added))
    if own[added:] == shape:  # whole dimensions were added in front
        return tensor.sum(dims)
    for position, size in enumerate(shape, added):
        if size == 1 and own[position] != 1:
            dims.append(position)
    summed = tensor.sum(dims, keepdim=True) if dims else tensor
    return summed if summed._array.shape == shape else reshape(summed, shape)


@method("sum_to_size")
def _sum_to_size_method(input: Tensor, *size: Any) -> Tensor:
    """Sum to a shape that expands to this tensor's shape."""
    if not size:
        raise nothing_given("sum_to_size")
    shape = sizes_of(size)
    own = input._array.shape
    fits = len(shape) <= len(own) and all(
        [old in (1, new) for old, new in zip(shape[::-1], own[::-1], strict=False)]
    )
    if not fits:
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(own)}}}.")
    return sum_to_size(input, shape)
