"""Fourier transforms of the array API: torch's under the standard's names of arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numbagrad as torch

from ..dtype import dtype as DType
from ..tensor import Tensor
from .arguments import check_device

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip


def _along(name: str, function: Callable[..., Tensor], meaning: str) -> Callable[..., Tensor]:
    def call(
        x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Tensor:
        return function(x, n, axis, norm)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The Fourier transform of {meaning} along an axis, of ``n`` points."
    return call


def _over(name: str, function: Callable[..., Tensor], meaning: str) -> Callable[..., Tensor]:
    def call(
        x: Tensor,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Tensor:
        return function(x, s, axes, norm)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The Fourier transform of {meaning} over axes, of ``s`` points along each."
    return call


fft = _along("fft", torch.fft.fft, "complex numbers")
ifft = _along("ifft", torch.fft.ifft, "a spectrum, backwards,")
rfft = _along("rfft", torch.fft.rfft, "real numbers, half of the spectrum,")
irfft = _along("irfft", torch.fft.irfft, "half a spectrum, backwards to real numbers,")
hfft = _along("hfft", torch.fft.hfft, "half a signal, to a real spectrum,")
ihfft = _along("ihfft", torch.fft.ihfft, "a real spectrum, backwards to half a signal,")
fftn = _over("fftn", torch.fft.fftn, "complex numbers")
ifftn = _over("ifftn", torch.fft.ifftn, "a spectrum, backwards,")
rfftn = _over("rfftn", torch.fft.rfftn, "real numbers, half of the spectrum,")
irfftn = _over("irfftn", torch.fft.irfftn, "half a spectrum, backwards to real numbers,")


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Any = None) -> Tensor:
    """The frequencies of a spectrum of ``n`` points, of samples at a distance of ``d``."""
    check_device(device)
    return torch.fft.fftfreq(n, d, dtype=dtype)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Any = None
) -> Tensor:
    """The frequencies of half a spectrum of ``n`` points, of samples at a distance of ``d``."""
    check_device(device)
    return torch.fft.rfftfreq(n, d, dtype=dtype)


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """A spectrum with frequency zero in the middle."""
    return torch.fft.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of ``fftshift``."""
    return torch.fft.ifftshift(x, axes)
