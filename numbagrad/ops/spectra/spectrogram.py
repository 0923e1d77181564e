"""Short-time Fourier transforms: ``stft`` and its inverse ``istft``.

Frames are views of the signal; everything is a composition of differentiable operators.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...executor.memory.arrays import constant_beside
from ...tensor import Tensor, new_tensor
from ...transforms.levels import is_transformed
from ..complex.complex_numbers import view_as_real
from ..creation.filled import ones
from ..methods.registry import method
from ..operators.array_function import array_function
from .fourier import to_complex, to_half, to_real

__all__ = ["istft", "stft"]

Array = np.ndarray[Any, Any]


def _check(holds: bool, name: str, message: str, input: Tensor, **options: Any) -> None:
    if not holds:
        given = ", ".join(f"{key}={value}" for key, value in options.items())
        raise RuntimeError(f"{name}({list(input._array.shape)}, {given}) : {message}")


def _check_window(
    name: str, input: Tensor, n_fft: int, hop: int, length: int, window: Tensor | None
) -> None:
    options = {"n_fft": n_fft, "hop_length": hop, "win_length": length}
    _check(hop > 0, name, f"expected hop_length > 0, but got hop_length={hop}", input, **options)
    _check(
        0 < length <= n_fft, name,
        f"expected 0 < win_length <= n_fft, but got win_length={length}", input, **options,
    )  # fmt: skip
    if window is not None:
        _check(
            window._array.shape == (length,), name,
            f"expected a 1D window tensor of size equal to win_length={length}, but got window "
            f"with size {list(window._array.shape)}", input, **options,
        )  # fmt: skip


def _window_of(window: Tensor | None, length: int, n_fft: int, like: Tensor) -> Tensor:
    """The window, with zeros on both sides up to the size of the transform."""
    from ...nn.functional import pad

    if window is None:
        kind = like.real.dtype if like.is_complex() else like.dtype
        window = ones(length, dtype=kind, device=like.device)
    left = (n_fft - length) // 2
    return pad(window, (left, n_fft - length - left)) if length < n_fft else window


@method()
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Spectra of overlapping frames of signals.

    Args:
        input: signals (time) or (batch, time), real or complex.
        n_fft: the size of a frame and its transform.
        hop_length: the distance of frames; a quarter of ``n_fft`` unless given.
        win_length: the size of the window; ``n_fft`` unless given.
        window: what frames are multiplied with, (win_length); ones unless given.
        center: whether frames are centred on their times; the signal is padded by ``pad_mode``.
        normalized: whether spectra are divided by the root of ``n_fft``.
        onesided: whether spectra end at the middle, as those of real numbers may, and do by
            default.
        return_complex: whether results are complex, or have a last dimension for the parts.
        align_to_window: whether frames are as long as the window where they are not centred.

    Returns:
        (batch, frequencies, frames), or without a batch.

    Raises:
        RuntimeError: for sizes, windows or dtypes that do not fit.
    """
    from ...nn.functional import pad

    if align_to_window is not None and center:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not is_complex:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will "
            "further require that return_complex=True in a future PyTorch release."
        )
    if onesided is None:
        onesided = not is_complex
    elif onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    options = {"n_fft": n_fft, "hop_length": hop, "win_length": length}
    _check(
        input.is_floating_point() or input.is_complex(), "stft",
        "expected a tensor of floating point or complex values", input, **options,
    )  # fmt: skip
    rank = input._array.ndim
    _check(rank in (1, 2), "stft", "expected a 1D or 2D tensor", input, **options)
    _check(0 not in input._array.shape, "stft", "expected a tensor of elements", input, **options)
    signals = input if rank == 2 else input.unsqueeze(0)
    if center:
        signals = pad(signals.unsqueeze(1), (n_fft // 2,) * 2, pad_mode).squeeze(1)
    size = signals._array.shape[-1]
    _check(
        0 < n_fft <= size, "stft", f"expected 0 < n_fft < {size}, but got n_fft={n_fft}", input,
        **options,
    )  # fmt: skip
    _check_window("stft", input, n_fft, hop, length, window)
    frames = _frames_of(signals, n_fft, hop, length, window, bool(align_to_window))
    norm = "ortho" if normalized else "backward"
    dims = (frames._array.ndim - 1,)
    if onesided:
        made = to_half("rfft", frames, [n_fft], dims, norm, True)
    else:
        made = to_complex(frames, [n_fft], dims, norm, True)
    made.transpose_(-2, -1)  # in place, so that the result is no view
    if rank == 1:
        made.squeeze_(0)
    return view_as_real(made) if return_complex is not None and not return_complex else made


def _frames_of(
    signals: Tensor, n_fft: int, hop: int, length: int, window: Tensor | None, aligned: bool
) -> Tensor:
    """Frames (batch, count, n_fft) times the window, which ``aligned`` ones are as long as."""
    from ...nn.functional import pad

    if not aligned:
        return signals.unfold(-1, n_fft, hop) * _window_of(window, length, n_fft, signals)
    left = (n_fft - length) // 2
    weights = window if window is not None else _window_of(None, length, length, signals)
    return pad(signals.unfold(-1, length, hop) * weights, (left, n_fft - length - left))


@array_function("check")
def _check_envelope(envelope: Array) -> None:
    least = np.abs(envelope).min(initial=1)
    if least <= 1e-11:
        raise RuntimeError(f"istft: window overlap add min: {least}")


def _overlapping(frames: Tensor, hop: int) -> Tensor:
    """The sums of frames (batch, count, size) where they lie in the signal."""
    batch, count, size = frames._array.shape
    positions = np.arange(count)[:, None] * hop + np.arange(size)
    index = new_tensor(constant_beside(frames._array, positions.reshape(-1)))
    flat = frames.reshape(batch, count * size)
    return frames.new_zeros((batch, size + hop * (count - 1))).index_add(1, index, flat)


def _check_spectra(input: Tensor, n_fft: int, hop: int, size: int, onesided: bool) -> None:
    """The errors of ``istft`` that do not depend on the window, in torch's order."""
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    rank = input._array.ndim
    options = {"n_fft": n_fft, "hop_length": hop, "win_length": size}
    if rank == 0:
        raise IndexError(
            "istft(): Dimension out of range: a tensor of spectra has 2 or 3 dimensions, got none"
        )
    _check(input._array.size > 0, "istft", "input tensor cannot be empty.", input, **options)
    _check(
        rank in (2, 3), "istft",
        f"expected a tensor with 2 or 3 dimensions, but got {rank}", input, **options,
    )  # fmt: skip
    frequencies = input._array.shape[-2]
    wanted, text = (n_fft // 2 + 1, "n_fft / 2 + 1") if onesided else (n_fft, "n_fft")
    _check(
        frequencies == wanted, "istft",
        f"expected the frequency dimension (3rd to the last) of the input tensor to match {text} "
        f"when onesided={onesided}, but got {frequencies}", input, **options,
    )  # fmt: skip
    _check(0 < hop <= size, "istft", "expected 0 < hop_length <= win_length", input, **options)


@method()
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signals whose ``stft`` is nearest to spectra (batch, frequencies, frames).

    The options are those of ``stft``; ``length`` is the size of the signals, where padding hides
    it.

    Raises:
        RuntimeError: for shapes and options that do not fit, and where windows leave gaps.
    """
    from ...nn.functional import pad

    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    rank = input._array.ndim
    if onesided is None and rank in (2, 3):
        onesided = input._array.shape[-2] != n_fft
    _check_spectra(input, n_fft, hop, size, bool(onesided))
    _check_window("istft", input, n_fft, hop, size, window)
    if return_complex and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    spectra = input if rank == 3 else input.unsqueeze(0)
    weights = _window_of(window, size, n_fft, spectra)
    frames = spectra.transpose(1, 2)
    norm = "ortho" if normalized else "backward"
    dims = (2,)
    if return_complex:
        frames = to_complex(frames, [n_fft], dims, norm, False)
    else:
        if not onesided:
            frames = frames.narrow(-1, 0, n_fft // 2 + 1)
        frames = to_real("irfft", frames, [n_fft], dims, norm, False)
    made = _overlapping(frames * weights, hop)
    squares = (weights * weights).expand(1, frames._array.shape[1], n_fft)
    envelope = _overlapping(squares, hop)
    start = n_fft // 2 if center else 0
    end = made._array.shape[1]
    if length is not None:
        end = start + length
    elif center:
        end -= n_fft // 2
    made, envelope = (x[:, start : min(end, x._array.shape[1])] for x in (made, envelope))
    if not is_transformed(envelope):
        _check_envelope(envelope._array)
    made = made / envelope
    if made._array.shape[1] < end - start:
        made = pad(made, (0, end - start - made._array.shape[1]))
    return made if rank == 3 else made.squeeze(0)
