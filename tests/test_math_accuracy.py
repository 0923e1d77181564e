"""How far the vectorised elementary functions are from the true values, in units of the last place.

Every function of `numbagrad.kernels.vector_math` is compiled as kernels are and compared, on random
and on edge inputs, with a more precise evaluation: NumPy's float64 for float32 and its long double
for float64, with series for the error function, which NumPy does not have.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from elementary_kernels import LOWERINGS, compiled, within_bound

import numbagrad

#: The bound, in units in the last place, that every function keeps in both dtypes.
BOUND = 2.0


# Reference values. Arguments are float64 for float32 functions, long double for float64 ones.


def _erf_series(x: np.ndarray) -> np.ndarray:
    """2 / sqrt(pi) e**(-x**2) times a sum of positive terms; good for small |x|."""
    term = np.abs(x)
    total = term.copy()
    for k in range(1, 120):
        term = term * (2 * x * x / (2 * k + 1))
        total = total + term
    return np.copysign(total * _minus_square_exp(x) * _two_over_sqrt_pi(x.dtype), x)


def _scaled_erfc_fraction(x: np.ndarray) -> np.ndarray:
    """e**(x**2) erfc(x) by Laplace's continued fraction; good for x >= 2."""
    value = x
    for k in range(160, 0, -1):
        value = x + (x.dtype.type(k) / 2) / value
    return _two_over_sqrt_pi(x.dtype) / 2 / value


def _minus_square_exp(x: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """e**(-scale x**2) without the rounding error of the square."""
    high = x.astype(np.float32).astype(x.dtype)
    return np.exp(-scale * high * high) * np.exp(-scale * (x - high) * (x + high))


def _two_over_sqrt_pi(dtype: np.dtype) -> np.ndarray:
    return 2 / np.sqrt(4 * np.arctan(dtype.type(1)))


def _erfc(x: np.ndarray) -> np.ndarray:
    a = np.minimum(np.abs(x), 150)
    far = _scaled_erfc_fraction(np.maximum(a, 2)) * _minus_square_exp(a)
    tail = np.where(a < 2, 1 - _erf_series(np.minimum(a, 2)), far)
    return np.where(x < 0, 2 - tail, tail)


def _erf(x: np.ndarray) -> np.ndarray:
    a = np.abs(x)
    return np.copysign(np.where(a < 2, _erf_series(np.minimum(a, 2)), 1 - _erfc(a)), x)


def _gelu(x: np.ndarray) -> np.ndarray:
    """max(x, 0) - |x| Phi(-|x|), with e**(-x**2 / 2) apart so that x / sqrt(2) may be rounded."""
    a = np.minimum(np.abs(x), 150)
    b = a / np.sqrt(x.dtype.type(2))
    near = _erfc(np.minimum(b, 2)) * np.exp(np.minimum(b, 2) ** 2)
    scaled = np.where(b < 2, near, _scaled_erfc_fraction(np.maximum(b, 2)))
    return np.copysign(np.maximum(x, 0) - a * (scaled / 2) * _minus_square_exp(a, 0.5), x)


REFERENCE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sigmoid": lambda x: np.where(x < 0, np.exp(x), 1) / (1 + np.exp(-np.abs(x))),
    "tanh": np.tanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": _erf,
    "erfc": _erfc,
    "gelu": _gelu,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
}


def random_inputs(dtype: str, count: int) -> np.ndarray:
    """Several scales, both signs, values near one, and arbitrary bit patterns."""
    rng = np.random.default_rng(20240607)
    integer = {"float32": np.int32, "float64": np.int64}[dtype]
    limits = np.iinfo(integer)
    parts = [
        rng.standard_normal(count),
        rng.uniform(-1, 1, count),
        rng.uniform(-40, 40, count),
        rng.uniform(-110, 110, count),
        rng.uniform(-760, 760, count),
        np.exp(rng.uniform(-50, 10, count)) * rng.choice([-1, 1], count),
        1 + rng.uniform(-1e-3, 1e-3, count),
        # Where two polynomials meet.
        rng.uniform(0.8, 1, count) * rng.choice([-1, 1], count),
        # Next to the zeros and poles of trigonometric functions.
        rng.integers(-6366, 6367, count) * (np.pi / 2),
    ]
    values = np.concatenate(parts).astype(dtype)
    patterns = rng.integers(limits.min, limits.max, count, integer, endpoint=True).view(dtype)
    return np.concatenate([values, patterns[np.isfinite(patterns)]])


def edge_inputs(dtype: str) -> np.ndarray:
    """Zeros, infinities, NaN, the ends of the format, where functions overflow; and neighbours."""
    info = np.finfo(dtype)
    positive = [0, 1, 2, 0.5, 0.45, 0.55, 0.875, 0.90625, 5.5]
    positive += [info.eps, info.tiny, info.smallest_subnormal]
    positive += [info.max, math.inf, math.log(info.max), -math.log(info.tiny), 2.0**24, 2.0**53]
    positive += [-math.log(info.smallest_subnormal), -math.log2(info.smallest_subnormal)]
    positive += [math.pi / 4, math.pi / 2, math.pi, 100 * math.pi, 3.92, 5.95, 10.2, 14.4, 27.2]
    middle = np.array(positive, dtype)
    middle = np.concatenate([middle, -middle])
    infinity = middle.dtype.type(math.inf)
    with np.errstate(over="ignore"):
        up, down = np.nextafter(middle, infinity), np.nextafter(middle, -infinity)
    return np.concatenate([middle, up, down, np.array([math.nan], dtype)])


def errors(computed: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Distances in units in the last place of `computed`; infinite where only one is finite."""
    info = np.finfo(computed.dtype)
    rounded = true.astype(computed.dtype)
    exponent = np.maximum(np.frexp(np.abs(true))[1] - 1, info.minexp) - info.nmant
    unit = np.ldexp(np.ones_like(true), exponent)
    distance = np.abs(computed.astype(true.dtype) - true) / unit
    same = (computed == rounded) | (np.isnan(computed) & np.isnan(rounded))
    special = ~np.isfinite(rounded) | ~np.isfinite(computed)
    return np.where(same & special, 0, np.where(special, math.inf, distance))


#: The gradient of gelu crosses 0: what its error is small beside is below.
RELATIVE = [lowering for lowering in LOWERINGS if lowering[0] != "gelu_gradient"]


@pytest.mark.parametrize(("function", "dtype", "kind"), RELATIVE)
def test_error_is_at_most_two_units_in_the_last_position(
    function: str, dtype: str, kind: str
) -> None:
    count = 20000 if dtype == "float32" else 4000
    x = np.concatenate([random_inputs(dtype, count), edge_inputs(dtype)])
    x = x[within_bound(function, dtype, kind, x)]
    if function == "gelu":
        x = x[x != -math.inf]  # the limit is -0; x times 0 would be NaN
    wide = x.astype(np.float64 if dtype == "float32" else np.longdouble)
    with np.errstate(all="ignore"):
        true = REFERENCE[function](wide)
        computed = compiled(function, dtype, kind)(x)
        distance = errors(computed, true)
    worst = int(np.argmax(distance))
    assert distance[worst] <= BOUND, (
        f"{function}({x[worst]!r}) = {computed[worst]!r}, not {true[worst]!r}: "
        f"{distance[worst]:.2f} units in the last place"
    )
    zero = (true == 0) & (computed == 0)
    assert np.array_equal(np.signbit(computed[zero]), np.signbit(true[zero])), "sign of zero"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradient_of_gelu(dtype: str) -> None:
    """Its errors are small beside 1/2, and on the left beside the gradient itself."""
    x = np.concatenate([np.linspace(-13, 13, 40001), [0.0, 40.0, -40.0, np.inf, -np.inf, np.nan]])
    x = x.astype(dtype)
    input = numbagrad.tensor(x, requires_grad=True)
    gelu = numbagrad.nn.functional.gelu(input)
    computed = numbagrad.autograd.grad(gelu, input, numbagrad.ones_like(gelu))[0].numpy()
    wide = np.clip(x, -41, 41).astype(np.longdouble)
    density = _minus_square_exp(np.abs(wide), 0.5) / np.sqrt(2 * np.pi)
    true = _erfc(-wide / np.sqrt(np.longdouble(2))) / 2 + wide * density
    error = np.abs(computed - true)
    unit = np.finfo(dtype).eps
    assert error[:-3].max() < 1.5 * unit
    left = (x < -1.5) & np.isfinite(x) & (x > -13.1)
    assert (error[left] / np.abs(true[left])).max() < {"float32": 2.5, "float64": 100}[dtype] * unit
    assert np.isnan(computed[-3:]).all()
