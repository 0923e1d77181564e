"""Sums of series at the elements of ndarrays, and functions that are pieced together.

Called by the special functions of ``ops/pointwise``, whose forwards are NumPy's functions but for
these sums: a series of 40 terms in NumPy is 120 walks through memory. Arrays of other libraries,
which answer NumPy's functions, are taken by these alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from ..hand_written import HandWrittenKernel

Array = np.ndarray[Any, Any]

_GRAIN = 1024  # arguments that are worth a thread of their own


def _is_of_numpy(x: Any) -> bool:
    return isinstance(x, np.ndarray | np.generic)


@functools.cache
def _kernel() -> HandWrittenKernel:
    return HandWrittenKernel("kernels.series.chebyshev", "chebyshev_sum")


def chebyshev_sum(x: Array, coefficients: Array) -> Array:
    """The sum of ``coefficients[n] * T_n(x)``, at least two of them, for float64 x in [-1, 1]."""
    if not _is_of_numpy(x):
        summed: Array = chebyshev.chebval(x, coefficients)
        return summed
    x = np.asarray(x, order="C")  # which keeps an array without dimensions as it is
    made = np.empty_like(x)
    _kernel().launch(x.size, _GRAIN, made, x, coefficients, coefficients.size)
    return made


def either(
    condition: Array, x: Array, first: Callable[[Array], Array], second: Callable[[Array], Array]
) -> Array:
    """``first(x)`` where the condition holds, else ``second(x)``; each of its elements alone."""
    if not _is_of_numpy(x):  # to ask for values may take long
        chosen: Array = np.where(condition, first(x), second(x))
        return chosen
    if condition.all():
        return first(x)
    if not condition.any():
        return second(x)
    made, rest = np.empty_like(x), ~condition
    made[condition] = first(x[condition])
    made[rest] = second(x[rest])
    return made
