"""``torch.signal.windows``: windows by name, symmetric if not told otherwise.

Each is computed at the places 0 .. M - 1; a periodic one (``sym=False``) is a symmetric one of
M + 1 places without the last.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable
from typing import Any

from ..dtype import float32, float64, get_default_dtype
from ..layout import strided
from ..ops.creation.filled import ones, zeros
from ..ops.creation.sequences import arange
from ..ops.pointwise.functions import cos, exp, sin, sqrt
from ..tensor import Tensor
from ..type_names import type_name

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
           "general_hamming", "hamming", "hann", "kaiser", "nuttall"]  # fmt: skip

#: Windows whose parameters are checked whatever their length is.
_CHECKED = ("exponential", "gaussian", "kaiser")


def _window(name: str) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """A window from a function of the places, and the number of intervals between them."""

    def decorate(compute: Callable[..., Tensor]) -> Callable[..., Tensor]:
        named = inspect.signature(compute).parameters.values()
        needed = {x.name for x in named if x.kind is x.KEYWORD_ONLY and x.default is x.empty}

        @functools.wraps(compute)
        def window(
            M: int,
            *,
            sym: bool = True,
            dtype: Any = None,
            layout: Any = None,
            device: Any = None,
            requires_grad: bool = False,
            **options: Any,
        ) -> Tensor:
            dtype = get_default_dtype() if dtype is None else dtype
            if not hasattr(type(M), "__index__"):
                raise TypeError(f"{name}(): argument 'M' must be int, not {type_name(M)}")
            if needed - options.keys():
                names = ", ".join(sorted(needed - options.keys()))
                raise TypeError(f"{name}() needs the argument {names}, which is given by name")
            if M < 0:
                raise ValueError(f"{name} requires non-negative window length, got M={M}")
            if layout not in (None, strided):
                raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
            if sym and options.get("center") is not None:
                raise ValueError("Center must be None for symmetric windows")
            if dtype not in (float32, float64):
                raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
            if name in _CHECKED or M > 1:
                intervals = (M if not sym and M > 1 else M - 1) or 1
                made = compute(arange(0, M, dtype=dtype), intervals, **options)
            else:
                made = ones(int(M), dtype=dtype)
            if device is not None:
                made = made.to(device)
            return made.requires_grad_() if requires_grad else made

        return window

    return decorate


@_window("exponential")
def exponential(k: Tensor, n: int, *, center: float | None = None, tau: float = 1.0) -> Tensor:
    """exp(-|k - center| / tau)."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    middle = (n if k.numel() > 1 else 0) / 2 if center is None else center
    return exp(-(k - middle).abs() / tau)


@_window("cosine")
def cosine(k: Tensor, n: int) -> Tensor:
    """sin(pi (k + 1/2) / M)."""
    return sin((k + 0.5) * (math.pi / (n + 1)))


@_window("gaussian")
def gaussian(k: Tensor, n: int, *, std: float = 1.0) -> Tensor:
    """exp(-((k - n/2) / std)**2 / 2)."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    middle = (n if k.numel() > 1 else 0) / 2
    return exp(-(((k - middle) / (std * math.sqrt(2))) ** 2))


@_window("kaiser")
def kaiser(k: Tensor, n: int, *, beta: float = 12.0) -> Tensor:
    """I0(beta sqrt(1 - (2k/n - 1)**2)) / I0(beta)."""
    from ..special import i0

    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if k.numel() == 1:
        return ones(1, dtype=k.dtype)
    x = k * (2 / n) - 1
    top = zeros((), dtype=k.dtype) + beta
    return i0(beta * sqrt((1 - x * x).clamp(min=0))) / i0(top)


@_window("general_cosine")
def general_cosine(k: Tensor, n: int, *, a: Iterable[float]) -> Tensor:
    """The sum of (-1)**i a[i] cos(2 pi i k / n)."""
    coefficients = list(a)
    if not coefficients:
        raise ValueError("Coefficients cannot be empty")
    total = zeros(k.shape, dtype=k.dtype)
    for i, coefficient in enumerate(coefficients):
        total = total + (-1) ** i * coefficient * cos(k * (2 * math.pi * i / n))
    return total


def general_hamming(M: int, *, alpha: float = 0.54, **options: Any) -> Tensor:
    """alpha - (1 - alpha) cos(2 pi k / n)."""
    return general_cosine(M, a=[alpha, 1 - alpha], **options)


def hamming(M: int, **options: Any) -> Tensor:
    """``general_hamming`` with alpha = 0.54."""
    return general_hamming(M, **options)


def hann(M: int, **options: Any) -> Tensor:
    """``general_hamming`` with alpha = 0.5."""
    return general_hamming(M, alpha=0.5, **options)


def blackman(M: int, **options: Any) -> Tensor:
    """``general_cosine`` with 0.42, 0.5, 0.08."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], **options)


def nuttall(M: int, **options: Any) -> Tensor:
    """``general_cosine`` with the four coefficients of Nuttall."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], **options)


@_window("bartlett")
def bartlett(k: Tensor, n: int) -> Tensor:
    """1 - |2k/n - 1|."""
    return 1 - (k * (2 / n) - 1).abs()
