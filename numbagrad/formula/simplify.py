"""Simplification: constants folded, exact algebra, equal subexpressions made one node.

`trace`, `differentiate` and the printers call it. Every rule keeps the value for every input, NaN,
infinities and signed zeros included, in floating point and in wrapping integers; rules that only
hold for real numbers (x * 0 = 0, x + 0 = x, reassociation) are left out on purpose.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .expression import Expression, constant, postorder

COMMUTATIVE = frozenset(("add", "mul", "and", "or", "xor", "eq", "ne"))

_FOLD: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    # An integer has no negative zero; what it stands for may be a float.
    "neg": lambda x: -x if x else -float(x),
    "pow": operator.pow,
    "abs": abs,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "isnan": math.isnan,
    "isinf": math.isinf,
    "isfinite": math.isfinite,
    "rsqrt": lambda x: 1.0 / math.sqrt(x),
    "exp2": lambda x: 2.0**x,
}
_FOLD.update(
    (name, getattr(math, name))
    for name in (
        "exp expm1 log log1p log2 log10 sqrt sin cos tan asin acos atan sinh cosh tanh "
        "asinh acosh atanh erf erfc lgamma atan2 hypot copysign"
    ).split()
)


Rule = Callable[..., "Expression | None"]


class Simplifier:
    """Builds expressions in simplest form, one node for all equal ones (value numbering).

    The number of a node is its position of first appearance, so that whatever is derived from it
    depends on the formula alone.
    """

    def __init__(self) -> None:
        self._nodes: dict[tuple, Expression] = {}
        self._numbers: dict[int, int] = {}

    def build(self, operation: str, *operands: Any, value: Any = None) -> Expression:
        """`operation(*operands)` simplified; operands are numbers or results of this method."""
        parts = tuple([x if isinstance(x, Expression) else self.constant(x) for x in operands])
        if parts and all(x.operation == "constant" for x in parts):
            folded = _fold(operation, [x.value for x in parts])
            if folded is not None:
                return self.constant(folded)
        rule = _RULES.get(operation)
        if rule is not None:
            better = rule(self.build, *parts)
            if better is not None:
                return better
        return self.unique(Expression(operation, parts, value))

    def constant(self, value: bool | int | float) -> Expression:
        """The node of a number."""
        return self.unique(constant(value))

    def unique(self, node: Expression) -> Expression:
        """The one node that equals `node`."""
        numbers: Sequence[int] = [self._numbers[id(x)] for x in node.operands]
        if node.operation in COMMUTATIVE:
            numbers = sorted(numbers)
        # repr tells -0.0 from 0.0 and lets NaN equal itself.
        key = (node.operation, type(node.value).__name__, repr(node.value), *numbers)
        found = self._nodes.setdefault(key, node)
        self._numbers.setdefault(id(found), len(self._numbers))
        return found


def simplify(expression: Expression) -> Expression:
    """An equal expression, with constants folded and every distinct subexpression once."""
    return simplify_all((expression,))[0]


def simplify_all(outputs: Iterable[Expression]) -> tuple[Expression, ...]:
    """Simplify several outputs together, so that they share subexpressions."""
    outputs = tuple(outputs)
    simplifier = Simplifier()
    done: dict[int, Expression] = {}
    for node in postorder(outputs):
        operands = [done[id(x)] for x in node.operands]
        done[id(node)] = simplifier.build(node.operation, *operands, value=node.value)
    return tuple(done[id(output)] for output in outputs)


def is_constant(node: Expression, value: float) -> bool:
    """Whether `node` is the number `value`; the sign of a zero counts."""
    return (
        node.operation == "constant"
        and not isinstance(node.value, bool)
        and node.value == value
        and math.copysign(1.0, node.value) == math.copysign(1.0, value)
    )


def _fold(operation: str, values: list[Any]) -> Any:
    """The number `operation(*values)`, or None where Python has no answer that a machine has."""
    function = _FOLD.get(operation)
    if function is None:
        return None
    try:
        result = function(*values)
    except (ArithmeticError, ValueError, TypeError):
        return None
    return None if isinstance(result, complex) else result


def _add(build: Rule, a: Expression, b: Expression) -> Expression | None:
    if is_constant(b, -0.0):
        return a
    if is_constant(a, -0.0):
        return b
    if b.operation == "neg":
        return build("sub", a, b.operands[0])
    if a.operation == "neg":
        return build("sub", b, a.operands[0])
    return None


def _sub(build: Rule, a: Expression, b: Expression) -> Expression | None:
    if is_constant(b, 0):
        return a
    if b.operation == "neg":
        return build("add", a, b.operands[0])
    return None


def _mul(build: Rule, a: Expression, b: Expression) -> Expression | None:
    if a.operation == "constant":
        a, b = b, a
    if is_constant(b, 1):
        return a
    if is_constant(b, -1):
        return build("neg", a)
    if a.operation == "neg":
        if b.operation == "constant":
            return build("mul", a.operands[0], build("neg", b))
        return build("neg", build("mul", a.operands[0], b))
    if b.operation == "neg":
        return build("neg", build("mul", a, b.operands[0]))
    return None


def _div(build: Rule, a: Expression, b: Expression) -> Expression | None:
    if is_constant(b, 1):
        return a
    if is_constant(b, -1):
        return build("neg", a)
    if b.operation == "constant" and _is_power_of_two(b.value):
        return build("mul", a, 1.0 / b.value)
    if a.operation == "neg":
        return build("neg", build("div", a.operands[0], b))
    if b.operation == "neg":
        return build("neg", build("div", a, b.operands[0]))
    return None


def _is_power_of_two(value: float) -> bool:
    """Whether dividing by `value` may become multiplying: the inverse is exact in float32 too."""
    if isinstance(value, bool) or value == 0 or not math.isfinite(value):
        return False
    mantissa, exponent = math.frexp(value)
    return abs(mantissa) == 0.5 and abs(exponent) <= 100


def _neg(build: Rule, a: Expression) -> Expression | None:
    return a.operands[0] if a.operation == "neg" else None


def _abs(build: Rule, a: Expression) -> Expression | None:
    if a.operation == "abs":
        return a
    return build("abs", a.operands[0]) if a.operation == "neg" else None


def _pow(build: Rule, a: Expression, b: Expression) -> Expression | None:
    """Products for whole powers; the others stay until they are lowered, for their derivatives."""
    if b.operation != "constant":
        return None
    if b.value == 1:
        return a
    if b.value == 2:
        return build("mul", a, a)
    if b.value == 3:
        return build("mul", build("mul", a, a), a)
    return None


def _where(build: Rule, condition: Expression, a: Expression, b: Expression) -> Expression | None:
    if condition.operation == "constant":
        return a if condition.value else b
    if a is b:
        return a
    if condition.operation == "invert":
        return build("where", condition.operands[0], b, a)
    # The same condition again inside a branch is already decided.
    if a.operation == "where" and a.operands[0] is condition:
        return build("where", condition, a.operands[1], b)
    if b.operation == "where" and b.operands[0] is condition:
        return build("where", condition, a, b.operands[2])
    return None


def _and(build: Rule, a: Expression, b: Expression) -> Expression | None:
    for x, y in ((a, b), (b, a)):
        if x.operation == "constant" and isinstance(x.value, bool):
            return y if x.value else x
    return a if a is b else None


def _or(build: Rule, a: Expression, b: Expression) -> Expression | None:
    for x, y in ((a, b), (b, a)):
        if x.operation == "constant" and isinstance(x.value, bool):
            return x if x.value else y
    return a if a is b else None


def _invert(build: Rule, a: Expression) -> Expression | None:
    if a.operation == "invert":
        return a.operands[0]
    if a.operation == "constant":
        return build("ne", a, True) if isinstance(a.value, bool) else build("sub", -1, a)
    return None


def _same(build: Rule, a: Expression, b: Expression) -> Expression | None:
    return a if a is b else None


_RULES: dict[str, Rule] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "neg": _neg,
    "abs": _abs,
    "pow": _pow,
    "where": _where,
    "and": _and,
    "or": _or,
    "invert": _invert,
    "minimum": _same,
    "maximum": _same,
}
