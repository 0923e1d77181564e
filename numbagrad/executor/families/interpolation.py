"""Resampling of ndarrays by the nearest element or by weights, samples of a grid, and adjoints.

Called by ``nn/functional/resampling.py`` and ``nn/functional/grid.py``; runs what
``kernels/interpolation/`` holds.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...backend import foreign
from ...dtype import name_of
from ...kernels.interpolation.layout import Geometry
from .. import capture
from ..hand_written import HandWrittenKernel
from ..memory.arrays import constant, in_c_order, new_array
from ..plan.forms import with_sizes
from ..plan.spaces import around

Array = np.ndarray[Any, Any]

_GRAIN = 32768  # elements that are worth a thread of their own


#: Channels of which the gradient is a thread's own: more take the places of a grid less often.
_CHANNELS_TOGETHER = 16


@functools.cache
def _kernel(name: str, module: str = "nearest") -> HandWrittenKernel:
    return HandWrittenKernel(f"kernels.interpolation.{module}", name)


def has_kernels(array: Array) -> bool:
    """Whether elements of an array are repeated and summed here: floats of any precision."""
    if foreign(array) is not None or not array.size or not array.dtype.isnative:
        return False
    return name_of(array.dtype) in ("float16", "bfloat16", "float32", "float64")


def _words(sizes: Sequence[int], counts: Sequence[int], tables: Sequence[Array]) -> Array:
    made = np.concatenate([sizes, counts, *tables]).astype(np.int64)
    made.flags.writeable = False
    return made


def positions_words(sizes: Sequence[int], positions: Sequence[Array]) -> Array:
    """Words of ``repeated``: of up to three dimensions the size, and the place of each element."""
    missing = 3 - len(sizes)
    tables = [np.zeros(1, np.int64)] * missing + [*positions]
    return _words([1] * missing + [*sizes], [table.size for table in tables], tables)


def ends_words(sizes: Sequence[int], positions: Sequence[Array]) -> Array:
    """Words of ``gathered_back``: where the range of places of each element begins and ends."""
    missing = 3 - len(sizes)
    counts = [1] * missing + [table.size for table in positions]
    tables = [np.arange(2)] * missing
    tables += [np.searchsorted(t, np.arange(n + 1)) for n, t in zip(sizes, positions, strict=True)]
    return _words([1] * missing + [*sizes], counts, tables)


def repeated(array: Array, counts: Sequence[int], words: Array) -> Array:
    """(N, C, *counts): each element is that of (N, C, ...) at its place."""
    made = new_array((*array.shape[:2], *counts), array.dtype)
    lines = made.size // counts[-1]
    kernel = _kernel(f"repeat_{array.itemsize}")
    kernel(lines, max(_GRAIN // counts[-1], 1), made, in_c_order(array), constant(words))
    return made


def gathered_back(array: Array, sizes: Sequence[int], words: Array) -> Array:
    """The adjoint of ``repeated``: (N, C, *sizes), sums of (N, C, *counts)."""
    made = new_array((*array.shape[:2], *sizes), array.dtype)
    lines = made.size // sizes[-1]
    grain = max(_GRAIN // math.prod(array.shape[2:]) * math.prod(sizes[:-1]), 1)
    kernel = _kernel(f"gather_back_{name_of(array.dtype)}")
    kernel(lines, grain, made, in_c_order(array), constant(words))
    return made


# --- weighted sums of neighbours ------------------------------------------------------------------


class Bands(NamedTuple):
    """A matrix whose rows have weights for a few neighbours each, as ``weigh`` reads it."""

    weights: Array
    spans: Array
    pairs: bool


def bands_of(matrix: Array) -> Bands:
    """The bands of a matrix (count, size); where two weights are the most, each row has two.

    A row of one element has it twice then, at half of its weight.
    """
    size = matrix.shape[1]
    weighs = matrix != 0
    some = weighs.any(1)
    first = np.where(some, weighs.argmax(1), 0)
    end = np.where(some, size - weighs[:, ::-1].argmax(1), 0)
    taps = max(int((end - first).max()), 1)
    columns = first[:, None] + np.arange(taps)
    weights = np.take_along_axis(matrix, np.minimum(columns, size - 1), 1)
    weights[columns >= end[:, None]] = 0
    pairs = taps == 2 and bool(some.all())
    if pairs:
        end -= 1
        weights[first == end] = weights[first == end, :1] / 2
    spans = np.stack([first, end], 1)
    weights.flags.writeable = spans.flags.writeable = False
    return Bands(weights, spans, pairs)


def weighted(array: Array, dim: int, bands: Bands) -> Array:
    """The matrix of the bands times every line of a dimension: float32 and float64."""
    where = foreign(array)
    count, taps = bands.weights.shape
    made = new_array(with_sizes(array.shape, dim, count), array.dtype, where)
    outer, size, inner = around(array.shape, dim)
    kernel = _kernel(f"weigh_{name_of(array.dtype)}", "weighted")
    grain = max(_GRAIN // max(inner * taps, 1), 1)
    weights, spans = constant(bands.weights, where), constant(bands.spans, where)
    kernel(
        outer * count, grain, made, in_c_order(array), weights, spans, size, count, inner, taps,
        int(bands.pairs),
    )  # fmt: skip
    return made


# --- samples of a grid ----------------------------------------------------------------------------


def samples_here(input: Array, grid: Array) -> bool:
    """Whether there are kernels of samples: float32 and float64 of both, and an element at all."""
    if foreign(input) is not None or foreign(grid) is not None or not (input.size and grid.size):
        return False
    known = input.dtype.isnative and grid.dtype.isnative and input.dtype == grid.dtype
    return known and name_of(input.dtype) in ("float32", "float64")


@functools.lru_cache(maxsize=256)
def _geometry(
    shape: tuple[int, ...], samples: int, mode: int, padding: int, align_corners: bool
) -> Array:
    """The words that ``kernels/interpolation/sampling.py`` reads, for an input of a shape."""
    made = Geometry()
    made.rank, made.channels, made.samples = len(shape) - 2, shape[1], samples
    made.depth, made.height, made.width = (1,) * (5 - len(shape)) + shape[2:]
    made.nearest, made.padding, made.corners = mode == 1, padding, align_corners
    made.block = _CHANNELS_TOGETHER
    made.words.flags.writeable = False
    return made.words


def _sampling(
    name: str, shape: tuple[int, ...], grid: Array, options: Sequence[int]
) -> tuple[HandWrittenKernel, Array]:
    geometry = _geometry(shape, math.prod(grid.shape[1:-1]), *options)
    if capture.active is not None:
        geometry = constant(geometry.copy())
    return _kernel(f"{name}_{name_of(grid.dtype)}", "sampling"), geometry


def sampled(input: Array, grid: Array, options: Sequence[int]) -> Array:
    """The elements of (N, C, ...) at the places of a grid: (N, C, *sizes of the grid).

    ``options`` are the mode (0 linear, 1 the nearest element), the padding (0 zeros, 1 border,
    2 reflection), and whether corners are aligned.
    """
    kernel, geometry = _sampling("sample", input.shape, grid, options)
    made = new_array((*input.shape[:2], *grid.shape[1:-1]), input.dtype)
    units = grid.size // grid.shape[-1]
    grain = max(_GRAIN // (8 * input.shape[1]), 1)
    kernel(units, grain, made, in_c_order(input), in_c_order(grid), geometry)
    return made


def sampled_back(grad: Array, shape: tuple[int, ...], grid: Array, options: Sequence[int]) -> Array:
    """The gradient of ``sampled`` by an input of a shape."""
    kernel, geometry = _sampling("spread", shape, grid, options)
    made = new_array(shape, grad.dtype)
    units = shape[0] * -(-shape[1] // _CHANNELS_TOGETHER)
    grain = max(_GRAIN // (math.prod(shape[2:]) + math.prod(grid.shape[1:-1])), 1)
    kernel(units, grain, made, in_c_order(grad), in_c_order(grid), geometry)
    return made


def grid_back(grad: Array, input: Array, grid: Array, options: Sequence[int]) -> Array:
    """The gradient of ``sampled`` by the grid."""
    kernel, geometry = _sampling("follow_grid", input.shape, grid, options)
    made = new_array(grid.shape, grid.dtype)
    units = grid.size // grid.shape[-1]
    grain = max(_GRAIN // (8 * input.shape[1]), 1)
    kernel(units, grain, made, in_c_order(grad), in_c_order(input), in_c_order(grid), geometry)
    return made
