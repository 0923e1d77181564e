"""What the vectorised elementary functions are: plain arithmetic that LLVM turns into vectors.

Errors are measured in test_math_accuracy.py; here are the values that must be exact, and the shape
of the code: no calls of a library, float32 that stays float32, loops over whole vectors.
"""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from elementary_kernels import BOUNDED, LOWERINGS, compiled, loop, rules, signature, within_bound

from numbagrad.codegen.compiler import compile_to_module
from numbagrad.formula import print_numba, trace
from numbagrad.formula.expression import make

DTYPES = ("float32", "float64")

#: float32 functions that need more than float32 for the remainder of any argument modulo pi.
WIDENED = ("sin", "cos", "tan")

INFINITY, NAN = math.inf, math.nan

#: function: (argument, value) that holds exactly, the sign of zero included.
EXACT = {
    "exp": [(0, 1), (-0.0, 1), (INFINITY, INFINITY), (-INFINITY, 0), (NAN, NAN)],
    "exp2": [(0, 1), (3, 8), (-1, 0.5), (INFINITY, INFINITY), (-INFINITY, 0), (NAN, NAN)],
    "expm1": [(0, 0), (-0.0, -0.0), (INFINITY, INFINITY), (-INFINITY, -1), (NAN, NAN)],
    "log": [(1, 0), (0, -INFINITY), (-0.0, -INFINITY), (INFINITY, INFINITY), (-1, NAN), (NAN, NAN)],
    "log2": [(1, 0), (8, 3), (0.25, -2), (0, -INFINITY), (INFINITY, INFINITY), (-1, NAN)],
    "log10": [(1, 0), (0, -INFINITY), (INFINITY, INFINITY), (-INFINITY, NAN), (NAN, NAN)],
    "log1p": [(0, 0), (-0.0, -0.0), (-1, -INFINITY), (-2, NAN), (INFINITY, INFINITY), (NAN, NAN)],
    "sigmoid": [(0, 0.5), (-0.0, 0.5), (INFINITY, 1), (-INFINITY, 0), (50, 1), (NAN, NAN)],
    "tanh": [(0, 0), (-0.0, -0.0), (INFINITY, 1), (-INFINITY, -1), (30, 1), (NAN, NAN)],
    "sinh": [(0, 0), (-0.0, -0.0), (INFINITY, INFINITY), (-INFINITY, -INFINITY), (NAN, NAN)],
    "cosh": [(0, 1), (INFINITY, INFINITY), (-INFINITY, INFINITY), (NAN, NAN)],
    "asinh": [(0, 0), (-0.0, -0.0), (INFINITY, INFINITY), (-INFINITY, -INFINITY), (NAN, NAN)],
    "acosh": [(1, 0), (0.5, NAN), (INFINITY, INFINITY), (-INFINITY, NAN), (NAN, NAN)],
    "atanh": [(0, 0), (-0.0, -0.0), (1, INFINITY), (-1, -INFINITY), (2, NAN), (NAN, NAN)],
    "erf": [(0, 0), (-0.0, -0.0), (INFINITY, 1), (-INFINITY, -1), (8, 1), (NAN, NAN)],
    "erfc": [(0, 1), (INFINITY, 0), (-INFINITY, 2), (-8, 2), (NAN, NAN)],
    "gelu": [(0, 0), (-0.0, -0.0), (INFINITY, INFINITY), (-INFINITY, NAN), (50, 50), (-50, -0.0)],
    "gelu_gradient": [(0, 0.5), (-0.0, 0.5), (INFINITY, NAN), (-INFINITY, NAN), (50, 1), (-50, 0)],
    "sin": [(0, 0), (-0.0, -0.0), (INFINITY, NAN), (-INFINITY, NAN), (NAN, NAN)],
    "cos": [(0, 1), (INFINITY, NAN), (-INFINITY, NAN), (NAN, NAN)],
    "tan": [(0, 0), (-0.0, -0.0), (INFINITY, NAN), (-INFINITY, NAN), (NAN, NAN)],
    "asin": [(0, 0), (-0.0, -0.0), (2, NAN), (-INFINITY, NAN), (NAN, NAN)],
    "acos": [(1, 0), (2, NAN), (-INFINITY, NAN), (NAN, NAN)],
    "atan": [(0, 0), (-0.0, -0.0), (NAN, NAN)],
}


def of(*functions: str) -> list[tuple[str, str, str]]:
    """The lowerings of some functions."""
    return [lowering for lowering in LOWERINGS if lowering[0] in functions]


def test_every_function_comes_in_both_dtypes() -> None:
    present = {(function, dtype) for function, dtype, _ in LOWERINGS}
    made_of_others = {("gelu_gradient", "float64")}
    assert present == {(name, dtype) for name in EXACT for dtype in DTYPES} - made_of_others


@pytest.mark.parametrize(("function", "dtype", "kind"), LOWERINGS)
def test_special_values_are_exact(function: str, dtype: str, kind: str) -> None:
    x, expected = np.array(EXACT[function], dtype).T
    meant = within_bound(function, dtype, kind, x)
    x, expected = x[meant], expected[meant]
    result = compiled(function, dtype, kind)(x)
    np.testing.assert_array_equal(result, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result)[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize(
    ("function", "dtype", "kind"),
    of("expm1", "log1p", "tanh", "sinh", "asinh", "sin", "tan", "atan"),
)
def test_subnormals_stay_themselves(function: str, dtype: str, kind: str) -> None:
    tiny = np.finfo(dtype).smallest_subnormal
    x = np.array([1, -1, 3, -12345], dtype) * tiny
    np.testing.assert_array_equal(compiled(function, dtype, kind)(x), x)


@pytest.mark.parametrize(("function", "dtype", "kind"), of("sin", "cos"))
def test_sine_and_cosine_never_leave_their_range(function: str, dtype: str, kind: str) -> None:
    multiples = np.arange(-2000, 2000) * (np.pi / 2)
    x = np.concatenate([multiples + step for step in np.linspace(-1e-3, 1e-3, 41)])
    assert np.abs(compiled(function, dtype, kind)(x)).max() == 1


def test_float32_trigonometry_reduces_any_argument() -> None:
    # Values from 600-bit arithmetic; the last argument is within 2e-9 of an odd multiple of pi / 2.
    x = np.array([3.4028234663852886e38, 1.0000000150474662e30, 123456792.0], np.float32)
    sine = np.array([-0.521876523334, -0.791163438522, -0.960412727669], np.float32)
    np.testing.assert_allclose(compiled("sin", "float32")(x), sine, rtol=2e-7)
    close = np.array([16367173.0 * 2.0**72], np.float32)
    np.testing.assert_allclose(compiled("cos", "float32")(close), -1.61476979825e-9, rtol=2e-7)


@pytest.mark.parametrize(("function", "dtype", "kind"), LOWERINGS)
def test_printed_source_is_arithmetic_alone(function: str, dtype: str, kind: str) -> None:
    lines, _ = print_numba(trace(lambda x: make(function, x)), dtype, rules(kind))
    text = "\n".join(lines)
    assert not re.search(r"math\.(?!inf\b|nan\b)", text), "calls the C library"
    if dtype == "float32" and (kind == BOUNDED or function not in WIDENED):
        assert "float64" not in text


@pytest.mark.parametrize(
    ("function", "dtype", "kind"),
    of("exp", "log", "tanh", "erf", "gelu", "sin", "cos", "sigmoid"),
)
def test_loop_is_vectorised(function: str, dtype: str, kind: str) -> None:
    module = str(compile_to_module(loop(function, dtype, kind), signature(function)))
    vector = {"float32": "float", "float64": "double"}[dtype]
    assert re.search(rf"call .*<\d+ x {vector}> @llvm\.fma\.", module)
