"""Orthogonal polynomials of torch.special, by their recurrences; they have no gradients there.

The degree is a number or a tensor, of which the integer part counts; of a negative one the
result is zero. Chebyshev polynomials of higher degrees within [-1, 1] are their circular functions
(NIST DLMF 18.5), where recurrences would lose digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dtype import get_default_dtype, scalar_type_name
from ...executor.memory.arrays import constant_beside
from ...executor.plan.dtypes import promoted
from ...tensor import Tensor, new_tensor
from ...transforms.batching import aligned_stacks
from ..arguments.requirements import require_tensor_or_number
from ..conversion.dtypes import cast
from ..operators.tensor_operator import TensorOperator
from .special_functions import of_dtype

__all__: list[str] = []

Array = np.ndarray[Any, Any]
#: The next of three: from k, the argument, and the polynomials of degrees k and k - 1.
Step = Callable[[int, Array, Array, Array], Array]

#: From this degree on circular functions are used within [-1, 1].
_CIRCULAR = 7


def _recurred(x: Array, n: Array, one: Array, step: Step) -> Array:
    """The polynomials of degree n, from that of degree one on."""
    made = np.where(n < 0, 0.0, np.where(n == 0, 1.0, one))
    before, here = np.ones_like(x), one
    for k in range(1, int(n.max()) if n.size else 0):
        before, here = here, step(k, x, here, before)
        made = np.where(n == k + 1, here, made)
    return made


def _chebyshev(first: Callable[[Array], Array], circular: Callable[..., Array]) -> Any:
    """A Chebyshev polynomial from the one of degree 1 and its circular form."""

    def value(x: Array, n: Array) -> Array:
        inside = (np.abs(x) < 1) & (n >= _CIRCULAR)
        angle = np.arccos(np.clip(x, -1, 1))
        degrees = np.where(inside | np.isnan(x), 0, n)
        made = _recurred(x, degrees, first(x), lambda k, x, here, before: 2 * x * here - before)
        made = np.where(inside, circular(n, angle), made)
        return np.where(np.isnan(x) & (n > 0), np.nan, made)

    return value


def _hermite(factor: int) -> Any:
    """Hermite's polynomials of physics (2) or of probability (1); the limit is torch's."""

    def value(x: Array, n: Array) -> Array:
        beyond = n > 512
        made = _recurred(
            x,
            np.where(beyond, 0, n),
            factor * x,
            lambda k, x, here, before: factor * (x * here - k * before),
        )
        return np.where(beyond, np.nan, made)

    return value


def _laguerre(x: Array, n: Array) -> Array:
    return _recurred(
        x, n, 1 - x, lambda k, x, here, before: ((2 * k + 1 - x) * here - k * before) / (k + 1)
    )


def _legendre(x: Array, n: Array) -> Array:
    return _recurred(
        x, n, x, lambda k, x, here, before: ((2 * k + 1) * x * here - k * before) / (k + 1)
    )


_T = _chebyshev(lambda x: x, lambda n, a: np.cos(n * a))
_U = _chebyshev(lambda x: 2 * x, lambda n, a: np.sin((n + 1) * a) / np.sin(a))
_V = _chebyshev(lambda x: 2 * x - 1, lambda n, a: np.cos((n + 0.5) * a) / np.cos(a / 2))
_W = _chebyshev(lambda x: 2 * x + 1, lambda n, a: np.sin((n + 0.5) * a) / np.sin(a / 2))


def _shifted(value: Any) -> Any:
    """A polynomial of [0, 1] from that of [-1, 1]."""
    return lambda x, n: value(2 * x - 1, n)


def _public(name: str, compute: Any, meaning: str) -> Callable[..., Tensor]:
    """A function of an argument and a degree that has no gradient, as in torch."""

    def forward(x: Array, n: Array) -> Array:
        wide, degrees = np.broadcast_arrays(x.astype(np.float64), np.trunc(n.astype(np.float64)))
        with np.errstate(all="ignore"):
            return of_dtype(compute(wide, degrees), x.dtype)

    operator = TensorOperator(
        f"special_{name}",
        lambda x, n: forward(x, n),
        {},
        batch=lambda operator, size, arguments, mapped: operator(
            *aligned_stacks(arguments, mapped)
        ),
    )

    def function(input: Any, n: Any) -> Tensor:
        require_tensor_or_number(f"special_{name}", input, "input", 1)
        require_tensor_or_number(f"special_{name}", n, "n", 2)
        if not isinstance(input, Tensor) and not isinstance(n, Tensor):
            raise TypeError(
                f"special_{name}(): expected a Tensor as input or n, but got two numbers"
            )
        found = promoted([x._array if isinstance(x, Tensor) else x for x in (input, n)])
        if found.is_complex or found.is_half:
            raise NotImplementedError(
                f"\"{name}_cpu\" not implemented for '{scalar_type_name(found)}'"
            )
        kind = (found if found.has_fractions else get_default_dtype()).numpy
        like = input if isinstance(input, Tensor) else n
        operands = [
            cast(y, kind)
            if isinstance(y, Tensor)
            else new_tensor(constant_beside(like._array, np.array(y, kind)))
            for y in (input, n)
        ]
        return operator(*operands)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{meaning} of degree ``n`` at ``input``, broadcast; it has no gradient."
    return function


_OF = "The Chebyshev polynomial of the"
chebyshev_polynomial_t = _public("chebyshev_polynomial_t", _T, f"{_OF} first kind")
chebyshev_polynomial_u = _public("chebyshev_polynomial_u", _U, f"{_OF} second kind")
chebyshev_polynomial_v = _public("chebyshev_polynomial_v", _V, f"{_OF} third kind")
chebyshev_polynomial_w = _public("chebyshev_polynomial_w", _W, f"{_OF} fourth kind")
_OF = "The Chebyshev polynomial, for [0, 1], of the"
shifted_chebyshev_polynomial_t = _public(
    "shifted_chebyshev_polynomial_t", _shifted(_T), f"{_OF} first kind"
)
shifted_chebyshev_polynomial_u = _public(
    "shifted_chebyshev_polynomial_u", _shifted(_U), f"{_OF} second kind"
)
shifted_chebyshev_polynomial_v = _public(
    "shifted_chebyshev_polynomial_v", _shifted(_V), f"{_OF} third kind"
)
shifted_chebyshev_polynomial_w = _public(
    "shifted_chebyshev_polynomial_w", _shifted(_W), f"{_OF} fourth kind"
)
hermite_polynomial_h = _public(
    "hermite_polynomial_h", _hermite(2), "The Hermite polynomial of physics"
)
hermite_polynomial_he = _public(
    "hermite_polynomial_he", _hermite(1), "The Hermite polynomial of probability"
)
laguerre_polynomial_l = _public("laguerre_polynomial_l", _laguerre, "The Laguerre polynomial")
legendre_polynomial_p = _public("legendre_polynomial_p", _legendre, "The Legendre polynomial")
