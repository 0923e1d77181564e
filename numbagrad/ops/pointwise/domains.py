"""Intervals from which the tests draw operands, where not all numbers are in the domain."""

from __future__ import annotations

POSITIVE = (0.1, 3.0)
NONZERO = ((-3.0, -0.1), (0.1, 3.0))
WITHIN_ONE = (-0.9, 0.9)
UNIT = (0.05, 0.95)
BETWEEN_INTEGERS = ((-1.9, -1.1), (-0.9, -0.1), (0.1, 0.9), (1.1, 1.9))
ORDERED = {"x": (-3.0, -0.1), "y": (0.1, 3.0)}
