"""Entries of Fourier transforms: of real numbers, of complex ones made of two inputs, and back."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from operator_rows import normal, row

_transforms = functools.partial(row, dtypes="matrix", tolerance=1e-5)


def parts(x: np.ndarray) -> np.ndarray:
    """Real and imaginary parts; of real numbers these alone, in the precision of float32 if any."""
    return np.stack([x.real, x.imag], -1) if np.iscomplexobj(x) else x


def shown(t: Any, x: Any) -> Any:
    """The same of a tensor."""
    return t.view_as_real(x.resolve_conj()) if x.is_complex() else x


def transformed(name: str, whole: bool, *arguments: Any, **options: Any) -> None:
    """An entry of one function, of real or of complex numbers."""
    case = f"{name}-{whole}-{arguments}-{options}".replace(" ", "")

    def call(t: Any, x: Any, y: Any = None) -> Any:
        made = x if y is None else t.complex(x, y)
        return shown(t, getattr(t.fft, name)(made, *arguments, **options))

    def reference(x: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
        return parts(by_numpy(name, x if y is None else x + 1j * y, *arguments, **options))

    inputs = (normal(2, 3, 4), normal(2, 3, 4)) if whole else (normal(2, 3, 4),)
    _transforms("fft", call, inputs, reference, case=case)


def by_numpy(name: str, x: np.ndarray, *arguments: Any, **options: Any) -> np.ndarray:
    """What NumPy says; functions that it does not have are those of conjugates."""
    if name in ("hfft2", "hfftn", "ihfft2", "ihfftn"):
        swapped = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}
        options = {**options, "norm": swapped[options.get("norm")]}
        if name.startswith("h"):
            return by_numpy(f"irfft{name[-1]}", x.conj(), *arguments, **options)
        return by_numpy(f"rfft{name[-1]}", x, *arguments, **options).conj()
    names = {"dim": "axes" if name[-1] in "2n" else "axis"}
    options = {names.get(key, key): value for key, value in options.items()}
    return getattr(np.fft, name)(x, *arguments, **options)


for _name in ("fft", "ifft", "irfft", "hfft"):
    for _suffix in ("", "2", "n"):
        transformed(_name + _suffix, True)
for _name in ("fft", "ifft", "rfft", "ihfft"):
    for _suffix in ("", "2", "n"):
        transformed(_name + _suffix, False)
for _norm in ("backward", "ortho", "forward"):
    for _name, _whole in (
        ("fft", True), ("ifft", True), ("rfft", False), ("irfft", True), ("hfft", True),
        ("ihfft", False), ("hfft2", True), ("ihfft2", False),
    ):  # fmt: skip
        transformed(_name, _whole, norm=_norm)
for _n in (1, 3, 5):
    transformed("fft", True, _n, dim=1)
    transformed("rfft", False, _n)
    transformed("irfft", True, _n)
transformed("irfftn", True, (3, 5), dim=(2, 0))
transformed("rfftn", False, (3, 5), dim=(0, 1))
transformed("fftn", False, (3, 5), dim=(0, 1))
row("fftshift", lambda t, x: t.fft.fftshift(x), normal(3, 4), np.fft.fftshift)
row("fftshift", lambda t, x: t.fft.ifftshift(x, 0), normal(3, 4),
    lambda x: np.fft.ifftshift(x, 0), case="inverse")  # fmt: skip


# --- spectra of frames ----------------------------------------------------------------------------


def framed(x: np.ndarray, window: np.ndarray, whole: bool = False) -> np.ndarray:
    """``stft`` of a padded signal by its definition: frames of 4 at distances of 2."""
    padded = np.pad(x, [(0, 0), (2, 2)], "reflect")
    frames = [padded[:, k : k + 4] * window for k in range(0, padded.shape[1] - 3, 2)]
    made = [(np.fft.fft if whole else np.fft.rfft)(frame) for frame in frames]
    return np.stack(made, -1)


row("stft", lambda t, x, w: shown(t, t.stft(x, 4, 2, window=w, return_complex=True)),
    (normal(2, 9), normal(4)), lambda x, w: parts(framed(x, w)),
    dtypes="matrix", tolerance=1e-5)  # fmt: skip
row("stft", lambda t, x, y, w: shown(t, t.stft(t.complex(x, y), 4, 2, window=w, normalized=True)),
    (normal(2, 9), normal(2, 9), normal(4)), lambda x, y, w: parts(framed(x + 1j * y, w, True) / 2),
    dtypes="matrix", tolerance=1e-5, case="complex")  # fmt: skip
row("stft", lambda t, x, w: t.stft(x, 4, 1, 3, w, center=False, return_complex=False),
    (normal(7), normal(3)),
    lambda x, w: parts(np.stack([np.fft.rfft(x[k : k + 4] * np.pad(w, (0, 1)))
                                 for k in range(4)], -1)),
    dtypes="matrix", tolerance=1e-5, case="window")  # fmt: skip


def joined(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """``istft`` by its definition, for a window of ones."""
    frames = np.fft.irfft(x + 1j * y, 4, 1)
    made, counts = np.zeros((2, 12)), np.zeros(12)
    for k in range(5):
        made[:, 2 * k : 2 * k + 4] += frames[:, :, k]
        counts[2 * k : 2 * k + 4] += 1
    return ((made / counts)[:, 2:10]).astype(x.dtype)


row("istft", lambda t, x, y: t.istft(t.complex(x, y), 4, 2), (normal(2, 3, 5), normal(2, 3, 5)),
    joined, dtypes="matrix", tolerance=1e-5)  # fmt: skip
