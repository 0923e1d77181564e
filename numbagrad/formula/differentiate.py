"""Symbolic differentiation: a table of partial derivatives and the chain rule.

`Formula.gradients` calls it. Every partial derivative is an expression again, so the derivative of
a derivative needs nothing more. Masks are `where` expressions that select, never products with
zero, so that an infinity in the branch not taken does no harm; at kinks they follow torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .expression import (
    COMPARISONS,
    Expression,
    as_expression,
    constant,
    cos,
    cosh,
    digamma,
    erfcx,
    exp,
    floor_divide,
    gelu_gradient,
    i0,
    i0e,
    i1,
    i1e,
    log,
    log1p,
    make,
    polygamma,
    postorder,
    sign,
    sin,
    sinh,
    sqrt,
    trunc_divide,
    where,
)
from .simplify import simplify

Partial = Callable[..., Any]

ZERO = constant(0)

# Piecewise constant: the derivative is zero wherever there is one.
FLAT = frozenset(
    COMPARISONS
    + ("isnan", "isinf", "isfinite", "sign", "floor", "ceil", "trunc", "round", "rint")
    + ("floor_divide", "trunc_divide", "invert", "and", "or", "xor", "constant", "input")
)


def _minimum_partials() -> tuple[Partial, Partial]:
    return (
        lambda result, a, b: where(a == b, 0.5, where(a > b, 0, 1)),
        lambda result, a, b: where(a == b, 0.5, where(a < b, 0, 1)),
    )


def _maximum_partials() -> tuple[Partial, Partial]:
    return (
        lambda result, a, b: where(a == b, 0.5, where(a < b, 0, 1)),
        lambda result, a, b: where(a == b, 0.5, where(a > b, 0, 1)),
    )


def _quotient_of_odd(value: Expression, x: Expression) -> Expression:
    """``value / x``, which for a function that is ``x / 2`` about zero is a half there."""
    return where(x == 0, 0.5, value / where(x == 0, 1.0, x))


# operation -> one function of (result, *operands) for each operand.
PARTIALS: dict[str, tuple[Partial, ...]] = {
    # arithmetic
    "add": (lambda result, a, b: 1, lambda result, a, b: 1),
    "sub": (lambda result, a, b: 1, lambda result, a, b: -1),
    "mul": (lambda result, a, b: b, lambda result, a, b: a),
    "div": (lambda result, a, b: 1 / b, lambda result, a, b: -result / b),
    "near_quotient": (lambda result, a, b: 1 / b, lambda result, a, b: -result / b),
    "rough_reciprocal": (lambda result, a: -result * result,),
    "neg": (lambda result, a: -1,),
    "fma": (
        lambda result, a, b, c: b,
        lambda result, a, b, c: a,
        lambda result, a, b, c: 1,
    ),
    "pow": (
        lambda result, a, b: where(b == 0, 0, b * a ** (b - 1)),
        lambda result, a, b: where((a == 0) & (b >= 0), 0, result * log(a)),
    ),
    "abs": (lambda result, a: sign(a),),
    "copysign": (lambda result, a, b: where(a == 0, 0, sign(a) * sign(result)), lambda *_: 0),
    "xlogy": (
        lambda result, x, y: where((x == 0) & (y <= 0), 0, log(y)),
        lambda result, x, y: x / y,
    ),
    "xlog1py": (
        lambda result, x, y: where((x == 0) & (y <= -1), 0, log1p(y)),
        lambda result, x, y: x / (y + 1),
    ),
    "hypot": (lambda result, a, b: a / result, lambda result, a, b: b / result),
    "minimum": _minimum_partials(),
    "maximum": _maximum_partials(),
    "fmod": (lambda result, a, b: 1, lambda result, a, b: -trunc_divide(a, b)),
    "remainder": (lambda result, a, b: 1, lambda result, a, b: -floor_divide(a, b)),
    # exponentials, logarithms, roots
    "exp": (lambda result, x: result,),
    "exp2": (lambda result, x: result * math.log(2.0),),
    "expm1": (lambda result, x: result + 1,),
    "log": (lambda result, x: 1 / x,),
    "log1p": (lambda result, x: 1 / (x + 1),),
    "log2": (lambda result, x: 1 / (x * math.log(2.0)),),
    "log10": (lambda result, x: 1 / (x * math.log(10.0)),),
    "sqrt": (lambda result, x: 1 / (2 * result),),
    "near_sqrt": (lambda result, x: 1 / (2 * result),),
    "rsqrt": (lambda result, x: -0.5 * (result * result * result),),
    # trigonometry
    "sin": (lambda result, x: cos(x),),
    "cos": (lambda result, x: -sin(x),),
    "tan": (lambda result, x: 1 + result * result,),
    "asin": (lambda result, x: 1 / sqrt((1 - x) * (1 + x)),),
    "acos": (lambda result, x: -1 / sqrt((1 - x) * (1 + x)),),
    "atan": (lambda result, x: 1 / (x * x + 1),),
    "atan2": (
        lambda result, y, x: x / (x * x + y * y),
        lambda result, y, x: -y / (x * x + y * y),
    ),
    # hyperbolic functions
    "sinh": (lambda result, x: cosh(x),),
    "cosh": (lambda result, x: sinh(x),),
    "tanh": (lambda result, x: 1 - result * result,),
    "asinh": (lambda result, x: 1 / sqrt(x * x + 1),),
    "acosh": (lambda result, x: 1 / sqrt((x - 1) * (x + 1)),),
    "atanh": (lambda result, x: 1 / ((1 - x) * (1 + x)),),
    # special functions
    "erf": (lambda result, x: 2.0 / math.sqrt(math.pi) * exp(-(x * x)),),
    "erfc": (lambda result, x: -2.0 / math.sqrt(math.pi) * exp(-(x * x)),),
    "erfinv": (lambda result, x: math.sqrt(math.pi) / 2.0 * exp(result * result),),
    "ndtr": (lambda result, x: 1.0 / math.sqrt(2.0 * math.pi) * exp(-0.5 * x * x),),
    "sigmoid": (lambda result, x: result * (1 - result),),
    "gelu": (lambda result, x: gelu_gradient(x),),
    "gelu_gradient": (
        lambda result, x: (2 - x * x) * (1.0 / math.sqrt(2.0 * math.pi) * exp(-0.5 * x * x)),
    ),
    "lgamma": (lambda result, x: digamma(x),),
    "digamma": (lambda result, x: polygamma(1, x),),
    "i0": (lambda result, x: i1(x),),
    "i1": (lambda result, x: i0(x) - _quotient_of_odd(result, x),),
    "i0e": (lambda result, x: i1e(x) - sign(x) * result,),
    "i1e": (lambda result, x: i0e(x) - sign(x) * result - _quotient_of_odd(result, x),),
    "erfcx": (lambda result, x: 2 * x * result - 2.0 / math.sqrt(math.pi),),
    "log_ndtr": (lambda result, x: math.sqrt(2.0 / math.pi) / erfcx(x * -math.sqrt(0.5)),),
    "ndtri": (lambda result, x: math.sqrt(2.0 * math.pi) * exp(0.5 * result * result),),
}


def differentiate(expression: Expression, input_name: str) -> Expression:
    """The derivative of `expression` with respect to the input `input_name`."""
    derivatives: dict[int, Expression] = {}
    for node in postorder((expression,)):
        if node.operation == "input" and node.value == input_name:
            derivative = constant(1)
        elif node.operation in FLAT:
            derivative = ZERO
        else:
            derivative = _chain(node, [derivatives[id(x)] for x in node.operands])
        derivatives[id(node)] = derivative
    return simplify(derivatives[id(expression)])


def _chain(node: Expression, inner: list[Expression]) -> Expression:
    """The derivative of `node`, given those of its operands."""
    if all(is_zero(x) for x in inner):
        return ZERO
    if node.operation == "where":
        _, a, b = inner
        return where(node.operands[0], a, b) if not (is_zero(a) and is_zero(b)) else ZERO
    if node.operation == "cast":
        return Expression("cast", (inner[0],), node.value)
    if node.operation == "polygamma":
        return scale(inner[0], polygamma(node.value + 1, node.operands[0]))
    partials = PARTIALS.get(node.operation)
    if partials is None:
        raise NotImplementedError(
            f"{node.operation} has no derivative; give the operator an explicit gradient"
        )
    total = ZERO
    for partial, derivative in zip(partials, inner, strict=True):
        if not is_zero(derivative):
            local = simplify(as_expression(partial(node, *node.operands)))
            total = _plus(total, scale(derivative, local))
    return total


def is_zero(node: Expression) -> bool:
    """Whether a derivative is zero because nothing depends on the input there."""
    return node.operation == "constant" and node.value == 0


def _plus(a: Expression, b: Expression) -> Expression:
    if is_zero(a):
        return b
    return a if is_zero(b) else a + b


def scale(factor: Expression, derivative: Expression) -> Expression:
    """`factor * derivative`, where a derivative of zero means "no influence".

    A mask becomes a selection (`where(c, factor, 0)`, as torch masks gradients) and an inverse a
    division, which rounds once instead of twice.
    """
    if is_zero(factor) or is_zero(derivative):
        return ZERO
    if derivative.operation == "constant" and derivative.value == 1:
        return factor
    if derivative.operation == "neg":
        return -scale(factor, derivative.operands[0])
    if derivative.operation == "div" and derivative.operands[0].operation == "constant":
        return scale(factor, derivative.operands[0]) / derivative.operands[1]
    if derivative.operation == "where":
        condition, a, b = derivative.operands
        if a.operation == "constant" or b.operation == "constant":
            return where(condition, scale(factor, a), scale(factor, b))
    return make("mul", factor, derivative)
