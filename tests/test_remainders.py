"""Remainders and quotients rounded down: exact, whatever the size of the quotient."""

from __future__ import annotations

import numpy as np
import pytest
from test_power import all_pairs, random_pairs

import numbagrad as torch

DTYPES = ("float32", "float64")


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of all sizes, multiples of the divisor, and their neighbours."""
    rng = np.random.default_rng(3)
    divisor = rng.uniform(0.1, 9, 3000).astype(dtype) * rng.choice([-1, 1], 3000).astype(dtype)
    product = (rng.integers(-5000, 5000, 3000) * divisor).astype(dtype)
    beside = np.nextafter(product, rng.standard_normal(3000).astype(dtype) * 1000)
    more = ((product, divisor), (beside, divisor), all_pairs(dtype), random_pairs(dtype, 2000))
    x, y = (np.concatenate(parts) for parts in zip(*more, strict=True))
    return x, y


def expected_remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    rest = np.fmod(x, y)
    return np.where((rest != 0) & ((y < 0) != (rest < 0)), rest + y, rest)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("function", "reference"), [(torch.fmod, np.fmod), (torch.remainder, expected_remainder)]
)
def test_remainders_are_exact(function, reference, dtype):
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        expected = reference(x, y)
    found = function(torch.from_numpy(x), torch.from_numpy(y)).numpy()
    np.testing.assert_array_equal(found, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[number]), np.signbit(expected[number]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_quotient_and_its_remainder_fit(dtype):
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        usual = (abs(x / y) < 1e5) & (abs(y) > 1e-30) & (abs(y) < 1e30)
    x, y = x[usual], y[usual]
    quotient = torch.from_numpy(x) // torch.from_numpy(y)
    expected = np.floor(x.astype(np.longdouble) / y.astype(np.longdouble))
    np.testing.assert_array_equal(quotient.numpy(), expected)
