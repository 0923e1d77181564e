"""Lookup by integers: rows of a table (``embedding``) and rows of the identity (``one_hot``).

Called by users and by ``nn/linear.py``; the lookup itself is in ``ops/indexing/gather.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import half_precision as half
from ...autograd.grad_mode import no_grad
from ...executor.families import copying
from ...executor.families.checks import check_inside, check_offsets
from ...executor.memory.arrays import constant, constant_beside, filled, values_on_host
from ...ops.arguments.requirements import require_tensor
from ...ops.conversion.query import typename
from ...ops.indexing import gather
from ...ops.indexing.bags import bag_of_each, largest_of_bags, sums_of_bags
from ...ops.operators.array_function import array_function
from ...ops.pointwise.selection import where
from ...tensor import Tensor, new_tensor
from ...transforms.levels import is_transformed
from ...warn_once import warn_caller

Array = np.ndarray[Any, Any]

__all__ = ["embedding", "embedding_bag", "one_hot"]


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of ``weight`` (n, d) at the indices ``input`` (...), to (..., d).

    The row ``padding_idx`` gets no gradient. With ``max_norm``, rows that are looked up and longer
    are first shortened in place.

    Raises:
        AssertionError: if ``padding_idx`` is no row.
    """
    if weight._array.ndim != 2:
        kind = RuntimeError if weight._array.ndim or padding_idx is None else IndexError
        raise kind(f"embedding: 'weight' must be 2-D, got {weight._array.ndim} dimensions")
    rows = weight._array.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    padding_idx = -1 if padding_idx is None else padding_idx % rows
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    return gather.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


@no_grad()
def _shorten_rows(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    reader = "embedding() with max_norm, which changes rows in place"
    used = new_tensor(np.unique(values_on_host(indices._array, reader)))
    weight = weight.detach()  # tangents stay those of the rows as they were, as in torch
    rows = weight[used]
    length = rows.norm(norm_type, 1, keepdim=True)
    factor = where(length > max_norm, max_norm / (length + 1e-7), 1.0)
    weight[used] = rows * factor


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: Any = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of the rows of ``weight`` (n, d) in bags of indices, to (bags, d).

    Args:
        input: indices: a bag in each row, or all bags in a vector.
        weight: the table. Indices and table in the old order are exchanged, with a warning.
        offsets: where the bags of a vector begin.
        max_norm: rows that are looked up and longer are first shortened in place.
        norm_type: of which norm.
        mode: "sum", "mean" or "max". A bag of no indices gives zeros.
        per_sample_weights: factors of the rows in a sum, of the shape of ``input``.
        include_last_offset: whether ``offsets`` has the end of the last bag as well.
        padding_idx: an index that counts for nothing.

    Raises:
        ValueError: for other dimensions or modes.
        RuntimeError: for indices or offsets out of range.
    """
    if weight._array.dtype == np.int64 and input.is_floating_point():
        warn_caller(
            "Argument order of nn.functional.embedding_bag was changed. Usage "
            "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
            "`embedding_bag(input, weight, ...)`."
        )
        weight, input = input, weight
    _check_bags(input, weight, offsets, mode, per_sample_weights, scale_grad_by_freq)
    rows = weight._array.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, "
            f"but got {padding_idx}"
        )
    if input._array.dtype not in (np.int64, np.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {typename(input)} instead (while checking arguments for "
            "embedding_bag)"
        )
    input = input.long()
    array = input._array
    check_inside("embedding_bag(): an index", array, rows, _check_rows_of_bags, array, rows)
    padding = None if padding_idx is None else padding_idx % rows
    counts = None if padding is None else input != padding
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    ends = None
    if offsets is not None:
        starts = offsets.long()._array
        check_offsets(starts, array.shape[0], bool(include_last_offset), _explain_offsets)
        ends = starts if include_last_offset else _with_end(starts, array.size)
        if ends.size == 1:
            return weight[:0]
    plain = weight._array.__class__ is array.__class__ is np.ndarray
    is_sparse = gather.has_sparse_gradient(weight, sparse)
    if is_sparse and mode == "max":
        raise RuntimeError("embedding_bag: max mode does not support sparse weights")
    if per_sample_weights is None and plain and not (scale_grad_by_freq or is_sparse):
        if ends is None:
            edges = np.arange(0, array.size + 1, array.shape[1])
            bags = new_tensor(constant(edges))
        else:
            bags = new_tensor(ends)
        positions = input if input._array.ndim == 1 else input.reshape(-1)
        ignored = -1 if padding is None else padding
        if mode == "max":
            largest: Tensor = largest_of_bags(weight, positions, bags, ignored)[0]
            return largest
        total = sums_of_bags(weight, positions, bags, ignored)
    else:
        rows = gather.embedding(weight, input, -1, scale_grad_by_freq, sparse)
        if mode == "max":
            return _largest(rows, counts) if ends is None else _largest_in_bags(rows, counts, ends)
        if per_sample_weights is not None:
            rows = rows * per_sample_weights.unsqueeze(-1)
        total = _sums(rows if counts is None else _counted(rows, counts), ends)
    if mode == "sum":
        return total
    if counts is None:
        if ends is None:
            return total / array.shape[1]
        return total / new_tensor(_sizes_of_bags(ends, total._array.dtype))
    return total / _sums(counts.to(total.dtype).unsqueeze(-1), ends).clamp(min=1)


def _check_bags(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None,
    mode: Any,
    factors: Tensor | None,
    by_frequency: bool,
) -> None:
    """The errors of embedding_bag that do not depend on values, in torch's order."""
    if weight._array.ndim != 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight._array.ndim}"
        )
    if factors is not None and factors.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({factors.shape}) is not None, then it must "
            f"have the same shape as the input ({input.shape})"
        )
    if input.ndim == 2:
        _check_rows_as_bags(input, offsets)
    else:
        _check_offsets_of_bags(input, offsets)
    _check_table_of_bags(weight)
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and by_frequency:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if factors is not None:
        _check_factors(weight, factors, mode)


def _check_rows_as_bags(input: Tensor, offsets: Tensor | None) -> None:
    """Each row of the input is a bag."""
    if offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
            f"of fixed length sequences. However, found offsets of type {_shown_type(offsets)}"
        )
    if not input._array.shape[1]:
        raise RuntimeError(
            "embedding_bag(): bags of no indices, as of input of shape "
            f"{list(input._array.shape)}, have no offsets: step must be nonzero"
        )


def _check_offsets_of_bags(input: Tensor, offsets: Tensor | None) -> None:
    """Bags lie behind each other, and offsets say where each begins."""
    if input.ndim != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}"
        )
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if not isinstance(offsets, Tensor):
        require_tensor("embedding_bag", offsets, "offsets", 3)
    if offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if offsets._array.dtype.kind in "fVc":
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got offsets of {typename(offsets)} instead"
        )
    if is_transformed(offsets):
        raise RuntimeError("embedding_bag: vmap over offsets is not supported")


def _check_table_of_bags(weight: Tensor) -> None:
    if weight._array.dtype.kind not in "fV":
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: "
            f"Half, BFloat16, Float, Double; but got {typename(weight)} instead (while checking "
            "arguments for embedding_bag)"
        )
    if not weight._array.shape[1]:
        raise RuntimeError(
            "embedding_bag(): argument 'weight' must have columns, but it has shape "
            f"{list(weight._array.shape)}"
        )


def _check_factors(weight: Tensor, factors: Tensor, mode: str) -> None:
    """``per_sample_weights``, which are factors of rows."""
    if mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    if factors.dtype != weight.dtype:
        names = [typename(each) for each in (weight, factors)]
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument "
            f"#1 'per_sample_weights'; but type {names[0]} does not equal {names[1]} (while "
            "checking arguments for embedding_bag)"
        )


def _shown_type(value: Any) -> str:
    return "<class 'torch.Tensor'>" if isinstance(value, Tensor) else str(type(value))


def _sums(rows: Tensor, ends: Array | None) -> Tensor:
    """Sums of rows, of bags (bags, size, d) or, by where these end, of a vector (indices, d)."""
    if ends is None:
        return rows.sum(1)
    bags = new_tensor(bag_of_each(ends, rows._array.shape[0]))
    return rows.new_zeros((ends.size - 1, rows.shape[1])).index_add(0, bags, rows)


def _largest(rows: Tensor, counts: Tensor | None) -> Tensor:
    """Maxima of bags of rows (bags, size, d), of which those count for which ``counts`` holds."""
    if counts is None:
        return rows.max(1)[0]
    least = rows.masked_fill(~counts.unsqueeze(-1), float("-inf")).max(1)[0]
    return least.masked_fill(~counts.any(1).unsqueeze(-1), 0)


def _largest_in_bags(rows: Tensor, counts: Tensor | None, ends: Array) -> Tensor:
    """The same of bags of rows (indices, d), by where these end."""
    if not rows.shape[0]:
        return rows.new_zeros((ends.size - 1, rows.shape[1]))
    reader = "embedding_bag() of maxima, whose bags are as large as values say"
    found = _positions_in_bags(values_on_host(ends, reader))
    positions = new_tensor(constant_beside(ends, found))
    inside = positions >= 0
    positions = positions.clamp(min=0)
    if counts is not None:
        inside = inside & counts[positions]
    return _largest(rows[positions], inside)


def _counted(found: Tensor, counts: Tensor) -> Tensor:
    """The rows, with zeros for those that do not count; a factor would keep their NaN."""
    return found.masked_fill(~counts.unsqueeze(-1), 0)


def _check_rows_of_bags(index: Array, rows: int) -> None:
    if copying.are_inside(index, rows):
        return
    flat = index.reshape(-1)
    position = int(((flat < 0) | (flat >= rows)).argmax())
    raise RuntimeError(
        f"Index {position} of input takes value {flat[position]} which is not in the valid range "
        f"[0, {rows})"
    )


def _explain_offsets(starts: Array, count: int, ends: bool) -> None:
    if ends and (not starts.size or starts[-1] != count):
        raise RuntimeError(
            "embedding_bag: with include_last_offset the last of the offsets has to be the number "
            f"of indices, {count}"
        )
    if not starts.size:
        return
    if starts.item(0) != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            f"position 0. However, got {starts[0]}"
        )
    if starts.item(-1) > count:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] of "
            f"{starts[-1]}"
        )
    if np.count_nonzero(starts[1:] < starts[:-1]):
        raise RuntimeError("embedding_bag: offsets must not decrease")


@array_function()
def _with_end(starts: Array, count: int) -> Array:
    """Where bags begin, and the end of the last one."""
    ends = np.empty(starts.size + 1, np.int64)
    ends[:-1] = starts
    ends[-1] = count
    return ends


@array_function()
def _sizes_of_bags(ends: Array, kind: Any) -> Array:
    """The number of indices in each bag (bags, 1), at least one."""
    sizes: Array = np.maximum(ends[1:] - ends[:-1], 1)
    return half.converted(sizes, kind).reshape(-1, 1)


def _positions_in_bags(ends: Array) -> Array:
    """The places of the indices of each bag (bags, size of the largest), -1 behind its end."""
    starts, sizes = ends[:-1], np.diff(ends)
    width = np.arange(max(sizes.max(initial=0), 1))
    return np.where(width < sizes[:, None], starts[:, None] + width, -1)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Rows of zeros with a one at the index, int64, from (...) to (..., num_classes).

    >>> nn.functional.one_hot(torch.tensor([0, 2]), num_classes=3)
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    index = tensor._array
    if index.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if index.size == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if is_transformed(tensor):
        if num_classes == -1:
            raise RuntimeError(
                "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive "
                "num_classes argument."
            )
        rows = new_tensor(filled((*index.shape, num_classes), index.dtype, 0))
        return rows.scatter(-1, tensor.unsqueeze(-1), 1)
    if num_classes == -1:
        reader = "one_hot() without num_classes, whose size depends on values"
        num_classes = max(int(values_on_host(index, reader).max()) + 1, 0)
    check_inside("one_hot(): a class", index, num_classes, _check_classes, index, num_classes)
    return new_tensor(_rows_of_identity(index, num_classes))


def _check_classes(index: Array, num_classes: int) -> None:
    if copying.are_inside(index, num_classes):
        return
    if index.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    raise RuntimeError("Class values must be smaller than num_classes.")


@array_function()
def _rows_of_identity(index: Array, size: int) -> Array:
    made = np.zeros((*index.shape, size), np.int64)
    flat = index.reshape(-1)
    made.reshape(-1)[np.arange(0, made.size, size) + flat] = 1
    return made
