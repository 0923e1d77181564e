"""Functions of the normal distribution's tails: ``erfcx``, ``log_ndtr`` and ``ndtri``.

The scaled complementary error function is a Chebyshev series of ``(x - 3.75) / (x + 3.75)`` on all
positive numbers (J. L. Schonfelder, *Chebyshev expansions for the error and related functions*,
1978); the coefficients follow, when they are first needed, from its integral (NIST DLMF 7.7.1) by
Gauss's rule. All is computed in float64.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...executor.families.series import chebyshev_sum, either
from ...tensor import Tensor, new_tensor
from ...transforms.batching import stacked
from ...transforms.tangents import symmetric
from ..operators.tensor_operator import TensorOperator
from .functions import erfc, erfinv, exp
from .special_functions import floats, of_dtype

__all__: list[str] = []

Array = np.ndarray[Any, Any]

_MIDDLE = 3.75
_ROOT_2 = math.sqrt(2.0)


def _integral(x: float) -> float:
    """``(1 + 2 x) * erfcx(x)``, which stays between 1 and 1.2: two over root pi of an integral.

    ``exp(-t * t - 2 * x * t)``, with t in units in which its exponent reaches 45 at the end.
    """
    end = math.sqrt(x * x + 45) - x
    points, weights = np.polynomial.legendre.leggauss(80)
    t = (points + 1) * (end / 2)
    found = math.fsum(weights * np.exp(-t * (t + 2 * x))) * end / math.sqrt(math.pi)
    return found * (1 + 2 * x)


@functools.cache
def _coefficients() -> Array:
    count = 44
    angles = np.pi * (np.arange(count) + 0.5) / count
    nodes = np.cos(angles)
    values = [_integral(_MIDDLE * (1 + t) / (1 - t)) for t in nodes]
    # Turns are counted in whole numbers: rounded multiples of an angle would cost digits.
    turns = np.outer(np.arange(count), 2 * np.arange(count) + 1) % (4 * count)
    weights = np.cos(np.pi * turns / (2 * count)) * (2 / count)
    weights[0] /= 2
    return np.array([math.fsum(row * values) for row in weights])


def _square_exponential(x: Array, factor: float = 1.0) -> Array:
    """``exp(factor * x * x)`` with what rounding takes from the square."""
    head = x.astype(np.float32).astype(np.float64)
    made: Array = np.exp(factor * head * head) * np.exp(factor * (x - head) * (x + head))
    return made


def _erfcx(array: Array) -> Array:
    return either(array < 0, array, _erfcx_below, _erfcx_above)


def _erfcx_above(x: Array) -> Array:
    finite = np.minimum(x, 1e300)
    series = chebyshev_sum((finite - _MIDDLE) / (finite + _MIDDLE), _coefficients())
    return np.where(x == np.inf, 0.0, series / (1 + 2 * finite))


def _erfcx_below(x: Array) -> Array:
    made = 2 * _square_exponential(np.maximum(x, -27.0)) - _erfcx_above(-x)
    return np.where(x < -26.7, np.inf, made)


def _log_ndtr(array: Array) -> Array:
    """Below -1 by the scaled tail, above by what is left of one."""
    made = either(array < -1, array, _log_of_tail, _log_of_rest)
    return np.where(np.isneginf(array), -np.inf, made)


def _log_of_tail(x: Array) -> Array:
    made: Array = np.log(_erfcx(x / -_ROOT_2) / 2) - x * x / 2
    return made


def _log_of_rest(x: Array) -> Array:
    x = np.minimum(x, 40.0)  # beyond, nothing is left of one
    left = either(
        x > 1,
        x,
        lambda high: _erfcx(high / _ROOT_2) / 2 / _square_exponential(high, 0.5),
        lambda near: 0.5 * erfc(new_tensor(np.asarray(near / _ROOT_2)))._array,
    )
    return np.log1p(-left)


def _lower_tail(p: Array) -> Array:
    """The argument below -1 at which the probability is p, by Newton's method on its logarithm.

    The start is the first terms of its expansion (NIST DLMF 7.17.6). The logarithm is concave, so
    that from the second step on all go to the right.
    """
    wanted = np.log(p)
    square = -2 * wanted
    x = -np.sqrt(square - np.log(square) - math.log(2 * math.pi))
    for _ in range(12):
        scaled = _erfcx(x / -_ROOT_2)
        step = (wanted + x * x / 2 - np.log(scaled / 2)) * scaled / math.sqrt(2 / math.pi)
        x = x + step
        if (np.abs(step) <= 1e-9 * np.abs(x)).all():  # what is left is the square of that
            break
    return x


def _ndtri(p: Array) -> Array:
    """In the middle by the inverse error function, which knows the distance from a half."""
    tail = np.minimum(p, 1 - p)
    made = either(
        (tail > 0) & (tail < 0.1),
        p,
        lambda far: np.sign(far - 0.5) * -_lower_tail(np.minimum(far, 1 - far)),
        lambda middle: _ROOT_2 * erfinv(new_tensor(np.asarray(2 * middle - 1)))._array,
    )
    made = np.where(p == 0, -np.inf, np.where(p == 1, np.inf, made))
    return np.where((p < 0) | (p > 1) | np.isnan(p), np.nan, made)


def _operator(name: str, compute: Any, gradient: Any, grad_fn: str) -> TensorOperator:
    def forward(input: Array) -> Array:
        with np.errstate(all="ignore"):
            return of_dtype(compute(input.astype(np.float64)), input.dtype)

    return TensorOperator(
        name,
        lambda input: forward(input),
        {"input": gradient},
        grad_fn=grad_fn,
        batch=stacked(),
        tangent=symmetric,
    )


def _slope_of_erfcx(grad: Tensor, input: Tensor, result: Tensor) -> Tensor:
    return grad * (2 * input * result - 2 / math.sqrt(math.pi))


_erfcx_operator = _operator("special_erfcx", _erfcx, _slope_of_erfcx, "SpecialErfcxBackward0")
_log_ndtr_operator = _operator(
    "special_log_ndtr",
    _log_ndtr,
    lambda grad, input: grad / _erfcx_operator(input / -_ROOT_2) * math.sqrt(2 / math.pi),
    "SpecialLogNdtrBackward0",
)
_ndtri_operator = _operator(
    "special_ndtri",
    _ndtri,
    lambda grad, result: grad * math.sqrt(2 * math.pi) * exp(result * result * 0.5),
    "SpecialNdtriBackward0",
)


def erfcx(input: Tensor) -> Tensor:
    """``exp(x * x) * erfc(x)``, which falls like ``1 / x`` where ``erfc`` underflows."""
    made = _erfcx_operator(floats("special_erfcx", input))
    return made


def log_ndtr(input: Tensor) -> Tensor:
    """The logarithm of the probability of a normal number to be below x."""
    made = _log_ndtr_operator(floats("special_log_ndtr", input))
    return made


def ndtri(input: Tensor) -> Tensor:
    """The number below which a normal number is with this probability; NaN outside [0, 1]."""
    made = _ndtri_operator(floats("special_ndtri", input))
    return made
