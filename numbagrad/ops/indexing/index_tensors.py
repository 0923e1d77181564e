"""Indexing by index tensors that are operands: what ``x[...]`` is inside of ``vmap``.

``subscript.py`` keeps index arrays as parameters, which is cheaper. An array that stands for one in
each sample has to pass through operators, and those are here; they are also the rules for batches
of the operators there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...executor.memory.arrays import constant_beside, filled_like
from ...tensor import Tensor, new_tensor
from ...transforms.batching import with_samples
from ..operators.pointwise_operator import pointwise
from ..operators.tensor_operator import TensorOperator
from ..views.expand import broadcast_tensors, expand
from ..views.join import cat, stack
from .subscript import ALL

__all__: list[str] = []

Array = np.ndarray[Any, Any]
Key = tuple[Any, ...]


def key_of(index: Array, dims: Sequence[int]) -> Key:
    """Index arrays (k, ...) for the dimensions ``dims`` as NumPy takes them."""
    key: list[Any] = [ALL] * (dims[-1] + 1)
    for array, dim in zip(index, dims, strict=True):
        key[dim] = array
    return tuple(key)


def index_of(key: Key, shape: tuple[int, ...]) -> tuple[Tensor, tuple[int, ...]]:
    """The arrays of a key for a tensor of this shape as one Tensor (k, ...), and their dimensions.

    An array that stands for samples may have entries below 0, and other sizes than the others.
    """
    dims = tuple([dim for dim, entry in enumerate(key) if entry is not ALL])
    if all([key[dim].__class__ is np.ndarray for dim in dims]):
        return stack([new_tensor(key[dim]) for dim in dims], 0), dims
    tensors = []
    for dim in dims:
        index = new_tensor(key[dim])
        tensors.append(pointwise("where")(index < 0, index + shape[dim], index))
    return stack(broadcast_tensors(*tensors), 0), dims


def _together(dims: Sequence[int]) -> bool:
    """Whether the dimensions are neighbours, so that what is read stands in their place."""
    return dims[-1] - dims[0] == len(dims) - 1


# --- layouts of what is read ----------------------------------------------------------------------
#
# NumPy puts the dimensions of the index in the place of those that are indexed if these are
# neighbours, and first if not. So they may stand elsewhere for a batch than behind the samples.


class _Batch:
    """How the samples of an indexing operator are indexed all at once."""

    def __init__(
        self, size: int, index: Tensor, dims: Sequence[int], own_index: bool, own_input: bool
    ) -> None:
        rank = index._array.ndim - own_index - 1
        first = dims[0] if _together(dims) else 0
        inner = tuple([dim + 1 for dim in dims])
        #: Where the dimensions of the samples and of the index are moved to.
        self.source: tuple[int, ...] = ()
        self.target: tuple[int, ...] = ()
        if not own_index:
            self.index, self.dims = index, inner
            if not _together(dims):
                self.source, self.target = (rank,), (0,)
        elif not own_input:
            self.index, self.dims = index.transpose(0, 1), tuple(dims)
            self.source, self.target = (first,), (0,)
        else:
            numbers = constant_beside(index._array, np.arange(size))
            samples = new_tensor(numbers).reshape(1, size, *(1,) * rank)
            samples = samples.expand((1, *index.transpose(0, 1)._array.shape[1:]))
            self.index, self.dims = cat([samples, index.transpose(0, 1)], 0), (0, *inner)
            if first:
                self.source = tuple(range(1, 1 + rank))
                self.target = tuple([position + first for position in self.source])

    def samples_first(self, read: Tensor) -> Tensor:
        """The elements that were read, with the samples first."""
        return read.movedim(self.source, self.target) if self.source else read

    def as_read(self, values: Tensor) -> Tensor:
        """The inverse."""
        return values.movedim(self.target, self.source) if self.source else values


# --- the operators --------------------------------------------------------------------------------


def read_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    """The rule of ``read_at``: ``(input, index, dims)``."""
    input, index, dims = arguments
    batch = _Batch(size, index, dims, mapped[1], mapped[0])
    return batch.samples_first(operator(input, batch.index, batch.dims))


def add_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    """The rule of ``add_at``: ``(input, index, shape, dims)``."""
    input, index, shape, dims = arguments
    batch = _Batch(size, index, dims, mapped[1], True)
    values = batch.as_read(with_samples(size, input, mapped[0]))
    made: Tensor = operator(values, batch.index, (size, *shape), batch.dims)
    return made


def put_samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    """The rule of ``put_at``: ``(input, values, index, dims, accumulate)``."""
    input, values, index, dims, accumulate = arguments
    own = input._array.shape[1:] if mapped[0] else input._array.shape
    index_shape = index._array.shape[2:] if mapped[2] else index._array.shape[1:]
    batch = _Batch(size, index, dims, mapped[2], True)
    shape = result_shape(own, dims, index_shape)
    if mapped[1]:
        missing = len(shape) + 1 - values._array.ndim
        sizes = values._array.shape
        values = values.reshape((size, *(1,) * missing, *sizes[1:]))
    whole = expand(values, (size, *shape))
    made: Tensor = operator(
        with_samples(size, input, mapped[0]), batch.as_read(whole), batch.index, batch.dims,
        accumulate,
    )  # fmt: skip
    return made


def result_shape(
    shape: tuple[int, ...], dims: Sequence[int], index_shape: tuple[int, ...]
) -> tuple[int, ...]:
    """The shape of what index arrays for these dimensions take from a tensor of this shape."""
    rest = [size for dim, size in enumerate(shape) if dim not in dims]
    first = dims[0] if _together(dims) else 0
    return (*rest[:first], *index_shape, *rest[first:])


def indexing_operators(
    read: Callable[..., Array], spread: Callable[..., Array], put: Callable[..., Array]
) -> tuple[TensorOperator, TensorOperator, TensorOperator]:
    """``x[index]``, its gradient and ``index_put``, for index arrays as a Tensor.

    ``read(array, key)``, ``spread(array, shape, key)`` and ``put(array, key, values, accumulate)``
    are what they do with memory.
    """

    def cleared(grad: Tensor, index: Tensor, dims: Any, accumulate: bool) -> Tensor:
        if accumulate:
            return grad
        zero = new_tensor(filled_like(grad._array, (), grad._array.dtype, 0))
        made: Tensor = put_at(grad, zero, index, dims, False)
        return made

    read_at = TensorOperator(
        "index",
        lambda input, index, dims: read(input, key_of(index, dims)),
        {
            "input": lambda grad, input_shape, index, dims: add_at(grad, index, input_shape, dims),
            "index": None,  # type: ignore[dict-item]
        },
        batch=read_samples,
        takes_half=True,
    )
    add_at = TensorOperator(
        "index_backward",
        lambda input, index, shape, dims: spread(input, shape, key_of(index, dims)),
        {
            "input": lambda grad, index, dims: read_at(grad, index, dims),
            "index": None,  # type: ignore[dict-item]
        },
        batch=add_samples,
    )
    put_at = TensorOperator(
        "index_put",
        lambda input, values, index, dims, accumulate: put(
            input, key_of(index, dims), values, accumulate
        ),
        {
            "input": cleared,
            "values": lambda grad, values_shape, index, dims: read_at(
                grad, index, dims
            ).sum_to_size(values_shape),
            "index": None,  # type: ignore[dict-item]
        },
        batch=put_samples,
    )
    return read_at, add_at, put_at
