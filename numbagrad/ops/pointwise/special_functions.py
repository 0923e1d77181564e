"""Special functions of the gamma family that few programs call, and the zeta function."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...dtype import get_default_dtype, scalar_type_name
from ...executor.families.special import zeta as hurwitz_zeta
from ...executor.memory.arrays import constant_beside
from ...executor.plan.dtypes import promoted
from ...formula import polygamma as polygamma_formula
from ...tensor import Tensor, new_tensor
from ...transforms.batching import aligned_stacks
from ..arguments.requirements import require_tensor_or_number
from ..conversion.dtypes import cast
from ..methods.registry import method
from ..methods.variants import install_in_place
from ..operators.definition import PointwiseDefinition
from ..operators.pointwise_operator import PointwiseOperator
from ..operators.tensor_operator import TensorOperator
from ..views.expand import sum_to_size
from .functions import digamma, lgamma

__all__ = ["mvlgamma", "polygamma"]


def floats(name: str, input: Tensor) -> Tensor:
    """``input`` in the default dtype if it has no float dtype.

    Raises:
        RuntimeError: for complex numbers.
    """
    if input.is_complex():
        raise RuntimeError(f"\"{name}\" not implemented for '{scalar_type_name(input.dtype)}'")
    return input if input.is_floating_point() else input.to(get_default_dtype())


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


# --- the zeta function of Hurwitz -----------------------------------------------------------------


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
    lambda x, q: hurwitz_zeta(x, q),
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
