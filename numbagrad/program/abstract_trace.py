"""A trace without computing: operations of arrays that have a form and no meaningful elements.

``ops/operators/composite_pair.py`` runs definitions under an ``AbstractTrace``: what the executor
would compute is written down as by the ``Trace``, but nothing is compiled and nothing runs. So a
definition must not look at elements, and whatever would run in Python ends the trace with
``CannotTrace``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..executor.plan import result_forms
from ..executor.plan.operations import Array, Product, Reduce, Rowwise
from .trace import Trace
from .traced_values import returned


class CannotTrace(Exception):  # noqa: N818 - a signal to the caller
    """Raised for what depends on elements, or runs in Python; the text says what."""


class AbstractTrace(Trace):
    """A trace that makes arrays of the right form in the place of computing them."""

    traces = True

    def fail(self, what: str, at: Any = None) -> NoReturn:
        """Stop at once: there is no result to go on with."""
        raise CannotTrace(what)

    def pointwise(self, program: Any, operands: tuple[Any, ...], into: bool) -> Any:
        """See :class:`Trace`."""
        inputs = operands[:-1] if into else operands
        written = result_forms.pointwise_outputs(program, inputs, operands[-1] if into else None)
        if written is None:
            self.fail(f"{program.name} of what no loop takes as it is")
        self.operations.append(self.pointwise_operation(program, inputs, written, not into))
        return returned(written, into)

    def reduce(self, program: Any, arguments: tuple[Any, ...]) -> Any:
        """See :class:`Trace`."""
        array, mask, keepdim, *rest = arguments
        made = result_forms.reduced(program, array, int(mask), bool(keepdim))
        if made is None or len(made) > 1 or (len(rest) > 1 and rest[1] is not None):
            self.fail(f"{program.definition.name}, which no loop can do")
        self.operations.append(Reduce.of_call(self.view, program, arguments, made))
        return made[0]

    def rowwise(self, program: Any, dim: int, arrays: tuple[Array, ...]) -> Any:
        """See :class:`Trace`."""
        made = result_forms.row_results(program, arrays)
        if made is None or len(made) > 1:
            self.fail(f"{program.name} of arrays that are not contiguous")
        self.operations.append(Rowwise.of_call(self.view, program, dim, arrays, made))
        return made[0]

    def product(self, function: Callable[..., Array], a: Array, b: Array) -> Array:
        """See :class:`Trace`."""
        made = result_forms.multiplied(a, b)
        if made is None:
            self.fail(f"a product of {a.dtype} {a.shape} and {b.dtype} {b.shape}")
        self.operations.append(Product.of_call(self.view, a, b, made))
        return made

    def call(self, function: Callable[..., Any], *arguments: Any, effect: bool = False) -> Any:
        """See :class:`Trace`."""
        self.fail(f"{getattr(function, '__name__', function)}, which runs in Python")

    def check(self, function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """See :class:`Trace`."""
        self.fail(f"{getattr(function, '__name__', function)}, which looks at elements")

    def opaque(self, name: str, *arguments: Any) -> None:
        """See :class:`Trace`."""
        self.fail(f"the function {name} of a user")

    def write(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        effect: bool = False,
        exchanges: bool = False,
    ) -> None:
        """See :class:`Trace`."""
        self.fail(f"{getattr(function, '__name__', function)}, which writes in Python")

    def _note(self, operation: Any, arguments: tuple[Any, ...], made: Any) -> Any:
        self.fail(f"{operation.name}, which runs in Python")


__all__ = ["CannotTrace", "AbstractTrace"]
