"""All pieces of a tensor along a dimension, as views: unbind, split, chunk and their kin.

The gradient of a piece is zeros around it; those of several are put together again.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dtype import int64
from ...executor.memory.arrays import filled_like
from ...executor.plan.forms import with_sizes
from ...tensor import Tensor, new_tensor
from ...transforms.batching import after_samples, stacked
from ...transforms.tangents import multilinear
from ..arguments.kinds import NOT_GIVEN, Ints, takes
from ..arguments.shapes import as_int, dimension, sizes_of
from ..methods.registry import method
from ..operators.tensor_operator import TensorOperator
from ..operators.view_operator import ViewOperator
from .join import cat, stack
from .parts import by_key, part, slice_view

__all__ = [
    "chunk", "dsplit", "hsplit", "split", "split_with_sizes", "tensor_split", "unbind",
    "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "vsplit",
]  # fmt: skip

Array = np.ndarray[Any, Any]


def _several(grads: Any, shapes: Sequence[tuple[int, ...]]) -> list[Tensor]:
    """The gradients of several outputs, zeros for undefined ones."""
    if isinstance(grads, Tensor):
        return [grads]
    known = next(grad._array for grad in grads if grad is not None)
    return [
        new_tensor(filled_like(known, shape, known.dtype, 0)) if grad is None else grad
        for grad, shape in zip(grads, shapes, strict=True)
    ]


@functools.lru_cache(maxsize=1024)
def _keys(sizes: tuple[int, ...], dim: int) -> list[tuple[Any, ...]]:
    """The keys of pieces of these sizes, one after another."""
    starts = itertools.accumulate(sizes, initial=0)
    pieces = [slice(start, start + size) for start, size in zip(starts, sizes, strict=False)]
    return [part(dim, piece) for piece in pieces]


def _pieces(input: Array, sizes: tuple[int, ...], dim: int) -> tuple[Array, ...]:
    return tuple([by_key(input, key) for key in _keys(sizes, dim)])


def _unbound(input: Array, dim: int) -> tuple[Array, ...]:
    views = []
    for k in range(input.shape[dim]):
        views.append(input[part(dim, k)])  # noqa: PERF401 - no cells, which a comprehension makes
    return tuple(views)


_unbind = ViewOperator(
    "unbind",
    _unbound,
    lambda grad, input_shape, dim: stack(
        _several(grad, [with_sizes(input_shape, dim)] * input_shape[dim]), dim
    ),
    several=True,
    batch=stacked(dim=after_samples),
)


def _together(grad: Any, input_shape: tuple[int, ...], sizes: Sequence[int], dim: int) -> Tensor:
    return cat(_several(grad, [with_sizes(input_shape, dim, size) for size in sizes]), dim)


_split = ViewOperator("split", _pieces, _together, several=True, batch=stacked(dim=after_samples))
_split_with_sizes = ViewOperator(
    "split_with_sizes", _pieces, _together, several=True, batch=stacked(dim=after_samples)
)
#: Their pieces share memory without autograd knowing: what is written is not seen by the others.
_unsafe_split, _unsafe_split_with_sizes = [
    TensorOperator(
        name,
        _pieces,
        {"input": _together},
        batch=stacked(dim=after_samples),
        tangent=multilinear,
        takes_half=True,
        portable=True,
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
@takes("input: Tensor, split_size_or_sections: int | Ints, dim?: int")
def split(input: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of one dimension: of one size (the last may be smaller), or of a list of sizes."""
    if split_size_or_sections.__class__ is bool:
        raise TypeError("split(): argument 'split_size' must be int or tuple of ints, not bool")
    if not isinstance(split_size_or_sections, int):
        return split_with_sizes(input, split_size_or_sections, dim)
    sizes, dim = _equal_sizes("split", input, split_size_or_sections, dim)
    return _split.launch(_pieces(input._array, sizes, dim), input, (sizes, dim))


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
def split_with_sizes(input: Tensor, split_sizes: Ints, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of one dimension, of the given sizes."""
    sizes, dim = _given_sizes(input, split_sizes, dim)
    made = _pieces(input._array, sizes, dim)
    pieces: tuple[Tensor, ...] = _split_with_sizes.launch(made, input, (sizes, dim))
    return pieces


@method()
def unsafe_split_with_sizes(input: Tensor, split_sizes: Ints, dim: int = 0) -> tuple[Tensor, ...]:
    """``split_with_sizes`` whose pieces may be written, if none of the others is used after."""
    return _unsafe_split_with_sizes(input, *_given_sizes(input, split_sizes, dim))


def _given_sizes(input: Tensor, split_sizes: Any, dim: int) -> tuple[tuple[int, ...], int]:
    """The sizes of pieces and the dimension counted from 0, checked."""
    _check_not_scalar("split_with_sizes", input)
    dim = dimension(input._array.ndim, dim)
    sizes = sizes_of((split_sizes,))
    total = input._array.shape[dim]
    if min(sizes, default=0) < 0:
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
    return _split.launch(_pieces(input._array, sizes, dim), input, (sizes, dim))


def _chunk_sizes(input: Tensor, chunks: int, dim: int) -> tuple[tuple[int, ...], int]:
    _check_not_scalar("chunk", input)
    if chunks.__class__ is not int:
        chunks = as_int(chunks, "chunk(): argument 'chunks' must be int, not")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = dimension(input._array.ndim, dim)
    total = input._array.shape[dim]
    if total == 0:
        return (0,) * chunks, dim
    return _sizes_of_pieces(total, -(-total // chunks)), dim


@method()
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """``split`` whose pieces may be written in place, if none of the others is used after."""
    return _unsafe_split(input, *_equal_sizes("split", input, split_size, dim))


@method()
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """``chunk`` whose pieces may be written in place, if none of the others is used after."""
    return _unsafe_split(input, *_chunk_sizes(input, chunks, dim))


@method()
@takes(
    "input: Tensor, indices_or_sections: int | Ints | Tensor, dim?: int",
    "input: Tensor, sections: int, dim?: int",
    "input: Tensor, indices: Ints, dim?: int",
)
def tensor_split(
    input: Tensor,
    indices_or_sections: Any = NOT_GIVEN,
    dim: int = 0,
    *,
    indices: Any = NOT_GIVEN,
    sections: Any = NOT_GIVEN,
) -> tuple[Tensor, ...]:
    """Pieces of one dimension: so many of nearly equal size, or cut at the given indices.

    ``indices`` and ``sections`` are other names of ``indices_or_sections``, of which one is given.
    """
    given_as = [x for x in (indices_or_sections, indices, sections) if x is not NOT_GIVEN]
    if len(given_as) != 1:
        raise TypeError(
            "tensor_split() received an invalid combination of arguments: one of 'indices', "
            f"'sections' and 'indices_or_sections' is to be given, not {len(given_as)} of them"
        )
    (indices_or_sections,) = given_as
    if input._array.ndim == 0:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    dim = dimension(input._array.ndim, dim)
    total = input._array.shape[dim]
    if isinstance(indices_or_sections, Tensor):
        given = indices_or_sections
        if given.dtype is not int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{given.dtype}"
            )
        if given._array.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                f"one-dimensional tensor, but got a tensor with {given._array.ndim} dims"
            )
        indices_or_sections = given.tolist()
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        small, larger = divmod(total, count)
        cuts = [k * small + min(k, larger) for k in range(1, count)]
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
    if indices_or_sections.__class__ is int and indices_or_sections <= 0:
        raise RuntimeError(
            f"torch.{name}: number of sections must be larger than 0, got {indices_or_sections}"
        )
    if isinstance(indices_or_sections, int) and input._array.shape[dim] % indices_or_sections:
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
            f"{input._array.shape[dim]} is not divisible by the split_size {indices_or_sections}!"
        )
    return tensor_split(input, indices_or_sections, dim)


@takes("input: Tensor, indices_or_sections: int | Ints")
def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces of the second dimension, or of the first if there is one only."""
    _check_rank("hsplit", input, 1)
    dim = 0 if input._array.ndim == 1 else 1
    return _split_along("hsplit", input, indices_or_sections, dim)


@takes("input: Tensor, indices_or_sections: int | Ints")
def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces of the first dimension."""
    _check_rank("vsplit", input, 2)
    return _split_along("vsplit", input, indices_or_sections, 0)


@takes("input: Tensor, indices_or_sections: int | Ints")
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
