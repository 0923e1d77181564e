"""Dropout of elements and of channels, with noise drawn as torch draws it.

Called by users and by the layers of ``nn/dropout.py``.
"""

from __future__ import annotations

import math

from ...ops.creation.filled import empty, empty_like
from ...ops.creation.random import noise
from ...ops.creation.random_writes import bernoulli_
from ...tensor import Tensor
from ...transforms.randomness import has_samples
from .checks import refuse_kinds

__all__ = [
    "alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
]  # fmt: skip


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _noise(input: Tensor, p: float, channels: bool) -> Tensor:
    """Zeros with probability ``p``, else ones; drawn in the order of the input's memory."""
    if has_samples():
        shape = _channel_shape(input) if channels else input._array.shape
        return noise(shape, input._array.dtype, 1 - p)
    if channels:
        made = empty(_channel_shape(input), dtype=input.dtype, device=input.device)
    else:
        made = empty_like(input, requires_grad=False)
    return made.zero_() if p == 1 else bernoulli_(made, 1 - p)


def _drop(input: Tensor, p: float, training: bool, inplace: bool, channels: bool) -> Tensor:
    _check_probability(p)
    if p == 0 or not training or input._array.size == 0:
        return input
    kept = _noise(input, p, channels)
    if p < 1:
        kept /= 1 - p
    return input.mul_(kept) if inplace else input * kept


def _channel_shape(input: Tensor) -> tuple[int, ...]:
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*shape[:2], *(1,) * (len(shape) - 2))


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeros with probability ``p`` in training; what remains is divided by ``1 - p``."""
    return _drop(input, p, training, inplace, channels=False)


def _drop_channels(
    input: Tensor, p: float, training: bool, inplace: bool, unbatched: int | None
) -> Tensor:
    _check_probability(p)
    if input._array.ndim != unbatched:
        return _drop(input, p, training, inplace, channels=True)
    made = _drop(input.unsqueeze_(0) if inplace else input.unsqueeze(0), p, training, inplace, True)
    return made.squeeze_(0) if inplace else made.squeeze(0)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of (N, C, L) or (C, L)."""
    if input._array.ndim not in (2, 3):
        raise RuntimeError(
            "dropout1d: Expected 2D or 3D input, lines of channels (N, C, L) or (C, L), but "
            f"received a {input._array.ndim}D input of shape {list(input._array.shape)}"
        )
    return _drop_channels(input, p, training, inplace, 2)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of (N, C, H, W)."""
    return _drop_channels(input, p, training, inplace, None)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    return _drop_channels(input, p, training, inplace, 4)


#: The limit of SELU for large negative numbers.
_SELU_SATURATION = -1.7580993408473766


def _alpha_drop(input: Tensor, p: float, training: bool, inplace: bool, channels: bool) -> Tensor:
    _check_probability(p)
    if p == 0 or not training or input._array.size == 0:
        return input
    if channels:
        refuse_kinds("feature_alpha_dropout", input, "c")
    kept = _noise(input, p, channels)
    if p == 1:
        return input.mul_(kept) if inplace else input * kept
    saturation = -_SELU_SATURATION
    scale = 1.0 / math.sqrt((saturation * saturation * p + 1) * (1 - p))
    shift = (kept - 1).mul_(saturation * scale).add_(saturation * scale * p)
    kept.mul_(scale)
    return input.mul_(kept).add_(shift) if inplace else input * kept + shift


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps mean and variance of what SELU returns (Klambauer et al.)."""
    return _alpha_drop(input, p, training, inplace, channels=False)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """``alpha_dropout`` of whole channels."""
    return _alpha_drop(input, p, training, inplace, channels=True)
