"""Printing: a formula as the statements of a kernel.

The executor pastes them into the loop of a kernel. The text depends on the formula alone, since it
is part of a cache key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from .expression import Expression, postorder
from .lowering import Lowering, lower
from .trace import Formula
from .types import FLOATS, Typing

INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "integer_divide": "//",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "and": "&", "or": "|", "xor": "^",
    "lshift": "<<", "rshift": ">>", "shift_left": "<<", "shift_right": ">>",
}  # fmt: skip

# Functions of numbagrad.codegen.intrinsics; each keeps the dtype of its operand.
_INTRINSICS = {
    **{
        name: name for name in "fma fmod bits from_bits rint floor ceil trunc copysign sqrt".split()
    },
    "abs": "absolute",
    "where": "select",
    "reciprocal_estimate": "reciprocal_estimate",
    "rsqrt_estimate": "rsqrt_estimate",
    "multiply_by_power": "multiply_by_power",
}

_MATH = frozenset(
    "exp expm1 log log1p log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
    "erf erfc lgamma atan2 hypot pow".split()
)


def print_numba(
    formula: Formula, dtype: str, lowering: Lowering | None = None
) -> tuple[list[str], list[str]]:
    """`formula` computing in `dtype`, as straight-line Python statements for Numba.

    Returns the statements and the names of the variables that hold the outputs. The inputs are
    variables named as in the formula; the other names come from `numbagrad.codegen.intrinsics` and
    `math`. `lowering` maps (function, dtype) to the function over Expressions that
    replaces it.
    """
    typing = Typing(dtype, formula.booleans)
    outputs = lower(formula.outputs, typing, lowering)
    return statements(formula, outputs, typing, _numba_literal, _numba_cast, _numba_text)


def statements(
    formula: Formula,
    outputs: tuple[Expression, ...],
    typing: Typing,
    literal: Callable[[float, str], str],
    cast: Callable[[str, str], str],
    text: Callable[..., str],
) -> tuple[list[str], list[str]]:
    """One assignment for every distinct operation, in the order in which they are needed.

    ``literal``, ``cast`` and ``text`` print a number, a conversion and an operation.
    """
    names: dict[int, str] = {}
    fresh = _fresh_names(formula.inputs)
    lines = []

    def operand(node: Expression, wanted: str | None) -> str:
        wanted = wanted or typing.dtype
        if node.operation == "constant":
            return literal(node.value, wanted)
        given = typing.of(node)
        return names[id(node)] if given == wanted else cast(names[id(node)], wanted)

    for node in postorder(outputs):
        if node.operation == "input":
            names[id(node)] = node.value
        elif node.operation != "constant":
            wanted = typing.of_operands(node)
            parts = [operand(x, wanted) for x in node.operands]
            if node.operation == "where":
                parts[0] = operand(node.operands[0], "bool")
            names[id(node)] = next(fresh)
            result = typing.of_output(node)
            lines.append(f"{names[id(node)]} = {text(node, parts, str(wanted), result)}")
    results = []
    for node in outputs:
        if node.operation == "constant":
            names[id(node)] = next(fresh)
            lines.append(f"{names[id(node)]} = {literal(node.value, typing.of_output(node))}")
        results.append(names[id(node)])
    return lines, results


def _fresh_names(taken: tuple[str, ...]) -> Iterator[str]:
    number = 0
    while True:
        if f"t{number}" not in taken:
            yield f"t{number}"
        number += 1


def unsupported(node: Expression, dtype: str) -> TypeError:
    return TypeError(f"{node.operation} in {node!r} has no meaning for {dtype}")


def number_for(value: float, dtype: str) -> bool | int | float:
    """`value` as a Python number that `dtype` can hold."""
    if dtype in FLOATS:
        return float(value)
    if dtype == "bool":
        return bool(value)
    if value != int(value):
        raise TypeError(f"the number {value} does not fit a formula computed in {dtype}")
    width = int(dtype.lstrip("uint"))
    wrapped = int(value) % (1 << width)
    return wrapped - (1 << width) if dtype[0] == "i" and wrapped >> (width - 1) else wrapped


def _numba_cast(text: str, dtype: str) -> str:
    return f"{'boolean' if dtype == 'bool' else dtype}({text})"


def _numba_literal(value: float, dtype: str) -> str:
    number = number_for(value, dtype)
    if isinstance(number, float) and not math.isfinite(number):
        special = "math.nan" if number != number else f"{'-' * (number < 0)}math.inf"
        return f"{dtype}({special})"
    return _numba_cast(repr(number), dtype)


def _numba_text(node: Expression, parts: list[str], dtype: str, result: str) -> str:
    """The right-hand side of the assignment of `node`."""
    operation = node.operation
    arguments = ", ".join(parts)
    if operation == "cast":
        return _numba_cast(arguments, node.value)
    if operation in _INTRINSICS:
        return f"{_INTRINSICS[operation]}({arguments})"
    if operation in _MATH:
        call = f"math.{operation}({arguments})"
        return f"float32({call})" if dtype == "float32" else call
    if operation == "invert":
        return f"not {arguments}" if dtype == "bool" else f"{dtype}(~{arguments})"
    if dtype == "bool" and result == "bool" and operation in ARITHMETIC:
        raise unsupported(node, dtype)
    if operation == "neg":
        text = f"-{arguments}"
    elif operation in INFIX:
        text = f"{parts[0]} {INFIX[operation]} {parts[1]}"
    else:
        raise unsupported(node, dtype)
    # Numba widens integer arithmetic to int64; the cast makes it wrap as the dtype does.
    return text if dtype in FLOATS or result == "bool" else f"{result}({text})"


ARITHMETIC = frozenset(("add", "sub", "mul", "div", "neg", "integer_divide"))
