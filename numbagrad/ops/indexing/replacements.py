"""Copies with other values at some places, and rows that are not too long."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from ... import half_precision as half
from ...autograd.writes.inplace import compute_then_write, recording
from ...dtype import scalar_type_name
from ...executor import capture
from ...executor.families.conversion import dense_like
from ...executor.memory.arrays import constant_beside, values_on_host
from ...executor.plan.sharing import reach
from ...tensor import Tensor, new_tensor
from ...transforms.levels import is_batched
from ...type_names import type_name
from ..arguments.kinds import Ints, Real
from ..arguments.requirements import is_complex_number
from ..arguments.shapes import dimension, sizes_of
from ..creation.from_data import as_integers
from ..methods.registry import method
from ..methods.variants import install_in_place
from ..pointwise.functions import ceil, floor
from ..pointwise.functions import round as nearest_number
from ..pointwise.selection import where
from ..reductions.sorting import _INTERPOLATIONS as INTERPOLATIONS
from ..reductions.sorting import fractions_of, quantile, sort
from ..reductions.statistics import vector_norm
from ..views.strided import as_strided, extent, overlaps
from ..views.view import reshape, unsafe_view
from ..writing.inplace import fill_
from .gather import gather

__all__ = [
    "as_strided_scatter", "fill", "nanquantile", "put", "renorm",
]  # fmt: skip


# --- values at places -----------------------------------------------------------------------------


def _check_put(input: Tensor, index: Tensor, source: Tensor) -> None:
    if index._array.dtype != np.int64:
        raise RuntimeError(
            "put_(): Expected a long tensor for index, but got "
            f"{scalar_type_name(index.dtype)}; convert with .long()"
        )
    if index._array.size != source._array.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source._array.size}, index.numel() = {index._array.size}"
        )
    if input.dtype is not source.dtype:
        kinds = [scalar_type_name(x.dtype) for x in (input, source)]
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{kinds[0]} and source.dtype = {kinds[1]}"
        )


@method()
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with ``source`` at places counted through the whole tensor, or added there.

    Raises:
        IndexError: for places beyond the tensor, or as many as there are no sources.
        RuntimeError: for another dtype.
    """
    _check_put(input, index, source)
    flat = reshape(input, (-1,))
    made = flat.index_put((reshape(index, (-1,)),), reshape(source, (-1,)), accumulate)
    return unsafe_view(made, input._array.shape)


install_in_place(put, refused="whole")


def _check_region(
    size: int, src: Tensor, sizes: Sequence[int], steps: Sequence[int], offset: int
) -> None:
    """Raise torch's errors for a part of a memory of ``size`` that ``src`` does not fit."""
    shown = f"sizes {list(sizes)}, strides {list(steps)} and storage offset {offset}"
    if len(sizes) != len(steps):
        raise RuntimeError("mismatch in length of strides and shape")
    if min(*sizes, *steps, offset, 0) < 0:
        raise RuntimeError(f"as_strided_scatter(): none may be negative: {shown}")
    if 0 not in sizes and offset + reach(tuple(sizes), tuple(steps)) > size:
        raise RuntimeError(
            f"as_strided_scatter(): {shown} are out of bounds for memory of {size} elements"
        )
    if src._array.shape != tuple(sizes):
        raise RuntimeError(
            "as_strided_scatter(): expected src to have a size equal to the slice of self. src size"
            f" = {list(src._array.shape)}, slice size = {list(sizes)}"
        )
    if overlaps(sizes, steps):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            f"single memory location: {shown}"
        )


@method()
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Ints, stride: Ints, storage_offset: int | None = None
) -> Tensor:
    """A copy of ``input``, at its strides, with ``src`` where ``as_strided`` shows its memory.

    What ``src`` holds beside the elements of ``input`` is lost.

    Raises:
        RuntimeError: for a part that is not in the memory, or that ``src`` does not fit; under
            ``vmap`` also for samples that are not contiguous.
    """
    sizes, steps = sizes_of((size,)), sizes_of((stride,))
    own = input.storage_offset()
    offset = own if storage_offset is None else storage_offset
    used = extent(input)
    if is_batched(input):  # whose memory is that of all samples: counted in the sample alone
        if not input.is_contiguous():
            raise RuntimeError(
                "as_strided_scatter(): strides are those in memory, and inside of vmap a sample has"
                " a memory of its own only if it is contiguous; call contiguous() before"
            )
        offset, own, used = offset - own, 0, input._array.size
    _check_region(used, src, sizes, steps, offset)
    positions = np.asarray(offset)
    for count, step in zip(sizes, steps, strict=True):
        positions = np.add.outer(positions, np.arange(count) * step)
    index = new_tensor(constant_beside(input._array, positions.reshape(-1)))
    source = reshape(src, (-1,)).to(input.dtype)
    shape, strides = input._array.shape, input.stride()
    if not own and used == input._array.size and input.is_contiguous():
        return unsafe_view(reshape(input, (-1,)).index_put((index,), source), shape)
    memory = as_strided(input, (used,), (1,), 0).index_put((index,), source)
    return as_strided(memory, shape, strides, own)


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like ``input`` of one value, a number or a tensor without dimensions."""
    array = input._array
    if array.__class__ is np.ndarray and capture.active is None and not recording(input):
        return fill_(new_tensor(dense_like(array, array.dtype)), value)  # no element is copied
    return fill_(input.clone(), value)


@method("apply_")
def _apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Write what a function of Python returns for each element.

    Raises:
        RuntimeError: if the tensor requires grad.
    """
    return _mapped("apply_", "var", self, (), callable)


@method("map_")
def _map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Write what a function of Python returns for each element and that of ``tensor``.

    Raises:
        RuntimeError: if one of them requires grad.
    """
    return _mapped("map_", "var", self, (tensor.expand(self._array.shape),), callable)


@method("map2_")
def _map2_(
    self: Tensor, tensor1: Tensor, tensor2: Tensor, callable: Callable[[Any, Any, Any], Any]
) -> Tensor:
    """Write what a function of Python returns for elements of this and of two other tensors.

    Raises:
        RuntimeError: if a tensor requires grad.
    """
    size = self._array.shape
    return _mapped("map2_", "var", self, (tensor1.expand(size), tensor2.expand(size)), callable)


def _mapped(
    name: str, what: str, self: Tensor, others: tuple[Tensor, ...], function: Callable[..., Any]
) -> Tensor:
    if any([x._requires_grad for x in (self, *others)]):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use {what}.detach().{name}() "
            "instead."
        )
    if not callable(function):
        raise TypeError(f"{name}(): {type_name(function)!r} object is not callable")
    reader = f"{name}(), which runs a function of Python"

    def compute(before: Tensor) -> Tensor:
        arrays = [half.readable(values_on_host(x._array, reader)) for x in (before, *others)]
        lists = [array.reshape(-1).tolist() for array in arrays]
        made = [function(*values) for values in zip(*lists, strict=True)]
        kind = before._array.dtype
        with np.errstate(over="ignore"):  # of float16
            numbers = half.converted(_numbers(made, kind), kind)
        return new_tensor(numbers.reshape(before._array.shape))

    return compute_then_write(self, compute, *others)


def _numbers(values: list[Any], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Python's numbers as C takes them for elements of a dtype.

    Raises:
        TypeError: for what is no real number, or no integer and no float where integers are.
        OverflowError: for integers of more than 64 bits.
        RuntimeError: for others that the dtype does not hold.
    """
    if kind.kind == "b":
        made = [bool(x) if isinstance(x, (float, complex)) else bool(index(x)) for x in values]
        return np.array(made, kind)
    if kind.kind in "iu":
        whole = [int(x) if isinstance(x, float) else x for x in values]
        return as_integers(np.array(array("q", whole), np.int64), kind)
    if kind.kind == "c":
        whole = [x if isinstance(x, complex) else array("d", [x])[0] for x in values]
        return np.array(whole, np.complex128)
    return np.array(array("d", values))


# --- lengths --------------------------------------------------------------------------------------


@method()
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """The slices along ``dim``, shortened to a p-norm of ``maxnorm`` where they are longer.

    Raises:
        RuntimeError: for numbers that are not positive, and fewer than two dimensions.
    """
    for name, number in (("p", p), ("maxnorm", maxnorm)):
        if is_complex_number(number):
            raise RuntimeError(f"renorm: {name} must be real-valued")
    if not p > 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported: {p}")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    rank = input._array.ndim
    if rank < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {rank} dimensions")
    kept = dimension(rank, dim)
    others = [d for d in range(rank) if d != kept]
    # Where nothing is shortened, no length has a gradient: that of a NaN would be NaN.
    longer = vector_norm(input.detach(), p, others, True) > maxnorm
    chosen = where(longer, input, 0)
    shortened = chosen * (maxnorm / (vector_norm(chosen, p, others, True) + 1e-7))
    return where(longer, shortened, input)


install_in_place(renorm)


# --- shares and counts ----------------------------------------------------------------------------


@method()
def nanquantile(
    input: Tensor,
    q: Tensor | Real,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """``quantile`` of the elements that are not NaN; NaN where all are."""
    array = input._array
    if array.dtype not in (np.float32, np.float64) or array.ndim == 0 or array.size == 0:
        made = quantile(input, q, dim, keepdim, interpolation=interpolation)
        return made
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            "nanquantile() interpolation must be one of linear, lower, higher, midpoint or "
            f"nearest, but got {interpolation}"
        )
    if isinstance(q, Tensor) and q.dtype is not input.dtype:
        raise RuntimeError("nanquantile() q tensor must be same dtype as the input tensor")
    fractions = fractions_of(q, array)
    q = q if isinstance(q, Tensor) else new_tensor(fractions)
    position = 0 if dim is None else dimension(array.ndim, dim)
    rows = reshape(input, (-1,)) if dim is None else input.movedim(position, -1)
    ordered = sort(rows, -1).values  # NaN behind all numbers
    counts = (rows == rows).sum(-1, True).to(input.dtype)
    ranks = reshape(q, (-1,)) * (counts - 1).clamp_min(0)
    known = ranks.detach()
    if interpolation == "lower":
        known = floor(known)
    elif interpolation == "higher":
        known = ceil(known)
    elif interpolation == "nearest":
        known = nearest_number(known)
    below = floor(known)
    made = gather(ordered, -1, below.long())
    if interpolation in ("linear", "midpoint"):
        above = gather(ordered, -1, ceil(known).long())
        made = made.lerp(above, ranks - below if interpolation == "linear" else (ranks * 0 + 0.5))
    made = made.movedim(-1, 0)
    kept = made._array.shape[1:]
    if keepdim:
        kept = (1,) * array.ndim if dim is None else (*kept[:position], 1, *kept[position:])
    return unsafe_view(made, (*q._array.shape, *kept))
