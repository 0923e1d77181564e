"""Order: sort, topk and kthvalue with gradients, unique elements, places in sorted sequences.

NumPy finds the order; values are then gathered, so their gradient is that of a gather. NaN counts
as the greatest value, and equal values keep their order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import half_precision as half
from ... import return_types
from ...autograd.grad_mode import state as grad_mode
from ...autograd.node import produce
from ...backend import foreign
from ...dispatch.policies import autocasts
from ...executor.families import indexing as executor
from ...executor.families import order
from ...executor.families.checks import check_fractions
from ...executor.families.conversion import dense_like
from ...executor.memory.arrays import assign, constant, constant_beside
from ...executor.plan.forms import with_sizes
from ...number_range import check_bits, wrapped_number
from ...tensor import Tensor, new_tensor
from ...transforms.batching import after_samples, stacked
from ...transforms.levels import refuse_samples
from ...transforms.tangents import multilinear
from ..arguments.kinds import Real
from ..arguments.requirements import refuse_complex, require_tensor, require_tensor_or_number
from ..arguments.shapes import dimension
from ..indexing.gather import gather, gather_operator
from ..methods.registry import method
from ..operators.array_function import array_function
from ..operators.forward_only import forward_only
from ..operators.pointwise_operator import without_gradient
from ..operators.tensor_operator import TensorOperator
from ..views.view import reshape, unsafe_view
from .extremum import picked, picking

__all__ = [
    "argsort", "bucketize", "kthvalue", "mode", "msort", "quantile", "searchsorted", "sort", "topk",
    "unique", "unique_consecutive",
]  # fmt: skip

Array = np.ndarray[Any, Any]


def _laid_out(values: Array, like: Array) -> Array:
    """``values`` in memory that is laid out as that of ``like``, as torch's sort does."""
    if like.flags.c_contiguous:
        return values
    made = dense_like(like, values.dtype, foreign(like))
    assign(made, values)
    return made


_sort = TensorOperator(
    "sort",
    lambda input, dim, index: _laid_out(executor.gather(input, dim, index), input),
    dict(gather_operator.gradient),
    batch=stacked(dim=after_samples),
    tangent=multilinear,
    takes_half=True,
    portable=True,
)
_topk = TensorOperator(
    "topk",
    lambda input, dim, index: executor.gather(input, dim, index),
    dict(gather_operator.gradient),
    batch=stacked(dim=after_samples),
    tangent=multilinear,
    takes_half=True,
    portable=True,
)


def _order(array: Array, dim: int, descending: bool) -> Array:
    """Indices that sort ``array`` along ``dim``."""
    refuse_complex("sort", array)
    if (where := foreign(array)) is not None:
        return where.argsort(array, dim, descending)
    return order.argsort(array, dim, descending)


def _sorting(array: Array, dim: int, descending: bool) -> Array:
    """As ``_order``, laid out as ``array`` is."""
    return _laid_out(_order(array, dim, descending), array)


def _order_between(array: Array, dim: int, descending: bool, start: int, stop: int) -> Array:
    """The entries of ``_order`` from one place on to before another."""
    refuse_complex("sort", array)
    if (where := foreign(array)) is None:
        return order.between(array, dim, descending, start, stop)
    made = where.argsort(array, dim, descending)
    if array.ndim == 0:
        return made
    key = (*(slice(None),) * dim, slice(start, stop))
    chosen = made[key]
    return chosen if chosen.flags.c_contiguous else chosen.copy("C")


def _of_rank(array: Array, dim: int, rank: int) -> Array:
    """The entries of ``_order`` at one place, with a dimension of size 1."""
    if array.ndim == 0 or foreign(array) is not None or array.dtype.kind == "c":
        return _order_between(array, dim, False, rank, rank + 1)
    return order.of_rank(array, dim, rank)


_argsort = TensorOperator(
    "argsort",
    lambda input, dim, descending: _sorting(input, dim, descending),
    {},
    batch=stacked(dim=after_samples),
    portable=True,
)
_argtopk = TensorOperator(
    "topk",
    lambda input, dim, k, largest: _order_between(input, dim, largest, 0, k),
    {},
    batch=stacked(dim=after_samples),
    portable=True,
)


@method()
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = False
) -> Any:
    """``(values, indices)`` of one dimension in ascending or descending order."""
    dim = dimension(input._array.ndim, dim)
    index = argsort(input, dim, descending)
    return return_types.sort(_sort(input, dim, index), index)


@method()
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort one dimension."""
    made: Tensor = _argsort(input, dimension(input._array.ndim, dim), descending)
    return made


@method()
def msort(input: Tensor) -> Tensor:
    """The values sorted along the first dimension."""
    return sort(input, 0).values


@method()
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """``(values, indices)`` of the ``k`` largest (or smallest) entries of a dimension, in order.

    >>> values, places = torch.topk(torch.tensor([1.0, 4.0, 3.0]), k=2)
    >>> values, places
    (tensor([4., 3.]), tensor([1, 2]))
    """
    array = input._array
    if array.dtype.kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU; convert with .to(uint8)")
    dim = dimension(array.ndim, dim)
    size = array.shape[dim] if array.ndim else 1
    if not 0 <= k <= size:
        raise RuntimeError("selected index k out of range")
    index = _argtopk(input, dim, k, largest)
    return return_types.topk(_topk(input, dim, index), index)


@method()
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """``(value, index)`` of the ``k``-th smallest entry (from 1) of one dimension."""
    array = input._array
    if array.dtype.kind == "b":
        raise NotImplementedError("\"kthvalue\" not implemented for 'Bool'; convert with .long()")
    dim = dimension(array.ndim, dim)
    size = array.shape[dim] if array.ndim else 1
    if not size:
        raise IndexError(f"kthvalue(): Expected reduction dim {dim} to have non-zero size.")
    if not 1 <= k <= size:
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(dim))
    return return_types.kthvalue(*_kthvalue(input, dim, keepdim, k))


_kthvalue = picking(
    "kthvalue",
    lambda input, dim, keepdim, k: picked(input, dim, keepdim, _of_rank(input, dim, k - 1)),
)


@method()
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """``(value, index)`` of the most frequent entry of one dimension, the least of several.

    The index is that of its last occurrence.
    """
    array = input._array
    dim = dimension(array.ndim, dim)
    if array.ndim and array.shape[dim] == 0:
        raise IndexError(f"mode(): Expected reduction dim {dim} to have non-zero size.")
    return return_types.mode(*_mode(input, dim, keepdim))


def _mode_positions(array: Array, dim: int) -> Array:
    """Indices of the last of the least of the most frequent entries, kept dimensions."""
    if (where := foreign(array)) is not None:
        return where.call(_mode_positions, array, dim)
    places = _order(array, dim, False)
    if array.ndim == 0:
        return places
    ordered = np.moveaxis(np.take_along_axis(array, places, dim), dim, -1)
    first = np.ones(ordered.shape, bool)
    first[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    positions = np.arange(ordered.shape[-1])
    starts = np.maximum.accumulate(np.where(first, positions, 0), -1)
    last = np.argmax(positions - starts, -1)[..., None]
    return np.take_along_axis(places, np.moveaxis(last, -1, dim), dim)


_mode = picking(
    "mode",
    lambda input, dim, keepdim: picked(input, dim, keepdim, _mode_positions(input, dim)),
)


# --- quantiles ------------------------------------------------------------------------------------

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _ranks(array: Array, fractions: Array, interpolation: str) -> tuple[Array, Array, Array]:
    """The places around the quantiles of sorted rows (..., n), below and above: each (..., k).

    And how far each is from the one below to the one above. ``fractions`` (*samples, k) may be
    other ones for each sample, the first dimensions of ``array``.
    """
    size = array.shape[-1]
    *samples, count = fractions.shape
    between = (1,) * (array.ndim - len(samples) - 1)
    ranks = fractions.astype(array.dtype).reshape(*samples, *between, count) * (size - 1)
    ranks = np.broadcast_to(ranks, (*array.shape[:-1], count))
    nans = np.isnan(array).any(-1, keepdims=True)  # sorted behind all numbers
    ranks = np.where(nans, np.asarray(size - 1, array.dtype), ranks)
    rounded: dict[str, Any] = {"lower": np.floor, "higher": np.ceil, "nearest": np.round}
    ranks = rounded[interpolation](ranks) if interpolation in rounded else ranks
    below, above = np.floor(ranks), np.ceil(ranks)
    weights = np.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below
    return below.astype(np.int64), above.astype(np.int64), weights


def _check_fractions(fractions: Array) -> None:
    if not ((fractions >= 0) & (fractions <= 1)).all():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")


_check_fractions_at_once = array_function("check")(_check_fractions)


def fractions_of(q: Tensor | Real, array: Array) -> Array:
    """The fractions of a quantile beside an array, which are checked to be in [0, 1]."""
    if isinstance(q, Tensor):
        if q._array.ndim > 1:
            raise RuntimeError("quantile() q must be a scalar or 1D tensor")
        check_fractions("quantile(): an element of q", q._array, _check_fractions)
        return q._array
    given = np.array(q, array.dtype)
    made: Array = constant_beside(array, given)
    if foreign(made) is None:
        _check_fractions_at_once(made)
    else:  # a look at its memory would wait for the device
        _check_fractions(given)
    return made


_ranks_of_rows = TensorOperator(
    "quantile",
    lambda input, fractions, interpolation: _ranks(input, fractions, interpolation),
    {},
    batch=stacked(),
)


@method()
@autocasts("float32")
def quantile(
    input: Tensor,
    q: Tensor | Real,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The value below which a fraction ``q`` of the elements lies; for a vector of them, several.

    Over all elements, or over ``dim``; several fractions add a first dimension. Between two
    elements ``interpolation`` is "linear", "lower", "higher", "midpoint" or "nearest".
    """
    array = input._array
    if array.dtype not in (np.float32, np.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if array.size == 0:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    if isinstance(q, Tensor) and (q._array.dtype != array.dtype or q._array.ndim > 1):
        if q._array.ndim > 1:
            raise RuntimeError("quantile() q must be a scalar or 1D tensor")
        raise RuntimeError(
            f"quantile() q tensor must be same dtype as the input tensor, {input.dtype}, but is "
            f"{q.dtype}"
        )
    fractions = fractions_of(q, array)
    position = 0 if dim is None else dimension(array.ndim, dim)
    rows = reshape(input, -1) if dim is None or not array.ndim else input.movedim(position, -1)
    ordered = sort(rows, -1).values
    places = reshape(q.detach() if isinstance(q, Tensor) else new_tensor(fractions), -1)
    below, above, weights = _ranks_of_rows(ordered.detach(), places, interpolation)
    if isinstance(q, Tensor) and q._requires_grad and interpolation == "linear":
        ranks = reshape(q, -1) * (ordered._array.shape[-1] - 1)
        weights = weights + (ranks - ranks.detach())  # nothing but the history of ``q``
    made = gather(ordered, -1, below)
    if interpolation in ("linear", "midpoint"):
        made = made.lerp(gather(ordered, -1, above), weights)
    made = made.movedim(-1, 0)
    kept = made._array.shape[1:]
    if keepdim and array.ndim:
        kept = (1,) * array.ndim if dim is None else (*kept[:position], 1, *kept[position:])
    return unsafe_view(made, (*fractions.shape, *kept))


# --- unique elements ------------------------------------------------------------------------------


@method()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements (or entries of ``dim``), in ascending order.

    With ``return_inverse`` also the place of each element in the result, with ``return_counts`` how
    often each occurs.
    """
    refuse_samples("_unique2", input)
    axis = None if dim is None else dimension(input._array.ndim, dim)
    if axis is not None:
        _check_selected("unique", input._array.shape, axis)
    values, inverse, counts = _unique(input._array, axis, return_inverse)
    shape = input._array.shape if axis is None else (input._array.shape[axis],)
    if inverse is not None:
        inverse = inverse.reshape(shape)
    return _chosen(input, values, inverse, counts, return_inverse, return_counts)


@array_function(refused="unique(), whose size depends on values")
def _unique(
    array: Array, axis: int | None, with_inverse: bool
) -> tuple[Array, Array | None, Array]:
    """The different elements, the place of each element among these, and their counts."""
    entries = half.readable(array)
    if axis is None:
        entries, axis = entries.reshape(-1), 0
    if entries.ndim > 1 or array.dtype.kind == "c":
        places = order.sorted_rows(entries, axis)
    else:
        places = order.argsort(entries, 0, False)
    values, numbers, counts = _runs(np.take(entries, places, axis), axis, with_inverse)
    inverse = None
    if numbers is not None:
        inverse = np.empty_like(numbers)
        inverse[places] = numbers
    return half.converted(values, array.dtype), inverse, counts


def _runs(array: Array, axis: int, with_numbers: bool) -> tuple[Array, Array | None, Array]:
    """The first of each run of equal entries, the number of the run of each, and their lengths."""
    rows = np.moveaxis(array, axis, 0)
    starts = np.ones(len(rows), bool)
    different = rows[1:] != rows[:-1]
    starts[1:] = different if array.ndim == 1 else different.any(tuple(range(1, array.ndim)))
    positions = starts.nonzero()[0]
    counts = np.empty_like(positions)
    np.subtract(positions[1:], positions[:-1], counts[:-1])
    counts[-1:] = len(rows) - positions[-1:]
    numbers = np.cumsum(starts) - 1 if with_numbers else None
    return np.ascontiguousarray(np.take(array, positions, axis)), numbers, counts


def _check_selected(function: str, shape: tuple[int, ...], axis: int) -> None:
    """Raise torch's error if entries of a dimension are compared that have no elements."""
    if 0 in with_sizes(shape, axis):
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied: "
            f"{function}() of shape {list(shape)} along dim {axis}"
        )


def _chosen(
    input: Tensor, values: Any, inverse: Any, counts: Any, with_inverse: bool, with_counts: bool
) -> Any:
    results = [new_tensor(values)]
    if grad_mode.enabled and input._requires_grad:
        produce(without_gradient("unique", (input,)), results[0])
    if with_inverse:
        results.append(new_tensor(inverse))
    if with_counts:
        results.append(new_tensor(counts))
    return results[0] if len(results) == 1 else tuple(results)


@method()
def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """One of each run of equal elements (or entries of ``dim``)."""
    refuse_samples("unique_consecutive", input)
    array = input._array.reshape(-1) if dim is None else input._array
    axis = 0 if dim is None else dimension(array.ndim, dim)
    _check_selected("unique_consecutive", array.shape, axis)
    values, inverse, counts = _unique_consecutive(array, axis, return_inverse)
    if dim is None and inverse is not None:
        inverse = inverse.reshape(input._array.shape)
    return _chosen(input, values, inverse, counts, return_inverse, return_counts)


@array_function(refused="unique_consecutive(), whose size depends on values")
def _unique_consecutive(
    array: Array, axis: int, with_inverse: bool
) -> tuple[Array, Array | None, Array]:
    """The first of each run of equal entries, the number of the run of each, and their lengths."""
    values, numbers, counts = _runs(half.readable(array), axis, with_inverse)
    return half.converted(values, array.dtype), numbers, counts


# --- places in sorted sequences -------------------------------------------------------------------


def _searched(number: Any, sequence: Array) -> Array:
    """A number to search for, as a tensor without dimensions has it beside the sequence."""
    check_bits(number)
    if number.__class__ is bool and sequence.dtype.kind == "b":
        raise NotImplementedError("\"searchsorted_out_cpu\" not implemented for 'Bool'")
    if number.__class__ is int and sequence.dtype.kind == "b":
        wrapped_number(number, sequence.dtype)  # refuses what bools cannot be promoted with
    if number.__class__ is int and sequence.dtype.kind in "iu":
        number = wrapped_number(number, sequence.dtype)
    return constant(np.array(number))


@forward_only
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where each element of ``input`` belongs in the last dimension of a sorted sequence.

    Before elements equal to it, or behind them if ``right`` (or ``side="right"``). The leading
    dimensions of both must agree, unless the sequence has one dimension only.
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(
            "torch.searchsorted(): side can only be 'left' or 'right' but got " + str(side)
        )
    if right and side == "left":
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left "
            "while right was True"
        )
    require_tensor("searchsorted", sorted_sequence, "sorted_sequence")
    require_tensor_or_number("searchsorted", input, "input", 2)
    sequence = sorted_sequence._array
    values = input._array if isinstance(input, Tensor) else _searched(input, sequence)
    if sequence.ndim == 0 or (values.ndim == 0 and sequence.ndim > 1):
        raise RuntimeError(
            "torch.searchsorted(): the boundaries need a dimension, and one only where the input "
            f"is a number, but we got boundaries of {sequence.ndim} and an input of {values.ndim}"
        )
    if sequence.ndim > 1 and sequence.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we got "
            f"boundaries tensor {list(sequence.shape)} and input value tensor {list(values.shape)}"
        )
    for x in (sequence, values):
        refuse_complex("searchsorted", x)
    end = "right" if right or side == "right" else "left"
    places = None if sorter is None else sorter._array
    kind = np.dtype(np.int32 if out_int32 else np.int64)
    return new_tensor(_positions_in(sequence, values, places, end, kind))


@array_function()
def _positions_in(
    sequence: Array, values: Array, places: Array | None, end: Any, kind: np.dtype[Any]
) -> Array:
    """The positions of ``searchsorted``."""
    sequence, values = half.readable(sequence), half.readable(values)
    if places is not None:
        sequence = np.take_along_axis(sequence, places, -1)
    if not values.size:
        return np.zeros(values.shape, kind)
    if sequence.dtype.kind == "f" and np.isnan(sequence).any():
        positions = _bisected(sequence, values, end)
    elif sequence.ndim == 1:
        positions = np.asarray(np.searchsorted(sequence, values, end))
    else:
        count = math.prod(sequence.shape[:-1])
        rows = zip(
            sequence.reshape(count, sequence.shape[-1]),
            values.reshape(count, values.shape[-1]),
            strict=True,
        )
        found = [np.searchsorted(row, wanted, end) for row, wanted in rows]
        positions = np.array(found, np.int64).reshape(values.shape)
    return positions.astype(kind)


def _bisected(sequence: Array, values: Array, end: str) -> Array:
    """The same by torch's bisection, to which a NaN in the sequence is less than any number."""
    first = np.zeros(values.shape, np.int64)
    last = np.full(values.shape, sequence.shape[-1])
    while (open_ := first < last).any():
        middle = (first + last) // 2
        position = np.minimum(middle, sequence.shape[-1] - 1)
        if sequence.ndim == 1:
            found = sequence[position]
        else:
            found = np.take_along_axis(sequence, position, -1)
        before = ~(found > values) if end == "right" else ~(found >= values)
        first = np.where(open_ & before, middle + 1, first)
        last = np.where(open_ & ~before, middle, last)
    return first


def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The bucket between sorted ``boundaries`` that each element of ``input`` falls into."""
    if boundaries._array.ndim != 1:
        raise RuntimeError(
            f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})"
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)
