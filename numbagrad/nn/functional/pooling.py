"""Pooling: the largest, the mean or a norm of every window.

Called by users and by the layers of ``nn/pooling.py``. Where the largest elements are is found
first; taking them from there is linear, so its gradient puts them back.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...backend import foreign
from ...dispatch.policies import autocasts
from ...dtype import iinfo
from ...executor.families import indexing
from ...executor.families import pooling as executor
from ...executor.memory.arrays import constant_beside
from ...half_precision import converted
from ...ops.arguments.kinds import Sizes
from ...ops.indexing.gather import scatter_add_operator
from ...ops.operators.tensor_operator import TensorOperator
from ...ops.pointwise.selection import where as choose
from ...tensor import Tensor, new_tensor
from ...transforms.batching import folded
from ...transforms.tangents import multilinear
from .activation import relu
from .checks import refuse_kinds, require_elements
from .windows import IMAGES, LINES, VOLUMES, Windows, named, per_dimension

__all__ = [
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d",
    "max_pool1d", "max_pool2d", "max_pool3d",
]  # fmt: skip

Array = np.ndarray[Any, Any]


def _windows(rank: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any = 1) -> Windows:
    options = kernel_size, stride, padding, dilation
    if list in map(type, options):
        options = tuple([tuple(x) if isinstance(x, list) else x for x in options])  # type: ignore[assignment]
    return _windows_of(rank, *options)


@functools.lru_cache(maxsize=256)
def _windows_of(rank: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any) -> Windows:
    kernel = per_dimension(kernel_size, rank, "kernel_size")
    if stride is None or stride == ():
        stride = kernel
    made = Windows(
        kernel,
        per_dimension(stride, rank, "stride"),
        per_dimension(padding, rank, "padding"),
        per_dimension(dilation, rank, "dilation"),
    )
    if min(kernel) <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got {kernel}")
    if min(made.stride) <= 0:
        raise RuntimeError("stride should not be zero")
    for p, k, r in zip(made.padding, kernel, made.reach, strict=True):
        if p < 0 or p > r // 2:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got pad="
                f"{p}, kernel_size={k} and dilation={made.dilation[0]}"
            )
    return made


def batched(rank: int, input: Tensor, name: str) -> Tensor:
    """``input`` with a dimension for the batch."""
    shape = input._array.shape
    if len(shape) not in (rank + 1, rank + 2):
        kind = IndexError if len(shape) < rank + 1 and name == "avg_pool2d" else RuntimeError
        raise kind(f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got {list(shape)}")
    return input if len(shape) == rank + 2 else input.unsqueeze(0)


def _counts(windows: Windows, input: Tensor, ceil_mode: bool) -> tuple[int, ...]:
    return _counts_in(windows, input._array.shape[1:], ceil_mode)


@functools.lru_cache(maxsize=256)
def _counts_in(windows: Windows, shape: tuple[int, ...], ceil_mode: bool) -> tuple[int, ...]:
    channels, *sizes = shape
    counts = windows.counts(sizes, ceil_mode)
    if min(counts) < 1:
        had, made = ["x".join(map(str, (channels, *shape))) for shape in (sizes, counts)]
        raise RuntimeError(
            f"Given input size: ({had}). Calculated output size: ({made}). Output size is too small"
        )
    return counts


# --- maxima ---------------------------------------------------------------------------------------


def _windows_of_padding(
    windows: Windows, sizes: tuple[int, ...], counts: tuple[int, ...]
) -> tuple[Array, Array] | None:
    """Which windows (*counts) have no element inside, and the place that torch names for them.

    None if all have one, as without dilation: padding is at most half of a window. That place is
    where the first element behind the padding would be.
    """
    if max(windows.dilation) == 1 or max(windows.padding) == 0:
        return None
    empty, places = np.zeros(counts, bool), np.zeros(counts, np.int64)
    for d, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        kernel, stride, padding, dilation = (option[d] for option in windows)
        start = np.arange(count) * stride - padding
        last = start + (kernel - 1) * dilation
        start += np.maximum(-start + dilation - 1, 0) // dilation * dilation
        shape = [count if e == d else 1 for e in range(len(counts))]
        empty |= (start >= np.minimum(size, last + 1)).reshape(shape)
        places = places * size + start.reshape(shape)
    return (empty, places) if empty.any() else None


def _largest(array: Array, counts: tuple[int, ...], windows: Windows) -> Array:
    if array.dtype.kind == "b":
        raise NotImplementedError(f"\"max_pool{len(counts)}d\" not implemented for 'Bool'")
    if foreign(array) is None:
        array = np.ascontiguousarray(array)
    return executor.largest(array, counts, windows)


def _flattened(where: Array) -> Array:
    """The spatial dimensions in a row."""
    return where.reshape(*where.shape[:2], math.prod(where.shape[2:]))


def _taken(source: Array, where: Array) -> Array:
    if executor.has_sums(source) and where.size:
        return executor.taken(source, where)
    return indexing.gather(_flattened(source), 2, _flattened(where)).reshape(where.shape)


def _put_back(values: Tensor, where: Tensor, sizes: tuple[int, ...], name: str) -> Tensor:
    """Values, summed in spatial dimensions of these sizes where they were taken from."""
    if where._array.size and executor.has_sums(values._array):
        return _putting(name)(values, where, sizes)
    flat = values.new_zeros(*values.shape[:2], math.prod(sizes))
    made: Tensor = scatter_add_operator(flat, 2, where.flatten(2), values.flatten(2))
    return made.view(*values.shape[:2], *sizes)


@functools.cache
def _taking(name: str) -> TensorOperator:
    """The elements of (N, C, ...) at flat indices (N, C, *counts), by torch's name of the node."""
    return TensorOperator(
        name,
        lambda input, where: _taken(input, where),
        {
            "input": lambda grad, where, input_shape: _put_back(grad, where, input_shape[2:], name),
            "where": None,  # type: ignore[dict-item]
        },
        grad_fn=f"{name}Backward0",
        batch=folded,
        tangent=multilinear,
        portable=True,
    )


@functools.cache
def _putting(name: str) -> TensorOperator:
    """The gradient of ``_taking``: (N, C, *sizes) of the values that were taken."""
    return TensorOperator(
        f"{name}_backward",
        lambda values, where, sizes: executor.put_back(values, where, sizes),
        {
            "values": lambda grad, where: _taking(name)(grad, where),
            "where": None,  # type: ignore[dict-item]
        },
        grad_fn=f"{name}BackwardBackward0",
        batch=folded,
        tangent=multilinear,
    )


#: Where the largest elements of windows, and of parts, are.
_largest_of_windows = TensorOperator(
    "max_pool",
    lambda input, counts, windows: _largest(input, counts, windows),
    {},
    batch=folded,
    portable=True,
)


def taken(name: str, input: Tensor, indices: Tensor, batched: bool, return_indices: bool) -> Any:
    """The elements of (N, C, ...) at flat indices, and those, without a batch if there was none."""
    made = _taking(name)(input, indices)
    if not batched:
        made, indices = made.squeeze(0), indices.squeeze(0)
    return (made, indices) if return_indices else made


def _max_pool_of(rank: int, shapes: str) -> Callable[..., Any]:
    """``max_pool1d`` and its kin."""

    def function(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Sizes = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        windows = _windows(rank, kernel_size, stride, padding, dilation)
        if min(windows.dilation) <= 0:
            raise RuntimeError(
                f"max_pool{rank}d(): dilation must be greater than zero, but got {dilation}"
            )
        name = f"max_pool{rank}d"
        inputs = batched(rank, input, name)
        require_elements(name, inputs, 1)
        if rank == 1 and not return_indices:
            refuse_kinds(name, input, "iu")
        where = _largest_of_windows(inputs, _counts(windows, inputs, ceil_mode), windows)
        empty = _windows_of_padding(windows, inputs._array.shape[2:], where._array.shape[2:])
        if empty is not None:
            places, flat = [new_tensor(constant_beside(where._array, x)) for x in empty]
            shown = choose(places, flat, where)
        name = f"MaxPool{rank}DWithIndices"
        made = taken(name, inputs, where, inputs is input, return_indices)
        if empty is None:
            return made
        kind = inputs.dtype
        least = -math.inf if kind.is_floating_point else iinfo(kind).min
        if not return_indices:
            return made.masked_fill(places, least)
        return made[0].masked_fill(places, least), shown if inputs is input else shown.squeeze(0)

    return named(
        function,
        f"max_pool{rank}d",
        f"""The largest element of every window of {shapes}.

        Options are numbers, or have an entry for each spatial dimension. ``stride`` is the size of
        the window unless given; ``ceil_mode`` lets the last window reach beyond the end. With
        ``return_indices`` also where in the flattened spatial dimensions the elements were.

        Raises:
            RuntimeError: for options that do not fit, or if there is no window.
        """,
    )


max_pool1d = _max_pool_of(1, LINES)
max_pool2d = _max_pool_of(2, IMAGES)
max_pool3d = autocasts("float32")(_max_pool_of(3, VOLUMES))

# --- means ----------------------------------------------------------------------------------------


class _Geometry(NamedTuple):
    windows: Windows
    sizes: tuple[int, ...]
    counts: tuple[int, ...]

    def shown(self) -> dict[str, Any]:
        """How nodes show it: under the names of the arguments of poolings."""
        kernel, stride, padding, _ = self.windows
        return {"kernel_size": kernel, "stride": stride, "padding": padding}


_spread: TensorOperator

_window_sums = TensorOperator(
    "avg_pool",
    lambda input, geometry: _sums_of_windows(input, geometry),
    {"input": lambda grad, geometry: _spread(grad, geometry)},
    batch=folded,
    tangent=multilinear,
    portable=True,
)
_spread = TensorOperator(
    "avg_pool_backward",
    lambda input, geometry: _to_all_positions(input, geometry),
    {"input": lambda grad, geometry: _window_sums(grad, geometry)},
    batch=folded,
    tangent=multilinear,
    portable=True,
)


def _sums_of_windows(input: Array, geometry: _Geometry) -> Array:
    windows = geometry.windows
    if foreign(input) is not None or executor.has_sums(input):
        return executor.window_sums(input, geometry.counts, windows)
    return windows.sums(input, geometry.counts)


def _to_all_positions(sums: Array, geometry: _Geometry) -> Array:
    windows = geometry.windows
    if foreign(sums) is not None or executor.has_sums(sums):
        return executor.spread_sums(sums, geometry.sizes, windows)
    ones = (1,) * len(windows.kernel)
    column = sums.reshape(*sums.shape[:2], *ones, *geometry.counts)
    shape = (*sums.shape[:2], *windows.kernel, *geometry.counts)
    return windows.scatter(np.broadcast_to(column, shape), geometry.sizes)


@functools.lru_cache(maxsize=256)
def _elements(geometry: _Geometry, with_padding: bool) -> int | Array:
    """How many elements of each window count: all that are not beyond the padding.

    A number, if it is the same for all windows.
    """
    total = np.ones((), np.int64)
    windows, sizes, counts = geometry
    for k, s, p, size, count in zip(
        windows.kernel, windows.stride, windows.padding, sizes, counts, strict=True
    ):
        start = np.arange(count) * s - p
        end = np.minimum(start + k, size + p)
        if not with_padding:
            start, end = np.maximum(start, 0), np.minimum(end, size)
        total = np.multiply.outer(total, end - start)
    total.flags.writeable = False
    first = int(total.flat[0])
    return first if (total == first).all() else total


def _avg_pool(
    rank: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    windows = _windows(rank, kernel_size, stride, padding)
    inputs = batched(rank, input, f"avg_pool{rank}d")
    require_elements(f"avg_pool{rank}d", inputs, 1)
    sizes = tuple(inputs._array.shape[2:])
    # Of three dimensions torch wants a whole window, however much padding there is.
    if rank == 3 and any(map(operator.lt, sizes, windows.kernel)):
        raise RuntimeError(
            f"avg_pool3d(): input of size {list(sizes)} is smaller than the kernel of size "
            f"{list(windows.kernel)}"
        )
    geometry = _Geometry(windows, sizes, _counts(windows, inputs, ceil_mode))
    sums = _window_sums(inputs, geometry)
    # Means of integers are integers, as of C.
    mode = "trunc" if sums._array.dtype.kind in "iu" else None
    if divisor_override is not None:
        made = sums.div(divisor_override, rounding_mode=mode)
    else:
        elements = _elements(geometry, count_include_pad)
        if isinstance(elements, int):
            made = sums.div(elements, rounding_mode=mode)
        else:
            divisors = constant_beside(inputs._array, converted(elements, inputs._array.dtype))
            made = sums.div(new_tensor(divisors), rounding_mode=mode)
    return made if inputs is input else made.squeeze(0)


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of every window of (N, C, L) or (C, L).

    ``stride`` is the size of the window unless given; ``ceil_mode`` lets the last window reach
    beyond the end, and ``count_include_pad`` says whether zeros of the padding count.
    """
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def _avg_pool_of(rank: int, shapes: str) -> Callable[..., Tensor]:
    """``avg_pool2d`` and its kin."""

    def function(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        return _avg_pool(
            rank, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
            divisor_override,
        )  # fmt: skip

    return named(
        function,
        f"avg_pool{rank}d",
        f"""The mean of every window of {shapes}, with the options of ``avg_pool1d``.

        ``divisor_override`` takes the place of the count of elements.
        """,
    )


avg_pool2d = _avg_pool_of(2, IMAGES)
avg_pool3d = autocasts("float32")(_avg_pool_of(3, VOLUMES))


def _lp_pool_of(rank: int, shapes: str) -> Callable[..., Tensor]:
    """``lp_pool1d`` and its kin."""

    def function(
        input: Tensor,
        norm_type: float | Tensor,
        kernel_size: Any,
        stride: Any = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        windows = _windows(rank, kernel_size, stride, 0)
        mean = _avg_pool(rank, input.pow(norm_type), kernel_size, stride, 0, ceil_mode, True)
        total = float(np.prod(windows.kernel))
        return (mean.sign() * relu(mean.abs()) * total).pow(1.0 / norm_type)

    return named(
        function,
        f"lp_pool{rank}d",
        f"""The root of the sum of powers ``norm_type`` of every window of {shapes}.""",
    )


lp_pool1d = _lp_pool_of(1, LINES)
lp_pool2d = _lp_pool_of(2, IMAGES)
lp_pool3d = _lp_pool_of(3, VOLUMES)
