"""Definitions over rows, traced: arithmetic and reductions of a dimension become expressions.

An operator along one dimension is defined in Tensor operations: ``x - x.amax(dim, keepdim=True)``.
``trace_rows`` runs such a definition once on stand-ins, which write down what is computed: an
expression of the elements, and the reductions that it needs, in order.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from . import expression as functions
from .expression import Expression, as_expression, substitute, symbol

#: Methods that reduce the dimension, and what combines two elements.
_REDUCTIONS = {"amax": "maximum", "amin": "minimum", "prod": "multiply", "sum": "add"}


class RowFormula:
    """The formula of a definition over rows.

    Attributes:
        inputs: the names of its tensors, all of one shape.
        reductions: variable, combination, and what is combined; each may use those before.
        output: an expression of the inputs and of the variables of reductions.
    """

    __slots__ = ("inputs", "reductions", "output")

    def __init__(
        self,
        inputs: tuple[str, ...],
        reductions: list[tuple[str, str, Expression]],
        output: Expression,
    ):
        self.inputs = inputs
        self.reductions = reductions
        self.output = output

    def of(
        self,
        given: Mapping[str, Expression],
        combined: Callable[[str, Expression], Expression],
    ) -> Expression:
        """The output for these inputs; ``combined(combination, value)`` reduces a value."""
        known = dict(given)
        for name, kind, value in self.reductions:
            (value,) = substitute((value,), known)
            known[name] = combined(kind, value)
        (made,) = substitute((self.output,), known)
        return made


class _Row:
    """Stands for a Tensor: the elements of a row, or one value of the row."""

    __slots__ = ("_expression", "_reductions")

    def __init__(self, expression: Expression, reductions: list[tuple[str, str, Expression]]):
        self._expression = expression
        self._reductions = reductions

    def __getattr__(self, name: str) -> Callable[..., _Row]:
        """A method: a reduction of the row, or the function of formulas of that name."""
        if name in _REDUCTIONS:
            return lambda dim, keepdim: self._reduced(_REDUCTIONS[name], dim, keepdim)
        function = getattr(functions, name)
        return lambda *operands: self._made(function(self._expression, *map(_plain, operands)))

    def _made(self, expression: Any) -> _Row:
        return _Row(as_expression(expression), self._reductions)

    def _reduced(self, combination: str, dim: Any, keepdim: bool) -> _Row:
        if dim is not DIMENSION or not keepdim:
            raise TypeError("a definition over rows reduces the dimension that it is given, kept")
        name = f"row{len(self._reductions)}"
        self._reductions.append((name, combination, self._expression))
        return self._made(symbol(name))

    def __add__(self, other: Any) -> _Row:
        return self._made(self._expression + _plain(other))

    def __radd__(self, other: Any) -> _Row:
        return self._made(_plain(other) + self._expression)

    def __sub__(self, other: Any) -> _Row:
        return self._made(self._expression - _plain(other))

    def __rsub__(self, other: Any) -> _Row:
        return self._made(_plain(other) - self._expression)

    def __mul__(self, other: Any) -> _Row:
        return self._made(self._expression * _plain(other))

    def __rmul__(self, other: Any) -> _Row:
        return self._made(_plain(other) * self._expression)

    def __truediv__(self, other: Any) -> _Row:
        return self._made(self._expression / _plain(other))

    def __rtruediv__(self, other: Any) -> _Row:
        return self._made(_plain(other) / self._expression)

    def __neg__(self) -> _Row:
        return self._made(-self._expression)


def _plain(operand: Any) -> Any:
    return operand._expression if isinstance(operand, _Row) else operand


class _Dimension:
    """Stands for the dimension of the rows."""

    __slots__ = ()


DIMENSION = _Dimension()


def trace_rows(definition: Callable[..., Any]) -> RowFormula:
    """The row formula of a definition, whose last parameter is the dimension.

    Raises:
        TypeError, AttributeError: for what is no arithmetic, function of elements, or reduction of
            that dimension with ``keepdim=True``.
    """
    *inputs, _ = inspect.signature(definition).parameters
    reductions: list[tuple[str, str, Expression]] = []
    made = definition(*[_Row(symbol(name), reductions) for name in inputs], DIMENSION)
    return RowFormula(tuple(inputs), reductions, made._expression)


__all__ = ["RowFormula", "trace_rows"]
