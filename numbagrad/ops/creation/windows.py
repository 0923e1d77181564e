"""Windows for spectra: Hann, Hamming, Blackman, Bartlett and Kaiser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import half_precision as half
from ...executor.memory.arrays import constant
from ...tensor import Tensor
from ..arguments.requirements import home_of_new, leaf, numpy_dtype

__all__ = [
    "bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window",
]  # fmt: skip

Array = np.ndarray[Any, Any]


def _window(
    name: str, length: int, periodic: bool, options: dict[str, Any], shape: Callable[[Array], Array]
) -> Tensor:
    """``shape`` of places from 0 to 1; a periodic window lacks the last one.

    It is computed up to the middle, as all are symmetric.
    """
    if isinstance(length, bool) or not isinstance(length, int):
        raise TypeError(
            f"{name}(): argument 'window_length' (position 1) must be int, not "
            f"{type(length).__name__}"
        )
    unknown = [x for x in options if x not in ("dtype", "requires_grad", "layout", "device",
                                               "pin_memory")]  # fmt: skip
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument '{unknown[0]}'")
    where = home_of_new(
        name, options.get("device"), options.get("layout"), options.get("pin_memory")
    )
    kind = numpy_dtype(name, options.get("dtype"))
    if kind.kind not in "fcV":
        raise RuntimeError(f"{name} expects floating point dtypes, got: {options['dtype']}")
    if length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length={length}"
        )
    if length > 1:
        steps = length if periodic else length - 1
        positions = np.arange(steps // 2 + 1, dtype=np.float64)
        positions /= steps
        rising = half.converted(shape(positions), kind)
        made = np.concatenate([rising, rising[(steps - 1) // 2 :: -1]])[:length]
    else:
        made = half.converted(shape(np.full(length, 0.5)), kind)
    return leaf(constant(made), options.get("requires_grad", False), where)


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """``(1 - cos(2 pi n / N)) / 2``, with N one less unless ``periodic``.

    Takes ``dtype`` and ``requires_grad``, as all windows.
    """
    return _window(
        "hann_window", window_length, periodic, options,
        lambda x: np.sin(np.pi * x) ** 2,
    )  # fmt: skip


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    **options: Any,
) -> Tensor:
    """``alpha - beta * cos(2 pi n / N)``, with N one less unless ``periodic``."""
    return _window(
        "hamming_window", window_length, periodic, options,
        lambda x: alpha - beta * np.cos(2 * np.pi * x) if window_length > 1 else np.ones_like(x),
    )  # fmt: skip


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """``0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)``; see ``hann_window``."""
    return _window(
        "blackman_window", window_length, periodic, options,
        lambda x: 0.42 - 0.5 * np.cos(2 * np.pi * x) + 0.08 * np.cos(4 * np.pi * x),
    )  # fmt: skip


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """A triangle, from zero to one and back."""
    return _window(
        "bartlett_window", window_length, periodic, options, lambda x: 1 - np.abs(2 * x - 1)
    )


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any
) -> Tensor:
    """``i0(beta * sqrt(1 - x²)) / i0(beta)`` for x from -1 to 1."""
    return _window(
        "kaiser_window", window_length, periodic, options,
        lambda x: np.i0(beta * np.sqrt(1 - (2 * x - 1) ** 2)) / np.i0(beta),
    )  # fmt: skip
