"""Rules for tangents: the directional derivative of an operator, from that of its inputs.

Operators name one of these functions as their ``tangent``, or bring their own;
``dispatch/transformations.py`` says what a rule is given. What has no rule uses ``transposed``,
which follows from the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd import tensor_interface as tensors
from ..autograd.engine import interface as engine_interface
from ..autograd.grad_mode import follow_in_any_mode
from ..autograd.grad_mode import state as grad_mode
from ..tensor import Tensor
from .levels import GRAD, Level, settled, stack
from .tracking import follow, requires_grad

__all__ = [
    "additive", "multilinear", "picked", "symmetric", "transposed", "weighted", "weighted_over",
]  # fmt: skip


def multilinear(
    operator: Any, primals: Sequence[Any], tangents: Sequence[Any], results: Sequence[Tensor]
) -> tuple[Tensor | None, ...]:
    """The tangent of an operator linear in each Tensor: a sum over one input replaced at a time.

    Views, sums and other operators of one Tensor, products of two.
    """
    total: list[Tensor] | None = None
    for position, tangent in enumerate(tangents):
        if tangent is None:
            continue
        made = operator(*primals[:position], tangent, *primals[position + 1 :])
        terms = list(made) if made.__class__ is tuple else [made]
        total = terms if total is None else [a + b for a, b in zip(total, terms, strict=True)]
    return (None,) * len(results) if total is None else tuple(total)


def additive(
    operator: Any, primals: Sequence[Any], tangents: Sequence[Any], results: Sequence[Tensor]
) -> tuple[Tensor | None, ...]:
    """The tangent of an operator linear in all its Tensors together, as ``cat``: its value at them.

    An input without a tangent has zeros for one.
    """
    made = operator(*[_or_zeros(x, t) for x, t in zip(primals, tangents, strict=True)])
    return made if made.__class__ is tuple else (made,)


def _or_zeros(primal: Any, tangent: Any) -> Any:
    if tangent.__class__ is list:
        return [_or_zeros(x, t) for x, t in zip(primal, tangent, strict=True)]
    if tangent is not None:
        return tangent
    if not isinstance(primal, Tensor) or primal._array.dtype.kind not in "fcV":
        return primal
    return tensors.zeros(primal._array.shape, primal._array.dtype)


# --- rules that follow from the gradient and what is known of the Jacobian ------------------------


def _gradient(
    operator: Any, primals: Sequence[Any], results: Sequence[Tensor], grad: Tensor
) -> Tensor | None:
    """The gradient rule of the first input of an operator of one result, at ``grad``."""
    names = operator.parameters
    rule = operator.gradient[names[0]]
    code = rule.__code__
    known = dict(zip(names, primals, strict=True))
    known |= {"grad": grad, "result": results[0], f"{names[0]}_shape": primals[0]._array.shape}
    made: Tensor | None = rule(*[known[name] for name in code.co_varnames[: code.co_argcount]])
    return made


def _is_of_first(tangents: Sequence[Any], results: Sequence[Tensor]) -> bool:
    """Whether only the first input has a tangent, and results are real."""
    others = any([tangent is not None for tangent in tangents[1:]])
    return not others and tangents[0]._array.dtype.kind != "c" != results[0]._array.dtype.kind


def symmetric(
    operator: Any, primals: Sequence[Any], tangents: Sequence[Any], results: Sequence[Tensor]
) -> tuple[Tensor | None, ...]:
    """The tangent of an operator whose real Jacobian is its own transpose: its gradient rule.

    Functions of single elements, and softmax.
    """
    if not _is_of_first(tangents, results):
        return transposed(operator, primals, tangents, results)
    return (_gradient(operator, primals, results, tangents[0]),)


def weighted(
    operator: Any, primals: Sequence[Any], tangents: Sequence[Any], results: Sequence[Tensor]
) -> tuple[Tensor | None, ...]:
    """The tangent of a reduction ``operator(input, mask, keepdim, ...)`` of real numbers.

    Each element takes part in one result, so the gradient for ones has the derivatives by all of
    them: the tangent is the sum of the input's, weighted by it.
    """
    return weighted_over(primals[1], primals[2], operator, primals, tangents, results)


def weighted_over(
    mask: int, keepdim: bool, operator: Any, primals: Sequence[Any], tangents: Sequence[Any],
    results: Sequence[Tensor],
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """``weighted`` for an operator that reduces the dimensions in a mask."""
    if not _is_of_first(tangents, results):
        return transposed(operator, primals, tangents, results)
    weights = _gradient(operator, primals, results, tensors.ones_like(results[0]))
    if weights is None:
        return (None,)
    terms: Any = weights * tangents[0]
    dims = [d for d in range(terms._array.ndim) if (mask >> d) & 1]
    return (terms.sum(dims, keepdim) if dims else terms,)


def picked(
    operator: Any, primals: Sequence[Any], tangents: Sequence[Any], results: Sequence[Tensor]
) -> tuple[Tensor | None, ...]:
    """The tangent of an ``operator(input, dim, keepdim, ...)`` that gives elements and indices."""
    _, dim, keepdim = primals[:3]
    tangent, indices = tangents[0], results[1]
    if not tangent._array.ndim:
        return tangent.clone(), None
    if keepdim:
        return tangent.gather(dim, indices), None
    return tangent.gather(dim, indices.unsqueeze(dim)).squeeze(dim), None


# --- the rule of all others -----------------------------------------------------------------------


def _derivatives_by_seeds(
    outputs: list[Tensor],
    inputs: list[Tensor],
    directions: list[Tensor],
    seeds: list[Tensor],
    recorded: bool,
) -> Sequence[Tensor | None]:
    """The derivatives by ``seeds`` of the gradients that they give, times ``directions``."""
    outside, stack.transposing = stack.transposing, True
    try:
        gradients = engine_interface.grad(
            outputs, inputs, seeds, create_graph=True, allow_unused=True
        )
    finally:
        stack.transposing = outside
    pairs = [
        (g, t) for g, t in zip(gradients, directions, strict=True)
        if g is not None and g._requires_grad
    ]  # fmt: skip
    if not pairs:
        return (None,) * len(seeds)
    return engine_interface.grad(
        [g for g, _ in pairs], seeds, [t for _, t in pairs],
        create_graph=recorded, allow_unused=True,
    )  # fmt: skip


def transposed(
    operator: Any, primals: Sequence[Any], tangents: Sequence[Any], results: Sequence[Tensor]
) -> tuple[Tensor | None, ...]:
    """The transpose of the gradient rule, which is linear in the gradient it is given.

    With gradients ``g(u)`` of the inputs, the derivative of ``<g(u), tangents>`` by ``u`` is the
    tangent of the results: this is Townsend's "A new trick for calculating Jacobian vector
    products" (2017). ``u`` may be anything; it is one here, which rules that take its logarithm
    like better than zero.
    """
    recorded = grad_mode.enabled and requires_grad([*primals, *tangents])
    with Level(GRAD) as level, follow_in_any_mode():
        found, directions = _derivatives_at_level(level, operator, primals, tangents, recorded)
    return tuple([_own(tangent, directions) for tangent in found])


def _derivatives_at_level(
    level: Level, operator: Any, primals: Sequence[Any], tangents: Sequence[Any], recorded: bool
) -> tuple[list[Tensor | None], list[Tensor]]:
    """The tangent of each output of an operator, if it has one, and the tangents of its inputs."""
    followed: list[Tensor] = []
    directions: list[Tensor] = []
    arguments = [
        _followed(level, x, t, followed, directions) for x, t in zip(primals, tangents, strict=True)
    ]
    made = operator(*arguments)
    if made.__class__ is not tuple:
        made = (made,)
    outputs = [x for x in made if x._requires_grad]
    if not outputs:
        return [None] * len(made), directions
    seeds = [follow(level, tensors.ones_like(output)) for output in outputs]
    found = iter(_derivatives_by_seeds(outputs, followed, directions, seeds, recorded))
    return [next(found) if output._requires_grad else None for output in made], directions


def _own(tangent: Tensor | None, directions: Sequence[Tensor]) -> Tensor | None:
    """A tangent in memory of its own: a write to what it belongs to must not reach an input's."""
    if tangent is None:
        return None
    tangent = settled(tangent)
    shared = tangent._viewed is not None or any([tangent is x for x in directions])
    return tangent.clone() if shared else tangent


def _followed(
    level: Level, primal: Any, tangent: Any, followed: list[Tensor], directions: list[Tensor]
) -> Any:
    """An argument as a Tensor of a graph of its own, if it has a tangent."""
    if tangent.__class__ is list:
        return [
            _followed(level, x, t, followed, directions)
            for x, t in zip(primal, tangent, strict=True)
        ]
    if tangent is None:
        return primal
    own = follow(level, primal)
    followed.append(own)
    directions.append(tangent)
    return own
