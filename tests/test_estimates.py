"""Quotients and roots that updates compute to within a unit in the last place."""

from __future__ import annotations

import numpy as np
import pytest

import numbagrad
from numbagrad.formula import near_quotient, near_sqrt, print_numba, trace
from numbagrad.kernels.vector_math import CPU_INSTRUCTED, CPU_LOWERING
from numbagrad.ops.operators.definition import PointwiseDefinition
from numbagrad.ops.operators.pointwise_operator import PointwiseOperator

ROOT = PointwiseOperator(PointwiseDefinition("near_root_of_test", lambda x: near_sqrt(x)))
RATIO = PointwiseOperator(
    PointwiseDefinition("near_ratio_of_test", lambda a, b: near_quotient(a, b))
)
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 4.0, 3e38], np.float32)


def numbers(low: int, high: int, seed: int = 0) -> np.ndarray:
    """Many positive numbers with binary exponents from ``low`` to ``high``."""
    generator = np.random.default_rng(seed)
    mantissas = generator.uniform(1, 2, 100_003)
    return np.ldexp(mantissas, generator.integers(low, high, mantissas.size)).astype(np.float32)


def root(x: np.ndarray) -> np.ndarray:
    return ROOT(numbagrad.from_numpy(x)).numpy()


def ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return RATIO(numbagrad.from_numpy(a), numbagrad.from_numpy(b)).numpy()


def units(found: np.ndarray, exact: np.ndarray) -> float:
    """The greatest error, in units in the last place of the exact result."""
    return float(np.max(np.abs(found - exact) / np.spacing(np.abs(exact).astype(np.float32))))


@pytest.mark.parametrize(("low", "high"), ((-20, 20), (-126, 127), (-149, -120)))
def test_roots_are_within_one_unit(low, high):
    x = numbers(low, high)
    assert units(root(x), np.sqrt(x.astype(np.float64))) <= 1


def test_quotients_are_within_one_unit():
    a, b = numbers(-40, 40), numbers(-60, 60, seed=1)
    a[::2] *= -1
    assert units(ratio(a, b), a.astype(np.float64) / b) <= 1


def test_special_values_are_those_of_the_exact_operations():
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(root(SPECIAL), np.sqrt(SPECIAL))
        a, b = (np.ascontiguousarray(x.ravel()) for x in np.meshgrid(SPECIAL, SPECIAL))
        np.testing.assert_array_equal(ratio(a, b), a / b)


def test_an_element_has_the_same_bits_wherever_it_is():
    a, b = numbers(-20, 20), numbers(-20, 20, seed=1)
    for begin, end in ((0, 1), (3, 20), (5, 64), (7, 1000)):
        np.testing.assert_array_equal(ratio(a, b)[begin:end], ratio(a[begin:end], b[begin:end]))
        np.testing.assert_array_equal(root(a)[begin:end], root(a[begin:end]))


def test_in_float64_they_are_exact():
    x = numbers(-20, 20).astype(np.float64)
    np.testing.assert_array_equal(root(x), np.sqrt(x))
    np.testing.assert_array_equal(ratio(1 / x, x), 1 / x / x)


def test_cpus_without_estimates_divide():
    formula = trace(lambda a, b: near_quotient(a, near_sqrt(b)))
    lines, _ = print_numba(formula, "float32", CPU_LOWERING)
    assert [line.split(" = ")[1] for line in lines] == ["sqrt(b)", "a / t0"]
    estimated, _ = print_numba(formula, "float32", {**CPU_LOWERING, **CPU_INSTRUCTED})
    text = " ".join(estimated)
    assert "rsqrt_estimate" in text and "reciprocal_estimate" in text and "/" not in text


@pytest.mark.parametrize("eps", (1e-8, 1e-40, 0.0))
def test_a_gradient_of_zero_moves_nothing_unless_eps_is_zero(eps):
    weight = numbagrad.ones(40, requires_grad=True)
    weight.grad = numbagrad.zeros(40)
    numbagrad.optim.Adam([weight], eps=eps).step()
    expected = 1.0 if eps else np.nan
    np.testing.assert_array_equal(weight.detach().numpy(), np.full(40, expected, np.float32))
