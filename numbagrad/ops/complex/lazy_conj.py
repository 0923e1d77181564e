"""Conjugates and negatives that are computed when they are read: views with a pending change.

``conj`` of a complex tensor is a view of its memory, and ``imag`` of that one whose elements are to
be negated. Operators get the elements (``dispatch/transformations.py``); what writes such a view
writes the memory. Gradient formulas use ``conjugate``, which computes; a program cannot hold such a
view.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd import tensor_interface
from ...autograd.grad_mode import no_grad
from ...autograd.grad_mode import state as grad_mode
from ...autograd.node import next_sequence_nr
from ...dispatch import transformations
from ...executor.capture import outside_programs
from ...formula import complex as lifted
from ...formula import symbol
from ...formula.complex import Complex
from ...tensor import Tensor, new_tensor
from ...transforms.levels import LazyConj, lazy_conj, settled, state_of
from ..methods.registry import method
from ..operators.pointwise_operator import pointwise
from ..operators.tensor_operator import TensorOperator
from ..operators.view_operator import ViewOperator
from .complex_operator import derived

__all__ = [
    "_conj", "_conj_physical", "_neg_view", "conj", "is_conj", "is_neg", "resolve_conj",
    "resolve_neg",
]  # fmt: skip


def _conjugate(grad_fn: str) -> Any:
    value = lifted.conj(Complex(symbol("x_re"), symbol("x_im")))
    return derived("conj", grad_fn, ("x",), (True,), value)


_computed, _physical = _conjugate("ConjBackward0"), _conjugate("ConjPhysicalBackward0")


def conjugate(input: Tensor) -> Tensor:
    """The complex conjugate, computed; a real tensor itself."""
    found: Tensor = input if input._array.dtype.kind != "c" else _computed(input)
    return found


@method()
def _conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate in memory of its own; a real tensor itself."""
    found: Tensor = input if input._array.dtype.kind != "c" else _physical(input)
    return found


# --- views ----------------------------------------------------------------------------------------


class LazyConjOperator(ViewOperator):
    """A view whose elements are changed when they are read."""

    __slots__ = ("change",)

    takes_lazy_conj = True

    def __init__(
        self, name: str, change: tuple[bool, bool], compute: Callable[[Tensor], Tensor]
    ) -> None:
        super().__init__(
            name,
            lambda input: input,
            compute,
            batch=lambda operator, size, arguments, mapped: operator(*arguments),
        )
        #: Whether elements are conjugated, and whether negated.
        self.change = change

    @outside_programs("a conjugate or negative that is computed when it is read")
    def __call__(self, input: Tensor, *values: Any) -> Tensor:
        """The view of ``input``, which no program can hold."""
        input = settled(input)
        state = state_of(input)
        if state is not None and state.__class__ is not LazyConj:
            made: Tensor = transformations.call(self, (input,))
            return made
        before = (False, False) if state is None else (state.conjugated, state.negated)
        memory = new_tensor(input._array if state is None else state.primal._array)
        if input._version_cell is None:
            input._version_cell = [0]
        memory._version_cell = input._version_cell
        change = [one != other for one, other in zip(before, self.change, strict=True)]
        return self.finish(lazy_conj(memory, *change)._array, (input,))


_conjugated = LazyConjOperator("conj", (True, False), lambda grad: conjugate(grad))
_negated = LazyConjOperator("neg_view", (False, True), lambda grad: pointwise("neg")(grad))


@method()
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, a view of the same memory; a real tensor itself."""
    return input if input._array.dtype.kind != "c" else _conjugated(input)


@method()
def _conj(input: Tensor) -> Tensor:
    """``conj``."""
    return conj(input)


@method()
def _neg_view(input: Tensor) -> Tensor:
    """The negative, a view of the same memory."""
    return _negated(input)


def as_lazy_conj(input: Tensor, change: tuple[bool, bool]) -> Tensor:
    """Computed: conjugated if the first of the two holds, negated if the second does."""
    if change[0]:
        input = conjugate(input)
    return pointwise("neg")(input) if change[1] else input


def view_as_lazy_conj(input: Tensor, change: tuple[bool, bool]) -> Tensor:
    """``as_lazy_conj``, as a view."""
    if change[0]:
        input = conj(input)
    return _neg_view(input) if change[1] else input


def _node_of(edge: Any, change: tuple[bool, bool]) -> Any:
    """The node of a view that is changed so, of what is behind an edge; the last of two."""
    for operator, holds in ((_conjugated, change[0]), (_negated, change[1])):
        if holds:
            edge = (operator.node_behind(edge, next_sequence_nr()), 0)
    return edge[0]


# --- elements -------------------------------------------------------------------------------------

#: Its node leads from the elements to a leaf.
_clone = TensorOperator("clone", lambda input: input, {"input": lambda grad: grad})


def _elements(input: Tensor) -> Tensor:
    """The elements of a pending tensor as they are read, without a history."""
    state = state_of(input)
    with no_grad():
        return as_lazy_conj(state.primal, (state.conjugated, state.negated))


def _resolved(input: Tensor) -> Tensor:
    """The elements as operands of operators, whose nodes follow ``input`` itself."""
    made = _elements(input)
    if grad_mode.enabled and input._requires_grad:
        if input._producer is None:
            _clone.record((made,), (input,))
        else:
            made._requires_grad = True
            made._producer, made._output_nr = input._producer, input._output_nr
    return made


tensor_interface.register(
    as_lazy_conj=as_lazy_conj, lazy_conj_node=_node_of, resolve_lazy_conj=_resolved
)


def _copied(input: Tensor) -> Tensor:
    from ..views.view import clone

    return clone(input)


def _lazy_conj_of(input: Tensor) -> tuple[bool, bool]:
    found: tuple[bool, bool] = getattr(input._array, "lazy_conj", (False, False))
    return found


@method()
def is_conj(input: Tensor) -> bool:
    """Whether the elements are conjugated when they are read."""
    return _lazy_conj_of(input)[0]


@method()
def is_neg(input: Tensor) -> bool:
    """Whether the elements are negated when they are read."""
    return _lazy_conj_of(input)[1]


@method()
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself, or a copy with the elements that are read if they are conjugated."""
    return _copied(input) if is_conj(input) else input


@method()
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself, or a copy with the elements that are read if they are negated."""
    return _copied(input) if is_neg(input) else input
