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
from ...autograd.node import Node, new_node
from ...autograd.writes.inplace import MULTIPLE, end_history, register_view, unrecorded_origin
from ...dispatch import transformations
from ...tensor import Tensor, new_tensor
from ...transforms import tangents
from ...transforms.levels import Transformed
from . import native_launchers
from .tensor_operator import GradientPlan, TensorOperator, share_memory

__all__: list[str] = []


class ViewOperator(TensorOperator):
    """An operator whose result is a view of its input; of ``several`` views it is a tuple of them.

    ``forward(array, *values)`` makes them. The launcher is called with what ``forward`` made:
    ``launch(made, input, values)`` returns that as Tensors with their history. It is compiled as
    soon as that pays.
    """

    __slots__ = ("several", "_plan")

    is_view = True

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        gradient: Callable[..., Any],
        *,
        several: bool = False,
        grad_fn: str = "",
        batch: Callable[..., Any] | None = None,
        tangent: Callable[..., Any] = tangents.multilinear,
    ):
        super().__init__(
            name, forward, {"input": gradient}, grad_fn=grad_fn, batch=batch, tangent=tangent
        )
        self.several = several
        self._plan = GradientPlan(self, (True,))

    def __call__(self, input: Tensor, *values: Any) -> Any:
        """The view of ``input`` that ``values`` describe, or the views."""
        return self.launch(self.forward(input._array, *values), input, values)

    def _launch_in_python(self, made: Any, input: Tensor, values: tuple[Any, ...]) -> Any:
        if native_launchers.operators_ready():
            self.launch = native_launchers.view_launcher(
                self.name, self._plan, self._node, self.several, python=self._leave
            )
            return self.launch(made, input, values)
        return self._leave(made, input, values)

    def _leave(self, made: Any, input: Tensor, values: tuple[Any, ...]) -> Any:
        """The calls that the launcher misses: transformations are the only layer of views.

        A view without elements is made again: those that NumPy makes of a subscript have lost their
        place in the memory, which ``forward`` knows.
        """
        if input._array.__class__ is Transformed:
            return transformations.call(self, (input, *values))
        if not self.several and not made.size:
            made = self.forward(input._array, *values)
        return self.finish(made, (input, *values))

    def finish(self, made: Any, arguments: Sequence[Any]) -> Any:
        """Views as Tensors that follow the memory of the input, with their history.

        Once recorded, none of several may be written.
        """
        input, *values = arguments
        results: Any
        if self.several:
            results = tuple(
                [self._view(x, input, values, position) for position, x in enumerate(made)]
            )
        else:
            results = self._view(made, input, values, None)
        if grad_mode.enabled and input._requires_grad and not input.is_inference():
            self.record(results, arguments)
        return results

    def _view(
        self, array: np.ndarray[Any, Any], input: Tensor, values: list[Any], position: int | None
    ) -> Tensor:
        """One view of the input, without its history."""
        result = new_tensor(array)
        share_memory(result, input)
        cell: Any = result._version_cell
        if grad_mode.view_replay:
            result._made_by = (self, input, tuple(values), position)
        if not grad_mode.enabled:
            result._view_origin = unrecorded_origin()
            result._unrecorded_at = cell[0]
            end_history(result, input)
            return result
        origin = None if input._viewed is None else input._view_origin
        if self.several:
            origin = MULTIPLE
        if origin is not None:
            result._view_origin = origin
        register_view(result, cell)
        return result

    def remember(self, results: Any, arguments: Sequence[Any]) -> Any:
        """Views made by a rule of a transformation, as views of the input with its history."""
        made = tuple([x._array for x in results]) if self.several else results._array
        return self.finish(made, arguments)

    def node_behind(
        self, edge: tuple[Any, int], sequence_nr: float, kind: type[Node] | None = None
    ) -> Any:
        """A node of this operator, which keeps no values, whose input is behind ``edge``."""
        node = new_node(kind or self._node, (edge,), number=sequence_nr)
        node.plan = self._plan
        node._output_count = 1
        node.values = ()
        return node
