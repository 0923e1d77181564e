"""Special functions that few programs call: polygamma, Bessel functions, the zeta function.

The modified Bessel functions are Chebyshev series whose coefficients follow, when they are first
needed, from their integrals; all is computed in float64.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...dtype import get_default_dtype, scalar_type_name
from ...executor.families.series import chebyshev_sum, either
from ...executor.memory.arrays import constant_beside
from ...executor.plan.dtypes import promoted
from ...formula import polygamma as polygamma_formula
from ...tensor import Tensor, new_tensor
from ...transforms.batching import aligned_stacks, stacked
from ...transforms.tangents import symmetric
from ..arguments.requirements import require_tensor_or_number
from ..conversion.dtypes import cast
from ..methods.registry import method
from ..methods.variants import install_in_place
from ..operators.definition import PointwiseDefinition
from ..operators.pointwise_operator import PointwiseOperator
from ..operators.tensor_operator import TensorOperator
from ..views.expand import sum_to_size
from .functions import digamma, lgamma, sign
from .selection import where

__all__ = ["i0", "mvlgamma", "polygamma"]

Array = np.ndarray[Any, Any]


def floats(name: str, input: Tensor) -> Tensor:
    """``input`` in the default dtype if it has no float dtype.

    Raises:
        RuntimeError: for complex numbers.
    """
    if input.is_complex():
        raise RuntimeError(f"\"{name}\" not implemented for '{scalar_type_name(input.dtype)}'")
    return input if input.is_floating_point() else input.to(get_default_dtype())


def of_dtype(made: Any, dtype: np.dtype[Any]) -> Array:
    """A result in a dtype; numbers, as NumPy has them for arrays without dimensions, as arrays."""
    return np.asarray(made, dtype) if isinstance(made, np.generic) else made.astype(dtype)


# --- gamma functions ------------------------------------------------------------------------------


@functools.cache
def _polygamma(order: int) -> PointwiseOperator:
    return PointwiseOperator(
        PointwiseDefinition(
            f"polygamma_{order}", lambda x: polygamma_formula(order, x), result="float",
            in_place=False, grad_fn="PolygammaBackward0",
        )
    )  # fmt: skip


#: Up to this order polygamma is a formula, which grows with the order; above it is Hurwitz' zeta.
_FORMULAS = 4


def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of ``digamma``.

    Raises:
        RuntimeError: for a negative n.
    """
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0:
        made = digamma(input)
    elif n <= _FORMULAS:
        made = _polygamma(n)(input)
    else:
        size = math.exp(math.lgamma(n + 1)) if n < 170 else math.inf
        wide = floats("polygamma", input)
        wide = wide.float() if wide.element_size() == 2 else wide
        made = zeta(float(n + 1), wide) * (size if n % 2 else -size)
        made = made.to(input.dtype) if input.is_floating_point() else made
    return made


@method("polygamma")
def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of ``digamma``."""
    return polygamma(n, self)


def _polygamma_of(input: Tensor, n: int) -> Tensor:
    return polygamma(n, input)


_polygamma_of.__name__ = "polygamma"
install_in_place(_polygamma_of)


@method()
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p.

    Raises:
        RuntimeError: for a p below 1.
    """
    if input._array.dtype.kind == "b":
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    input = floats("mvlgamma", input)
    made = p * (p - 1) / 4 * math.log(math.pi) + lgamma(input)
    for number in range(1, p):
        made = made + lgamma(input - number / 2)
    return made


install_in_place(mvlgamma)


# --- modified Bessel functions --------------------------------------------------------------------

#: Below this the series is one of x, above one of 1 / x.
_MIDDLE = 8.0


def _integral(order: int, x: Array) -> Array:
    """``exp(-x) I_n(x)`` for positive x: a mean over angles, which converges exponentially."""
    angles = np.linspace(0, np.pi, 8193)
    values = np.exp(x[:, None] * (np.cos(angles) - 1)) * np.cos(order * angles)
    values[:, [0, -1]] *= 0.5
    return values.mean(-1) * (len(angles) / (len(angles) - 1))


@functools.cache
def _series(order: int) -> tuple[Array, Array]:
    """Chebyshev coefficients of ``exp(-x) I_n(x)`` below the middle, and times root x above."""
    angles = np.pi * (np.arange(40) + 0.5) / 40
    nodes = np.cos(angles)
    below = _integral(order, (nodes + 1) * (_MIDDLE / 2))
    x = 2 * _MIDDLE / (nodes + 1)
    above = _integral(order, x) * np.sqrt(x)
    weights = np.cos(np.outer(np.arange(40), angles))
    weights *= np.where(np.arange(40) == 0, 1 / 40, 2 / 40)[:, None]
    return weights @ below, weights @ above


def _bessel(order: int, array: Array) -> Array:
    """``exp(-|x|) I_n(x)``, for an order of 0 or 1."""
    x = np.abs(array.astype(np.float64))
    below, above = _series(order)
    made = either(
        x < _MIDDLE,
        x,
        lambda small: chebyshev_sum(small * (2 / _MIDDLE) - 1, below),
        lambda large: chebyshev_sum(2 * _MIDDLE / large - 1, above) / np.sqrt(large),
    )
    return np.where(array < 0, -made, np.where(x == 0, 0.0, made)) if order else made


def _unscaled(order: int, array: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        made = _bessel(order, array) * np.exp(np.abs(array.astype(np.float64)))
    infinite = np.isinf(array)
    return np.where(infinite, np.abs(array) if order == 0 else array, made)


def _pointwise(name: str, compute: Any, gradient: Any, grad_fn: str) -> TensorOperator:
    return TensorOperator(
        name,
        lambda input: np.asarray(compute(input), input.dtype),
        {"input": gradient},
        grad_fn=grad_fn,
        batch=stacked(),
        tangent=symmetric,
    )


def _over(input: Tensor, value: Tensor) -> Tensor:
    """``value / input``, which for I1 is a half at zero."""
    zero = input == 0
    return where(zero, 0.5, value / where(zero, 1.0, input))


_i0 = _pointwise(
    "i0", lambda x: _unscaled(0, x), lambda grad, input: grad * _i1(input), "I0Backward0"
)
_i1 = _pointwise(
    "special_i1",
    lambda x: _unscaled(1, x),
    lambda grad, input, result: grad * (_i0(input) - _over(input, result)),
    "SpecialI1Backward0",
)
_i0e = _pointwise(
    "special_i0e",
    lambda x: _bessel(0, x),
    lambda grad, input, result: grad * (_i1e(input) - sign(input) * result),
    "SpecialI0EBackward0",
)
_i1e = _pointwise(
    "special_i1e",
    lambda x: _bessel(1, x),
    lambda grad, input, result: grad * (_i0e(input) - sign(input) * result - _over(input, result)),
    "SpecialI1EBackward0",
)


@method()
def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""
    return _i0(floats("i0", input))


install_in_place(i0)


def i0e(input: Tensor) -> Tensor:
    """``exp(-|x|) * i0(x)``."""
    return _i0e(floats("i0e", input))


def i1(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 1."""
    return _i1(floats("i1", input))


def i1e(input: Tensor) -> Tensor:
    """``exp(-|x|) * i1(x)``."""
    return _i1e(floats("i1e", input))


# --- the zeta function of Hurwitz -----------------------------------------------------------------

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def _zeta_of(x: Array, q: Array) -> Array:
    """``sum((k + q)**-x)``, by Euler and Maclaurin; in float64."""
    x, q = np.broadcast_arrays(x.astype(np.float64), q.astype(np.float64))
    with np.errstate(all="ignore"):
        terms = 24
        total = np.full_like(x, 0.0)
        for k in range(terms):
            total = total + (q + k) ** -x
        end = q + terms
        total = total + end ** (1 - x) / (x - 1) + 0.5 * end**-x
        factor = x * end ** (-x - 1)
        for k, bernoulli in enumerate(_BERNOULLI, 1):
            total = total + bernoulli / math.factorial(2 * k) * factor
            factor = factor * (x + 2 * k - 1) * (x + 2 * k) / (end * end)
        whole = q == np.floor(q)
        below = q <= 0
        total = np.where(below & (x != np.floor(x)), np.nan, total)
        total = np.where(below & whole, np.inf, total)
        return np.where(x == 1, np.inf, np.where(x < 1, np.nan, total))


def _no_gradient(grad: Tensor) -> Tensor:
    raise NotImplementedError("the derivative for 'special_zeta: self' is not implemented.")


def _samples(operator: Any, size: int, arguments: Any, mapped: Any) -> Tensor:
    made: Tensor = operator(*aligned_stacks(arguments, mapped))
    return made


def _tangent(operator: Any, primals: Any, tangents: Any, results: Any) -> tuple[Tensor]:
    if tangents[0] is not None:
        raise NotImplementedError(
            "Trying to use forward AD with special_zeta that does not support it for its first "
            "argument, because it has not been implemented yet."
        )
    x, q = primals
    return (-x * _zeta(x + 1, q) * tangents[1],)


_zeta = TensorOperator(
    "special_zeta",
    lambda x, q: np.asarray(_zeta_of(x, q), q.dtype),
    {
        "x": _no_gradient,
        "q": lambda grad, x, q, q_shape: sum_to_size(grad * -x * _zeta(x + 1, q), q_shape),
    },
    batch=_samples,
    tangent=_tangent,
)


def zeta(input: Any, other: Any) -> Tensor:
    """``sum((k + other)**-input)`` over k from 0 on; differentiable by ``other``.

    Raises:
        NotImplementedError: in backward, if ``input`` requires grad.
    """
    require_tensor_or_number("special_zeta", input, "input", 1)
    require_tensor_or_number("special_zeta", other, "other", 2)
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        raise TypeError("special_zeta(): expected a Tensor as input or other, but got two numbers")
    wanted = promoted([x._array if isinstance(x, Tensor) else x for x in (input, other)])
    if wanted.is_half:
        raise NotImplementedError(f"\"zeta_cpu\" not implemented for '{scalar_type_name(wanted)}'")
    kind = (wanted if wanted.has_fractions else get_default_dtype()).numpy
    like = input if isinstance(input, Tensor) else other
    x, q = [
        floats("zeta", cast(y, kind)) if isinstance(y, Tensor)
        else new_tensor(constant_beside(like._array, np.array(y, kind)))
        for y in (input, other)
    ]  # fmt: skip
    made = _zeta(x, q)
    return made
