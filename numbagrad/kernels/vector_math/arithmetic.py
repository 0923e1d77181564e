"""Parts of all elementary functions: the floating point formats, polynomials, clamping.

Called by the modules of this package on symbolic values. Every function is written once for float32
and float64; what differs is in `Format` and in the tables of coefficients beside the functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...formula import fma, where

Value = Any  # a symbolic value: an Expression of numbagrad.formula, or a number


@dataclass(frozen=True)
class Format:
    """The numbers that depend on the floating point format alone."""

    name: str
    mantissa: int  # explicit bits of the significand
    bias: int  # of the exponent
    rounder: float  # 1.5 * 2**mantissa: adding it leaves the nearest integer in the low bits
    ln2: tuple[float, float]  # high and low part
    pi: tuple[float, ...]
    exp_range: tuple[float, float]  # outside, exp is 0 or infinite
    small_exp: float  # below, exp is less than half a unit in the last place of 1
    sqrt_half: int  # bit pattern of sqrt(1/2)

    @property
    def sign_bit(self) -> int:
        return 31 if self.name == "float32" else 63

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)


FLOAT32 = Format(
    name="float32",
    mantissa=23,
    bias=127,
    rounder=1.5 * 2.0**23,
    ln2=(0.6931471824645996, -1.9046542121259336e-09),
    pi=(3.1415927410125732, -8.742277657347586e-08, -3.4302490200117637e-15),
    exp_range=(-104.0, 89.0),
    small_exp=-18.0,
    sqrt_half=0x3F3504F3,
)
FLOAT64 = Format(
    name="float64",
    mantissa=52,
    bias=1023,
    rounder=1.5 * 2.0**52,
    ln2=(0.6931471805599453, 2.3190468138462996e-17),
    pi=(3.141592653589793, 1.2246467991473532e-16, -2.9947698097183397e-33),
    exp_range=(-746.0, 710.0),
    small_exp=-38.0,
    sqrt_half=0x3FE6A09E667F3BCD,
)


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Horner's scheme, lowest coefficient first."""
    result: Value = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = fma(x, result, coefficient)
    return result


def monic(x: Value, coefficients: Sequence[float]) -> Value:
    """Horner's scheme where the highest coefficient is one."""
    return polynomial(x, (*coefficients[:-2], x + coefficients[-2]))


def clamp_above(x: Value, highest: float) -> Value:
    """The smaller of the two; NaN stays."""
    return where(x > highest, highest, x)


def clamp(x: Value, lowest: float, highest: float) -> Value:
    """`x` brought into the range; NaN stays."""
    return clamp_above(where(x < lowest, lowest, x), highest)
