"""Initial values of parameters, with the numbers torch draws from the same seed.

Every function writes its tensor in place, unrecorded, and returns it.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..ops.arguments.check import check_namespace
from ..ops.creation.filled import empty_like, scalar_tensor
from ..ops.creation.filled import eye as identity_matrix
from ..ops.creation.random import randperm
from ..ops.pointwise.selection import where
from ..random import Generator
from ..tensor import Tensor, new_tensor
from ..warn_once import warn_caller

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_",
    "normal_", "ones_", "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_",
    "xavier_uniform_", "zeros_",
]  # fmt: skip

_LINEAR = (
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "sigmoid",
)  # fmt: skip


def calculate_gain(nonlinearity: Any, param: Any = None) -> float:
    """The factor by which weights before a nonlinearity are scaled.

    Raises:
        ValueError: for an unknown nonlinearity, or a slope that is not a number.
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise ValueError(f"negative_slope {slope} not a valid number")
    return math.sqrt(2.0 / (1 + slope**2))


def _fans(tensor: Tensor) -> tuple[int, int]:
    """Numbers of inputs and outputs of a layer with these weights."""
    if tensor.ndim < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    outputs, inputs, *window = tensor.shape
    size = math.prod(window)
    return inputs * size, outputs * size


_calculate_fan_in_and_fan_out = _fans


def _fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _fans(tensor)[modes.index(mode.lower())]


_calculate_correct_fan = _fan


@no_grad()
def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform numbers in [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Normal numbers."""
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """One value everywhere."""
    return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return tensor.zero_()


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(identity_matrix(*tensor.shape, dtype=tensor.dtype))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Weights of a convolution that returns its input."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    outputs = tensor.shape[0] // groups
    centre = [size // 2 for size in tensor.shape[2:]]
    tensor.zero_()
    for group in range(groups):
        for channel in range(min(outputs, tensor.shape[1])):
            position = (group * outputs + channel, channel, *centre)
            tensor[position] = 1
    return tensor


@no_grad()
def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform numbers by Glorot and Bengio (2010): variance 2 / (fan_in + fan_out)."""
    deviation = gain * math.sqrt(2.0 / float(sum(_fans(tensor))))
    bound = math.sqrt(3.0) * deviation
    return tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal numbers by Glorot and Bengio (2010)."""
    deviation = gain * math.sqrt(2.0 / float(sum(_fans(tensor))))
    return tensor.normal_(0.0, deviation, generator=generator)


def _kaiming_deviation(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    if 0 in tensor.shape:
        warn_caller("Initializing zero-element tensors is a no-op")
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))


@no_grad()
def kaiming_uniform_(
    tensor: Tensor,
    a: Any = 0,
    mode: str = "fan_in",
    nonlinearity: Any = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform numbers by He et al. (2015): variance gain² / fan."""
    deviation = _kaiming_deviation(tensor, a, mode, nonlinearity)
    if deviation is None:
        return tensor
    bound = math.sqrt(3.0) * deviation
    return tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
def kaiming_normal_(
    tensor: Tensor,
    a: Any = 0,
    mode: str = "fan_in",
    nonlinearity: Any = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal numbers by He et al. (2015)."""
    deviation = _kaiming_deviation(tensor, a, mode, nonlinearity)
    if deviation is None:
        return tensor
    return tensor.normal_(0, deviation, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal numbers in [a, b], by rejection as torch does it: from the normal distribution where
    it accepts often enough, else from the uniform one."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warn_caller(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect."
        )
    accepted = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    if accepted > 0.3:
        return _reject_normal(tensor, mean, std, a, b, generator)
    return _reject_uniform(tensor, mean, std, a, b, generator)


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _reject_normal(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any
) -> Tensor:
    low, high = [scalar_tensor(x, dtype=tensor.dtype).item() for x in (a, b)]
    tensor.normal_(mean, std, generator=generator)
    while True:
        outside = (tensor < low) | (tensor > high)
        if not outside.any():
            return tensor
        fresh = empty_like(tensor).normal_(mean, std, generator=generator)
        tensor.copy_(where(outside, fresh, tensor))


def _reject_uniform(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any
) -> Tensor:
    """Uniform candidates, accepted with the ratio of their density to the highest in [a, b]."""
    mode = max(a, min(mean, b))
    log_peak = -0.5 * ((mode - mean) / std) ** 2

    def rejected(candidates: Tensor) -> Tensor:
        log_ratio = ((candidates - mean) / std).square().mul_(-0.5).sub_(log_peak)
        return empty_like(tensor).uniform_(generator=generator).log_().gt(log_ratio)

    tensor.uniform_(a, b, generator=generator)
    pending = rejected(tensor)
    while pending.any():
        candidates = empty_like(tensor).uniform_(a, b, generator=generator)
        tensor.copy_(where(pending, candidates, tensor))
        pending = pending & rejected(candidates)
    return tensor


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """A (semi-)orthogonal matrix from the QR decomposition of normal numbers (Saxe et al.)."""
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    flat = np.empty((rows, columns), tensor._array.dtype)
    new_tensor(flat).normal_(0, 1, generator=generator)
    wide = rows < columns
    q, r = np.linalg.qr(flat.T if wide else flat)
    # The signs that make the decomposition unique, hence the matrix uniformly distributed.
    q = q * np.sign(np.diag(r))
    made = new_tensor(np.ascontiguousarray(q.T if wide else q)).reshape(tensor.shape)
    return tensor.copy_(made).mul_(gain)


@no_grad()
def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Normal numbers, a fraction of each column zero (Martens, 2010)."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    count = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[randperm(rows)[:count], column] = 0
    return tensor


check_namespace(globals(), __name__)


def _deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The name of a function without its underscore, from torch 0.3."""
    name = function.__name__.removesuffix("_")

    @functools.wraps(function)
    def old(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(
            f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    old.__name__ = old.__qualname__ = name
    return old


uniform, normal, constant = map(_deprecated, (uniform_, normal_, constant_))
eye, dirac, sparse = map(_deprecated, (eye_, dirac_, sparse_))
xavier_uniform, xavier_normal = map(_deprecated, (xavier_uniform_, xavier_normal_))
kaiming_uniform, kaiming_normal = map(_deprecated, (kaiming_uniform_, kaiming_normal_))
orthogonal = _deprecated(orthogonal_)


# Names from before the functions above ran unrecorded, by which libraries still call them.
_no_grad_uniform_, _no_grad_normal_, _no_grad_fill_ = uniform_, normal_, constant_
_no_grad_zero_, _no_grad_trunc_normal_ = zeros_, trunc_normal_
