"""Sampling of images and volumes at the places of a grid, and grids of affine maps.

Written in differentiable operators, so gradients, tangents and batches of every order follow. Where
a place lies between elements is arithmetic on the grid; which elements those are carries no
gradient. Values and first gradients of all modes but the cubic one have kernels
(``executor/families/interpolation.py``).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dtype import scalar_type_name
from ...executor.families import interpolation as executor
from ...executor.memory.arrays import constant_beside
from ...half_precision import converted
from ...ops.creation.filled import zeros_like
from ...ops.operators.kernel_operator import KernelOperator
from ...ops.pointwise.functions import floor, fmod
from ...ops.pointwise.functions import round as nearest_number
from ...ops.pointwise.selection import where
from ...tensor import Tensor, new_tensor
from ...transforms.levels import is_transformed
from ...type_names import type_name
from ...warn_once import warn_caller

__all__ = ["affine_grid", "grid_sample"]

#: In the order of torch's numbers for them.
_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")
#: The coefficient of Keys (1981): the slope at the neighbours is this times a difference.
_CUBIC = -0.75

_CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
    "Please specify align_corners=True if the old behavior is desired. See the documentation of "
    "grid_sample for details."
)


# --- places ---------------------------------------------------------------------------------------


def _inside(position: Tensor, size: int) -> Tensor:
    """A place, or the nearest one from 0 to the last; on the border it has no slope any more."""
    last = float(size - 1)
    return where(position > 0.0, where(position < last, position, last), 0.0)


def _mirrored(position: Tensor, low: float, span: float) -> Tensor:
    """A place reflected at ``low`` and at ``low + span`` until it is between them."""
    if span == 0:
        return position * 0.0
    away = position - low
    away = where(away < 0.0, -away, away)
    beyond = fmod(away, span)
    turns = floor(away.detach() / span)
    return where(fmod(turns, 2.0) == 0.0, beyond + low, span - beyond + low)


def _padded(position: Tensor, size: int, padding: str, align_corners: bool) -> Tensor:
    """Where a place beyond the border is looked up."""
    if padding == "reflection":
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        position = _mirrored(position, low, span)
    return position if padding == "zeros" else _inside(position, size)


def _position(coordinate: Tensor, size: int, align_corners: bool) -> Tensor:
    """Coordinates from -1 to 1 as places from 0 to the last, or from edge to edge."""
    if align_corners:
        return (coordinate + 1.0) * ((size - 1) / 2)
    return ((coordinate + 1.0) * size - 1.0) / 2


class _Taps:
    """Along one dimension, the elements that count for every sample, and how much."""

    def __init__(self, positions: list[Tensor], weights: list[Tensor] | None):
        #: Whole numbers as floats: places of elements.
        self.positions = positions
        self.weights = weights


def _nearest_tap(position: Tensor) -> _Taps:
    return _Taps([nearest_number(position.detach())], None)


def _linear_taps(position: Tensor) -> _Taps:
    before = floor(position.detach())
    share = position - before
    return _Taps([before, before + 1.0], [1.0 - share, share])


def _cubic_taps(position: Tensor, size: int, padding: str, align_corners: bool) -> _Taps:
    before = floor(position.detach())
    share = position - before

    def near(x: Tensor) -> Tensor:
        return ((_CUBIC + 2) * x - (_CUBIC + 3)) * x * x + 1.0

    def far(x: Tensor) -> Tensor:
        return ((_CUBIC * x - 5 * _CUBIC) * x + 8 * _CUBIC) * x - 4 * _CUBIC

    positions = [
        _padded(before + offset, size, padding, align_corners) for offset in (-1.0, 0.0, 1.0, 2.0)
    ]
    return _Taps(positions, [far(share + 1.0), near(share), near(1.0 - share), far(2.0 - share)])


def _taps(coordinate: Tensor, size: int, mode: str, padding: str, align_corners: bool) -> _Taps:
    position = _position(coordinate, size, align_corners)
    if mode == "bicubic":
        return _cubic_taps(position, size, padding, align_corners)
    position = _padded(position, size, padding, align_corners)
    return _nearest_tap(position) if mode == "nearest" else _linear_taps(position)


# --- elements -------------------------------------------------------------------------------------


def _sum_of_taps(input: Tensor, taps: Sequence[_Taps], shape: tuple[int, ...]) -> Tensor:
    """The weighted elements of (N, C, sizes), summed over all combinations of taps."""
    batch, channels, *sizes = input._array.shape
    samples = int(np.prod(shape))
    flat = input.flatten(2)
    total: Tensor | None = None
    for combination in itertools.product(*[range(len(tap.positions)) for tap in taps]):
        index: Any = None
        is_inside: Any = None
        weight: Any = None
        for tap, number, size in zip(taps, combination, sizes, strict=True):
            position = tap.positions[number]
            counts = (position >= 0.0) & (position <= size - 1.0)
            is_inside = counts if is_inside is None else is_inside & counts
            step = where(counts, position, 0.0).long()
            index = step if index is None else index * size + step
            if tap.weights is not None:
                share = tap.weights[number]
                weight = share if weight is None else weight * share
        if weight is None:
            weight = is_inside.to(input.dtype)
        else:
            weight = where(is_inside, weight, 0.0)
        index = index.reshape(batch, 1, samples).expand(batch, channels, samples)
        term = flat.gather(2, index) * weight.reshape(batch, 1, samples)
        total = term if total is None else total + term
    assert total is not None
    return total.reshape(batch, channels, *shape)


def _check(input: Tensor, grid: Tensor, mode: str) -> None:
    """Raise torch's errors."""
    rank = input._array.ndim - 2
    shapes = (
        f"but got input with sizes {list(input._array.shape)} and grid with sizes "
        f"{list(grid._array.shape)}"
    )
    for name, value in (("input", input), ("grid", grid)):
        if not value._array.ndim:
            raise IndexError(f"grid_sampler(): argument '{name}' has no dimensions")
    if input._array.shape[:1] != grid._array.shape[:1]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, {shapes}"
        )
    if grid._array.shape[-1] != rank:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {rank} in last dimension, but got grid "
            f"with sizes {list(grid._array.shape)}"
        )
    if rank not in (2, 3) or grid._array.ndim != rank + 2:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, "
            f"{shapes}"
        )
    for dim, size in enumerate(input._array.shape[2:], 2):
        if size == 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {list(input._array.shape)} with dimension {dim} being empty"
            )
    if mode == "bicubic" and rank == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if not input.is_floating_point():
        raise NotImplementedError(
            f"\"grid_sampler\" not implemented for '{scalar_type_name(input.dtype)}'"
        )
    if input.dtype is not grid.dtype:
        names = scalar_type_name(input.dtype), scalar_type_name(grid.dtype)
        raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")


def definition(input: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool) -> Tensor:
    """``grid_sample`` in differentiable operators, with torch's numbers for its modes."""
    kind = _MODES[mode], _PADDINGS[padding], align_corners
    taps = [
        _taps(grid.select(-1, axis), size, *kind)
        for axis, size in enumerate(reversed(input._array.shape[2:]))
    ]
    made = _sum_of_taps(input, taps[::-1], grid._array.shape[1:-1])
    if kind[0] == "nearest" and (grid._requires_grad or is_transformed(grid)):
        # A gradient of zero, whatever the places are.
        never = new_tensor(constant_beside(made._array, np.zeros((), bool)))
        made = made + where(never, grid.sum(), 0.0)
    return made


# --- kernels --------------------------------------------------------------------------------------


def _takes(input: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> bool:
    return _MODES[mode] != "bicubic" and executor.samples_here(input, grid)


def _forward(input: Any, grid: Any, *options: Any) -> tuple[Any, ...]:
    return (executor.sampled(input, grid, options),)


def _gradients(
    grads: Sequence[Tensor | None], arguments: Sequence[Any], results: Sequence[Any],
    kept: Sequence[Any], needed: Sequence[bool],
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """The gradients of the input and of the grid."""
    (grad,) = grads
    assert grad is not None
    (input, grid), options = [x._array for x in arguments[:2]], arguments[2:]
    of_input = of_grid = None
    if needed[0]:
        of_input = new_tensor(executor.sampled_back(grad._array, input.shape, grid, options))
    if needed[1] and _MODES[options[0]] == "nearest":
        of_grid = zeros_like(arguments[1])
    elif needed[1]:
        of_grid = new_tensor(executor.grid_back(grad._array, input, grid, options))
    return of_input, of_grid


#: The operators by their number of spatial dimensions.
KERNELS = {
    rank: KernelOperator(
        f"grid_sampler_{rank}d", definition, _takes, _forward, _gradients,
        f"GridSampler{rank}DBackward0",
    )
    for rank in (2, 3)
}  # fmt: skip


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: Any = "bilinear",
    padding_mode: Any = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The elements of images or volumes at the places that a grid names.

    Args:
        input: (N, C, H, W) or (N, C, D, H, W).
        grid: (N, h, w, 2) or (N, d, h, w, 3): x, y (and z) of every sample, from -1 to 1.
        mode: "bilinear" (of volumes trilinear), "nearest", or "bicubic" of images.
        padding_mode: what lies beyond the border: "zeros", the "border" itself, or a "reflection".
        align_corners: whether -1 and 1 are the centres of the outermost elements, or their edges.

    Returns:
        (N, C, h, w) or (N, C, d, h, w), differentiable by ``input``, and by ``grid`` but for the
        nearest elements, where that gradient is zero.

    Raises:
        ValueError: for other modes.
        RuntimeError: for shapes and dtypes that do not fit.
    """
    if mode not in _MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in _PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        warn_caller(_CHANGED)
        align_corners = False
    _check(input, grid, mode)
    half = input._array.dtype == np.float16
    values, positions = (input.float(), grid.float()) if half else (input, grid)
    sample = KERNELS[input._array.ndim - 2]
    made: Tensor = sample(
        values, positions, _MODES.index(mode), _PADDINGS.index(padding_mode), bool(align_corners)
    )
    return made.half() if half else made


# --- affine maps ----------------------------------------------------------------------------------


def _lines(size: int, align_corners: bool) -> Any:
    """Coordinates of the elements along a dimension."""
    if size == 1:
        return np.zeros(1)
    ends = 1.0 if align_corners else (size - 1) / size
    return np.linspace(-ends, ends, size)


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """The grid that ``grid_sample`` takes for an affine map of every sample.

    Args:
        theta: the maps, (N, 2, 3) of images or (N, 3, 4) of volumes.
        size: of what will be sampled, (N, C, H, W) or (N, C, D, H, W).
        align_corners: whether -1 and 1 are the centres of the outermost elements, or their edges.

    Returns:
        (N, H, W, 2) or (N, D, H, W, 3).

    Raises:
        ValueError: for maps of another shape or dtype, and sizes that are not positive.
        NotImplementedError: for sizes of other dimensions.
    """
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    rank = len(size) - 2
    if rank not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    for position, entry in enumerate(size):
        if not hasattr(entry, "__index__"):
            raise TypeError(
                "affine_grid(): argument 'size' (position 2) must be tuple of ints, but found "
                f"element of type {type_name(entry)} at pos {position}"
            )
    size = tuple([int(entry) for entry in size])
    if theta._array.ndim != 3 or theta._array.shape[1:] != (rank, rank + 1):
        raise ValueError(
            f"Expected a batch of {rank}D affine matrices of shape Nx{rank}x{rank + 1} for size "
            f"{size}. Got {theta.size()}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if align_corners is None:
        warn_caller(_CHANGED)
        align_corners = False
    elif align_corners and 1 in size[2:]:
        warn_caller(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details."
        )
    if theta._array.shape[0] != size[0]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{size[0]}, "
            f"{rank + 1}] but got: [{theta._array.shape[0]}, {rank + 1}]."
        )
    lines = [_lines(n, align_corners) for n in size[2:]]
    along = np.meshgrid(*lines, indexing="ij")
    base = np.stack([*along[::-1], np.ones(size[2:])], -1).reshape(-1, rank + 1)
    made = new_tensor(constant_beside(theta._array, converted(base, theta._array.dtype))) @ theta.mT
    return made.reshape(size[0], *size[2:], rank)
