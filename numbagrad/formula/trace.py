"""Formulas: named inputs, output expressions, and how both come from a plain Python function.

Operator definitions trace their lambdas here on first use; the executor asks the resulting
`Formula` for gradients (`differentiate.py`) and hands it to the printers (`printing.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .differentiate import differentiate, scale
from .expression import Expression, as_expression, postorder, substitute, symbol
from .simplify import simplify_all

# Names that the generated source uses for something else: functions and dtypes of the statements,
# and the variables of the loop around them.
RESERVED = frozenset(
    "math np fma fmod bits from_bits rint floor ceil trunc copysign sqrt absolute select float16 "
    "float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 boolean "
    "load store load_apart store_apart min max range kernel args lo hi i d dimensions size row "
    "column extent outer position count rows start stop outside beyond".split()
)


class Formula:
    """One or more scalar expressions of named inputs.

    `booleans` names the inputs that are truth values, whatever the dtype of the others: those
    that decide a `where`.
    """

    __slots__ = ("inputs", "outputs", "uses", "booleans")

    def __init__(self, inputs: Sequence[str], outputs: Iterable[Any]) -> None:
        for name in inputs:
            if name in RESERVED or not name.isidentifier():
                raise ValueError(f"{name!r} cannot name an input of a formula: it is reserved")
        self.inputs = tuple(inputs)
        self.outputs = simplify_all(as_expression(output) for output in outputs)
        nodes = postorder(self.outputs)
        self.uses = frozenset(node.value for node in nodes if node.operation == "input")
        missing = sorted(self.uses.difference(self.inputs))
        if missing:
            raise ValueError(f"the outputs use {missing}, which are not among {self.inputs}")
        self.booleans = _boolean_inputs(nodes)

    def __repr__(self) -> str:
        return f"Formula(({', '.join(self.inputs)}) -> {', '.join(map(repr, self.outputs))})"

    def gradient(self, name: str, explicit: Callable[..., Any] | None = None) -> Formula:
        """The formula of `grad * d output / d name`.

        `explicit` is a function that says it instead of the derived one; its parameters are any
        of `grad`, the inputs of this formula, and `result`, its output.
        """
        return self.gradients((name,), {} if explicit is None else {name: explicit})

    def gradients(
        self, needed: Sequence[str], explicit: Mapping[str, Callable[..., Any]] | None = None
    ) -> Formula:
        """One formula with the gradients of all inputs in `needed`, sharing subexpressions.

        Its inputs are `grad`, the inputs of this formula that it uses, and `result` if used.
        """
        if len(self.outputs) != 1:
            raise ValueError(f"gradients are defined for one output, not {len(self.outputs)}")
        explicit = explicit or {}
        symbols = {x: symbol(x) for x in ("grad", *self.inputs, "result")}
        outputs = [self._gradient(name, explicit.get(name), symbols) for name in needed]
        used = {node.value for node in postorder(outputs) if node.operation == "input"}
        rest = [x for x in (*self.inputs, "result") if x in used]
        return Formula(("grad", *rest), outputs)

    def _gradient(
        self, name: str, explicit: Callable[..., Any] | None, symbols: Mapping[str, Expression]
    ) -> Expression:
        if name not in self.inputs:
            raise ValueError(f"{name!r} is not an input of the formula {self!r}")
        if explicit is None:
            return scale(symbols["grad"], differentiate(self.outputs[0], name))
        wanted = parameters(explicit)
        unknown = [x for x in wanted if x not in symbols]
        if unknown:
            raise ValueError(f"the gradient of {name} names {unknown}, not among {list(symbols)}")
        return as_expression(explicit(*[symbols[x] for x in wanted]))

    def substitute(self, replacements: Mapping[str, Any], inputs: Sequence[str]) -> Formula:
        """This formula with some inputs replaced by expressions of the new `inputs`."""
        expressions = {name: as_expression(x) for name, x in replacements.items()}
        return Formula(inputs, substitute(self.outputs, expressions))


def trace(function: Callable[..., Any], inputs: Sequence[str] | None = None) -> Formula:
    """Call `function` with symbolic inputs and keep what it computes.

    The inputs are named after the parameters of `function`, or as `inputs` says. The function may
    return one expression or a tuple of them; numbers count as expressions.
    """
    names = parameters(function) if inputs is None else tuple(inputs)
    result = function(*[symbol(name) for name in names])
    return Formula(names, result if isinstance(result, tuple) else (result,))


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the positional parameters of a plain function."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount]


def _boolean_inputs(nodes: Iterable[Expression]) -> frozenset[str]:
    """The inputs that reach the condition of a `where` through logic alone."""
    found = set()
    pending = [node.operands[0] for node in nodes if node.operation == "where"]
    while pending:
        node = pending.pop()
        if node.operation == "input":
            found.add(node.value)
        elif node.operation in ("and", "or", "xor", "invert"):
            pending.extend(node.operands)
    return frozenset(found)
