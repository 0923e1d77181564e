"""Operators whose result shares the memory of their input: one view, or several.

Views share the version count of their memory and are known to ``autograd/inplace.py``, so that
writing through one is seen by the others. The files of this folder that make views build on this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.grad_mode import state as grad_mode
from ..autograd.inplace import MULTIPLE, end_history, register_view, unrecorded_origin
from ..autograd.node import edge_of, new_node, produce
from ..tensor import Tensor, new_tensor
from ..transforms import dispatch, tangents
from ..transforms.levels import is_transformed
from . import native_launchers
from .tensor_operator import GradientPlan, TensorOperator, share_memory

__all__: list[str] = []

_new = object.__new__


class ViewOperator(TensorOperator):
    """An operator whose result is a view of its input; ``forward(array, *values)`` makes it.

    Small tensors are bound by the cost of a call, so what ``TensorOperator`` does for any operator
    is written out here for one input and one output.
    """

    __slots__ = ("wrap", "_plan", "_keeps")

    is_view = True
    #: Whether it knows itself what becomes of a pending conjugate or negative.
    takes_pending = False

    def __init__(
        self,
        name: str,
        forward: Any,
        gradient: Callable[..., Any],
        grad_fn: str = "",
        batch: Callable[..., Any] | None = None,
        tangent: Callable[..., Any] = tangents.multilinear,
    ):
        super().__init__(
            name, forward, {"input": gradient}, grad_fn=grad_fn, batch=batch, tangent=tangent
        )
        self._plan = GradientPlan(self, (True,))
        self._keeps = self._plan.keeps
        #: ``wrap(array, input, values)``: ``array``, a view of the memory of ``input``, as a
        #: Tensor with its history. Compiled as soon as that pays.
        self.wrap: Callable[..., Tensor] = self._wrap_in_python

    def __call__(self, input: Tensor, *values: Any) -> Tensor:
        """The view of ``input`` that ``values`` describe."""
        return self.wrap(self.forward(input._array, *values), input, values)

    def _wrap_in_python(
        self, array: np.ndarray[Any, Any], input: Tensor, values: tuple[Any, ...]
    ) -> Tensor:
        if native_launchers.operators_ready():
            self.wrap = native_launchers.view_launcher(
                self.name, self._plan, self._node, python=self._leave_view,
                forward=self.forward if self.tangent is tangents.multilinear else None,
            )  # fmt: skip
            return self.wrap(array, input, values)
        return self._leave_view(array, input, values)

    def _leave_view(
        self, array: np.ndarray[Any, Any], input: Tensor, values: tuple[Any, ...]
    ) -> Tensor:
        """What the launcher leaves to Python.

        A view without elements is made again: those that NumPy makes of a subscript have lost their
        place in the memory, which ``forward`` knows.
        """
        if is_transformed(input):
            return dispatch.apply(self, (input, *values))
        if not array.size:
            array = self.forward(input._array, *values)
        return self._view_in_python(array, input, values)

    def node_behind(self, edge: tuple[Any, int], sequence_nr: float) -> Any:
        """A node of this operator, which keeps no values, whose input is behind ``edge``."""
        node = new_node(self._node, (edge,), number=sequence_nr)
        node.plan = self._plan
        node._output_count = 1
        node.values = ()
        return node

    def remember(self, results: Any, arguments: tuple[Any, ...]) -> Tensor:
        """A view made by a rule of a transformation, as a view of ``input`` with its history."""
        return self._view_in_python(results._array, arguments[0], arguments[1:])

    def _view_in_python(
        self, array: np.ndarray[Any, Any], input: Tensor, values: tuple[Any, ...]
    ) -> Tensor:
        result = _new(Tensor)
        result._array = array
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
        if input._requires_grad and array.dtype.kind in "fcV" and not input.is_inference():
            node = new_node(self._node, (edge_of(input),))
            node.plan = self._plan
            node._output_count = 1
            node.values = tuple(
                [input._array.shape if shape else values[i - 1] for i, shape in self._keeps]
            )
            produce(node, result)
        return result


class MultiViewOperator(TensorOperator):
    """An operator that returns several views of its input; once recorded, none may be written."""

    __slots__ = ("wrap", "_plan")

    is_view = True
    takes_pending = False

    def __init__(
        self,
        name: str,
        forward: Any,
        gradient: Callable[..., Any],
        batch: Callable[..., Any] | None = None,
    ):
        super().__init__(
            name, forward, {"input": gradient}, batch=batch, tangent=tangents.multilinear
        )
        self._plan = GradientPlan(self, (True,))
        #: ``wrap(arrays, input, values)``: Tensors of views; compiled as soon as that pays.
        self.wrap: Callable[..., tuple[Tensor, ...]] = self._wrap_in_python

    def __call__(self, input: Tensor, *values: Any) -> tuple[Tensor, ...]:
        """The views of ``input`` that ``values`` describe."""
        return self.wrap(self.forward(input._array, *values), input, values)

    def _wrap_in_python(
        self, arrays: tuple[np.ndarray[Any, Any], ...], input: Tensor, values: tuple[Any, ...]
    ) -> tuple[Tensor, ...]:
        if native_launchers.operators_ready():
            self.wrap = native_launchers.view_launcher(
                self.name, self._plan, self._node, several=True, python=self._leave_views
            )
            return self.wrap(arrays, input, values)
        return self._leave_views(arrays, input, values)

    def _leave_views(
        self, arrays: tuple[np.ndarray[Any, Any], ...], input: Tensor, values: tuple[Any, ...]
    ) -> tuple[Tensor, ...]:
        """What the launcher leaves to Python."""
        if is_transformed(input):
            return dispatch.apply(self, (input, *values))
        return self._views_in_python(arrays, input, values)

    def remember(self, results: Any, arguments: tuple[Any, ...]) -> tuple[Tensor, ...]:
        """Views made by a rule of a transformation, as views of ``input`` with its history."""
        arrays = tuple([result._array for result in results])
        return self._views_in_python(arrays, arguments[0], arguments[1:])

    def _views_in_python(
        self, arrays: tuple[np.ndarray[Any, Any], ...], input: Tensor, values: tuple[Any, ...]
    ) -> tuple[Tensor, ...]:
        results = tuple([new_tensor(array) for array in arrays])
        origin = MULTIPLE if grad_mode.enabled else unrecorded_origin()
        for place, result in enumerate(results):
            share_memory(result, input)
            if grad_mode.view_replay:
                result._made_by = (self, input, values, place)
            result._view_origin = origin
            if origin is MULTIPLE:
                register_view(result, result._version_cell)  # type: ignore[arg-type]
            else:
                result._unrecorded_at = result._version_cell[0]  # type: ignore[index]
                end_history(result, input)
        if results and grad_mode.enabled and input._requires_grad and not input.is_inference():
            self.record(results, (input, *values))
        return results
