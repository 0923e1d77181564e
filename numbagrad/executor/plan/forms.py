"""Forms of arrays: shapes that broadcast, and strides of results.

A form is whatever has a ``shape``, ``strides`` in bytes and a NumPy ``dtype``: an ndarray, a
``View``, or a ``Form``, which stands for an array that is still to be made. Everything that plans
asks here, so each rule of broadcasting stands once in Python; ``native/broadcast.py`` has them once
more in compiled code, and a test holds the two together.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .sharing import bounds

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


class Form(NamedTuple):
    """Shape, strides in bytes and dtype of an array without its elements."""

    shape: Shape
    strides: Shape
    dtype: np.dtype[Any]

    def empty(self) -> Array:
        """A new array of this form, which has to be dense, that owns its memory."""
        return np.ndarray(self.shape, self.dtype, None, 0, self.strides)

    @classmethod
    def of(cls, array: Array) -> Form:
        """The form of an array."""
        return cls(array.shape, array.strides, array.dtype)

    def with_gaps(self) -> Array:
        """A new array of this form with the gaps between its elements, and their repetitions."""
        _, nbytes = bounds(self)
        item = self.dtype.itemsize
        memory = np.empty(max(-(-nbytes // item), 1), self.dtype)
        return np.ndarray(self.shape, self.dtype, memory, 0, self.strides)


# --- shapes ---------------------------------------------------------------------------------------


class ShapesDiffer(ValueError):
    """Raised for shapes that do not broadcast, with torch's text.

    Attributes:
        common: the common shape as far as it was found, from the last dimension on.
        size: the size that does not fit, ``position`` where, counted from behind.
    """

    def __init__(self, common: Sequence[int], size: int, dimension: int):
        self.common, self.size, self.position = list(common), size, dimension - len(common)
        first, second = common[dimension], size
        super().__init__(
            f"The size of tensor a ({first}) must match the size of tensor b ({second}) at "
            f"non-singleton dimension {dimension}"
        )


def broadcast(shapes: Iterable[Shape]) -> Shape:
    """The shape to which all of these broadcast.

    Raises:
        ShapesDiffer: if there is none.
    """
    common: Shape = ()
    for shape in shapes:
        if shape != common:
            common = _of_two(common, shape) if common else shape
    return common


def _of_two(first: Shape, second: Shape) -> Shape:
    """The common shape of two, looked at from the last dimension, as torch does."""
    rank = max(len(first), len(second))
    first, second = [(1,) * (rank - len(shape)) + shape for shape in (first, second)]
    common = list(first)
    for position in reversed(range(rank)):
        own, other = first[position], second[position]
        if own == 1:
            common[position] = other
        elif other not in (1, own):
            raise ShapesDiffer(common, other, position)
    return tuple(common)


def broadcast_operands(name: str, operands: Sequence[Any], output: Any = None) -> Shape:
    """The shape of what an operator makes of arrays and numbers.

    Raises:
        RuntimeError: torch's, if there is none, or ``output`` has another.
    """
    shapes = [getattr(x, "shape", ()) for x in operands]
    try:
        shape = broadcast(shapes)
    except ShapesDiffer as error:
        listed = ", ".join([str(list(x)) for x in shapes])
        raise RuntimeError(f"{error} in {name}, which got shapes {listed}") from None
    if output is not None and shape != output.shape:
        raise RuntimeError(
            f"output with shape {list(output.shape)} doesn't match the broadcast shape "
            f"{list(shape)} in {name}"
        )
    return shape


def reduced_shape(shape: Shape, mask: int, keepdim: bool = True) -> Shape:
    """The shape of a reduction; bit d of ``mask`` says that dimension d is reduced."""
    sizes = [(size, (mask >> d) & 1) for d, size in enumerate(shape)]
    return tuple([1 if gone else size for size, gone in sizes if keepdim or not gone])


def with_sizes(shape: Sequence[int], dim: int, *sizes: int) -> Shape:
    """A shape with other sizes, none or several, in the place of one dimension."""
    return (*shape[:dim], *sizes, *shape[dim + 1 :])


def stacked(a: Array, b: Array) -> tuple[Array, Array]:
    """Views of two stacks of matrices with the leading dimensions to which theirs broadcast."""
    batch = broadcast([a.shape[:-2], b.shape[:-2]])
    first, second = [np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b)]
    return first, second


def spread(form: Any, shape: Shape) -> Shape:
    """The strides of an array over a shape that it broadcasts to: 0 where it repeats."""
    own: Shape = form.shape
    strides: Shape = form.strides
    if own == shape:
        return strides
    missing = len(shape) - len(own)
    steps = [
        step if size == wanted else 0
        for wanted, size, step in zip(shape[missing:], own, strides, strict=True)
    ]
    return (*[0] * missing, *steps)


# --- strides of what is made ----------------------------------------------------------------------


@functools.lru_cache(maxsize=1024)
def contiguous(shape: Shape, dtype: np.dtype[Any]) -> Form:
    """The form of a new array in C order."""
    return Form(shape, dense_strides(shape, tuple(range(len(shape))), dtype.itemsize), dtype)


def dense(shape: Shape, dtype: np.dtype[Any], operands: Sequence[Any]) -> Form:
    """The form of a new array without gaps, its dimensions in the order of the operands."""
    order = memory_order(shape, *[spread(x, shape) for x in operands])
    return Form(shape, dense_strides(shape, order, dtype.itemsize), dtype)


def dense_of(array: Any, dtype: np.dtype[Any] | None = None) -> Form:
    """The form of a copy without gaps, in the order of the strides, as another dtype if given."""
    return dense(array.shape, array.dtype if dtype is None else dtype, [array])


@functools.lru_cache(maxsize=1024)
def dense_strides(shape: Shape, order: tuple[int, ...], step: int) -> Shape:
    """Strides of an array whose dimensions lie in this order, outermost first."""
    strides = [0] * len(shape)
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


@functools.lru_cache(maxsize=1024)
def memory_order(shape: Shape, *steps: Shape) -> tuple[int, ...]:
    """Dimensions, outermost first, in the order in which operands with these strides lie.

    As torch sorts them: from the inside out, each dimension moves inwards past those that lie
    outside of it. The first operand that steps through both of two dimensions decides, the size
    where its steps are equal; where none does, a dimension stays but may move past others.
    """
    order = list(range(len(shape)))
    for start in reversed(range(len(shape) - 1)):
        position = start
        for inner in range(start + 1, len(shape)):
            decided = _sign(shape, steps, order[inner], order[position])
            if decided < 0:
                break
            if decided > 0:
                order[inner], order[position] = order[position], order[inner]
                position = inner
    return tuple(order)


def _sign(shape: Shape, steps: tuple[Shape, ...], inner: int, outer: int) -> int:
    """1 if ``inner`` has to be outside of ``outer``, -1 if it must not, 0 if nobody says."""
    for own in steps:
        first, second = own[inner], own[outer]
        if first == 0 or second == 0:
            continue
        if first != second:
            return 1 if first > second else -1
        if shape[inner] > shape[outer]:
            return 1
    return 0


@functools.lru_cache(maxsize=1024)
def shows(shape: Shape, strides: Shape, sizes: Shape) -> bool:
    """Whether a view of other sizes shows the elements of an array that has some, in their order.

    Dimensions that can be walked as one have to be cut anew, each such group by itself.
    """
    groups: list[tuple[int, int]] = []  # elements, and the stride of the last of them
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 1:
            continue
        if groups and stride == groups[-1][0] * groups[-1][1]:
            groups[-1] = groups[-1][0] * size, groups[-1][1]
        else:
            groups.append((size, stride))
    left = [size for size in sizes if size != 1]
    for count, _ in groups:
        while count > 1 and left and count % left[-1] == 0:
            count //= left.pop()
        if count != 1:
            return False
    return True
