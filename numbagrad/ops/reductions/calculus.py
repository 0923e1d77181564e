"""Integrals by trapezoids and derivatives by differences, of samples along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtype import bool_, uint8
from ...executor.plan.forms import with_sizes
from ...tensor import Tensor
from ...type_names import type_name
from ..arguments.kinds import takes
from ..arguments.requirements import check_elements, is_complex_number
from ..arguments.shapes import dimension, dimensions
from ..pointwise.special_functions import floats
from ..views.join import cat

__all__ = ["cumulative_trapezoid", "gradient", "trapezoid", "trapz"]


_NUMBERS = (bool, int, float, complex, np.generic)

# --- integrals ------------------------------------------------------------------------------------


def _areas(name: str, y: Tensor, x: Tensor | None, dx: Any, dim: int) -> tuple[Tensor, int]:
    """Twice the areas of the trapezoids, and the dimension."""
    rank = y._array.ndim
    for letter, samples in (("y", y), ("x", x)):
        if samples is not None and samples._array.dtype.kind == "b":
            raise RuntimeError(
                f"{name}: received a bool input for `{letter}`, but bool is not supported"
            )
    if isinstance(dx, bool) or is_complex_number(dx):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    if rank == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = dimension(rank, dim)
    size = y._array.shape[dim]
    if x is not None and x._array.ndim == 1:
        if x._array.shape[0] != size:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = x.reshape([size if d == dim else 1 for d in range(rank)])
    elif x is not None and x._array.ndim < rank:
        x = x.reshape((1,) * (rank - x._array.ndim) + x._array.shape)
    count = max(size - 1, 0)
    sums = y.narrow(dim, size - count, count) + y.narrow(dim, 0, count)
    if x is None:
        return sums * dx, dim
    own = max(x._array.shape[dim] - 1, 0)
    return (x.narrow(dim, x._array.shape[dim] - own, own) - x.narrow(dim, 0, own)) * sums, dim


@takes("y: Tensor, x: Tensor, *, dim?: int", "y: Tensor, *, dx?: Number, dim?: int")
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integral of samples ``y`` along ``dim``, at places ``x`` or at distances ``dx`` (1).

    Raises:
        RuntimeError: if there are not as many places as samples.
    """
    shape = y._array.shape
    if 0 in shape and shape[dimension(len(shape), dim)] == 0:
        position = dimension(len(shape), dim)
        return y.new_zeros(with_sizes(shape, position))
    areas, dim = _areas("trapezoid", y, x, 1 if dx is None else dx, dim)
    made = areas.sum(dim)
    if x is None and shape[dim] == 1 and y.is_floating_point():
        made = (
            made + y.squeeze(dim) * 0
        )  # torch takes the ends from the sum: NaN of what is not finite
    return made * 0.5 if y.is_floating_point() or areas.is_floating_point() else made / 2.0


trapz = trapezoid


@takes("y: Tensor, x: Tensor, *, dim?: int", "y: Tensor, *, dx?: Number, dim?: int")
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1
) -> Tensor:
    """The integrals of samples ``y`` up to each but the first, as ``trapezoid``."""
    areas, dim = _areas("cumulative_trapezoid", y, x, 1 if dx is None else dx, dim)
    return areas.cumsum(dim) / 2.0


# --- derivatives ----------------------------------------------------------------------------------


def _dims(input: Tensor, dim: Any) -> list[int]:
    rank = input._array.ndim
    given = range(rank) if dim is None else [dim] if isinstance(dim, int) else dim
    return dimensions(rank, given)


def _by_distance(input: Tensor, dim: int, distance: Any, edge_order: int) -> Tensor:
    """Central differences inside, one-sided ones at the ends."""
    size = input._array.shape[dim]

    def at(position: int, count: int = 1) -> Tensor:
        return input.narrow(dim, position, count)

    inside = (at(2, size - 2) - at(0, size - 2)) / (2 * distance)
    if edge_order == 1:
        first, last = at(1) - at(0), at(size - 1) - at(size - 2)
    else:
        first = at(0) * -1.5 + at(1) * 2.0 - at(2) * 0.5
        last = at(size - 1) * 1.5 - at(size - 2) * 2.0 + at(size - 3) * 0.5
    return cat([first / distance, inside, last / distance], dim)


def _by_positions(input: Tensor, dim: int, positions: Tensor, edge_order: int) -> Tensor:
    """Derivatives of the parabolas through three neighbours; at the ends of lines, or of those."""
    size = input._array.shape[dim]
    shape = [1] * input._array.ndim
    shape[dim] = -1

    def at(position: int, count: int = 1) -> Tensor:
        return input.narrow(dim, position, count)

    if positions._array.shape != (size,):
        raise RuntimeError(
            f"gradient(): a place is needed for each of the {size} samples along dimension {dim}, "
            f"but spacing holds a tensor of shape {list(positions._array.shape)}"
        )
    steps = (positions.narrow(0, 1, size - 1) - positions.narrow(0, 0, size - 1)).reshape(shape)

    def step(position: int, count: int = 1) -> Tensor:
        return steps.narrow(dim, position, count)

    before, after = step(0, size - 2), step(1, size - 2)
    inside = (
        at(0, size - 2) * (-after / (before * (before + after)))
        + at(1, size - 2) * ((after - before) / (before * after))
        + at(2, size - 2) * (before / (after * (before + after)))
    )
    if edge_order == 1:
        first = (at(1) - at(0)) / step(0)
        last = (at(size - 1) - at(size - 2)) / step(size - 2)
    else:
        a, b = step(0), step(1)
        first = (
            at(0) * (-(2 * a + b) / (a * (a + b)))
            + at(1) * ((a + b) / (a * b))
            - at(2) * (a / (b * (a + b)))
        )
        a, b = step(size - 3), step(size - 2)
        last = (
            at(size - 3) * (b / (a * (a + b)))
            - at(size - 2) * ((a + b) / (a * b))
            + at(size - 1) * ((2 * b + a) / (b * (a + b)))
        )
    return cat([first, inside, last], dim)


def _check_spacing(spacing: Any) -> None:
    """Raise unless the distances are a number, several, or Tensors of places."""
    if isinstance(spacing, (list, tuple)) and any([isinstance(x, Tensor) for x in spacing]):
        check_elements("gradient", spacing, 2)
        return
    for x in spacing if isinstance(spacing, (list, tuple)) else (spacing,):
        scalar = x._array.ndim == 0 if isinstance(x, Tensor) else isinstance(x, _NUMBERS)
        if not scalar:
            raise TypeError(
                "gradient(): argument 'spacing' must be a Number, or a tuple of Numbers or Tensors,"
                f" not {type_name(x)}"
            )


def gradient(
    input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """Derivatives of samples along each of ``dim``, all dimensions unless given.

    Args:
        input: the samples; integers become floats.
        spacing: their distance, one for each dimension, or a Tensor of places for each.
        dim: a dimension or several.
        edge_order: 1 for lines at the ends, 2 for parabolas.

    Raises:
        RuntimeError: for other orders, too few samples, or as many distances as no dimensions;
            for bool and uint8.
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = _dims(input, dim)
    spacing = 1 if spacing is None else spacing
    _check_spacing(spacing)
    several = isinstance(spacing, (list, tuple))
    if several and len(spacing) != len(dims):
        what = (
            f"'self.dim() = {len(dims)}', since dim argument was not given," if dim is None
            else f"{len(dims)}, the number of dims,"
        )  # fmt: skip
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
            f"equal to {what} but got a list of length {len(spacing)}"
        )
    if any([input._array.shape[d] < edge_order + 1 for d in dims]):
        raise RuntimeError(
            "torch.gradient expected each dimension size to be at least edge_order+1"
        )
    if input.dtype in (bool_, uint8):
        raise RuntimeError(
            f"torch.gradient does not support {str(input.dtype).removeprefix('torch.')} input."
        )
    distances = list(spacing) if several else [spacing] * len(dims)
    input = input if input.is_complex() else floats("gradient", input)
    return tuple([
        _by_positions(input, d, distance, edge_order)
        if isinstance(distance, Tensor) and distance._array.ndim
        else _by_distance(input, d, distance, edge_order)
        for d, distance in zip(dims, distances, strict=True)
    ])  # fmt: skip
