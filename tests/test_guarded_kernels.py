"""Kernels with a faster lowering for arguments up to some magnitude, which look at blocks of them.

Each function of one argument that has one runs as an operator over arrays whose blocks are within
the bound, beyond it, and mixed; each result must have the bits of the lowering that its argument
calls for.
"""

from __future__ import annotations

import numpy as np
import pytest
from elementary_kernels import BOUNDED, LOWERINGS, SPECIAL, bound_of, compiled

import numbagrad
from numbagrad.kernels.pointwise.source import BLOCK
from numbagrad.ops.operators import pointwise_operator

ELEMENTARY = [(function, dtype) for function, dtype, kind in LOWERINGS if kind == BOUNDED]
GUARDED = [
    *ELEMENTARY,
    *[(function, dtype) for function in SPECIAL for dtype in ("float32", "float64")],
]


def pointwise(function: str) -> pointwise_operator.PointwiseOperator:
    """The operator that computes a function of formulas."""
    name = function.replace("spherical_", "spherical_bessel_")
    return pointwise_operator.pointwise(f"special_{name}" if function in SPECIAL else name)


def expected(function: str, dtype: str, x: np.ndarray) -> np.ndarray:
    """Each element by the lowering that its magnitude calls for, whatever its neighbours are."""
    bound = bound_of(function, dtype)
    exact, fast = compiled(function, dtype)(x), compiled(function, dtype, BOUNDED)(x)
    return np.where(np.abs(x) > bound, exact, fast).reshape(x.shape)


def arguments(function: str, dtype: str, beyond: list[int], count: int = 4 * BLOCK + 37):
    """Random arguments within the bound, but for the elements `beyond`."""
    bound = bound_of(function, dtype)
    x = np.random.default_rng(3).uniform(-bound, bound, count).astype(dtype)
    x[beyond] = bound * np.linspace(1.001, 9, len(beyond))
    return x


#: Which elements are beyond the bound: none, one in a block, at the ends of blocks, in the rest.
POSITIONS = {
    "within": [],
    "one": [BLOCK + 100],
    "ends": [0, 2 * BLOCK - 1, 3 * BLOCK],
    "rest": [4 * BLOCK + 36],
    "all": list(range(4 * BLOCK + 37)),
}


@pytest.mark.parametrize("position", sorted(POSITIONS))
@pytest.mark.parametrize(("function", "dtype"), GUARDED)
def test_each_element_has_the_lowering_that_holds(function: str, dtype: str, position: str) -> None:
    x = arguments(function, dtype, POSITIONS[position])
    result = pointwise(function)(numbagrad.from_numpy(x)).numpy()
    np.testing.assert_array_equal(result, expected(function, dtype, x))


@pytest.mark.parametrize(("function", "dtype"), GUARDED)
def test_in_place(function: str, dtype: str) -> None:
    x = arguments(function, dtype, POSITIONS["ends"])
    tensor = numbagrad.from_numpy(x.copy())
    pointwise(function).into(tensor, (tensor,))
    np.testing.assert_array_equal(tensor.numpy(), expected(function, dtype, x))


@pytest.mark.parametrize(("function", "dtype"), GUARDED)
def test_strided(function: str, dtype: str) -> None:
    x = arguments(function, dtype, POSITIONS["ends"])
    spread = np.repeat(x, 2)
    spread[1::2] = np.nan  # must not be looked at
    result = pointwise(function)(numbagrad.from_numpy(spread)[::2]).numpy()
    np.testing.assert_array_equal(result, expected(function, dtype, x))
    output = numbagrad.from_numpy(np.zeros_like(spread))
    pointwise(function).into(output[1::2], (numbagrad.from_numpy(x),))
    np.testing.assert_array_equal(output.numpy()[1::2], expected(function, dtype, x))
    np.testing.assert_array_equal(output.numpy()[::2], 0)


@pytest.mark.parametrize(("function", "dtype"), GUARDED)
def test_rows_are_blocks_of_their_own(function: str, dtype: str) -> None:
    columns = BLOCK + 100
    x = arguments(function, dtype, [7, columns + 600], 3 * columns).reshape(3, columns)
    wide = np.zeros((3, columns + 1), dtype)
    wide[:, :-1] = x
    result = pointwise(function)(numbagrad.from_numpy(wide)[:, :-1]).numpy()
    rows = [expected(function, dtype, row) for row in x]
    np.testing.assert_array_equal(result, np.stack(rows))


@pytest.mark.parametrize(("function", "dtype"), GUARDED)
def test_where_an_array_is_cut_does_not_matter(function: str, dtype: str) -> None:
    x = arguments(function, dtype, POSITIONS["ends"])
    whole = pointwise(function)(numbagrad.from_numpy(x)).numpy()
    for cut in (1, 100, BLOCK - 1, BLOCK + 13):
        parts = [pointwise(function)(numbagrad.from_numpy(part)) for part in (x[:cut], x[cut:])]
        np.testing.assert_array_equal(np.concatenate([part.numpy() for part in parts]), whole)


@pytest.mark.parametrize("beyond", [False, True])
@pytest.mark.parametrize(("function", "dtype"), ELEMENTARY)
def test_special_values(function: str, dtype: str, beyond: bool) -> None:
    bound = bound_of(function, dtype)
    x = np.full(BLOCK, 2 * bound if beyond else 0.5, dtype)
    x[:3] = np.nan, -0.0, 0.0
    result = pointwise(function)(numbagrad.from_numpy(x)).numpy()
    at_zero = 1 if function == "cos" else 0
    np.testing.assert_array_equal(result[:3], [np.nan, at_zero, at_zero])
    assert np.signbit(result[1]) == (function != "cos") and not np.signbit(result[2])


@pytest.mark.parametrize(("function", "dtype"), GUARDED)
def test_infinity_is_beyond_every_bound(function: str, dtype: str) -> None:
    x = np.array([np.inf, 0.5, -np.inf], dtype)
    result = pointwise(function)(numbagrad.from_numpy(x)).numpy()
    np.testing.assert_array_equal(result, expected(function, dtype, x))
    if function not in SPECIAL:
        assert np.isnan(result[2])
        assert result[0] == np.inf if function == "gelu" else np.isnan(result[0])


def test_the_bound_is_on_the_argument_of_the_function() -> None:
    x = np.array([1.0, 0.3, -4000.3, 2.5], np.float32)  # sinc takes the sine of pi times these
    angle = np.float32(np.pi) * x
    result = numbagrad.sinc(numbagrad.from_numpy(x)).numpy()
    np.testing.assert_array_equal(result, compiled("sin", "float32")(angle) / angle)
