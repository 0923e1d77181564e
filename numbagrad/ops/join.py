"""Putting tensors together, taking them apart, and copies with elements in other places.

``cat`` and ``stack`` copy; ``split``, ``chunk`` and ``unbind`` give views, and are each other's
gradients. ``flip``, ``roll``, ``repeat``, ``tril`` and their relatives copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtype import promote_types
from ..tensor import Tensor, new_tensor
from .registry import method
from .tensor_operator import TensorOperator
from .view import (
    MultiViewOperator,
    dimension,
    dimensions,
    embed_diagonal,
    expand,
    narrow,
    part,
    reshape,
    sizes_of,
    slice_view,
    unsqueeze,
)

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "cat", "chunk", "column_stack",
    "concat", "concatenate", "diag", "diag_embed", "diagflat", "dsplit", "dstack", "flip", "fliplr",
    "flipud", "hsplit", "hstack", "meshgrid", "repeat_interleave", "roll", "rot90", "row_stack",
    "split", "split_with_sizes", "stack", "tensor_split", "tile", "tril", "triu", "unbind",
    "unsafe_chunk", "unsafe_split", "vsplit", "vstack",
]  # fmt: skip

Array = np.ndarray[Any, Any]


# --- together -------------------------------------------------------------------------------------


def _cat_gradient(grad: Tensor, tensors_shape: list[tuple[int, ...]], dim: int) -> list[Tensor]:
    gradients = []
    start = 0
    for shape in tensors_shape:
        if len(shape) == 1 and shape[0] == 0 and grad._array.ndim != 1:
            gradients.append(new_tensor(np.zeros(shape, grad._array.dtype)))
            continue
        gradients.append(narrow(grad, dim, start, shape[dim]))
        start += shape[dim]
    return gradients


_cat = TensorOperator(
    "cat",
    lambda dim, tensors: np.concatenate(tensors, dim),
    {"tensors": lambda grad, tensors_shape, dim: _cat_gradient(grad, tensors_shape, dim)},
    variadic="tensors",
)
_stack = TensorOperator(
    "stack",
    lambda dim, tensors: np.stack(tensors, dim),
    {"tensors": lambda grad, dim: list(unbind(grad, dim))},
    variadic="tensors",
)


def _promoted(name: str, tensors: Any) -> list[Tensor]:
    """The tensors of a sequence, all of the dtype they promote to."""
    if isinstance(tensors, Tensor) or not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
            f"{type(tensors).__name__}"
        )
    for place, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"expected Tensor as element {place} in argument 0, but got "
                f"{type(tensor).__name__}"
            )
    if not tensors:
        if name == "cat":
            raise ValueError("torch.cat(): expected a non-empty list of Tensors")
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    first = tensors[0]._array.dtype
    if all([tensor._array.dtype == first for tensor in tensors]):
        return list(tensors)
    common = tensors[0].dtype
    for tensor in tensors:
        common = promote_types(common, tensor.dtype)
    return [tensor if tensor.dtype is common else tensor.to(common) for tensor in tensors]


def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors one after another along ``dim``; empty tensors of one dimension are passed over.

    Raises:
        RuntimeError: if the other sizes differ.
    """
    joined = _promoted("cat", tensors)
    shapes = [tensor._array.shape for tensor in joined]
    counted = [shape for shape in shapes if shape != (0,)] or shapes[:1]
    if () in counted:
        raise RuntimeError(
            f"zero-dimensional tensor (at position {shapes.index(())}) cannot be concatenated"
        )
    dim = dimension(len(counted[0]), dim)
    for place, shape in enumerate(shapes):
        if shape != (0,):
            _check_cat(counted[0], shape, dim, place)
    if len(counted) != len(shapes):
        kept = [tensor for tensor in joined if tensor._array.shape != (0,)]
        joined = kept or joined[:1]
    result = _cat(dim, joined)
    return result if out is None else _into(out, result)


def _check_cat(first: tuple[int, ...], shape: tuple[int, ...], dim: int, place: int) -> None:
    if len(shape) != len(first):
        raise RuntimeError(
            f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
        )
    for other, (expected, size) in enumerate(zip(first, shape, strict=True)):
        if other != dim and expected != size:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected size {expected} "
                f"but got size {size} for tensor number {place} in the list."
            )


def _into(out: Tensor, result: Tensor) -> Tensor:
    """Write a result into ``out``, whose memory is replaced if it has another shape."""
    if out._array.shape != result._array.shape:
        out._array = np.empty(result._array.shape, out._array.dtype)
    return out.copy_(result)


concat = cat
concatenate = cat


def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors, all of one shape, along a new dimension.

    Raises:
        RuntimeError: if the shapes differ.
    """
    joined = _promoted("stack", tensors)
    first = joined[0]._array.shape
    for place, tensor in enumerate(joined):
        if tensor._array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(tensor._array.shape)} at entry {place}"
            )
    result = _stack(dimension(len(first) + 1, dim), joined)
    return result if out is None else _into(out, result)


def _each(tensors: Any, function: Any) -> Any:
    """``function`` of one tensor, or of all in a sequence."""
    if len(tensors) == 1:
        if isinstance(tensors[0], Tensor):
            return function(tensors[0])
        tensors = tensors[0]
    return tuple([function(tensor) for tensor in tensors])


def _at_least_2d(tensor: Tensor) -> Tensor:
    rank = tensor._array.ndim
    return reshape(tensor, 1, 1) if rank == 0 else unsqueeze(tensor, 0) if rank == 1 else tensor


def _at_least_3d(tensor: Tensor) -> Tensor:
    if tensor._array.ndim < 2:
        return unsqueeze(_at_least_2d(tensor), -1)
    return unsqueeze(tensor, -1) if tensor._array.ndim == 2 else tensor


def atleast_1d(*tensors: Any) -> Any:
    """The tensors, those without dimensions as one of one element."""
    return _each(tensors, lambda x: x if x._array.ndim else reshape(x, 1))


def atleast_2d(*tensors: Any) -> Any:
    """The tensors with at least two dimensions, new ones in front."""
    return _each(tensors, _at_least_2d)


def atleast_3d(*tensors: Any) -> Any:
    """The tensors with at least three dimensions."""
    return _each(tensors, _at_least_3d)


def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors side by side: along the second dimension, or the first if there is one only."""
    parts = list(atleast_1d(tuple(tensors)))
    return cat(parts, 0 if parts[0]._array.ndim == 1 else 1, out=out)


def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors, as rows if they have one dimension, one below the other."""
    return cat(list(atleast_2d(tuple(tensors))), 0, out=out)


row_stack = vstack


def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors along a third dimension."""
    return cat(list(atleast_3d(tuple(tensors))), 2, out=out)


def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors side by side, those of one dimension as columns."""
    columns = [x if x._array.ndim > 1 else reshape(x, -1, 1) for x in tensors]
    return hstack(columns, out=out)


def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices along its diagonal."""
    rows = [_at_least_2d(tensor) for tensor in tensors]
    width = sum([row._array.shape[1] for row in rows])
    padded = []
    start = 0
    for row in rows:
        height, own = row._array.shape
        left = new_tensor(np.zeros((height, start), row._array.dtype))
        right = new_tensor(np.zeros((height, width - start - own), row._array.dtype))
        padded.append(cat([left, row, right], 1))
        start += own
    return cat(padded, 0)


# --- apart ----------------------------------------------------------------------------------------


def _several(grads: Any, shapes: Sequence[tuple[int, ...]]) -> list[Tensor]:
    """The gradients of several outputs, zeros for undefined ones."""
    if isinstance(grads, Tensor):
        return [grads]
    dtype = next(grad._array.dtype for grad in grads if grad is not None)
    return [
        new_tensor(np.zeros(shape, dtype)) if grad is None else grad
        for grad, shape in zip(grads, shapes, strict=True)
    ]


def _without(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (*shape[:dim], *shape[dim + 1 :])


def _with(shape: tuple[int, ...], dim: int, size: int) -> tuple[int, ...]:
    return (*shape[:dim], size, *shape[dim + 1 :])


def _pieces(input: Array, sizes: Sequence[int], dim: int) -> tuple[Array, ...]:
    pieces = []
    start = 0
    for size in sizes:
        pieces.append(input[part(dim, slice(start, start + size))])
        start += size
    return tuple(pieces)


_unbind = MultiViewOperator(
    "unbind",
    lambda input, dim: tuple([input[part(dim, k)] for k in range(input.shape[dim])]),
    lambda grad, input_shape, dim: stack(
        _several(grad, [_without(input_shape, dim)] * input_shape[dim]), dim
    ),
)


def _split_operator(name: str) -> MultiViewOperator:
    return MultiViewOperator(
        name,
        lambda input, sizes, dim: _pieces(input, sizes, dim),
        lambda grad, input_shape, sizes, dim: cat(
            _several(grad, [_with(input_shape, dim, size) for size in sizes]), dim
        ),
    )


_split = _split_operator("split")
_split_with_sizes = _split_operator("split_with_sizes")


@method()
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """All entries of one dimension, which is left out."""
    if input._array.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return _unbind(input, dimension(input._array.ndim, dim))


@method()
def split(input: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of one dimension: of one size (the last may be smaller), or of a list of sizes."""
    if input._array.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if not isinstance(split_size_or_sections, int):
        return split_with_sizes(input, split_size_or_sections, dim)
    dim = dimension(input._array.ndim, dim)
    size, total = split_size_or_sections, input._array.shape[dim]
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and total != 0:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {total}"
        )
    if total == 0:
        return _split(input, (0,), dim)
    sizes = tuple([min(size, total - start) for start in range(0, total, size)])
    return _split(input, sizes, dim)


@method()
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of one dimension, of the given sizes."""
    if input._array.ndim == 0:
        raise RuntimeError("split_with_sizes expects at least a 1-dimensional tensor")
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
    return _split_with_sizes(input, sizes, dim)


@method()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` pieces of one dimension, all but the last of one size."""
    if input._array.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = dimension(input._array.ndim, dim)
    total = input._array.shape[dim]
    if total == 0:
        return _split(input, (0,) * chunks, dim)
    return split(input, -(-total // chunks), dim)


unsafe_split = method("unsafe_split")(split)
unsafe_chunk = method("unsafe_chunk")(chunk)


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


# --- elements in other places ---------------------------------------------------------------------


def _flipped(array: Array, dims: Sequence[int]) -> Array:
    return np.flip(array, tuple(dims)).copy("C")  # always a copy, of one element as well


_flip = TensorOperator(
    "flip",
    lambda input, dims: _flipped(input, dims) if dims and input.ndim else input.copy(),
    {"input": lambda grad, dims: _flip(grad, dims)},
)
_roll = TensorOperator(
    "roll",
    lambda input, shifts, dims: np.roll(input, shifts, dims),
    {"input": lambda grad, shifts, dims: _roll(grad, tuple([-s for s in shifts]), dims)},
)
_rot90 = TensorOperator(
    "rot90",
    lambda input, k, dims: np.rot90(input, k, dims).copy("C"),
    {"input": lambda grad, k, dims: _rot90(grad, -k, dims)},
)
_tril = TensorOperator(
    "tril",
    lambda input, diagonal: np.tril(input, diagonal),
    {"input": lambda grad, diagonal: _tril(grad, diagonal)},
)
_triu = TensorOperator(
    "triu",
    lambda input, diagonal: np.triu(input, diagonal),
    {"input": lambda grad, diagonal: _triu(grad, diagonal)},
)


@method()
def flip(input: Tensor, *dims: Any) -> Tensor:
    """A copy with some dimensions in reverse order."""
    return _flip(input, tuple(dimensions(input._array.ndim, sizes_of(dims))))


@method()
def fliplr(input: Tensor) -> Tensor:
    """A copy with the second dimension reversed."""
    if input._array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return _flip(input, (1,))


@method()
def flipud(input: Tensor) -> Tensor:
    """A copy with the first dimension reversed."""
    if input._array.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return _flip(input, (0,))


@method()
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """A copy with the entries of some dimensions moved around in a circle."""
    steps = sizes_of((shifts,))
    if dims is None or dims == ():
        if len(steps) != 1:
            raise RuntimeError(
                f"shifts and dimensions must align. shifts: {len(steps)}, dims:0"
            )
        flat = _roll(reshape(input, -1), steps, (0,))
        return reshape(flat, input._array.shape)
    found = sizes_of((dims,))
    if len(steps) != len(found):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(found)}"
        )
    return _roll(input, steps, tuple([dimension(input._array.ndim, dim) for dim in found]))


@method()
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A copy turned ``k`` quarters in the plane of two dimensions, from the first to the second."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input._array.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input._array.ndim}")
    plane = tuple([dimension(input._array.ndim, dim) for dim in dims])
    if plane[0] == plane[1]:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    return _rot90(input, k, plane)


def _check_matrix(name: str, input: Tensor) -> None:
    if input._array.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")


@method()
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """A copy with zeros above a diagonal of the last two dimensions."""
    _check_matrix("tril", input)
    return _tril(input, diagonal)


@method()
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """A copy with zeros below a diagonal of the last two dimensions."""
    _check_matrix("triu", input)
    return _triu(input, diagonal)


_diag_embed = TensorOperator("diag_embed", embed_diagonal.forward, embed_diagonal.gradient)


@method()
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix with a vector on its diagonal, or a copy of the diagonal of a matrix."""
    rank = input._array.ndim
    if rank == 1:
        return diag_embed(input, diagonal)
    if rank == 2:
        return input.diagonal(diagonal).clone()
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {rank}D")


@method()
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices in two new dimensions, with the last dimension on their diagonals."""
    shape = input._array.shape
    rank = len(shape) + 1
    dim1, dim2 = dimension(rank, dim1), dimension(rank, dim2)
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = shape[-1] + abs(offset)
    sizes = list(shape[:-1])
    for dim in sorted((dim1, dim2)):
        sizes.insert(dim, size)
    return _diag_embed(input, tuple(sizes), offset, dim1, dim2)


@method()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements on its diagonal."""
    return diag_embed(reshape(input, -1), offset)


# --- repeating ------------------------------------------------------------------------------------


def _repeat_gradient(grad: Tensor, input_shape: tuple[int, ...], repeats: Any) -> Tensor:
    added = len(repeats) - len(input_shape)
    sizes: list[int] = []
    for count, size in zip(repeats, (1,) * added + input_shape, strict=True):
        sizes += [count, size]
    summed = reshape(grad, tuple(sizes)).sum(tuple(range(0, len(sizes), 2)))
    return reshape(summed, input_shape)


_repeat = TensorOperator(
    "repeat",
    lambda input, repeats: np.tile(input, repeats),
    {"input": lambda grad, input_shape, repeats: _repeat_gradient(grad, input_shape, repeats)},
)


@method()
def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """A copy with every dimension repeated as a whole; further counts add dimensions in front."""
    counts = sizes_of(repeats)
    if len(counts) < input._array.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    if any([count < 0 for count in counts]):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(counts)}")
    return _repeat(input, counts)


@method()
def tile(input: Tensor, *dims: Any) -> Tensor:
    """``repeat`` with missing counts taken as 1."""
    counts = sizes_of(dims)
    return repeat(input, (1,) * (input._array.ndim - len(counts)) + counts)


@method()
def repeat_interleave(
    input: Tensor, repeats: Any, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """A copy with every entry of one dimension repeated, by one count or one for each entry."""
    if dim is None:
        input, dim = reshape(input, -1), 0
    dim = dimension(input._array.ndim, dim)
    shape = input._array.shape
    counts = repeats._array if isinstance(repeats, Tensor) else np.asarray(repeats)
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    if counts.size == 1:
        count = int(counts.reshape(()))
        repeated = expand(
            unsqueeze(input, dim + 1), (*shape[: dim + 1], count, *shape[dim + 1 :])
        )
        return reshape(repeated, _with(shape, dim, shape[dim] * count))
    if counts.shape != (shape[dim],):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts.size} and input.size({dim}) = {shape[dim]}"
        )
    places = np.repeat(np.arange(shape[dim]), counts)
    return input.index_select(dim, new_tensor(places))


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of a grid: each vector expanded along the dimensions of the others."""
    vectors = list(tensors[0]) if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else [
        *tensors
    ]
    for vector in vectors:
        if vector._array.ndim > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: "
                f"{vector._array.ndim}D"
            )
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    swap = indexing == "xy" and len(vectors) > 1
    if swap:
        vectors[:2] = vectors[1::-1]
    shape = tuple([vector._array.size for vector in vectors])
    grids = []
    for place, vector in enumerate(vectors):
        own = [1] * len(shape)
        own[place] = shape[place]
        grids.append(expand(reshape(vector, tuple(own)), shape))
    if swap:
        grids[:2] = grids[1::-1]
    return tuple(grids)
