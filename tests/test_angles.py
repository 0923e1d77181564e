"""Angles and lengths of points, ``atan2`` and ``hypot``: special cases of C, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from elementary_kernels import ANY, INSTRUCTED, compiled
from test_math_accuracy import errors
from test_power import all_pairs, random_pairs

from numbagrad.codegen.loader import target

KINDS = [ANY] + [INSTRUCTED] * (target().vector_bits == 512)

#: The bound on errors, in units in the last place.
BOUND = 2.0


def near_axes_and_diagonals(dtype: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Points on rays close to those on which the formula changes."""
    rng = np.random.default_rng(7)
    turns = rng.integers(0, 8, count) / 8 + rng.normal(0, 1, count) * 10.0 ** -rng.uniform(
        0, 8, count
    )
    size = np.exp(rng.uniform(-40, 40, count))
    return tuple((size * f(2 * np.pi * turns)).astype(dtype) for f in (np.sin, np.cos))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("function", "reference"), [("atan2", np.arctan2), ("hypot", np.hypot)])
def test_points(function, reference, dtype, kind):
    pairs = all_pairs(dtype), random_pairs(dtype, 4000), near_axes_and_diagonals(dtype, 20000)
    y, x = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    wide = np.float64 if dtype == "float32" else np.longdouble
    with np.errstate(all="ignore"):
        true = reference(y.astype(wide), x.astype(wide))
        computed = compiled(function, dtype, kind)(y, x)
        distance = errors(computed, true)
    worst = int(np.argmax(distance))
    assert distance[worst] <= BOUND, (y[worst], x[worst], computed[worst], true[worst])
    assert np.array_equal(np.isnan(computed), np.isnan(true))
    number = ~np.isnan(true)
    assert np.array_equal(np.signbit(computed[number]), np.signbit(true[number]))
