"""Parts of a tensor as views: slices, diagonals, windows, and all pieces along a dimension.

Their gradients are zeros with the part in its place, or the pieces put together again. Indexing
(``indexing.py``) makes its views with the operators of this file.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..executor import capture
from ..executor.arrays import embedded, filled
from ..executor.indexing import strided_view
from ..tensor import Tensor, new_tensor
from ..transforms.batching import (
    after_samples,
    part_of_samples,
    samples_first,
    stacked,
)
from ..transforms.tangents import multilinear
from .join import cat, stack
from .registry import method
from .shapes import dimension, sizes_of
from .tensor_operator import TensorOperator
from .view_operator import MultiViewOperator, ViewOperator

__all__ = [
    "chunk", "diagonal", "diagonal_scatter", "dsplit", "hsplit", "narrow", "select",
    "select_scatter", "slice_scatter", "split", "split_with_sizes", "tensor_split", "unbind",
    "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "vsplit",
]  # fmt: skip

Array = np.ndarray[Any, Any]


# --- by a basic index -----------------------------------------------------------------------------


#: Zeros of a shape with the input in the part that a basic index ``key`` selects.
embed = TensorOperator(
    "slice_backward",
    lambda input, shape, key: embedded(input, shape, lambda zeros: zeros[key]),
    {"input": lambda grad, key: slice_view(grad, key)},
    batch=stacked(shape=samples_first, key=part_of_samples),
    tangent=multilinear,
)

# Views by a basic index ``key``: a tuple of slices, ints and None that ends with an Ellipsis, so
# that a single element too comes as an array. One operator for each name that torch gives nodes.


def _part(name: str) -> ViewOperator:
    return ViewOperator(
        name,
        lambda input, key: input[key],
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
    return (*(_ALL,) * dim, chosen, ...)


@method()
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """``length`` entries of one dimension, from ``start`` on."""
    shape = input._array.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    dim, start = dimension(len(shape), dim), int(start)
    size = shape[dim]
    if not -size <= start <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    if start < 0:
        start += size
    if start + length > size:
        raise RuntimeError(
            f"start ({start}) + length ({length}) exceeds dimension size ({size})."
        )
    return slice_view(input, part(dim, slice(start, start + length)))


@method()
def select(input: Tensor, dim: int, index: Any) -> Tensor:
    """Entry ``index`` of one dimension, which is left out."""
    shape = input._array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim, index = dimension(len(shape), dim), int(index)
    if not -shape[dim] <= index < shape[dim]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(shape)} at dimension "
            f"{dim}"
        )
    return select_view(input, part(dim, index))


# --- diagonals ------------------------------------------------------------------------------------


def _diagonal_view(
    array: Array, offset: int, dim1: int, dim2: int
) -> Array:
    shape, strides = array.shape, array.strides
    rows, columns = max(-offset, 0), max(offset, 0)
    length = max(min(shape[dim1] - rows, shape[dim2] - columns), 0)
    start = rows * strides[dim1] + columns * strides[dim2] if length else 0
    kept = [dim for dim in range(len(shape)) if dim not in (dim1, dim2)]
    return strided_view(
        array,
        (*[shape[dim] for dim in kept], length),
        (*[strides[dim] for dim in kept], strides[dim1] + strides[dim2]),
        start,
    )


def _diagonal_embedded(
    array: Array, shape: tuple[int, ...], offset: int, dim1: int, dim2: int
) -> Array:
    return embedded(array, shape, lambda zeros: _diagonal_view(zeros, offset, dim1, dim2))


_diagonal = ViewOperator(
    "diagonal",
    lambda input, offset, dim1, dim2: _diagonal_view(input, offset, dim1, dim2),
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
)


@method()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonals of the matrices in two dimensions, as a last dimension."""
    rank = input._array.ndim
    dim1, dim2 = dimension(rank, dim1), dimension(rank, dim2)
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return _diagonal(input, offset, dim1, dim2)


# --- copies with a part replaced ------------------------------------------------------------------


def _replaced(view: Callable[..., Array], array: Array, src: Array, place: Any) -> Array:
    result = capture.copied(array)
    target = view(result, *place)
    target[...] = src
    if src.dtype == target.dtype:
        capture.note_copy(src, target)
    return result


def _replacing(
    name: str,
    view: Callable[..., Array],
    part_of: Callable[..., Tensor],
    for_samples: Callable[[Any, int], Any],
) -> TensorOperator:
    """A copy of ``input`` whose part ``view(array, *place)`` holds ``src``.

    ``part_of(tensor, *place)`` is the same part of a Tensor; ``for_samples(place, number)`` is the
    place in a batch.
    """

    def cleared(grad: Tensor, place: Any) -> Tensor:
        zero = new_tensor(filled((), grad._array.dtype, 0))
        made: Tensor = operator(grad, zero, place)
        return made

    operator = TensorOperator(
        name,
        lambda input, src, place: _replaced(view, input, src, place),
        {"input": cleared, "src": lambda grad, place: part_of(grad, *place)},
        batch=stacked(place=for_samples),
    )
    return operator


def _by_key(array: Array, key: Any) -> Array:
    made: Array = array[key]
    return made


def _key_of_samples(place: Any, size: int) -> Any:
    return (part_of_samples(place[0], size),)


_select_scatter = _replacing(
    "select_scatter", _by_key, lambda x, key: slice_view(x, key), _key_of_samples
)
_slice_scatter = _replacing(
    "slice_scatter", _by_key, lambda x, key: slice_view(x, key), _key_of_samples
)
_diagonal_scatter = _replacing(
    "diagonal_scatter",
    _diagonal_view,
    lambda x, *at: _diagonal(x, *at),
    lambda place, size: (place[0], *after_samples(place[1:], size)),
)


def _check_part(name: str, part: Tensor, src: Tensor) -> None:
    if part._array.shape != src._array.shape:
        raise RuntimeError(
            f"{name}: expected src to have a size equal to the part of input it replaces. src size "
            f"= {list(src._array.shape)}, part size = {list(part._array.shape)}"
        )


@method()
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy with ``src`` at ``index`` of one dimension."""
    _check_part("select_scatter", select(input.detach(), dim, index), src)
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
    _check_part("slice_scatter", slice_view(input.detach(), key), src)
    return _slice_scatter(input, src, (key,))


@method()
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """A copy with ``src`` on the diagonals of two dimensions."""
    _check_part("diagonal_scatter", diagonal(input.detach(), offset, dim1, dim2), src)
    rank = input._array.ndim
    place = (offset, dimension(rank, dim1), dimension(rank, dim2))
    return _diagonal_scatter(input, src, place)


# --- windows --------------------------------------------------------------------------------------


def _windows(
    array: Array, dim: int, size: int, step: int
) -> Array:
    shape, strides = array.shape, array.strides
    if not shape:
        return strided_view(array, (size,), (array.itemsize,))
    count = (shape[dim] - size) // step + 1
    return strided_view(
        array,
        (*shape[:dim], count, *shape[dim + 1 :], size),
        (*strides[:dim], strides[dim] * step, *strides[dim + 1 :], strides[dim]),
    )


def _windows_summed(
    array: Array, shape: tuple[int, ...], dim: int, size: int, step: int
) -> Array:
    result = np.zeros(shape, array.dtype)
    if not shape:
        return result + array.sum(dtype=array.dtype)
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
    """Windows of ``size`` entries of one dimension, ``step`` apart, in a new last dimension."""
    shape = input._array.shape
    dim = _counted(len(shape), dimension)
    length = shape[dim] if shape else 1
    if size < 0 or size > length:
        raise RuntimeError(
            f"maximum size for tensor at dimension {dim} is {length} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return _unfold(input, dim, size, step)


# --- all pieces -----------------------------------------------------------------------------------


def _several(grads: Any, shapes: Sequence[tuple[int, ...]]) -> list[Tensor]:
    """The gradients of several outputs, zeros for undefined ones."""
    if isinstance(grads, Tensor):
        return [grads]
    dtype = next(grad._array.dtype for grad in grads if grad is not None)
    return [
        new_tensor(filled(shape, dtype, 0)) if grad is None else grad
        for grad, shape in zip(grads, shapes, strict=True)
    ]


def _without(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (*shape[:dim], *shape[dim + 1 :])


def with_size(shape: tuple[int, ...], dim: int, size: int) -> tuple[int, ...]:
    """``shape`` with another size of one dimension."""
    return (*shape[:dim], size, *shape[dim + 1 :])


@functools.lru_cache(maxsize=1024)
def _keys(sizes: tuple[int, ...], dim: int) -> list[tuple[Any, ...]]:
    """The keys of pieces of these sizes, one after another."""
    starts = itertools.accumulate(sizes, initial=0)
    pieces = [slice(start, start + size) for start, size in zip(starts, sizes, strict=False)]
    return [part(dim, piece) for piece in pieces]


def _pieces(input: Array, sizes: tuple[int, ...], dim: int) -> tuple[Array, ...]:
    return tuple([input[key] for key in _keys(sizes, dim)])


_unbind = MultiViewOperator(
    "unbind",
    lambda input, dim: tuple([input[part(dim, k)] for k in range(input.shape[dim])]),
    lambda grad, input_shape, dim: stack(
        _several(grad, [_without(input_shape, dim)] * input_shape[dim]), dim
    ),
    batch=stacked(dim=after_samples),
)


def _together(
    grad: Any, input_shape: tuple[int, ...], sizes: Sequence[int], dim: int
) -> Tensor:
    return cat(_several(grad, [with_size(input_shape, dim, size) for size in sizes]), dim)


_split = MultiViewOperator("split", _pieces, _together, batch=stacked(dim=after_samples))
_split_with_sizes = MultiViewOperator(
    "split_with_sizes", _pieces, _together, batch=stacked(dim=after_samples)
)
#: Their pieces share memory without autograd knowing: what is written is not seen by the others.
_unsafe_split, _unsafe_split_with_sizes = [
    TensorOperator(
        name, _pieces, {"input": _together}, batch=stacked(dim=after_samples), tangent=multilinear
    )
    for name in ("unsafe_split", "unsafe_split_with_sizes")
]


@method()
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """All entries of one dimension, which is left out."""
    if input._array.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return _unbind(input, dimension(input._array.ndim, dim))


@method()
def split(input: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of one dimension: of one size (the last may be smaller), or of a list of sizes."""
    if not isinstance(split_size_or_sections, int):
        return split_with_sizes(input, split_size_or_sections, dim)
    sizes, dim = _equal_sizes("split", input, split_size_or_sections, dim)
    return _split.wrap(_pieces(input._array, sizes, dim), input, (sizes, dim))


def _equal_sizes(name: str, input: Tensor, size: int, dim: int) -> tuple[tuple[int, ...], int]:
    """The sizes of the pieces of one dimension, and the dimension counted from 0."""
    _check_not_scalar(name, input)
    dim = dimension(input._array.ndim, dim)
    return _sizes_of_pieces(input._array.shape[dim], size), dim


@functools.lru_cache(maxsize=1024)
def _sizes_of_pieces(total: int, size: int) -> tuple[int, ...]:
    """``total`` in pieces of one size, of which the last may be smaller."""
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and total != 0:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {total}"
        )
    if total == 0:
        return (0,)
    return tuple([min(size, total - start) for start in range(0, total, size)])


def _check_not_scalar(name: str, input: Tensor) -> None:
    if input._array.ndim == 0:
        raise RuntimeError(f"{name} expects at least a 1-dimensional tensor")


@method()
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of one dimension, of the given sizes."""
    return _split_with_sizes(input, *_given_sizes(input, split_sizes, dim))


@method()
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """``split_with_sizes`` whose pieces may be written, if none of the others is used after."""
    return _unsafe_split_with_sizes(input, *_given_sizes(input, split_sizes, dim))


def _given_sizes(input: Tensor, split_sizes: Any, dim: int) -> tuple[tuple[int, ...], int]:
    """The sizes of pieces and the dimension counted from 0, checked."""
    _check_not_scalar("split_with_sizes", input)
    dim = dimension(input._array.ndim, dim)
    sizes = sizes_of((split_sizes,))
    total = input._array.shape[dim]
    if any([size < 0 for size in sizes]):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(sizes)}"
        )
    if sum(sizes) != total:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {total} (input tensor's size "
            f"at dimension {dim}), but got split_sizes={list(sizes)}"
        )
    return sizes, dim


@method()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` pieces of one dimension, all but the last of one size."""
    sizes, dim = _chunk_sizes(input, chunks, dim)
    return _split.wrap(_pieces(input._array, sizes, dim), input, (sizes, dim))


def _chunk_sizes(input: Tensor, chunks: int, dim: int) -> tuple[tuple[int, ...], int]:
    _check_not_scalar("chunk", input)
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = dimension(input._array.ndim, dim)
    total = input._array.shape[dim]
    if total == 0:
        return (0,) * chunks, dim
    return _sizes_of_pieces(total, -(-total // chunks)), dim


@method()
def unsafe_split(input: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """``split`` whose pieces may be written in place, if none of the others is used after."""
    return _unsafe_split(input, *_equal_sizes("split", input, split_size, dim))


@method()
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """``chunk`` whose pieces may be written in place, if none of the others is used after."""
    return _unsafe_split(input, *_chunk_sizes(input, chunks, dim))


@method()
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of one dimension: so many of nearly equal size, or cut at the given indices."""
    if input._array.ndim == 0:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    dim = dimension(input._array.ndim, dim)
    total = input._array.shape[dim]
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        sections = indices_or_sections
        if sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
        small, larger = divmod(total, sections)
        cuts = [k * small + min(k, larger) for k in range(1, sections)]
    else:
        cuts = list(indices_or_sections)
    edges = [0, *cuts, total]
    return tuple(
        [
            slice_view(input, part(dim, slice(*slice(a, b).indices(total)[:2])))
            for a, b in zip(edges[:-1], edges[1:], strict=True)
        ]
    )


def _split_along(name: str, input: Tensor, indices_or_sections: Any, dim: int) -> Any:
    if isinstance(indices_or_sections, int) and input._array.shape[dim] % indices_or_sections:
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
            f"{input._array.shape[dim]} is not divisible by the split_size {indices_or_sections}!"
        )
    return tensor_split(input, indices_or_sections, dim)


@method()
def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces of the second dimension, or of the first if there is one only."""
    _check_rank("hsplit", input, 1)
    dim = 0 if input._array.ndim == 1 else 1
    return _split_along("hsplit", input, indices_or_sections, dim)


@method()
def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces of the first dimension."""
    _check_rank("vsplit", input, 2)
    return _split_along("vsplit", input, indices_or_sections, 0)


@method()
def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces of the third dimension."""
    _check_rank("dsplit", input, 3)
    return _split_along("dsplit", input, indices_or_sections, 2)


def _check_rank(name: str, input: Tensor, least: int) -> None:
    if input._array.ndim < least:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension"
            f"{'s' if least > 1 else ''}, but got a tensor with {input._array.ndim} dimensions!"
        )
