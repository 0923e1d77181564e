"""Lengths: sqrt(x**2 + y**2) without overflow or underflow on the way.

Called by the table of this package.
"""

from __future__ import annotations

import math

from ...formula import abs, cast, fma, sqrt, where
from .arithmetic import FLOAT32, Format, Value

#: Magnitudes of float64 beyond which squares are scaled, and by which power of two.
_LARGE, _SMALL, _SCALE = 2.0**500, 2.0**-450, 2.0**600


def hypot(x: Value, y: Value, f: Format) -> Value:
    """In float64 for float32; scaled by a power of two for float64. Infinity beside NaN wins."""
    a, b = abs(x), abs(y)
    if f is FLOAT32:
        wide, other = cast(a, "float64"), cast(b, "float64")
        length = cast(sqrt(fma(wide, wide, other * other)), f.name)
    else:
        larger, smaller = where(a > b, a, b), where(a > b, b, a)
        scale = where(larger > _LARGE, 1 / _SCALE, where(larger < _SMALL, _SCALE, 1.0))
        back = where(larger > _LARGE, _SCALE, where(larger < _SMALL, 1 / _SCALE, 1.0))
        larger, smaller = larger * scale, smaller * scale
        length = sqrt(fma(larger, larger, smaller * smaller)) * back
    return where((a == math.inf) | (b == math.inf), math.inf, length)
