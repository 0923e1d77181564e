"""Lowering: elementary functions replaced by arithmetic just before printing.

The printers call `lower` with the rules of a backend (the CPU's vectorised exp, tanh, ...). The
rules here are those every backend shares: what a function means for each dtype where no machine
instruction says it, and the special functions that neither C nor NumPy has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from . import expression as e
from .differentiate import differentiate
from .expression import Expression, make, postorder, where
from .simplify import simplify_all
from .special_functions import IN_FLOAT64, erfinv, polynomial
from .types import FLOATS, Typing

Lowering = Mapping[tuple[str, str], Callable[..., Any]]


def lower(
    outputs: Iterable[Expression],
    typing: Typing,
    lowering: Lowering | None = None,
    native: Iterable[str] = (),
) -> tuple[Expression, ...]:
    """`outputs` without the functions that have a rule, simplified.

    `lowering` maps (function, dtype) to a plain function over Expressions and goes before the
    shared rules; the functions in `native` stay as they are on floats.
    """
    lowerer = _Lowerer(typing, lowering or {}, frozenset(native))
    outputs = tuple(outputs)
    # Simplifying may bring up a function with a rule again.
    while lowerer.has_work(outputs):
        outputs = simplify_all(lowerer.all(outputs))
    return outputs


class _Lowerer:
    def __init__(self, typing: Typing, lowering: Lowering, native: frozenset[str]) -> None:
        self._typing = typing
        self._lowering = lowering
        self._native = native
        self._done: dict[int, Expression] = {}
        self._keep: list[Expression] = []  # ids in _done stay taken
        self._active: list[tuple[str, str | None]] = []

    def all(self, outputs: tuple[Expression, ...]) -> list[Expression]:
        for node in postorder(outputs, known=self._done):
            operands = tuple(self._done[id(x)] for x in node.operands)
            result = self._one(Expression(node.operation, operands, node.value))
            self._done[id(node)] = self._done[id(result)] = result
            self._keep += (node, result)
        return [self._done[id(output)] for output in outputs]

    def has_work(self, outputs: tuple[Expression, ...]) -> bool:
        return any(self._rule(node) for node in postorder(outputs))

    def _one(self, node: Expression) -> Expression:
        rule = self._rule(node)
        if rule is None:
            return node
        key = (node.operation, self._typing.of_operands(node))
        if key in self._active:
            chain = " -> ".join(name for name, _ in [*self._active, key])
            raise ValueError(f"the lowering of {key[0]} for {key[1]} needs itself: {chain}")
        self._active.append(key)
        (result,) = self.all((e.as_expression(rule(*node.operands)),))
        self._active.pop()
        return result

    def _rule(self, node: Expression) -> Callable[..., Any] | None:
        operation, dtype = node.operation, self._typing.of_operands(node)
        if dtype is None or operation == "cast":
            return None
        if operation == "pow" and dtype in FLOATS and node.operands[1].operation == "constant":
            power = _POWERS.get(node.operands[1].value)
            if power is not None:
                return lambda a, b: power(a)
        if (operation, dtype) in self._lowering:
            return self._lowering[operation, dtype]
        if dtype in FLOATS:
            if operation in self._native:
                return None
            if operation == "polygamma":
                return lambda x: _polygamma(node.value, x)
            if operation in IN_FLOAT64:
                return partial(in_float64, operation, dtype)
            return _FLOAT_RULES.get(operation)
        if dtype == "bool":
            return _BOOLEAN_RULES.get(operation)
        if operation in ("lshift", "rshift") and node.operands[1].operation == "constant":
            return None
        if operation in _SIZED_INTEGER_RULES:
            width = int(dtype.lstrip("uint"))
            signed = not dtype.startswith("u")
            return lambda a, b: _SIZED_INTEGER_RULES[operation](a, b, width, signed)
        if operation == "abs" and dtype.startswith("u"):
            return lambda x: x
        return _INTEGER_RULES.get(operation)


# Floating point

#: Powers that are something other than pow, those of torch and the next two of their derivatives.
#: They come from here, not from `simplify`, as the derivative of 1 / x / x is NaN where that is 0.
_POWERS: dict[float, Callable[[Expression], Expression]] = {
    0.5: e.sqrt,
    -0.5: e.rsqrt,
    -1: lambda a: 1 / a,
    -1.5: lambda a: where(a == -math.inf, 0.0, e.rsqrt(a) / a),
    -2: lambda a: 1 / (a * a),
    -3: lambda a: 1 / (a * a * a),
}


def float_remainder(a: Expression, b: Expression, fmod: Any = e.fmod) -> Expression:
    """The remainder with the sign of the divisor."""
    rest = fmod(a, b)
    return where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)


def float_floor_divide(a: Expression, b: Expression, fmod: Any = e.fmod) -> Expression:
    """Division as Python's: exact multiples minus the remainder, then rounded."""
    rest = fmod(a, b)
    quotient = (a - rest) / b
    quotient = where((rest != 0) & ((b < 0) != (rest < 0)), quotient - 1, quotient)
    lower = e.floor(quotient)
    nearest = where(quotient - lower > 0.5, lower + 1, lower)
    nonzero = where(quotient != 0, nearest, e.copysign(0.0, a / b))
    return where(b == 0, a / b, nonzero)


def in_float64(name: str, dtype: str, x: Expression) -> Expression:
    """A function of `special_functions.py`, whose value is of the dtype of its argument."""
    return e.cast(IN_FLOAT64[name](e.cast(x, "float64")), dtype)


def _sign(x: Expression) -> Expression:
    return where(x > 0, 1, where(x < 0, -1, 0))


def _digamma(x: Expression) -> Expression:
    """Recurrence up to 10, then the asymptotic series; reflection for negative arguments.

    Abramowitz and Stegun, 6.3.5, 6.3.7 and 6.3.18.
    """
    negative = x < 0
    y = where(negative, 1 - x, x)
    shifted = y < 10
    harmonic: Any = 0.0
    for k in range(10):
        harmonic = harmonic + 1 / (y + k)
    z = where(shifted, y + 10, y)
    inverse = 1 / (z * z)
    series = polynomial(
        inverse, (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
    )
    value = e.log(z) - 0.5 / z - series * inverse - where(shifted, harmonic, 0.0)
    # tan of pi x keeps its accuracy when the whole part of x goes first.
    angle = math.pi * (x - e.rint(x))
    reflected = value - math.pi / e.tan(angle)
    pole = negative & (x == e.floor(x))
    result = where(pole, math.nan, where(negative, reflected, value))
    return where(x == 0, e.copysign(math.inf, -x), result)


def _polygamma(order: int, x: Expression) -> Expression:
    """Derivatives of digamma: recurrence, asymptotic series, reflection.

    Abramowitz and Stegun, 6.4.6, 6.4.7 and 6.4.11.
    """
    negative = x < 0.5
    y = where(negative, 1 - x, x)
    shifted = y < 10 + order
    z = where(shifted, y + (10 + order), y)
    factorial = math.factorial
    recurrence: Any = 0.0
    for k in range(10 + order):
        recurrence = recurrence + _power(1 / (y + k), order + 1)
    inverse = 1 / (z * z)
    bernoulli = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
    tail = polynomial(
        inverse,
        tuple(
            b * (factorial(2 * k + order - 1) / factorial(2 * k))
            for k, b in enumerate(bernoulli, start=1)
        ),
    )
    series = factorial(order - 1) + factorial(order) * 0.5 / z + tail * inverse
    value = series * _power(1 / z, order) + where(shifted, factorial(order) * recurrence, 0.0)
    sign = 1 if order % 2 else -1
    # psi_n(1 - x) = (-1)^n (psi_n(x) + d^n/dx^n pi cot(pi x))
    angle = math.pi * e.symbol("x")
    cotangent = math.pi * e.cos(angle) / e.sin(angle)
    for _ in range(order):
        cotangent = differentiate(cotangent, "x")
    (cotangent,) = e.substitute((cotangent,), {"x": x - e.rint(x)})
    # (-1)^n psi_n(y) = -value for both parities, since psi_n(y) = (-1)^(n + 1) value.
    reflected = -value - cotangent
    pole = (x <= 0) & (x == e.floor(x))
    return where(pole, sign * math.inf, where(negative, reflected, sign * value))


def _power(x: Expression, exponent: int) -> Expression:
    result = x
    for _ in range(exponent - 1):
        result = result * x
    return result


def _gelu_gradient(x: Expression) -> Expression:
    density = e.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
    return e.ndtr(x) + x * density


_FLOAT_RULES: dict[str, Callable[..., Any]] = {
    "minimum": lambda a, b: where((a < b) | (a != a), a, b),
    "maximum": lambda a, b: where((a > b) | (a != a), a, b),
    "sign": _sign,
    "round": e.rint,
    "rsqrt": lambda x: 1 / e.sqrt(x),
    "near_sqrt": e.sqrt,
    "near_quotient": lambda a, b: a / b,
    "rough_reciprocal": lambda x: 1 / x,
    "exp2": lambda x: make("pow", 2, x),
    "isnan": lambda x: x != x,
    "isinf": lambda x: e.abs(x) == math.inf,
    "isfinite": lambda x: e.abs(x) < math.inf,
    "remainder": float_remainder,
    "floor_divide": float_floor_divide,
    "trunc_divide": lambda a, b: e.trunc(a / b),
    "sigmoid": lambda x: 1 / (1 + e.exp(-x)),
    "gelu": lambda x: x * e.ndtr(x),
    "gelu_gradient": _gelu_gradient,
    "ndtr": lambda x: 0.5 * e.erfc(x * -math.sqrt(0.5)),
    "digamma": _digamma,
    "erfinv": erfinv,
    "xlogy": lambda x, y: where(y != y, y, where(x == 0, 0, x * e.log(y))),
    "xlog1py": lambda x, y: where(y != y, y, where(x == 0, 0, x * e.log1p(y))),
}


# Integers


def _integer_floor_divide(a: Expression, b: Expression, width: int, signed: bool) -> Expression:
    """A quotient for every divisor, lest the processor trap on x / 0 or on the least x / -1.

    Callers look for zeros before and raise.
    """
    if not signed:
        return make("integer_divide", a, where(b == 0, 1, b))
    safe = (b != 0) & (b != -1)
    return where(b == -1, -a, make("integer_divide", a, where(safe, b, 1)))


def _integer_remainder(a: Expression, b: Expression) -> Expression:
    return a - e.floor_divide(a, b) * b


def _integer_trunc_divide(a: Expression, b: Expression) -> Expression:
    quotient = e.floor_divide(a, b)
    inexact = quotient * b != a
    return where(inexact & ((a < 0) != (b < 0)), quotient + 1, quotient)


def _integer_pow(a: Expression, b: Expression, width: int, signed: bool) -> Expression:
    """Repeated squaring over the bits of the exponent; 0 for what a negative one makes < 1."""
    result: Any = 1
    square = a
    for bit in range(width - signed):
        result = where((b >> bit) & 1 != 0, square * result, result)
        square = square * square
    if not signed:
        return result
    odd = (b & 1) != 0
    inverse = where(a == 1, 1, where(a == -1, where(odd, -1, 1), 0))
    return where(b < 0, inverse, result)


def _shift(name: str) -> Callable[..., Expression]:
    def rule(a: Expression, b: Expression, width: int, signed: bool) -> Expression:
        """Shifts by more than the width, or by less than nothing, lose every bit, as in torch."""
        outside = (b < 0) | (b >= width)
        amount = where(outside, 0, b)
        if name == "lshift":
            return where(outside, 0, make("shift_left", a, amount))
        emptied = a >> (width - 1) if signed else 0
        return where(outside, emptied, make("shift_right", a, amount))

    return rule


_SIZED_INTEGER_RULES: dict[str, Callable[..., Any]] = {
    "floor_divide": _integer_floor_divide,
    "pow": _integer_pow,
    "lshift": _shift("lshift"),
    "rshift": _shift("rshift"),
}

_INTEGER_RULES: dict[str, Callable[..., Any]] = {
    "minimum": lambda a, b: where(a < b, a, b),
    "maximum": lambda a, b: where(a > b, a, b),
    "abs": lambda x: where(x < 0, -x, x),
    "sign": _sign,
    "isnan": lambda x: False,
    "isinf": lambda x: False,
    "isfinite": lambda x: True,
    "remainder": _integer_remainder,
    "trunc_divide": _integer_trunc_divide,
    "fmod": lambda a, b: a - e.trunc_divide(a, b) * b,
    **{name: (lambda x: x) for name in ("floor", "ceil", "trunc", "round", "rint")},
}

# Booleans: the arithmetic of {0, 1}, with 1 + 1 = 1 as in torch.
_BOOLEAN_RULES: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a | b,
    "mul": lambda a, b: a & b,
    "minimum": lambda a, b: a & b,
    "maximum": lambda a, b: a | b,
    "pow": lambda a, b: a | ~b,
    "sign": lambda x: x,
    "abs": lambda x: x,
    "isnan": lambda x: False,
    "isinf": lambda x: False,
    "isfinite": lambda x: True,
}
