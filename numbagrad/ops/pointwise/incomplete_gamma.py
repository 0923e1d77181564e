"""The regularised incomplete gamma functions, P = ``igamma`` and Q = ``igammac``."""

from __future__ import annotations

from typing import Any

from ...executor.families.special import incomplete_gamma
from ...executor.plan.dtypes import promoted
from ...tensor import Tensor
from ..conversion.dtypes import cast
from ..methods.registry import method
from ..methods.variants import install_in_place
from ..operators.tensor_operator import TensorOperator
from ..views.expand import sum_to_size
from .functions import exp, lgamma, log

__all__ = ["igamma", "igammac"]


def _refused(name: str) -> Any:
    def gradient(grad: Tensor) -> Tensor:
        raise NotImplementedError(f"the derivative for '{name}: self' is not implemented.")

    return gradient


def _derivative(input: Tensor, other: Tensor) -> Tensor:
    """The derivative of P by ``other``: the density of the gamma distribution."""
    return exp((input - 1) * log(other) - other - lgamma(input))


def _tangent(operator: Any, primals: Any, tangents: Any, results: Any) -> tuple[Tensor]:
    if tangents[0] is not None:
        raise NotImplementedError(
            f"Trying to use forward AD with {operator.name} that does not support it for its first "
            "argument, because it has not been implemented yet."
        )
    made = _derivative(*primals) * tangents[1]
    return (made if operator is _igamma else -made,)


def _slope(grad: Tensor, input: Tensor, other: Tensor, other_shape: tuple[int, ...]) -> Tensor:
    return sum_to_size(grad * _derivative(input, other), other_shape)


_igamma = TensorOperator(
    "igamma",
    lambda input, other: incomplete_gamma(input, other, False),
    {"input": _refused("igamma"), "other": lambda grad, input, other, other_shape: _slope(
        grad, input, other, other_shape
    )},
    tangent=_tangent,
)  # fmt: skip
_igammac = TensorOperator(
    "igammac",
    lambda input, other: incomplete_gamma(input, other, True),
    {"input": _refused("igammac"), "other": lambda grad, input, other, other_shape: -_slope(
        grad, input, other, other_shape
    )},
    tangent=_tangent,
)  # fmt: skip


def _called(operator: TensorOperator, input: Tensor, other: Tensor) -> Tensor:
    if input._array.dtype == other._array.dtype and input.is_floating_point():
        return operator(input, other)
    kind = promoted([input._array, other._array])
    if not kind.is_floating_point:
        raise NotImplementedError(f"\"{operator.name}\" not implemented for '{kind}'")
    return operator(*[cast(x, kind.numpy) for x in (input, other)])


@method()
def igamma(input: Tensor, other: Tensor) -> Tensor:
    """The regularised lower incomplete gamma function P(input, other); differentiable by ``other``.

    NaN for negative arguments, and at (0, 0).

    Raises:
        NotImplementedError: for integers; in backward, if ``input`` requires grad.
    """
    return _called(_igamma, input, other)


@method()
def igammac(input: Tensor, other: Tensor) -> Tensor:
    """The regularised upper incomplete gamma function 1 - P(input, other), as ``igamma``.

    Raises:
        NotImplementedError: for integers; in backward, if ``input`` requires grad.
    """
    return _called(_igammac, input, other)


for _function in (igamma, igammac):
    install_in_place(_function)
