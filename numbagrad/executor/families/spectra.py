"""Fourier transforms of ndarrays along their dimensions, one after another.

Called by ``ops/spectra/fourier.py``; runs what ``kernels/spectra/lines.py`` holds, and NumPy for
lengths of which that has no kernel.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...kernels.spectra.layout import LANES, LONGEST, RADICES
from ..hand_written import HandWrittenKernel

Array = np.ndarray[Any, Any]

#: Dtypes of the lines, those of their parts, and names of these, which NumPy puts together anew.
_PARTS = {np.dtype(kind): np.empty(0, kind).real.dtype for kind in "fdFD"}
_DTYPES = {kind: (real, real.name) for kind, real in _PARTS.items()}

#: Lines beside each other that are worth a vector, and the length up to which one is enough.
_BESIDE, _ALONE = 4, 128

_GRAIN = 32768  # elements that are worth a thread of their own


@functools.cache
def _kernel(name: str, dtype: str) -> HandWrittenKernel:
    return HandWrittenKernel("kernels.spectra.lines", f"{name}_{dtype}")


@functools.lru_cache(maxsize=256)
def _stages(size: int) -> Array | None:
    """The factors of a length, None if there are others than the kernels know."""
    if size > LONGEST:
        return None
    found = []
    for radix in RADICES:
        while size % radix == 0:
            found.append(radix)
            size //= radix
    return np.array(found, np.int64) if size == 1 else None


@functools.lru_cache(maxsize=256)
def _table(size: int, factor: float, real: np.dtype[Any], halved: bool) -> Array:
    """A factor, and of each stage the powers of its root that its results are multiplied by.

    Behind them those of the root of twice the size, if lines are ``halved``.
    """
    radices = _stages(size)
    assert radices is not None
    parts = [np.array([factor])]
    left = size
    for radix in radices:
        places = left // radix
        parts.append(_powers(np.outer(np.arange(places), np.arange(1, radix)) / left))
        left = places
    if halved:
        parts.append(_powers(np.arange(size + 1) / (2 * size)))
    return np.concatenate(parts).astype(real)


def _powers(turns: Array) -> Array:
    """Cosine and sine of turns of the circle, the other way round.

    Those of quarters of a turn are exact, so that the middle of a transform of real numbers is.
    """
    cosines, sines = np.cos(2 * np.pi * turns), -np.sin(2 * np.pi * turns)
    cosines[turns % 0.5 == 0.25] = 0
    sines[turns % 0.5 == 0] = 0
    return np.stack([cosines, sines], -1).ravel()


def has_kernels(array: Array, dim: int, size: int, halved: bool = False) -> bool:
    """Whether lines of a length along a dimension of an array are transformed here.

    Few long ones would leave most of each vector empty.
    """
    if array.__class__ is not np.ndarray or not array.flags.c_contiguous or not array.size:
        return False
    if array.dtype not in _DTYPES or (halved and size % 2):
        return False
    beside = math.prod(array.shape[dim + 1 :])
    if size > _ALONE and (array.size // array.shape[dim] if beside == 1 else beside) < _BESIDE:
        return False
    return _stages(size // 2 if halved else size) is not None


def transform(
    name: str, array: Array, dim: int, output: Array, scale: float = 1.0, turned: bool = False
) -> None:
    """Write the transforms of lines along a dimension to a contiguous array, times a factor.

    ``complex_lines`` may write to where it reads; ``real_lines`` makes as many complex numbers as
    the output has, and ``half_lines`` real ones.
    """
    halved = name != "complex_lines"
    size = (output if name == "half_lines" else array).shape[dim]
    inner = math.prod(array.shape[dim + 1 :])
    count = array.size // array.shape[dim]
    if halved:
        size //= 2
    stages = _stages(size)
    assert stages is not None
    real, name_of_real = _DTYPES[output.dtype]
    _kernel(name, name_of_real).launch(
        count, max(_GRAIN // size, 2 * LANES[name_of_real]), output, array,
        _table(size, scale, real, halved), stages, len(stages), size, inner, output.shape[dim],
        int(turned),
    )  # fmt: skip
