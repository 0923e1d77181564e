"""The linear layer as one node of the graph, as in torch.

``functional/linear.py`` checks arguments and calls it. Forward is made of the kernels of other
operators; the gradients are Tensor operations, so they can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autograd import creation_hooks, watching
from ..autograd.grad_mode import state as grad_mode
from ..autograd.node import Node, visible
from ..dispatch import interception
from ..dispatch.bits import INTERCEPTED
from ..executor import capture
from ..executor.builtin import LaunchMiss
from ..executor.conversion import convert, widened
from ..executor.matmul import HalfPrecision
from ..executor.matmul import matmul as product
from ..ops import native_launchers
from ..ops.base import Operator
from ..ops.expand import sum_to_size
from ..ops.matmul import mm
from ..ops.operator import pointwise
from ..ops.view import transpose_node
from ..tensor import Tensor, new_tensor
from ..transforms.levels import Transformed

_add = pointwise("add")
_addition = _add.program


class LinearNode(Node):
    """Node of ``input @ weight.T + bias``: keeps the input only for the gradient of the weight."""

    __slots__ = ("bias_shape",)

    _announced_when_complete = True
    bias_shape: tuple[int, ...]

    def _saved_fields(self) -> dict[str, tuple[str, Any]]:
        return {"mat1": ("tensor", 0), "mat2": ("value", self._transposed_weight)}

    def _transposed_weight(self) -> Any:
        weight = self._unpack_entry(1)
        return None if weight is None else creation_hooks.quietly(weight.t)

    def backward(self, grad: Tensor | None) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """The gradients of bias, input and weight; None for those that need none."""
        if grad is None:
            return None, None, None
        input, weight = self.unpack()
        of_bias, of_input, of_weight = self.next_edges
        bias_grad = None
        if of_bias is not None:
            rows = len(self.bias_shape) == 1 and self.bias_shape[0] == grad._array.shape[1]
            bias_grad = grad.sum(0) if rows else sum_to_size(grad, self.bias_shape)
        if grad_mode.enabled or Transformed in [
            x._array.__class__ for x in (grad, input, weight) if x is not None
        ]:
            return (
                bias_grad,
                None if of_input is None else mm(grad, weight),
                None if of_weight is None else mm(grad.t(), input),
            )
        array = grad._array
        return (
            bias_grad,
            None if of_input is None else new_tensor(product(array, weight._array)),
            None if of_weight is None else new_tensor(product(array.T, input._array)),
        )

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """For each input ``(node, output_nr)``, as torch shows them: the weight is transposed.

        The first look changes the graph: the node of the transpose is put between this node, which
        becomes a ``_TransposedLinearNode``, and the weight. Not while this thread walks a graph:
        what a walk visits is known when it begins.
        """
        of_bias, of_input, of_weight = self.next_edges
        if of_weight is not None and grad_mode.walk is None:
            node = transpose_node(of_weight, self.sequence_nr - 0.5)  # the next after this one
            self.next_edges = (of_bias, of_input, (node, 0))
            self.__class__ = _TransposedAddmmBackward0
            visible(self)
        return super().next_functions


class _TransposedLinearNode(LinearNode):
    """The node of a linear layer whose weight has the node of a transpose before it."""

    __slots__ = ()

    next_functions = Node.next_functions

    def backward(self, grad: Tensor | None) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """The gradients of bias, input and the transposed weight."""
        of_bias, of_input, of_weight = super().backward(grad)
        return of_bias, of_input, None if of_weight is None else of_weight.t()


#: torch's name of the nodes.
_AddmmBackward0 = type("AddmmBackward0", (LinearNode,), {"__slots__": ()})
_TransposedAddmmBackward0 = type("AddmmBackward0", (_TransposedLinearNode,), {"__slots__": ()})


class Linear(Operator):
    """``input @ weight.T + bias`` of matrices: a product, and the bias added where it lies.

    One node by hand instead of three: networks of small layers are bound by such calls. The edges
    are in the order of torch's node. No operand is under a transformation.
    """

    __slots__ = ()

    name = "addmm"
    parameters = ("bias", "input", "weight")
    tensors = frozenset(parameters)
    layers = INTERCEPTED

    def __call__(
        self, bias: Tensor, input: Tensor, weight: Tensor, made: np.ndarray[Any, Any] | None = None
    ) -> Tensor:
        """The result, recorded. ``made`` is its array, if somebody has it."""
        if made is None:
            if capture.active is not None and interception.is_open():
                if input._array.dtype.kind != "c":
                    found: Tensor = self.compute((bias, input, weight))
                    return found
            made = self.run((bias._array, input._array, weight._array))
            if made is None:
                return input.matmul(weight.t()) + bias
        input_needed, weight_needed = input._requires_grad, weight._requires_grad
        if not ((bias._requires_grad or input_needed or weight_needed) and grad_mode.enabled):
            return new_tensor(made)
        result = native_launchers.calls.attach(
            made,
            _AddmmBackward0,
            (bias, input, weight),
            (input if weight_needed else None, weight if input_needed else None),
        )
        node: Any = result._producer
        node.bias_shape = bias._array.shape
        if watching.count:
            creation_hooks.announce(node)
        return result

    def run(self, arrays: Sequence[Any]) -> np.ndarray[Any, Any] | None:
        """The array of the result; None for complex numbers, which are left to two operators."""
        bias, input, weight = arrays
        try:
            made = product(input, weight.T, rounded=False)
        except HalfPrecision:  # the sums are those of float32, and rounded once
            made = product(widened(input), widened(weight.T))
            _add.run_into(made, [made, bias])
            return convert(made, input.dtype)
        try:
            _addition.into(made, bias, made)
        except LaunchMiss as miss:
            if made.dtype.kind == "c":
                return None
            _addition.resolve(miss, (made, bias, made), into=True)
        return made

    def finish(self, made: np.ndarray[Any, Any], arguments: Sequence[Any]) -> Tensor:
        """The result as a Tensor with its history."""
        bias, input, weight = arguments
        return self(bias, input, weight, made)


#: The operator, with the shortest way to it.
linear_2d = Linear().__call__
