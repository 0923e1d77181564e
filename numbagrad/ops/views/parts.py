"""Parts of a tensor as views: slices, diagonals, windows.

Their gradients are zeros with the part in its place. Indexing (``indexing/subscript.py``) makes its
views with the operators of this file; all pieces along a dimension are in ``splitting.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

from ...executor.families.indexing import strided_view
from ...executor.memory.arrays import assign, copied, embedded, filled_like
from ...executor.plan.forms import with_sizes
from ...tensor import Tensor, new_tensor
from ...transforms.batching import after_samples, part_of_samples, samples_first, stacked
from ...transforms.tangents import additive, multilinear
from ..arguments.shapes import as_int, dimension
from ..methods.registry import method
from ..operators.tensor_operator import TensorOperator
from ..operators.view_operator import ViewOperator

__all__ = ["diagonal", "diagonal_scatter", "narrow", "select", "select_scatter", "slice_scatter"]

Array = np.ndarray[Any, Any]


# --- by a basic index -----------------------------------------------------------------------------


#: Zeros of a shape with the input in the part that a basic index ``key`` selects.
embed = TensorOperator(
    "slice_backward",
    lambda input, shape, key: embedded(input, shape, itemgetter(key)),
    {"input": lambda grad, key: slice_view(grad, key)},
    batch=stacked(shape=samples_first, key=part_of_samples),
    tangent=multilinear,
    takes_half=True,
    portable=True,
)

# Views by a basic index ``key``: a tuple of slices, ints and None that ends with an Ellipsis, so
# that a single element too comes as an array. One operator for each name that torch gives nodes.


def placed(view: Array, array: Array, key: tuple[Any, ...]) -> Array:
    """A view without elements, as a basic index makes it, at its place in the memory.

    NumPy starts those at the first element: what a slice leaves out does not count for it. The view
    of torch begins where its first element would be, which ``storage_offset`` tells.
    """
    left_out = array.ndim - sum([entry is not None and entry is not Ellipsis for entry in key])
    offset = dim = 0
    for entry in key:
        if entry is Ellipsis:
            dim += left_out
        elif entry is not None:
            size, stride = array.shape[dim], array.strides[dim]
            start = entry.indices(size)[0] if entry.__class__ is slice else entry % size
            offset += start * stride
            dim += 1
    return strided_view(array, view.shape, view.strides, offset)


def by_key(input: Array, key: Any) -> Array:
    """``input[key]`` for a basic index."""
    made: Array = input[key]
    return made if made.size else placed(made, input, key)


def _part(name: str) -> ViewOperator:
    return ViewOperator(
        name,
        by_key,
        lambda grad, input_shape, key: embed(grad, input_shape, key),
        batch=stacked(key=part_of_samples),
    )


slice_view = _part("slice")
select_view = _part("select")
unsqueeze_view = _part("unsqueeze")
alias_view = _part("alias")

_ALL = slice(None)


def part(dim: int, chosen: int | slice) -> tuple[Any, ...]:
    """The key that takes ``chosen`` of one dimension, and all of the others."""
    return (_ALL,) * dim + (chosen, ...)  # noqa: RUF005 - half the time


def _start_of(start: Any) -> int:
    """The ``start`` of ``narrow``, if it is no plain int."""
    if isinstance(start, Tensor):
        if start._array.ndim or start._array.dtype.kind not in "iu":
            raise RuntimeError("narrow(): start must be an 0-dim integral Tensor.")
        return int(start)
    return as_int(start, "narrow(): argument 'start' (position 3) must be int, not")


@method()
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """``length`` entries of one dimension, from ``start`` on."""
    shape = input._array.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length.__class__ is not int:
        length = as_int(length, "narrow(): argument 'length' (position 4) must be int, not")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    dim = dimension(len(shape), dim)
    if start.__class__ is not int:
        start = _start_of(start)
    size = shape[dim]
    if not -size <= start <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    if start < 0:
        start += size
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return slice_view(input, part(dim, slice(start, start + length)))


@method()
def select(input: Tensor, dim: int, index: Any) -> Tensor:
    """Entry ``index`` of one dimension, which is left out."""
    shape = input._array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = dimension(len(shape), dim)
    if index.__class__ is not int:
        index = as_int(index, "select(): argument 'index' (position 3) must be int, not")
    if not -shape[dim] <= index < shape[dim]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(shape)} at dimension "
            f"{dim}"
        )
    return select_view(input, part(dim, index))


# --- diagonals ------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1024)
def _diagonal_form(
    shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dim1: int, dim2: int
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Shape and strides of a diagonal, and how many bytes it begins behind the first element."""
    rows, columns = max(-offset, 0), max(offset, 0)
    length = max(min(shape[dim1] - rows, shape[dim2] - columns), 0)
    start = rows * strides[dim1] + columns * strides[dim2] if length else 0
    kept = [dim for dim in range(len(shape)) if dim not in (dim1, dim2)]
    return (
        (*[shape[dim] for dim in kept], length),
        (*[strides[dim] for dim in kept], strides[dim1] + strides[dim2]),
        start,
    )


def diagonal_view(array: Array, offset: int, dim1: int, dim2: int) -> Array:
    return strided_view(array, *_diagonal_form(array.shape, array.strides, offset, dim1, dim2))


def _diagonal_embedded(
    array: Array, shape: tuple[int, ...], offset: int, dim1: int, dim2: int
) -> Array:
    return embedded(array, shape, lambda zeros: diagonal_view(zeros, offset, dim1, dim2))


_diagonal = ViewOperator(
    "diagonal",
    lambda input, offset, dim1, dim2: diagonal_view(input, offset, dim1, dim2),
    lambda grad, input_shape, offset, dim1, dim2: embed_diagonal(
        grad, input_shape, offset, dim1, dim2
    ),
    batch=stacked(dim1=after_samples, dim2=after_samples),
)

#: Zeros of a shape with the input on a diagonal.
embed_diagonal = TensorOperator(
    "diagonal_backward",
    lambda input, shape, offset, dim1, dim2: _diagonal_embedded(input, shape, offset, dim1, dim2),
    {"input": lambda grad, offset, dim1, dim2: _diagonal(grad, offset, dim1, dim2)},
    batch=stacked(shape=samples_first, dim1=after_samples, dim2=after_samples),
    tangent=multilinear,
    takes_half=True,
    portable=True,
)


@method()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonals of the matrices in two dimensions, as a last dimension."""
    rank = input._array.ndim
    dim1, dim2 = dimension(rank, dim1), dimension(rank, dim2)
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    made = diagonal_view(input._array, offset, dim1, dim2)
    return _diagonal.launch(made, input, (offset, dim1, dim2))


# --- copies with a part replaced ------------------------------------------------------------------


def _replaced(view: Callable[..., Array], array: Array, src: Array, position: Any) -> Array:
    result = copied(array)
    assign(view(result, *position), src)
    return result


def _replacing(
    name: str,
    view: Callable[..., Array],
    part_of: Callable[..., Tensor],
    for_samples: Callable[[Any, int], Any],
) -> TensorOperator:
    """A copy of ``input`` whose part ``view(array, *position)`` holds ``src``.

    ``part_of(tensor, *position)`` is the same part of a Tensor; ``for_samples(position, number)``
    is the position in a batch.
    """

    def cleared(grad: Tensor, position: Any) -> Tensor:
        zero = new_tensor(filled_like(grad._array, (), grad._array.dtype, 0))
        made: Tensor = operator(grad, zero, position)
        return made

    operator = TensorOperator(
        name,
        lambda input, src, position: _replaced(view, input, src, position),
        {"input": cleared, "src": lambda grad, position: part_of(grad, *position)},
        batch=stacked(position=for_samples),
        tangent=additive,
        takes_half=True,
        portable=True,
    )
    return operator


def _key_of_samples(position: Any, size: int) -> Any:
    return (part_of_samples(position[0], size),)


_select_scatter = _replacing(
    "select_scatter", by_key, lambda x, key: slice_view(x, key), _key_of_samples
)
_slice_scatter = _replacing(
    "slice_scatter", by_key, lambda x, key: slice_view(x, key), _key_of_samples
)
_diagonal_scatter = _replacing(
    "diagonal_scatter",
    diagonal_view,
    lambda x, *at: _diagonal(x, *at),
    lambda position, size: (position[0], *after_samples(position[1:], size)),
)


def _checked_part(name: str, part: Tensor, src: Tensor) -> Tensor:
    """``src`` in the dtype of the part that it replaces, whose shape it must have."""
    if part._array.shape != src._array.shape:
        raise RuntimeError(
            f"{name}: expected src to have a size equal to the part of input it replaces. src size "
            f"= {list(src._array.shape)}, part size = {list(part._array.shape)}"
        )
    return src if src._array.dtype is part._array.dtype else src.to(part.dtype)


@method()
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy with ``src`` at ``index`` of one dimension."""
    src = _checked_part("select_scatter", select(input.detach(), dim, index), src)
    return _select_scatter(input, src, (part(dimension(input._array.ndim, dim), index),))


@method()
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """A copy with ``src`` at ``start:end:step`` of one dimension."""
    key = part(dimension(input._array.ndim, dim), slice(start, end, step))
    src = _checked_part("slice_scatter", slice_view(input.detach(), key), src)
    return _slice_scatter(input, src, (key,))


@method()
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """A copy with ``src`` on the diagonals of two dimensions."""
    src = _checked_part("diagonal_scatter", diagonal(input.detach(), offset, dim1, dim2), src)
    rank = input._array.ndim
    position = (offset, dimension(rank, dim1), dimension(rank, dim2))
    return _diagonal_scatter(input, src, position)


# --- windows --------------------------------------------------------------------------------------


def _windows(array: Array, dim: int, size: int, step: int) -> Array:
    shape, strides = array.shape, array.strides
    if not shape:
        return strided_view(array, (size,), (array.itemsize,))
    count = (shape[dim] - size) // step + 1
    return strided_view(
        array,
        (*with_sizes(shape, dim, count), size),
        (*with_sizes(strides, dim, strides[dim] * step), strides[dim]),
    )


def _windows_summed(array: Array, shape: tuple[int, ...], dim: int, size: int, step: int) -> Array:
    result = np.zeros(shape, array.dtype)
    if not shape:
        result[...] = array.sum(dtype=array.dtype)
        return result
    count = array.shape[dim]
    for k in range(size):
        result[part(dim, slice(k, k + step * (count - 1) + 1, step))] += array[..., k]
    return result


_unfold = ViewOperator(
    "unfold",
    lambda input, dim, size, step: _windows(input, dim, size, step),
    lambda grad, input_shape, dim, size, step: _fold(grad, input_shape, dim, size, step),
    batch=stacked(dim=after_samples),
)
_fold = TensorOperator(
    "unfold_backward",
    lambda input, shape, dim, size, step: _windows_summed(input, shape, dim, size, step),
    {"input": lambda grad, dim, size, step: _unfold(grad, dim, size, step)},
    batch=stacked(shape=samples_first, dim=after_samples),
    tangent=multilinear,
)


_counted = dimension  # unfold has a parameter of that name


@method()
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of ``size`` entries of one dimension, ``step`` apart, in a new last dimension.

    >>> torch.arange(5).unfold(0, size=3, step=2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    shape = input._array.shape
    dim = _counted(len(shape), dimension)
    length = shape[dim] if shape else 1
    if size.__class__ is not int:
        size = as_int(size, "unfold(): argument 'size' (position 3) must be int, not")
    if step.__class__ is not int:
        step = as_int(step, "unfold(): argument 'step' (position 4) must be int, not")
    if size < 0 or size > length:
        raise RuntimeError(
            f"maximum size for tensor at dimension {dim} is {length} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return _unfold(input, dim, size, step)
