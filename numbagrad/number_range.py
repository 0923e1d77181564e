"""Which Python numbers a dtype holds, and what becomes of those that it does not.

torch has two ways with a number that is no element of the dtype it is needed in. An argument that
is a number by its nature (``alpha``, the bounds of ``clamp``, what ``fill_`` writes) is refused:
`checked_number`. A number beside a tensor (``x + 300``) is a tensor without dimensions that takes
the dtype of the other: `wrapped_number`. Either way an int has to fit 64 bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .dtype import finfo
from .dtype import from_numpy as dtype_of

__all__ = ["SAFE", "check_bits", "checked_number", "no_promotion", "overflow", "wrapped_number"]

_C_NAMES = {"f": "", "i": "_t", "u": "_t", "b": "", "c": ""}
_NAMES = {
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "int32": "int",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}

#: Floats within these bounds are numbers of every float dtype.
SAFE = 65504.0


def check_bits(value: Any) -> None:
    """Raise an OverflowError for an int that neither a signed nor an unsigned 64-bit one holds."""
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise OverflowError(
            "can't convert negative int to unsigned" if value < 0 else "int too big to convert"
        )


def checked_number(value: Any, kind: np.dtype[Any]) -> Any:
    """``value`` as an element of a tensor of this type.

    Raises:
        RuntimeError: if it is too large. Negative ints wrap around in unsigned types.
        OverflowError: for ints that no 64 bits hold, whatever the type.
    """
    check_bits(value)
    if kind.kind == "b":
        return bool(value)
    if kind.kind == "c":
        number = complex(value)
        _check_float(number.real, kind, np.finfo(kind).max)
        _check_float(number.imag, kind, np.finfo(kind).max)
        return number
    value = _real(value, kind)
    if kind.kind in "fV":
        number = float(value)
        if not -SAFE < number < SAFE:
            _check_float(number, kind, finfo(dtype_of(kind)).max)
        return number
    if not math.isfinite(value):
        raise overflow(kind)
    limits = np.iinfo(kind)
    wraps = kind.kind == "u" and not isinstance(value, float)  # which are refused below 0
    least = -limits.max if wraps else limits.min
    if not least <= value <= limits.max:
        raise overflow(kind)
    whole = int(value)
    return whole % (limits.max + 1) if kind.kind == "u" else whole


def _real(value: Any, kind: np.dtype[Any]) -> Any:
    """A number without its imaginary part, which has to be zero."""
    if value.__class__ is not complex:
        return value
    if value.imag:
        raise overflow(kind)
    return value.real


def _check_float(number: float, kind: np.dtype[Any], most: float) -> None:
    if math.isfinite(number) and abs(number) > most:
        raise overflow(kind)


def wrapped_number(value: Any, kind: np.dtype[Any]) -> Any:
    """``value`` as a tensor without dimensions has it once it was converted to this type.

    Ints lose their upper bits, and floats become infinite.

    Raises:
        OverflowError: for ints that no 64 bits hold.
        RuntimeError: for what is no int where ints are computed with, or an int that only an
            unsigned dtype holds beside bools.
    """
    check_bits(value)
    value = _real(value, kind)
    if kind.kind in "fV":
        with np.errstate(over="ignore"):
            return float(np.float64(value).astype(kind)) if kind.kind == "f" else float(value)
    if kind.kind == "b":
        if isinstance(value, int) and value >= 1 << 63:
            raise no_promotion("Bool")
        return bool(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise overflow(kind)
    bits = 8 * kind.itemsize
    whole = int(value) & ((1 << bits) - 1)
    return whole - (1 << bits) if kind.kind == "i" and whole >> (bits - 1) else whole


def no_promotion(name: str) -> RuntimeError:
    """torch's error for an int that only uint64 holds beside another dtype."""
    return RuntimeError(
        "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
        f"{name} and UInt64"
    )


def overflow(kind: np.dtype[Any]) -> RuntimeError:
    """torch's error for a number that is no element of this type."""
    own = dtype_of(kind).name
    name = _NAMES.get(own) or own + _C_NAMES[kind.kind]
    return RuntimeError(f"value cannot be converted to type {name} without overflow")
