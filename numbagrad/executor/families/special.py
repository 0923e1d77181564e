"""Special functions of two arguments on ndarrays, by kernels that loop as long as terms count.

Called by ``ops/pointwise/incomplete_gamma.py``, ``ops/pointwise/polynomials.py`` and their
neighbours. No trace is told of these kernels: a program calls the function again.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..hand_written import HandWrittenKernel

Array = np.ndarray[Any, Any]

_GRAIN = 256  # elements that are worth a thread of their own

#: lgamma(1 + a) / a for a in [0, 1], by Chebyshev polynomials of 2 a - 1.
_LOG_GAMMA = np.array([
    -0.2647362369323025, 0.28587285859139466, -0.0235145763321575, 0.002685079974656731,
    -0.0003497552715727561, 4.880755320003236e-05, -7.098358790485804e-06, 1.060746616681459e-06,
    -1.6155933858435658e-07, 2.4955218012272827e-08, -3.896697345119788e-09, 6.137352658308378e-10,
    -9.734966110649396e-11, 1.5533015630980043e-11, -2.4909467297324567e-12, 4.0120228240690907e-13,
    -6.486576014785499e-14, 1.0522714222232995e-14, -1.7121447861626472e-15, 2.7933134227060936e-16,
    -4.568268129158122e-17, 7.487532521139084e-18,
])  # fmt: skip
_NUMBERS = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798,
    -174611 / 330, 854513 / 138, -236364091 / 2730,
)  # fmt: skip
#: Bernoulli's numbers over factorials: those of 2, 4, ...
_BERNOULLI = np.array([x / math.factorial(2 * k) for k, x in enumerate(_NUMBERS, 1)])


@functools.cache
def _kernel(name: str, dtype: np.dtype[Any], module: str = "gamma") -> HandWrittenKernel:
    return HandWrittenKernel(f"kernels.special.{module}", f"{name}_{dtype.name}")


def _launch(name: str, left: Array, right: Array, *rest: Any) -> Array:
    if left.shape != right.shape:
        left, right = np.broadcast_arrays(left, right)
    left, right = np.asarray(left, order="C"), np.asarray(right, order="C")
    made = np.empty(left.shape, left.dtype)
    _kernel(name, left.dtype).launch(left.size, _GRAIN, made, left, right, *rest)
    return made


def incomplete_gamma(a: Array, x: Array, upper: bool) -> Array:
    """The regularised incomplete gamma function P(a, x), or Q, of arrays of one float dtype."""
    return _launch("incomplete_gamma", a, x, _LOG_GAMMA, _LOG_GAMMA.size, int(upper))


def zeta(x: Array, q: Array) -> Array:
    """The zeta function of Hurwitz, of arrays of one float dtype."""
    return _launch("zeta", x, q, _BERNOULLI, _BERNOULLI.size)


def polynomial(x: Array, degree: Array, family: int, shifted: bool) -> Array:
    """Orthogonal polynomials of a family (``kernels/special/layout.py``) at x; one float dtype."""
    if degree.size == 1 and degree.ndim <= x.ndim:
        step = 0
    else:
        step, (x, degree) = 1, np.broadcast_arrays(x, degree)
    x, degree = np.asarray(x, order="C"), np.asarray(degree, order="C")
    made = np.empty(x.shape, x.dtype)
    _kernel("polynomial", x.dtype, "polynomials").launch(
        x.size, _GRAIN, made, x, degree, step, family, int(shifted)
    )
    return made
