"""Powers as vectors: special cases of C's ``pow``, errors, and what they do not depend on.

The lowerings of ``pow`` are compiled as kernels are; the operator runs over usual bases and
exponents, and beside others, for which its kernel computes elements a second time.
"""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from elementary_kernels import ANY, BOUNDED, INSTRUCTED, compiled, loop, signature

import numbagrad
from numbagrad.codegen.compiler import compile_to_module
from numbagrad.codegen.loader import target
from numbagrad.executor.families.pointwise import PointwiseProgram
from numbagrad.executor.plan import direct
from numbagrad.formula import trace
from numbagrad.kernels.pointwise.source import BLOCK
from numbagrad.kernels.vector_math.arithmetic import FLOAT32, FLOAT64
from numbagrad.kernels.vector_math.power import is_unusual_power
from numbagrad.ops.operators.pointwise_operator import pointwise

DTYPES = ("float32", "float64")
KINDS = [ANY] + [INSTRUCTED] * (target().vector_bits == 512)

#: The bound on errors, in units in the last place.
BOUND = 1.25


def special_numbers(dtype: str) -> np.ndarray:
    """Zeros, ones, whole numbers and the ends of the format, of both signs, and NaN."""
    info = np.finfo(dtype)
    positive = [0, 0.5, 1, 1.5, 2, 3, 7, 8, 33, 127, 128, 149, 150, 1023, 1024, 1074, 1075, 1e10]
    positive += [
        info.tiny,
        info.smallest_subnormal,
        info.max,
        math.inf,
        1 + info.eps,
        1 - info.epsneg,
    ]
    positive += [2.0**23 + 1, 2.0**24 + 2, 2.0**52 + 1, 2.0**53 + 2]
    return np.array([*positive, *[-x for x in positive], math.nan], dtype)


def all_pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    x = special_numbers(dtype)
    return np.repeat(x, x.size), np.tile(x, x.size)


def random_pairs(dtype: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Bases of several scales with exponents whose results are all over the format."""
    rng = np.random.default_rng(5)
    bases = [
        rng.uniform(0, 4, count),
        np.exp(rng.uniform(-60, 60, count)),
        1 + rng.uniform(-1e-2, 1e-2, count),
        rng.uniform(0.7, 1.42, count),
    ]
    x = np.concatenate(bases).astype(dtype)
    logarithm = rng.uniform(-1, 1, x.size) * np.repeat([3, 60, 150, 1080], count)
    with np.errstate(divide="ignore"):
        y = np.where(rng.random(x.size) < 0.5, logarithm / np.log2(x), rng.uniform(-5, 5, x.size))
    integer = {"float32": np.int32, "float64": np.int64}[dtype]
    limits = np.iinfo(integer)
    patterns = rng.integers(limits.min, limits.max, (2, count), integer, endpoint=True).view(dtype)
    whole = rng.integers(-9, 9, count).astype(dtype)
    return (
        np.concatenate([x, patterns[0], -x[:count]]),
        np.concatenate([y.astype(dtype), patterns[1], whole]),
    )


def expected(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The powers in a wider format."""
    wide = np.float64 if x.dtype == np.float32 else np.longdouble
    with np.errstate(all="ignore"):
        return np.power(x.astype(wide), y.astype(wide))


def assert_close(computed: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """Errors within the bound, and what is zero, infinite or NaN exactly that, signs included."""
    true = expected(x, y)
    info = np.finfo(computed.dtype)
    with np.errstate(all="ignore"):
        rounded = true.astype(computed.dtype)
        exponent = np.maximum(np.frexp(np.abs(true))[1] - 1, info.minexp) - info.nmant
        distance = np.abs(computed.astype(true.dtype) - true) / np.ldexp(
            np.ones_like(true), exponent
        )
    same = (computed == rounded) | (np.isnan(computed) & np.isnan(rounded))
    same &= (rounded != 0) | (np.signbit(computed) == np.signbit(rounded))
    ordinary = np.isfinite(rounded) & np.isfinite(computed) & (rounded != 0)
    wrong = ~np.where(ordinary, distance <= BOUND, same)
    assert not wrong.any(), [(x[k], y[k], computed[k], true[k]) for k in wrong.nonzero()[0][:5]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_special_cases_are_those_of_c(dtype: str, kind: str) -> None:
    x, y = all_pairs(dtype)
    assert_close(compiled("pow", dtype, kind)(x, y), x, y)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_errors(dtype: str, kind: str) -> None:
    x, y = random_pairs(dtype, 20000 if dtype == "float32" else 5000)
    assert_close(compiled("pow", dtype, kind)(x, y), x, y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_usual_operands_are_computed_once(dtype: str) -> None:
    f = {"float32": FLOAT32, "float64": FLOAT64}[dtype]
    condition = trace(lambda x, y: is_unusual_power(x, y, f))
    x, y = map(np.concatenate, zip(all_pairs(dtype), random_pairs(dtype, 1000), strict=True))
    found = PointwiseProgram("unusual", lambda: condition, "bool", BLOCK).run(x, y)
    largest = {"float32": 2.0**14, "float64": 2.0**40}[dtype]
    usual = (x >= np.finfo(dtype).tiny) & (x < np.inf) & (np.abs(y) <= largest)
    assert 0 < usual.sum() < usual.size
    assert np.array_equal(found, ~usual)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_operator_has_all_cases(dtype: str) -> None:
    for x, y in (all_pairs(dtype), random_pairs(dtype, 5000)):
        bases, exponents = numbagrad.from_numpy(x), numbagrad.from_numpy(y)
        assert_close((bases**exponents).numpy(), x, y)
        assert_close(bases.clone().pow_(exponents).numpy(), x, y)
        assert_close((bases.repeat_interleave(2)[::2] ** exponents).numpy(), x, y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exponent", [2.7, -1.3, 5.0, 0.0, math.inf, math.nan])
def test_an_exponent_that_is_a_number(dtype: str, exponent: float) -> None:
    x = np.concatenate([special_numbers(dtype), random_pairs(dtype, 1000)[0]])
    computed = (numbagrad.from_numpy(x) ** exponent).numpy()
    assert_close(computed, x, np.full_like(x, exponent))


@pytest.mark.parametrize("dtype", DTYPES)
def test_where_an_array_is_cut_does_not_matter(dtype: str) -> None:
    x = np.random.default_rng(3).uniform(0.01, 4, 3 * BLOCK + 37).astype(dtype)
    x[[5, BLOCK, 2 * BLOCK - 1]] = -2, 0, np.inf
    y = np.linspace(-3, 3, x.size).astype(dtype)
    bases, exponents = numbagrad.from_numpy(x), numbagrad.from_numpy(y)
    whole = (bases**exponents).numpy()
    for cut in (1, 100, BLOCK - 1, BLOCK + 13):
        parts = [bases[:cut] ** exponents[:cut], bases[cut:] ** exponents[cut:]]
        np.testing.assert_array_equal(np.concatenate([part.numpy() for part in parts]), whole)


@pytest.mark.parametrize("kind", [ANY, BOUNDED])
@pytest.mark.parametrize("dtype", DTYPES)
def test_loop_is_vectorised(dtype: str, kind: str) -> None:
    module = str(compile_to_module(loop("pow", dtype, kind), signature("pow")))
    vector = {"float32": "float", "float64": "double"}[dtype]
    assert re.search(rf"call .*<\d+ x {vector}> @llvm\.fma\.", module)
    assert "@pow" not in module


@pytest.mark.parametrize("dtype", DTYPES)
def test_whole_powers_of_whole_numbers_are_exact(dtype: str) -> None:
    x, y = np.meshgrid(np.arange(-9, 10), np.arange(0, 7))
    x, y = x.ravel().astype(dtype), y.ravel().astype(dtype)
    computed = (numbagrad.from_numpy(x) ** numbagrad.from_numpy(y)).numpy()
    np.testing.assert_array_equal(computed, (x.astype(int) ** y.astype(int)).astype(dtype))


def test_powers_written_over_their_bases_without_launchers() -> None:
    program = pointwise("pow").program
    x, y = all_pairs("float32")
    into = x.copy()
    direct.pointwise(program, (into, y), into)
    assert_close(into, x, y)
