"""Operators whose result shares the memory of their input: one view, or several.

Views share the version count of their memory and are known to ``autograd/writes/inplace.py``, so
that writing through one is seen by the others. The files of this folder that make views build on
this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...autograd.grad_mode import state as grad_mode
from ...autograd.node import Node, edge_of, new_node, produce
from ...autograd.writes.inplace import MULTIPLE, end_history, register_view, unrecorded_origin
from ...dispatch import transformations
from ...tensor import Tensor, new_tensor
from ...transforms import tangents
from ...transforms.levels import Transformed
from . import native_launchers
from .tensor_operator import GradientPlan, TensorOperator, share_memory

__all__: list[str] = []

_new = object.__new__


class SharedMemory(TensorOperator):
    """An operator whose results are views of its input; ``forward(array, *values)`` makes them.

    Its launcher is called with what ``forward`` made: ``wrap(made, input, values)`` returns that
    as Tensors with their history. It is compiled as soon as that pays.
    """

    __slots__ = ("wrap", "_plan", "_keeps")

    is_view = True

    def __init__(self, name: str, forward: Any, gradient: Callable[..., Any], **rules: Any):
        super().__init__(name, forward, {"input": gradient}, **rules)
        self._plan = GradientPlan(self, (True,))
        self._keeps = self._plan.keeps
        self.wrap: Callable[..., Any] = self._wrap_in_python

    def __call__(self, input: Tensor, *values: Any) -> Any:
        """The view of ``input`` that ``values`` describe, or the views."""
        return self.wrap(self.forward(input._array, *values), input, values)

    def _wrap_in_python(self, made: Any, input: Tensor, values: tuple[Any, ...]) -> Any:
        if native_launchers.operators_ready():
            self.wrap = self._launcher()
            return self.wrap(made, input, values)
        return self._leave(made, input, values)

    def _launcher(self) -> Callable[..., Any]:
        """The compiled ``wrap``."""
        raise NotImplementedError

    def _leave(self, made: Any, input: Tensor, values: tuple[Any, ...]) -> Any:
        """The calls that the launcher misses: transformations are the only layer of views."""
        if input._array.__class__ is Transformed:
            return transformations.call(self, (input, *values))
        return self._shared(made, input, values)

    def finish(self, made: Any, arguments: Sequence[Any]) -> Any:
        """Views as Tensors that follow the memory of the input, with their history."""
        return self._shared(made, arguments[0], tuple(arguments[1:]))

    def _shared(self, made: Any, input: Tensor, values: tuple[Any, ...]) -> Any:
        """``finish``, with the input and the parameters apart."""
        raise NotImplementedError

    def remember(self, results: Any, arguments: Sequence[Any]) -> Any:
        """Views made by a rule of a transformation, as views of the input with its history."""
        several = results.__class__ is tuple
        made = tuple([result._array for result in results]) if several else results._array
        return self._shared(made, arguments[0], tuple(arguments[1:]))


class ViewOperator(SharedMemory):
    """An operator whose result is a view of its input.

    Small tensors are bound by the cost of a call, so what ``TensorOperator`` does for any operator
    is written out here for one input and one output.
    """

    __slots__ = ()

    def __init__(
        self,
        name: str,
        forward: Any,
        gradient: Callable[..., Any],
        grad_fn: str = "",
        batch: Callable[..., Any] | None = None,
        tangent: Callable[..., Any] = tangents.multilinear,
    ):
        super().__init__(name, forward, gradient, grad_fn=grad_fn, batch=batch, tangent=tangent)

    def _launcher(self) -> Callable[..., Any]:
        return native_launchers.view_launcher(self.name, self._plan, self._node, python=self._leave)

    def _leave(self, made: np.ndarray[Any, Any], input: Tensor, values: tuple[Any, ...]) -> Tensor:
        """The calls that the launcher of subscripts and other views misses.

        A view without elements is made again: those that NumPy makes of a subscript have lost their
        place in the memory, which ``forward`` knows.
        """
        if input._array.__class__ is Transformed:
            found: Tensor = transformations.call(self, (input, *values))
            return found
        if not made.size:
            made = self.forward(input._array, *values)
        return self._shared(made, input, values)

    def node_behind(
        self, edge: tuple[Any, int], sequence_nr: float, kind: type[Node] | None = None
    ) -> Any:
        """A node of this operator, which keeps no values, whose input is behind ``edge``."""
        node = new_node(kind or self._node, (edge,), number=sequence_nr)
        node.plan = self._plan
        node._output_count = 1
        node.values = ()
        return node

    def _shared(self, made: np.ndarray[Any, Any], input: Tensor, values: tuple[Any, ...]) -> Tensor:
        result = _new(Tensor)
        result._array = made
        result._requires_grad = False
        result._producer = None
        result._output_nr = 0
        result._accumulated = None
        cell = input._version_cell
        if cell is None:
            cell = input._version_cell = [0]
        result._version_cell = cell  # an inference tensor only has inference tensors as views
        base = input._viewed
        result._viewed = input if base is None else base
        if grad_mode.view_replay:
            result._made_by = (self, input, values, None)
        if not grad_mode.enabled:
            result._view_origin = unrecorded_origin()
            result._unrecorded_at = cell[0]
            end_history(result, input)
            return result
        register_view(result, cell)
        if base is not None:
            origin = input._view_origin
            if origin is not None:
                result._view_origin = origin
        if input._requires_grad and made.dtype.kind in "fcV" and not input.is_inference():
            node = new_node(self._node, (edge_of(input),))
            node.plan = self._plan
            node._output_count = 1
            node.values = tuple(
                [input._array.shape if shape else values[i - 1] for i, shape in self._keeps]
            )
            produce(node, result)
        return result


class MultiViewOperator(SharedMemory):
    """An operator that returns several views of its input; once recorded, none may be written."""

    __slots__ = ()

    def __init__(
        self,
        name: str,
        forward: Any,
        gradient: Callable[..., Any],
        batch: Callable[..., Any] | None = None,
    ):
        super().__init__(name, forward, gradient, batch=batch, tangent=tangents.multilinear)

    def _launcher(self) -> Callable[..., Any]:
        return native_launchers.view_launcher(
            self.name, self._plan, self._node, several=True, python=self._leave
        )

    def _shared(
        self, made: tuple[np.ndarray[Any, Any], ...], input: Tensor, values: tuple[Any, ...]
    ) -> tuple[Tensor, ...]:
        results = tuple([new_tensor(array) for array in made])
        origin = MULTIPLE if grad_mode.enabled else unrecorded_origin()
        for position, result in enumerate(results):
            share_memory(result, input)
            if grad_mode.view_replay:
                result._made_by = (self, input, values, position)
            result._view_origin = origin
            if origin is MULTIPLE:
                register_view(result, result._version_cell)  # type: ignore[arg-type]
            else:
                result._unrecorded_at = result._version_cell[0]  # type: ignore[index]
                end_history(result, input)
        if results and grad_mode.enabled and input._requires_grad and not input.is_inference():
            self.record(results, (input, *values))
        return results
