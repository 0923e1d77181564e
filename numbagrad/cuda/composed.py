"""Forwards that are composed of operators which have kernels here, where the CPU's loops in NumPy.

``forwards.py`` has them in its tables. Their Tensors stand for the memory of arguments alone:
nothing is recorded for gradients, which the operator around has. Nothing here waits for the device.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..backend import foreign
from ..dtype import from_numpy
from ..tensor import Tensor, new_tensor
from .array import CudaArray

if TYPE_CHECKING:
    from .backend import CudaBackend

_torch: Any = importlib.import_module("numbagrad")


def composed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A forward on arrays from a function of Tensors."""

    @functools.wraps(function)
    def forward(where: CudaBackend, *arguments: Any) -> Any:
        with no_grad():
            return _arrays(function(*[_tensors(x) for x in arguments]))

    return forward


def _tensors(value: Any) -> Any:
    if value.__class__ is CudaArray:
        array: Any = value
        return new_tensor(array)
    if value.__class__ in (list, tuple):
        return value.__class__([_tensors(x) for x in value])
    return value


def _arrays(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple([_arrays(x) for x in value])
    return None if value is None else value._array


def _constant(values: Any, like: Tensor) -> Tensor:
    """Values that follow from shapes alone, on the device of a tensor."""
    from ..executor.memory.arrays import constant_beside

    return new_tensor(constant_beside(like._array, np.asarray(values)))


# --- order ----------------------------------------------------------------------------------------


@composed
def median_positions(array: Tensor, dim: int, ignore_nan: bool) -> Tensor:
    """Indices of lower medians, kept dimensions; NaN sorts last, and wins if not ignored."""
    return _median_positions(array, dim, ignore_nan)


def _median_positions(array: Tensor, dim: int, ignore_nan: bool) -> Tensor:
    order = array.argsort(dim, stable=True)
    size = array.shape[dim]
    shape = [1 if k == dim else n for k, n in enumerate(array.shape)]
    position = array.new_full(shape, (size - 1) // 2, dtype=_torch.int64)
    if array.is_floating_point():
        nans = (array != array).sum(dim, keepdim=True)
        if ignore_nan:
            position = (size - nans - 1).clamp_min(0).div(2, rounding_mode="floor")
        else:
            position = _torch.where(nans > 0, size - nans, position)
    return order.gather(dim, position)


def median(ignore_nan: bool) -> Callable[..., Any]:
    """The forward of the median of all elements, or of those of each row."""

    @composed
    def forward(input: Tensor, rows: bool) -> Tensor:
        flat = input.reshape(input.shape[0] if rows else 1, -1)
        if not flat.shape[1]:
            from ..ops.reductions.extremum import _nan_as

            made: Tensor = flat.new_full(flat.shape[:1], _nan_as(input._array.dtype).item())
        else:
            made = flat.gather(1, _median_positions(flat, 1, ignore_nan))[:, 0]
        return made if rows else made[0]

    return forward


@composed
def mode_positions(array: Tensor, dim: int) -> Tensor:
    """Indices of the last of the least of the most frequent entries, kept dimensions."""
    order = array.argsort(dim, stable=True)
    if not array.ndim:
        return order
    ordered = array.gather(dim, order).movedim(dim, -1)
    positions = _torch.arange(ordered.shape[-1], device=array.device)
    first = _torch.ones(ordered.shape, dtype=_torch.bool, device=array.device)
    first[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    starts = _torch.where(first, positions, 0).cummax(-1).values
    last = (positions - starts).argmax(-1, keepdim=True)
    return order.gather(dim, last.movedim(-1, dim))


@composed
def ranks(array: Tensor, fractions: Tensor, interpolation: str) -> tuple[Tensor, ...]:
    """The places around quantiles of sorted rows, below and above, and how far it is from below."""
    size = array.shape[-1]
    *samples, count = fractions.shape  # which may have fractions of their own
    between = (1,) * (array.dim() - len(samples) - 1)
    places = fractions.to(array.dtype).reshape(*samples, *between, count)
    found = (places * (size - 1)).expand(*array.shape[:-1], count)
    nans = (array != array).any(-1, keepdim=True)  # sorted behind all numbers
    found = _torch.where(nans, float(size - 1), found)
    rounded = {"lower": _torch.floor, "higher": _torch.ceil, "nearest": _torch.round}
    found = rounded[interpolation](found) if interpolation in rounded else found
    below, above = found.floor(), found.ceil()
    middle = interpolation == "midpoint"
    weights = _torch.full_like(found, 0.5) if middle else found - below
    return below.long(), above.long(), weights


# --- counts of values -----------------------------------------------------------------------------


def _order_of_rows(keys: Tensor) -> Tensor:
    """The stable order of rows (n, k), which their first columns decide, then the others."""
    if not keys.shape[0] or keys.shape[1] == 1:
        return keys[:, 0].argsort(stable=True)
    columns = keys.T.flip(0).contiguous()._array
    where = foreign(columns)
    assert where is not None
    return new_tensor(where.namespace.lexsort(columns))  # the last one decides first


def _runs(entries: Tensor, with_numbers: bool) -> tuple[Tensor, Tensor | None, Tensor]:
    """Where runs of equal entries begin, the number of the run of each, and how long they are."""
    first = entries.new_ones(len(entries), dtype=_torch.bool)
    different = entries[1:] != entries[:-1]
    first[1:] = different if different.ndim == 1 else different.flatten(1).any(1)
    starts = first.nonzero()[:, 0]
    lengths = starts.diff(append=starts.new_full((1,), len(entries)))
    return starts, first.cumsum(0) - 1 if with_numbers else None, lengths


@composed
def unique(array: Tensor, axis: int | None, with_inverse: bool) -> tuple[Tensor | None, ...]:
    """The different entries in their order, where each of all is among these, and their counts."""
    entries = array.reshape(-1) if axis is None else array.movedim(axis, 0)
    keys = entries.float() if entries.dtype is _torch.bfloat16 else entries
    keys = _torch.view_as_real(keys) if keys.is_complex() else keys
    order = _order_of_rows(keys.reshape(len(keys), math.prod(keys.shape[1:])))
    starts, numbers, counts = _runs(entries[order], with_inverse)
    inverse = None if numbers is None else _torch.empty_like(order).scatter(0, order, numbers)
    values = (array.reshape(-1) if axis is None else array).index_select(axis or 0, order[starts])
    return values, inverse, counts


@composed
def unique_consecutive(array: Tensor, axis: int, with_inverse: bool) -> tuple[Tensor | None, ...]:
    """The first of each run of equal entries, the number of the run of each, and their lengths."""
    starts, numbers, lengths = _runs(array.movedim(axis, 0), with_inverse)
    return array.index_select(axis, starts), numbers, lengths


@composed
def weights_of_each(array: Tensor, weights: Tensor, minlength: int) -> Tensor:
    """The sum of the weights of 0, 1, 2, ... in a vector, in the order of its elements."""
    size = max(int(array.max()) + 1, minlength)
    made = weights.new_zeros(size, dtype=_torch.float64)
    made.index_add_(0, array.long(), weights.double())
    return made.to(weights.dtype) if weights.dtype is _torch.float32 else made


@composed
def counted(array: Tensor, bins: int, low: float, high: float) -> Tensor:
    """``histc``: how many sorted elements are before each edge; equal ends read the extremes."""
    from ..ops.reductions.counting import interval

    values = array.float() if array.dtype is _torch.bfloat16 else array
    if low == high and array.numel():
        low, high = _torch.stack(values.aminmax()).tolist()
    kind = values._array.dtype
    edges = np.histogram_bin_edges(np.empty(0, kind), bins, interval(low, high)).astype(kind)
    ordered, ends = values.reshape(-1).sort().values, _constant(edges, array)
    before = _torch.searchsorted(ordered, ends[:-1])
    until = _torch.searchsorted(ordered, ends[-1:], right=True)
    return _torch.cat([before, until]).diff().to(array.dtype)


# --- masks and windows ----------------------------------------------------------------------------


def _numbers(mask: Tensor, size: int) -> Tensor:
    """For each element the number of those before it that hold, as a place among ``size``."""
    return (mask.reshape(-1).cumsum(0) - 1).clamp(0, max(size - 1, 0))


@composed
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The elements of the source, in their order, where the mask holds."""
    size = source.numel()
    if not size or not input.numel():
        return input.clone()
    chosen = source.reshape(-1).gather(0, _numbers(mask, size)).reshape(input.shape)
    return _torch.where(mask, chosen, input)


@composed
def masked_scatter_backward(input: Tensor, mask: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The elements where the mask holds, in their order, and zeros behind them."""
    size = math.prod(shape)
    made = input.new_zeros(size)
    if size and input.numel():
        chosen = _torch.where(mask, input, 0).reshape(-1)
        made = made.scatter_add(0, _numbers(mask, size), chosen)
    return made.reshape(shape)


@composed
def unfold_backward(
    array: Tensor, shape: tuple[int, ...], dim: int, size: int, step: int
) -> Tensor:
    """The sum of windows (..., count, ..., size), ``step`` apart, in what they were read from."""
    if not shape:
        return array.sum().to(array.dtype)
    count = array.shape[dim]
    positions = (np.arange(count)[:, None] * step + np.arange(size)).reshape(-1)
    rows = array.movedim(-1, dim + 1).flatten(dim, dim + 1)
    return array.new_zeros(shape).index_add(dim, _constant(positions, array), rows)


@composed
def im2col(input: Tensor, geometry: Any) -> Tensor:
    """The windows of images (N, C, H, W) as columns (N, C * kernel, windows)."""
    windows, counts = geometry.windows, geometry.counts()
    batch, channels = input.shape[:2]
    padded = _padded(input, windows, counts)
    view = new_tensor(windows.view(padded._array, counts))
    return view.reshape(batch, channels * math.prod(windows.kernel), math.prod(counts))


def _padded(input: Tensor, windows: Any, counts: Any) -> Tensor:
    sizes = windows._padded_sizes(input.shape[2:], counts)
    made = input.new_zeros((*input.shape[:2], *sizes))
    windows._inside(made, input.shape[2:]).copy_(input)
    return made


@composed
def col2im(columns: Tensor, geometry: Any) -> Tensor:
    """The sum of columns into images: an addition for each place of the kernel."""
    windows, counts, sizes = geometry.windows, geometry.counts(), geometry.sizes
    channels = columns.shape[1] // math.prod(windows.kernel)
    parts = columns.reshape(len(columns), channels, *windows.kernel, *counts)
    padded = windows._padded_sizes(sizes, counts)
    made = columns.new_zeros((len(columns), channels, *padded))
    for position, index in windows.positions(counts):
        at_position = (slice(None), slice(None), *position)
        made[index].add_(parts[at_position])
    return windows._inside(made, sizes).contiguous()


@composed
def adaptive_max_pool(array: Tensor, counts: tuple[int, ...]) -> Tensor:
    """Flat indices of the largest elements of parts, cut one dimension after another."""
    from ..nn.functional.adaptive_pooling import _parts

    sizes = array.shape[2:]
    where = _torch.arange(math.prod(sizes), device=array.device).reshape(sizes).expand(array.shape)
    values = array
    for axis in range(array.ndim - 1, 1, -1):
        starts, ends = _parts(values.shape[axis], counts[axis - 2])
        length = int((ends - starts).max(initial=1))
        spans = np.minimum(starts[:, None] + np.arange(length), ends[:, None] - 1)
        index, shape = _constant(spans.reshape(-1), array), spans.shape
        values, where = [
            x.index_select(axis, index).unflatten(axis, shape) for x in (values, where)
        ]
        undefined = values != values
        last = length - 1 - undefined.flip(axis + 1).byte().argmax(axis + 1)
        chosen = _torch.where(undefined.any(axis + 1), last, values.argmax(axis + 1))
        chosen = chosen.unsqueeze(axis + 1)
        values, where = [x.gather(axis + 1, chosen).squeeze(axis + 1) for x in (values, where)]
    return where.contiguous()


@composed
def block_diag(matrices: list[Tensor]) -> Tensor:
    """Matrices along the diagonal of zeros."""
    blocks = [x if x.ndim == 2 else x.reshape(1, -1) for x in matrices]
    sizes = [sum([x.shape[k] for x in blocks]) for k in (0, 1)]
    made = blocks[0].new_zeros(sizes)
    down = right = 0
    for x in blocks:
        height, width = x.shape
        made[down : down + height, right : right + width] = x
        down, right = down + height, right + width
    return made


# --- classes --------------------------------------------------------------------------------------


@composed
def rows_of_identity(index: Tensor, size: int) -> Tensor:
    """Rows of zeros with a one at the index."""
    return (index.unsqueeze(-1) == _torch.arange(size, device=index.device)).long()


@composed
def right_and_wrong(classes: Tensor) -> Tensor:
    """How often the first of two classes is listed, if the second is not: (N, C, C)."""
    listed = (classes >= 0).long().cumprod(1)
    right = _torch.zeros_like(classes).scatter_add(1, classes.clamp_min(0), listed)
    return right.unsqueeze(2) * (right.unsqueeze(1) == 0)


@composed
def bag_ends(starts: Tensor, count: int) -> Tensor:
    """Where bags begin, and the end of the last one."""
    return _torch.cat((starts, starts.new_full((1,), count)))


@composed
def bag_of_each(starts: Tensor, count: int) -> Tensor:
    """The bag of each of ``count`` indices, from where bags begin and where the last ends."""
    positions = _torch.arange(count, device=starts.device)
    bags = _torch.searchsorted(starts[1:].contiguous(), positions, right=True)
    return bags.clamp_max(starts.shape[0] - 2)  # offsets that are wrong are told of later


@composed
def bag_sizes(ends: Tensor, kind: Any) -> Tensor:
    """The number of indices in each bag (bags, 1), at least one, in a dtype."""
    return ends.diff().clamp_min(1).to(from_numpy(np.dtype(kind))).unsqueeze(1)


@composed
def fractional_max_pool(
    input: Tensor, samples: Tensor, kernel: tuple[int, ...], counts: tuple[int, ...]
) -> Tensor:
    """Flat indices of the largest elements of windows of (N, C, ...) at random places."""
    rank, leading = len(kernel), input.shape[:2]
    sizes = input.shape[2:]
    where: Any = 0
    # As in torch, the random numbers of images are those of the width first.
    numbers = (1, 0) if rank == 2 else (0, 1, 2)
    for axis, (size, count, width) in enumerate(zip(sizes, counts, kernel, strict=True)):
        starts = _window_starts(samples[..., numbers[axis]], size, count, width)
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = count, width
        positions = starts.unsqueeze(-1) + _torch.arange(width, device=input.device)
        where = where * size + positions.reshape(*leading, *shape)
    where = where.reshape(*leading, *counts, math.prod(kernel))
    values = input.flatten(2).gather(2, where.flatten(2)).reshape(where.shape)
    return where.gather(-1, values.argmax(-1, keepdim=True)).squeeze(-1)


def _window_starts(samples: Tensor, size: int, count: int, width: int) -> Tensor:
    last = samples.new_full((*samples.shape, 1), size - width, dtype=_torch.int64)
    if count == 1:
        return last
    step = _constant((size - width) / (count - 1), samples).to(samples.dtype)  # rounded to it
    samples = samples.unsqueeze(-1)
    numbers = _torch.arange(count - 1, device=samples.device).to(samples.dtype)
    begun = ((samples + numbers) * step).long() - (samples * step).long()
    return _torch.cat((begun, last), -1)


# --- choices by weights ---------------------------------------------------------------------------


def _checked(weights: Tensor) -> Tensor:
    """Weights as they are computed with; bad ones are an assert of the device.

    The largest has a share of the sum in [0, 1] if none is negative or not finite, and one above 0.
    """
    from ..executor.families.checks import check_fractions
    from ..random_filling import check_weights

    weights = weights if weights.dtype is _torch.float64 else weights.float()
    if weights.numel():
        low, high = weights.amin(-1), weights.amax(-1)
        share = _torch.where(low >= 0, high / weights.sum(-1), math.nan)
        subject = "multinomial(): the share of the largest weight in the sum of weights"
        check_fractions(subject, share._array, check_weights)
    return weights


@composed
def winners(weights: Tensor, drawn: Tensor, count: int) -> Tensor:
    """The places of the largest of ``weight / exponential``: choices without replacement."""
    races = _checked(weights) / drawn
    if count == 1:
        return races.argmax(-1, keepdim=True)
    return races.argsort(-1, descending=True, stable=True)[..., :count].contiguous()


@composed
def places_in_sums(weights: Tensor, drawn: Tensor, count: int) -> Tensor:
    """The places of uniform numbers among sums of weights, as shares of all."""
    sums = _checked(weights).cumsum(-1)
    sums = (sums / sums[..., -1:]).double()
    return _torch.searchsorted(sums, drawn, right=True).clamp_max(weights.shape[-1] - 1)


# --- linear algebra -------------------------------------------------------------------------------


def _over_both(B: Tensor, L: Tensor, upper: bool) -> Tensor:
    solve = _torch.linalg.solve_triangular
    if upper:
        return solve(L, solve(L.mH, B, upper=False), upper=True)
    return solve(L.mH, solve(L, B, upper=False), upper=True)


@composed
def cholesky_solve(B: Tensor, L: Tensor, upper: bool) -> Tensor:
    """X with ``L @ L.mH @ X = B``, or ``L.mH @ L @ X = B``."""
    return _over_both(B, L, upper).contiguous()


@composed
def cholesky_inverse(L: Tensor, upper: bool) -> Tensor:
    """The inverse of ``L @ L.mH``, or of ``L.mH @ L``."""
    one = _torch.eye(L.shape[-1], dtype=L.dtype, device=L.device).expand(L.shape)
    return _over_both(one, L, upper).contiguous()


@composed
def matrix_exp(A: Tensor) -> Tensor:
    """By Padé of degree 13, as the CPU; the number of squarings is read, as torch does."""
    from ..ops.linear_algebra.matrix_functions import _PADE as c
    from ..ops.linear_algebra.matrix_functions import _PADE_REACH

    if not A.numel():
        return A.clone()
    wide = A.to(_torch.complex128 if A.is_complex() else _torch.float64)
    needed = (wide.abs().sum(-2).amax(-1) / _PADE_REACH).log2().ceil()
    needed = _torch.where(needed.isfinite(), needed.clamp_min(0), 0.0)
    scaled = wide * _torch.exp2(-needed)[..., None, None]
    eye = _torch.eye(A.shape[-1], dtype=wide.dtype, device=A.device)
    two = scaled @ scaled
    four = two @ two
    six = four @ two
    odd = scaled @ (
        six @ (c[13] * six + c[11] * four + c[9] * two)
        + c[7] * six + c[5] * four + c[3] * two + c[1] * eye
    )  # fmt: skip
    even = six @ (c[12] * six + c[10] * four + c[8] * two)
    even = even + c[6] * six + c[4] * four + c[2] * two + c[0] * eye
    made = _torch.linalg.solve(even - odd, even + odd)
    for number in range(int(needed.max())):
        more = (needed > number)[..., None, None]
        made = _torch.where(more, made @ made, made)
    return made.to(A.dtype)
