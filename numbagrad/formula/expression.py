"""The nodes of a formula: scalar expressions, and the functions with which formulas are written.

Operator definitions in `ops/` call these functions inside ordinary lambdas; `trace` turns such a
lambda into a graph of `Expression` nodes, and the rest of this folder differentiates, simplifies
and prints that graph. Nothing here knows of arrays, dtypes or Numba.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Collection, Iterable
from typing import Any, NoReturn

__all__ = [
    "Expression", "abs", "acos", "acosh", "airy_ai", "as_boolean", "as_expression", "asin", "asinh",
    "atan", "atan2", "atanh", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "bits", "cast",
    "ceil", "constant", "copysign", "cos", "cosh", "digamma", "erf", "erfc", "erfcx", "erfinv",
    "exp", "exp2", "expm1", "floor", "floor_divide", "fma", "fmod", "from_bits", "gelu",
    "gelu_gradient", "hypot", "i0", "i0e", "i1", "i1e", "isfinite", "isinf", "isnan", "k0", "k0e",
    "k1", "k1e", "lgamma", "log", "log10", "log1p", "log2", "log_ndtr", "logical_and",
    "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply_by_power", "ndtr",
    "ndtri", "near_quotient", "near_sqrt", "polygamma", "pow", "reciprocal_estimate", "remainder",
    "rint", "rough_reciprocal", "round", "rsqrt", "rsqrt_estimate", "sigmoid", "sign", "sin",
    "sinh", "spherical_j0", "sqrt", "substitute", "symbol", "tan", "tanh", "times_power_of_two",
    "trunc", "trunc_divide", "where", "xlog1py", "xlogy",
]  # fmt: skip

COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
CLASSIFICATIONS = ("isnan", "isinf", "isfinite")
BITWISE = ("and", "or", "xor", "invert")
# "shift_left" and "shift_right" are the machine's: by less than the width of the integer.
SHIFTS = ("lshift", "rshift", "shift_left", "shift_right")


def _unary(operation: str) -> Callable[[Expression], Expression]:
    return lambda self: make(operation, self)


def _binary(operation: str) -> Callable[[Expression, Any], Expression]:
    return lambda self, other: make(operation, self, other)


def _reflected(operation: str) -> Callable[[Expression, Any], Expression]:
    return lambda self, other: make(operation, other, self)


class Expression:
    """One scalar operation applied to other expressions.

    `operation` names what is done, `operands` are the expressions it is done to, and `value` is
    what else decides the result: the number of a constant, the name of an input, the dtype of a
    cast, the order of a polygamma. Nodes are immutable by convention and compare by identity;
    `==` between expressions makes the comparison `eq`.
    """

    __slots__ = ("operation", "operands", "value")

    def __init__(
        self, operation: str, operands: tuple[Expression, ...] = (), value: Any = None
    ) -> None:
        self.operation = operation
        self.operands = operands
        self.value = value

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        if self.operation in ("constant", "input"):
            return str(self.value)
        attributes = [] if self.value is None else [str(self.value)]
        return f"{self.operation}({', '.join(attributes + [repr(x) for x in self.operands])})"

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"a formula cannot branch on the value of {self!r}: "
            "use where(condition, a, b), and & | ~ instead of and, or, not"
        )

    __add__ = _binary("add")
    __radd__ = _reflected("add")
    __sub__ = _binary("sub")
    __rsub__ = _reflected("sub")
    __mul__ = _binary("mul")
    __rmul__ = _reflected("mul")
    __truediv__ = _binary("div")
    __rtruediv__ = _reflected("div")
    __floordiv__ = _binary("floor_divide")
    __rfloordiv__ = _reflected("floor_divide")
    __mod__ = _binary("remainder")
    __rmod__ = _reflected("remainder")
    __pow__ = _binary("pow")
    __rpow__ = _reflected("pow")
    __neg__ = _unary("neg")

    def __pos__(self) -> Expression:
        return self

    __abs__ = _unary("abs")
    __lt__ = _binary("lt")
    __le__ = _binary("le")
    __gt__ = _binary("gt")
    __ge__ = _binary("ge")
    __eq__ = _binary("eq")  # type: ignore[assignment]
    __ne__ = _binary("ne")  # type: ignore[assignment]
    __and__ = _binary("and")
    __rand__ = _reflected("and")
    __or__ = _binary("or")
    __ror__ = _reflected("or")
    __xor__ = _binary("xor")
    __rxor__ = _reflected("xor")
    __invert__ = _unary("invert")
    __lshift__ = _binary("lshift")
    __rlshift__ = _reflected("lshift")
    __rshift__ = _binary("rshift")
    __rrshift__ = _reflected("rshift")


def constant(value: bool | int | float) -> Expression:
    """A number; it takes the dtype of the operands it meets."""
    return Expression("constant", (), value)


def symbol(name: str) -> Expression:
    """An input of a formula."""
    return Expression("input", (), name)


def as_expression(value: Any) -> Expression:
    """`value` itself if it is an expression, a constant if it is a number."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, bool):
        return constant(value)
    if isinstance(value, numbers.Integral):
        return constant(int(value))
    if isinstance(value, numbers.Real):
        return constant(float(value))
    raise TypeError(
        f"a formula works on expressions and real numbers, not on {type(value).__name__}; "
        "make the value an input of the formula"
    )


def make(operation: str, *operands: Any, value: Any = None) -> Expression:
    """The node `operation(*operands)`; numbers among the operands become constants."""
    return Expression(operation, tuple([as_expression(x) for x in operands]), value)


def postorder(outputs: Iterable[Expression], known: Collection[int] = ()) -> list[Expression]:
    """Every distinct node under `outputs`, operands before users, without recursion.

    Nodes whose `id` is in `known` are left out, and so is what only they use.
    """
    order: list[Expression] = []
    seen = set(known)
    for output in outputs:
        stack = [(output, False)]
        while stack:
            node, operands_done = stack.pop()
            if operands_done:
                order.append(node)
            elif id(node) not in seen:
                seen.add(id(node))
                stack.append((node, True))
                stack.extend((x, False) for x in reversed(node.operands))
    return order


def substitute(
    outputs: Iterable[Expression], replacements: dict[str, Expression]
) -> tuple[Expression, ...]:
    """`outputs` with the inputs named in `replacements` replaced."""
    outputs = tuple(outputs)
    done: dict[int, Expression] = {}
    for node in postorder(outputs):
        if node.operation == "input":
            done[id(node)] = replacements.get(node.value, node)
        else:
            operands = tuple(done[id(x)] for x in node.operands)
            unchanged = all(a is b for a, b in zip(operands, node.operands, strict=True))
            done[id(node)] = node if unchanged else Expression(node.operation, operands, node.value)
    return tuple(done[id(output)] for output in outputs)


def _function(name: str, arity: int, doc: str) -> Callable[..., Expression]:
    """The function of `arity` operands with which formulas write the operation `name`."""

    def apply(*operands: Any) -> Expression:
        if len(operands) != arity:
            raise TypeError(f"{name} takes {arity} operands, got {len(operands)}")
        return make(name, *operands)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = doc
    return apply


exp = _function("exp", 1, "e**x")
exp2 = _function("exp2", 1, "2**x")
expm1 = _function("expm1", 1, "e**x - 1, accurate near 0")
log = _function("log", 1, "Natural logarithm.")
log1p = _function("log1p", 1, "log(1 + x), accurate near 0")
log2 = _function("log2", 1, "Logarithm to base 2.")
log10 = _function("log10", 1, "Logarithm to base 10.")
sqrt = _function("sqrt", 1, "Square root, correctly rounded.")
rsqrt = _function("rsqrt", 1, "1 / sqrt(x)")
near_sqrt = _function("near_sqrt", 1, "Square root, to within one unit in the last place.")
near_quotient = _function(
    "near_quotient", 2,
    "a / b to within one unit in the last place, where b and the quotient are normal numbers.",
)  # fmt: skip
rough_reciprocal = _function(
    "rough_reciprocal", 1,
    "1 / x to at least half the bits of the significand, where both are normal numbers.",
)  # fmt: skip
reciprocal_estimate = _function("reciprocal_estimate", 1, "1 / x to 14 bits, on some CPUs.")
rsqrt_estimate = _function("rsqrt_estimate", 1, "1 / sqrt(x) to 14 bits, on some CPUs.")
times_power_of_two = _function(
    "times_power_of_two", 2, "x * 2**n for a whole n and x near 1, rounded once."
)
multiply_by_power = _function(
    "multiply_by_power", 2, "x * 2**n for a whole n, rounded once, on some CPUs."
)
sin = _function("sin", 1, "Sine.")
cos = _function("cos", 1, "Cosine.")
tan = _function("tan", 1, "Tangent.")
asin = _function("asin", 1, "Inverse sine.")
acos = _function("acos", 1, "Inverse cosine.")
atan = _function("atan", 1, "Inverse tangent.")
sinh = _function("sinh", 1, "Hyperbolic sine.")
cosh = _function("cosh", 1, "Hyperbolic cosine.")
tanh = _function("tanh", 1, "Hyperbolic tangent.")
asinh = _function("asinh", 1, "Inverse hyperbolic sine.")
acosh = _function("acosh", 1, "Inverse hyperbolic cosine.")
atanh = _function("atanh", 1, "Inverse hyperbolic tangent.")
erf = _function("erf", 1, "Error function.")
erfc = _function("erfc", 1, "1 - erf(x), accurate for large x")
erfinv = _function("erfinv", 1, "Inverse error function.")
sigmoid = _function("sigmoid", 1, "1 / (1 + exp(-x))")
gelu = _function("gelu", 1, "x * ndtr(x)")
gelu_gradient = _function("gelu_gradient", 1, "Derivative of gelu.")
ndtr = _function("ndtr", 1, "Distribution function of the standard normal distribution.")
lgamma = _function("lgamma", 1, "log(abs(gamma(x)))")
digamma = _function("digamma", 1, "Derivative of lgamma.")
airy_ai = _function("airy_ai", 1, "Airy's function Ai.")
bessel_j0 = _function("bessel_j0", 1, "Bessel function of the first kind, order 0.")
bessel_j1 = _function("bessel_j1", 1, "Bessel function of the first kind, order 1.")
bessel_y0 = _function("bessel_y0", 1, "Bessel function of the second kind, order 0.")
bessel_y1 = _function("bessel_y1", 1, "Bessel function of the second kind, order 1.")
erfcx = _function("erfcx", 1, "exp(x * x) * erfc(x)")
i0 = _function("i0", 1, "Modified Bessel function of the first kind, order 0.")
i0e = _function("i0e", 1, "exp(-abs(x)) * i0(x)")
i1 = _function("i1", 1, "Modified Bessel function of the first kind, order 1.")
i1e = _function("i1e", 1, "exp(-abs(x)) * i1(x)")
k0 = _function("k0", 1, "Modified Bessel function of the second kind, order 0.")
k0e = _function("k0e", 1, "exp(x) * k0(x)")
k1 = _function("k1", 1, "Modified Bessel function of the second kind, order 1.")
k1e = _function("k1e", 1, "exp(x) * k1(x)")
log_ndtr = _function("log_ndtr", 1, "log(ndtr(x))")
ndtri = _function("ndtri", 1, "Inverse of ndtr.")
spherical_j0 = _function("spherical_j0", 1, "sin(x) / x, 1 at zero.")
atan2 = _function("atan2", 2, "Angle of the point (x, y), called as atan2(y, x).")
hypot = _function("hypot", 2, "sqrt(x*x + y*y) without overflow on the way")
pow = _function("pow", 2, "x**y")
xlogy = _function("xlogy", 2, "x * log(y), 0 where x is 0 but for a y that is NaN.")
xlog1py = _function("xlog1py", 2, "x * log1p(y), 0 where x is 0 but for a y that is NaN.")
abs = _function("abs", 1, "Absolute value.")
sign = _function("sign", 1, "-1, 0 or 1; 0 for NaN, as torch.")
floor = _function("floor", 1, "Largest integer not above x.")
ceil = _function("ceil", 1, "Smallest integer not below x.")
trunc = _function("trunc", 1, "x without its fraction.")
round = _function("round", 1, "Nearest integer, halves to even.")
minimum = _function("minimum", 2, "Smaller of two; NaN if either is NaN.")
maximum = _function("maximum", 2, "Larger of two; NaN if either is NaN.")
fmod = _function("fmod", 2, "Remainder with the sign of the dividend.")
remainder = _function("remainder", 2, "Remainder with the sign of the divisor, as Python's %.")
floor_divide = _function("floor_divide", 2, "Quotient rounded down, as Python's //.")
trunc_divide = _function("trunc_divide", 2, "Quotient rounded towards zero.")
isnan = _function("isnan", 1, "Whether x is NaN.")
isinf = _function("isinf", 1, "Whether x is infinite.")
isfinite = _function("isfinite", 1, "Whether x is neither NaN nor infinite.")
copysign = _function("copysign", 2, "Magnitude of the first operand, sign of the second.")
rint = _function("rint", 1, "Nearest integer, halves to even; one machine instruction.")
fma = _function("fma", 3, "a * b + c with one rounding.")
bits = _function("bits", 1, "The bit pattern of a float, as an integer of its size.")
from_bits = _function("from_bits", 1, "The float whose bit pattern is the integer operand.")


def polygamma(order: int, x: Any) -> Expression:
    """The derivative of digamma of the given order; order 0 is digamma."""
    return digamma(x) if order == 0 else make("polygamma", x, value=int(order))


def cast(x: Any, dtype: str) -> Expression:
    """`x` converted to the dtype named."""
    return make("cast", x, value=str(dtype))


def where(condition: Any, a: Any, b: Any) -> Expression:
    """`a` where the condition holds, else `b`; both are computed, neither spoils the other."""
    return make("where", condition, a, b)


def logical_not(x: Any) -> Expression:
    """Whether `x` is zero."""
    return make("invert", as_boolean(x))


def logical_and(a: Any, b: Any) -> Expression:
    """Whether both are nonzero."""
    return make("and", as_boolean(a), as_boolean(b))


def logical_or(a: Any, b: Any) -> Expression:
    """Whether either is nonzero."""
    return make("or", as_boolean(a), as_boolean(b))


def logical_xor(a: Any, b: Any) -> Expression:
    """Whether exactly one is nonzero."""
    return make("xor", as_boolean(a), as_boolean(b))


def as_boolean(x: Any) -> Expression:
    """`x` itself if it is a truth value by construction, else `x != 0`."""
    x = as_expression(x)
    return x if _is_boolean(x) else make("ne", x, 0)


def _is_boolean(x: Expression) -> bool:
    if x.operation == "constant":
        return isinstance(x.value, bool)
    if x.operation in BITWISE:
        return all(_is_boolean(operand) for operand in x.operands)
    if x.operation == "where":
        return all(_is_boolean(operand) for operand in x.operands[1:])
    return x.operation in COMPARISONS or x.operation in CLASSIFICATIONS
