"""Elementary functions of complex numbers with the special values of the C standard, Annex G.

torch's functions, and so this library's, are less exact about infinities, NaN and signed zeros than
the array API asks for. Of complex arrays the namespace therefore computes these by NumPy, which
follows the C standard. Real arrays take the compiled kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import numbagrad as torch

from ..ops.operators.tensor_operator import TensorOperator
from ..tensor import Tensor
from ..transforms.batching import stacked

__all__ = ["with_special_values"]

Array = np.ndarray[Any, Any]

#: By function: its derivative, from the argument and the result.
_DERIVATIVES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "acos": lambda x, result: -1 / torch.sqrt(1 - x * x),
    "acosh": lambda x, result: 1 / (torch.sqrt(x - 1) * torch.sqrt(x + 1)),
    "asinh": lambda x, result: 1 / torch.sqrt(x * x + 1),
    "atanh": lambda x, result: 1 / (1 - x * x),
    "cosh": lambda x, result: torch.sinh(x),
    "exp": lambda x, result: result,
    "expm1": lambda x, result: result + 1,
    "sinh": lambda x, result: torch.cosh(x),
    "tanh": lambda x, result: 1 - result * result,
}
_NUMPY = {"acos": "arccos", "acosh": "arccosh", "asinh": "arcsinh", "atanh": "arctanh"}


def _expm1(x: Array) -> Array:
    """NumPy's where that is exact: it has NaN of infinities, and signs its zeros otherwise."""
    made = np.where(np.isfinite(x.real) & np.isfinite(x.imag), np.expm1(x), np.exp(x) - 1)
    zero = x == 0
    made.real[zero], made.imag[zero] = 0, x.imag[zero]
    return made.astype(x.dtype)


def _operator(name: str) -> TensorOperator:
    compute = _expm1 if name == "expm1" else getattr(np, _NUMPY.get(name, name))
    derivative = _DERIVATIVES[name]

    def forward(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(compute(x))

    return TensorOperator(
        f"complex_{name}",
        lambda x: forward(x),
        {"x": lambda grad, x, result: grad * torch.conj_physical(derivative(x, result))},
        batch=stacked(),
    )


def with_special_values(name: str) -> Callable[[Tensor], Tensor]:
    """torch's function ``name`` of real numbers, and the C standard's of complex ones."""
    real: Callable[[Tensor], Tensor] = getattr(torch, name)
    made = _operator(name)

    def function(x: Tensor) -> Tensor:
        found: Tensor = made(x) if x.is_complex() else real(x)
        return found

    return function
