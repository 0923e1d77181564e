"""Fourier transforms over any dimensions: from complex and real numbers, and back to real ones.

They are computed in the precision of the input. The three operators here are the adjoints of one
another, so there are gradients of every order. ``numbagrad.fft`` has torch's names for them.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...dtype import get_default_dtype, scalar_type_name
from ...executor.capture import outside_programs
from ...executor.families import spectra
from ...executor.memory.arrays import constant_beside, new_array
from ...executor.plan.forms import with_sizes
from ...tensor import Tensor, new_tensor
from ...transforms.batching import after_samples, stacked
from ...transforms.tangents import multilinear
from ..arguments.shapes import dimension
from ..complex.complex_numbers import conj, real
from ..conversion.dtypes import cast
from ..operators.tensor_operator import TensorOperator
from ..views.join import cat

__all__: list[str] = []

Array = np.ndarray[Any, Any]
Dims = tuple[int, ...]

#: Elements of lines that are transformed together: their results and NumPy's memory fit a cache.
_IN_CACHE = 1 << 15


# --- operators ------------------------------------------------------------------------------------


_outside_programs = outside_programs("arithmetic of complex numbers")


def _scaled(array: Array, scale: float) -> Array:
    if scale != 1:
        array *= array.real.dtype.type(scale)
    return array


@_outside_programs
def _transformed(array: Array, dims: Dims, scale: float, forward: bool) -> Array:
    """The sums over ``dims`` of elements times ``exp(-+ 2 pi i k n / N)``, times ``scale``."""
    kind = array.dtype if array.dtype.kind == "c" else np.result_type(array.dtype, np.complex64)
    if not dims or array.size == 0:
        return array.astype(kind)
    if not isinstance(array, np.ndarray):  # of another library
        if forward:
            return _scaled(np.fft.fftn(array, axes=dims), scale)
        return _scaled(np.fft.ifftn(array, axes=dims, norm="forward"), scale)
    return _along_all(array, dims, new_array(array.shape, kind), scale, forward)


def _along_all(array: Array, dims: Dims, made: Array, scale: float, forward: bool) -> Array:
    """Write the transforms over dimensions to ``made``, which may be ``array``."""
    for dim in reversed(dims):
        _along(array, dim, made, scale, forward)
        array, scale = made, 1.0
    return made


def _along(array: Array, dim: int, made: Array, scale: float, forward: bool) -> None:
    """Write the transforms along one dimension."""
    if array.dtype.kind == "f" and spectra.has_kernels(array, dim, array.shape[dim], halved=True):
        spectra.transform("real_lines", array, dim, made, scale, not forward)
    elif spectra.has_kernels(made, dim, made.shape[dim]):
        if array.dtype != made.dtype or not array.flags.c_contiguous:
            made[...] = array
            array = made
        spectra.transform("complex_lines", array, dim, made, scale, not forward)
    else:
        _along_by_numpy(array, dim, forward, made)
        _scaled(made, scale)


def _along_by_numpy(array: Array, dim: int, forward: bool, made: Array) -> None:
    """The same, for as many lines at a time as stay in a cache."""
    transform = np.fft.fft if forward else functools.partial(np.fft.ifft, norm="forward")
    across = 0 if dim else array.ndim - 1
    count = array.shape[across] if array.ndim > 1 else 1
    step = max(_IN_CACHE * count // array.size, 1)
    for first in range(0, count, step):
        part = (slice(None),) * across + (slice(first, first + step),)
        part = part if step < count else (...,)
        transform(array[part], axis=dim, out=made[part])


@_outside_programs
def _half(array: Array, dims: Dims, scale: float) -> Array:
    """The forward transform of real numbers, up to the middle of the last of ``dims``."""
    last = dims[-1]
    size = array.shape[last]
    if not spectra.has_kernels(array, last, size, halved=True):
        return _scaled(np.fft.rfftn(array, axes=dims), scale)
    shape = with_sizes(array.shape, last, size // 2 + 1)
    made = new_array(shape, np.result_type(array.dtype, np.complex64))
    spectra.transform("real_lines", array, last, made, scale)
    return _along_all(made, dims[:-1], made, 1.0, True)


@_outside_programs
def _whole(array: Array, dims: Dims, size: int, scale: float) -> Array:
    """The backward transform to ``size`` real numbers, given up to the middle of the last dim."""
    last = dims[-1]
    if not spectra.has_kernels(array, last, size, halved=True):
        sizes = [*[array.shape[dim] for dim in dims[:-1]], size]
        return _scaled(np.fft.irfftn(array, sizes, dims, norm="forward"), scale)
    if len(dims) > 1:
        array = _along_all(array, dims[:-1], new_array(array.shape, array.dtype), 1.0, False)
    made = new_array(with_sizes(array.shape, last, size), array.real.dtype)
    spectra.transform("half_lines", array, last, made, scale, turned=True)
    return made


def _resized(input: Tensor, dim: int, size: int) -> Tensor:
    """The first elements along a dimension, or with zeros behind them."""
    own = input._array.shape[dim]
    if own > size:
        return input.narrow(dim, 0, size)
    if own < size:
        shape = list(input._array.shape)
        shape[dim] = size - own
        return cat([input, input.new_zeros(shape)], dim)
    return input


def _of_half(grad: Tensor, input_shape: Any, dims: Dims, scale: float) -> Tensor:
    whole = _resized(grad, dims[-1], input_shape[dims[-1]])
    return real(_c2c(whole, dims, scale, False))


def _of_whole(grad: Tensor, dims: Dims, size: int, scale: float) -> Tensor:
    """Elements before the middle stand for two of the whole."""
    made = _r2c(grad, dims, scale)
    count = made._array.shape[dims[-1]]
    weights = np.full(count, 2, grad._array.dtype)
    weights[0] = 1
    if size % 2 == 0:
        weights[-1] = 1
    shape = [1] * made._array.ndim
    shape[dims[-1]] = count
    return made * new_tensor(constant_beside(grad._array, weights.reshape(shape)))


_c2c = TensorOperator(
    "fft_c2c",
    lambda input, dims, scale, forward: _transformed(input, dims, scale, forward),
    {"input": lambda grad, dims, scale, forward: _c2c(grad, dims, scale, not forward)},
    grad_fn="FftC2CBackward0",
    batch=stacked(dims=after_samples),
    tangent=multilinear,
)
_r2c = TensorOperator(
    "fft_r2c",
    lambda input, dims, scale: _half(input, dims, scale),
    {
        "input": lambda grad, input_shape, dims, scale: _of_half(grad, input_shape, dims, scale),
    },
    grad_fn="FftR2CBackward0",
    batch=stacked(dims=after_samples),
    tangent=multilinear,
)
#: The whole transform of real numbers.
_r2c_whole = TensorOperator(
    "fft_r2c",
    lambda input, dims, scale, forward: _transformed(input, dims, scale, forward),
    {"input": lambda grad, dims, scale, forward: real(_c2c(grad, dims, scale, not forward))},
    grad_fn="FftR2CBackward0",
    batch=stacked(dims=after_samples),
    tangent=multilinear,
)
_c2r = TensorOperator(
    "fft_c2r",
    lambda input, dims, size, scale: _whole(input, dims, size, scale),
    {"input": lambda grad, dims, size, scale: _of_whole(grad, dims, size, scale)},
    grad_fn="FftC2RBackward0",
    batch=stacked(dims=after_samples),
    tangent=multilinear,
)


# --- arguments ------------------------------------------------------------------------------------


def _floats(input: Tensor) -> Tensor:
    """``input`` in the default dtype if it has no float dtype."""
    kind = input._array.dtype
    if kind == np.float16:
        raise RuntimeError(f"Unsupported dtype {scalar_type_name(input.dtype)}")
    return input.to(get_default_dtype()) if kind.kind in "biu" else input


def _scale(norm: str | None, count: int, forward: bool) -> float:
    """The factor of a transform of ``count`` elements."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    if norm == "ortho":
        return 1 / math.sqrt(count)
    return 1 / count if forward == (norm == "forward") else 1.0


def positions(input: Tensor, dim: Any, what: str = "") -> Dims:
    """Dimensions counted from the front."""
    rank = input._array.ndim
    if rank == 0 and dim:
        raise IndexError(f"Dimension specified as {dim[0]} but tensor has no dimensions")
    found = tuple([dimension(rank, each) for each in dim])
    if len(set(found)) < len(found):
        raise RuntimeError("FFT dims must be unique")
    return found


def sizes_and_dims(input: Tensor, s: Any, dim: Any) -> tuple[list[int], Dims]:
    """The sizes to transform, and the dimensions: all, or as many last ones as there are sizes."""
    rank = input._array.ndim
    given = None if s is None else [s] if isinstance(s, int) else list(s)
    if dim is None:
        if given is not None and len(given) > rank:
            raise RuntimeError(
                f"Got shape with {len(given)} values but input tensor only has {rank} dimensions."
            )
        dim = range(rank) if given is None else range(-len(given), 0)
    dims = positions(input, [dim] if isinstance(dim, int) else list(dim))
    if given is None:
        given = [-1] * len(dims)
    if len(given) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    sizes = [
        input._array.shape[d] if size == -1 else size for size, d in zip(given, dims, strict=True)
    ]
    return sizes, dims


def _check_sizes(sizes: list[int]) -> None:
    for size in sizes:
        if size < 1:
            raise RuntimeError(f"Invalid number of data points ({size}) specified")


def to_complex(
    input: Tensor, sizes: list[int], dims: Dims, norm: str | None, forward: bool
) -> Tensor:
    """The whole transform, of real or complex numbers."""
    _check_sizes(sizes)
    input = _floats(input)
    for dim, size in zip(dims, sizes, strict=True):
        input = _resized(input, dim, size)
    scale = _scale(norm, math.prod(sizes), forward)
    operator = _c2c if input._array.dtype.kind == "c" else _r2c_whole
    made: Tensor = operator(input, dims, scale, forward)
    return made


def require_real(name: str, input: Tensor) -> None:
    """Raise for complex numbers where a transform takes real ones."""
    if input._array.dtype.kind == "c":
        wanted = "real-valued" if name.endswith(("n", "2")) else "real"
        raise RuntimeError(
            f"{name} expects a {wanted} input tensor, but got {scalar_type_name(input.dtype)}"
        )


def to_half(
    name: str, input: Tensor, sizes: list[int], dims: Dims, norm: str | None, forward: bool
) -> Tensor:
    """The transform of real numbers, up to the middle of the last dimension."""
    require_real(name, input)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    _check_sizes(sizes)
    input = _floats(input)
    for dim, size in zip(dims, sizes, strict=True):
        input = _resized(input, dim, size)
    made = _r2c(input, dims, _scale(norm, math.prod(sizes), forward))
    if not forward:
        made = conj(made)
        if name.endswith(("n", "2")):  # of which torch has no view
            made = made.resolve_conj()
    return made


def to_real(
    name: str, input: Tensor, sizes: list[int], dims: Dims, norm: str | None, forward: bool
) -> Tensor:
    """The transform to real numbers, given up to the middle of the last dimension."""
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    _check_sizes(sizes)
    input = _floats(input)
    if input._array.dtype.kind != "c":
        kind = np.result_type(input._array.dtype, np.complex64)
        input = cast(input, kind)
    for dim, size in zip(dims[:-1], sizes[:-1], strict=True):
        input = _resized(input, dim, size)
    input = _resized(input, dims[-1], sizes[-1] // 2 + 1)
    scale = _scale(norm, math.prod(sizes), forward)
    return _c2r(conj(input) if forward else input, dims, sizes[-1], scale)
