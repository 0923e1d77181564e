"""The functions that formulas know and NumPy does not, for the NumPy source of a formula.

Imported by the source that `numpy_formulas.print_numpy` makes; slow, by way of Python's math
module.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def _elementwise(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """`function` of float to float, over arrays, in the dtype of its argument."""
    vectorised = np.frompyfunc(function, 1, 1)

    def apply(x: Any) -> Any:
        return np.asarray(vectorised(x)).astype(np.asarray(x).dtype)[()]

    return apply


def _lgamma(x: float) -> float:
    """As C's lgamma: infinite at the poles and beyond the range of floats."""
    if math.isfinite(x) and x <= 0 and x == math.floor(x):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


erf = _elementwise(math.erf)
erfc = _elementwise(math.erfc)
lgamma = _elementwise(_lgamma)


def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c; rounded once for float32, twice for float64."""
    dtype = np.result_type(a, b, c)
    wide = np.float64
    return (np.multiply(a, b, dtype=wide) + np.asarray(c, dtype=wide)).astype(dtype)
