"""Orthogonal polynomials of torch.special, by their recurrences; they have no gradients there.

The degree is a number or a tensor, of which the integer part counts; of a negative one the
result is zero. Their kernel is in ``kernels/special/polynomials.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dtype import get_default_dtype, scalar_type_name
from ...executor.families import special as executor
from ...executor.memory.arrays import constant_beside
from ...executor.plan.dtypes import promoted
from ...kernels.special import layout
from ...tensor import Tensor, new_tensor
from ...transforms.batching import aligned_stacks
from ..arguments.requirements import require_tensor_or_number
from ..conversion.dtypes import cast
from ..operators.tensor_operator import TensorOperator

__all__: list[str] = []


def _public(name: str, family: int, meaning: str) -> Callable[..., Tensor]:
    """A function of an argument and a degree that has no gradient, as in torch."""
    shifted = name.startswith("shifted")
    operator = TensorOperator(
        f"special_{name}",
        lambda x, n: executor.polynomial(x, n, family, shifted),
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
chebyshev_polynomial_t = _public("chebyshev_polynomial_t", layout.T, f"{_OF} first kind")
chebyshev_polynomial_u = _public("chebyshev_polynomial_u", layout.U, f"{_OF} second kind")
chebyshev_polynomial_v = _public("chebyshev_polynomial_v", layout.V, f"{_OF} third kind")
chebyshev_polynomial_w = _public("chebyshev_polynomial_w", layout.W, f"{_OF} fourth kind")
_OF = "The Chebyshev polynomial, for [0, 1], of the"
shifted_chebyshev_polynomial_t = _public(
    "shifted_chebyshev_polynomial_t", layout.T, f"{_OF} first kind"
)
shifted_chebyshev_polynomial_u = _public(
    "shifted_chebyshev_polynomial_u", layout.U, f"{_OF} second kind"
)
shifted_chebyshev_polynomial_v = _public(
    "shifted_chebyshev_polynomial_v", layout.V, f"{_OF} third kind"
)
shifted_chebyshev_polynomial_w = _public(
    "shifted_chebyshev_polynomial_w", layout.W, f"{_OF} fourth kind"
)
hermite_polynomial_h = _public(
    "hermite_polynomial_h", layout.HERMITE_H, "The Hermite polynomial of physics"
)
hermite_polynomial_he = _public(
    "hermite_polynomial_he", layout.HERMITE_HE, "The Hermite polynomial of probability"
)
laguerre_polynomial_l = _public("laguerre_polynomial_l", layout.LAGUERRE, "The Laguerre polynomial")
legendre_polynomial_p = _public("legendre_polynomial_p", layout.LEGENDRE, "The Legendre polynomial")
