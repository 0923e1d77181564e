"""A formula as the source of a NumPy function: what tests compare kernels with."""

from __future__ import annotations

import math

from numbagrad.formula import Formula
from numbagrad.formula.expression import Expression
from numbagrad.formula.lowering import lower
from numbagrad.formula.printing import ARITHMETIC, INFIX, number_for, statements, unsupported
from numbagrad.formula.types import Typing

_NUMPY = {
    **{
        name: f"np.{name}"
        for name in (
            "exp exp2 expm1 log log1p log2 log10 sqrt sin cos tan sinh cosh tanh hypot fmod "
            "floor ceil trunc rint copysign minimum maximum isnan isinf isfinite where"
        ).split()
    },
    **{
        name: f"np.arc{name[1:]}"
        for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2")
    },
    **{name: name for name in ("erf", "erfc", "lgamma", "fma")},
    "abs": "np.abs",
    "pow": "np.power",
    "round": "np.rint",
}


def print_numpy(formula: Formula, dtype: str, name: str = "formula") -> str:
    """The source of a NumPy function that computes `formula` in `dtype`.

    The function takes arrays, or NumPy scalars, in the order of the inputs, and returns one result
    or a tuple of them.
    """
    typing = Typing(dtype, formula.booleans)
    outputs = lower(formula.outputs, typing, native=_NUMPY)
    lines, results = statements(formula, outputs, typing, _numpy_literal, _numpy_cast, _numpy_text)
    body = [f"        {line}" for line in [*lines, f"return {', '.join(results)}"]]
    return "\n".join(
        [
            "import numpy as np",
            "",
            "from numpy_functions import erf, erfc, fma, lgamma",
            "",
            "",
            f"def {name}({', '.join(formula.inputs)}):",
            '    with np.errstate(all="ignore"):',
            *body,
            "",
        ]
    )


def _numpy_cast(text: str, dtype: str) -> str:
    return f"{text}.astype(np.{'bool_' if dtype == 'bool' else dtype})"


def _numpy_literal(value: float, dtype: str) -> str:
    number = number_for(value, dtype)
    if isinstance(number, float) and not math.isfinite(number):
        return f"np.{dtype}({repr(number)!r})"
    return f"np.{'bool_' if dtype == 'bool' else dtype}({number!r})"


def _numpy_text(node: Expression, parts: list[str], dtype: str, result: str) -> str:
    """The right-hand side of the assignment of `node`."""
    operation = node.operation
    arguments = ", ".join(parts)
    if operation == "cast":
        return _numpy_cast(arguments, node.value)
    if operation in ("bits", "from_bits"):
        return f"{arguments}.view(np.{result})"
    if operation in _NUMPY:
        return f"{_NUMPY[operation]}({arguments})"
    if operation == "invert":
        return f"~{arguments}"
    if dtype == "bool" and result == "bool" and operation in ARITHMETIC:
        raise unsupported(node, dtype)
    if operation == "neg":
        return f"-{arguments}"
    if operation in INFIX:
        return f"{parts[0]} {INFIX[operation]} {parts[1]}"
    raise unsupported(node, dtype)
