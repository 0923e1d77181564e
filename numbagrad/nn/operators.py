"""The linear layer as one node of the graph, as in torch.

``functional/linear.py`` checks arguments and calls it. Forward is made of the kernels of other
operators; the gradients are Tensor operations, so they can be differentiated again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..autograd.grad_mode import state as grad_mode
from ..autograd.hooks import creation_hooks, watching
from ..autograd.hooks.tensor_hooks import RemovableHandle
from ..autograd.node import Node, visible
from ..dispatch import interception
from ..dispatch.bits import INTERCEPTED, TRANSFORMED
from ..executor import capture
from ..executor.builtin import LaunchMiss
from ..executor.cache import library
from ..executor.families.conversion import convert
from ..executor.families.matmul import HalfPrecision, matmul_into, unrounded
from ..executor.families.matmul import matmul as product
from ..ops.arguments.shapes import check_expands
from ..ops.operators import foresight, native_launchers
from ..ops.operators.base import Operator
from ..ops.operators.node_calls import standing_for
from ..ops.operators.pointwise_operator import pointwise
from ..ops.products.matmul import mm
from ..ops.views.expand import sum_to_size
from ..ops.views.view import TRANSPOSE
from ..tensor import Tensor, new_tensor
from ..transforms.levels import Transformed

_add = pointwise("add")
_addition = _add.program


class LinearNode(Node):
    """Node of ``input @ weight.T + bias``: keeps the input only for the gradient of the weight."""

    __slots__ = ("bias_shape", "shown")

    _computes_wanted = True
    _announced_when_complete = True
    bias_shape: tuple[int, ...]
    #: The node of the transposed weight, once somebody looked.
    shown: Any

    def _saved_fields(self) -> dict[str, tuple[str, Any]]:
        return {"mat1": ("tensor", 0), "mat2": ("value", self._transposed_weight)}

    def _transposed_weight(self) -> Any:
        weight = self._unpack_entry(1)
        return None if weight is None else creation_hooks.quietly(weight.t)

    def backward(  # type: ignore[override]  # the engine gives as many gradients as outputs
        self, grad: Tensor | None, *, wanted: tuple[bool, ...] | None = None
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """The gradients of bias, input and weight; None for those that need none."""
        if grad is None:
            return None, None, None
        input, weight = self.unpack()
        of_bias, of_input, of_weight = self.next_edges
        if wanted is not None:
            of_bias, of_input, of_weight = [
                edge if want else None for edge, want in zip(self.next_edges, wanted, strict=True)
            ]
        bias_grad = None
        if of_bias is not None:
            rows = len(self.bias_shape) == 1 and self.bias_shape[0] == grad._array.shape[1]
            bias_grad = grad.sum(0) if rows else sum_to_size(grad, self.bias_shape)
        intercepted = capture.active is not None and interception.is_open()
        if (
            grad_mode.enabled
            or intercepted
            or Transformed in [x._array.__class__ for x in (grad, input, weight) if x is not None]
        ):
            return (
                bias_grad,
                None if of_input is None else mm(grad, weight),
                None if of_weight is None else _sent_to(of_weight[0], mm(grad.t(), input)),
            )
        array = grad._array
        return (
            bias_grad,
            None if of_input is None else new_tensor(product(array, weight._array)),
            None
            if of_weight is None
            else _sent_to(of_weight[0], self._of_weight(of_weight[0], array.T, input._array)),
        )

    def _of_weight(self, target: Any, a: Any, b: Any) -> Tensor:
        """The gradient of the weight, ``a @ b``, where a leaf has memory for it.

        Hooks of this node could keep it, and what lies there does not last.
        """
        hooks = target._hooks
        if hooks is not None and hooks.memory is not None and self._hooks is None:
            memory = hooks.memory()
            if (
                memory is not None
                and memory.shape == (a.shape[0], b.shape[1])
                and memory.dtype == a.dtype
                and matmul_into(a, b, memory)
            ):
                made = hooks.placed = new_tensor(memory[...])
                return made
        return new_tensor(product(a, b))

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """For each input ``(node, output_nr)``, as torch shows them: the weight is transposed.

        The node of the transpose is only shown, the same one at each look, until somebody makes it
        part of the graph.
        """
        _, _, of_weight = self.next_edges
        if of_weight is None or of_weight[0].__class__ is _ShownTranspose:
            return super().next_functions
        node = getattr(self, "shown", None)
        if node is None:
            # It comes next after this one.
            node = TRANSPOSE.node_behind(of_weight, self.sequence_nr - 0.5, _ShownTranspose)
            node.shown_by = weakref.ref(self)
            self.shown = node
        return (*super().next_functions[:2], (visible(node), 0))

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(grad_inputs, grad_outputs) -> tuple or None``, to run after the node.

        It sees the gradient of the transposed weight, as in torch, unless a walk is under way.
        """
        transpose = self.next_functions[2][0]
        if isinstance(transpose, _Shown) and grad_mode.walk is None:
            transpose.take_part()
        return super().register_hook(hook)


class _Shown:
    """A node that a linear layer shows, and leaves out until it has hooks or ends a walk."""

    __slots__ = ()

    def take_part(self: Any) -> None:
        """Enter the graph, between the node that shows this one and the weight.

        Raises:
            RuntimeError: while this thread walks a graph: its walk knows what it visits.
        """
        node = self.shown_by()
        if node is None or node.next_edges[2][0] is self:
            return
        if grad_mode.walk is not None:
            raise RuntimeError(
                "the node of the transposed weight of a linear layer gets no hooks while backward "
                "runs: register them before"
            )
        of_bias, of_input, _ = node.next_edges
        node.next_edges = (of_bias, of_input, (self, 0))

    def register_hook(self: Any, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(grad_inputs, grad_outputs) -> tuple or None``, to run after the node."""
        self.take_part()
        return Node.register_hook(self, hook)

    def register_prehook(self: Any, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(grad_outputs) -> tuple or None``, called before the node runs."""
        self.take_part()
        return Node.register_prehook(self, hook)


_ShownTranspose: Any = type(
    "TBackward0",
    (_Shown, TRANSPOSE.node_class),
    {"__slots__": ("shown_by",)},
)


def _sent_to(target: Any, gradient: Tensor) -> Tensor:
    """The gradient of a weight, transposed for the node of its transpose."""
    return gradient.t() if target.__class__ is _ShownTranspose else gradient


#: torch's name of the nodes.
_AddmmBackward0 = type("AddmmBackward0", (LinearNode,), {"__slots__": ()})


class Linear(Operator):
    """``input @ weight.T + bias`` of matrices: a product, and the bias added where it lies.

    One node by hand instead of three: networks of small layers are bound by such calls. The edges
    are in the order of torch's node.
    """

    __slots__ = ()

    name = "addmm"
    parameters = ("bias", "input", "weight")
    tensors = frozenset(parameters)
    layers = TRANSFORMED | INTERCEPTED

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
                found = input.matmul(weight.t())
                check_expands(bias._array.shape, found._array.shape)
                return found + bias
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
        if library.compiled_more:
            foresight.foresee(node, (result,))
        return result

    def run(self, arrays: Sequence[Any]) -> np.ndarray[Any, Any] | None:
        """The array of the result; None for complex numbers, which are left to two operators."""
        bias, input, weight = arrays
        try:
            made = product(input, weight.T, rounded=False)
        except HalfPrecision:  # the sums are those of float32, and rounded once
            made = unrounded(input, weight.T)
            _add.run_into(made, [made, bias])
            return convert(made, input.dtype)
        try:
            _addition.launch_into(made, bias, made)
        except LaunchMiss:
            if made.dtype.kind == "c":
                return None
            _addition.write(made, bias, made)
        return made

    def calls_of(self, node: Any, recall: Any) -> Iterable[list[Any]]:
        """The call that leaves such a node; none if bias alone needs a gradient."""
        of_bias, of_input, of_weight = node.next_edges
        if of_weight is not None and of_weight[0].__class__ is _ShownTranspose:
            of_weight = of_weight[0].next_edges[0]
        input, weight = node.unpack()
        operands = [
            kept if edge is None else recall.operand(edge, kept)
            for edge, kept in ((of_input, input), (of_weight, weight))
        ]
        if None in [x if x is None else 0 for x in operands]:
            return []
        form = node.bias_shape, operands[0]._array.dtype
        bias = standing_for(form) if of_bias is None else recall.operand(of_bias, None, form)
        return [[bias, *operands]]

    def finish(self, made: np.ndarray[Any, Any], arguments: Sequence[Any]) -> Tensor:
        """The result as a Tensor with its history."""
        bias, input, weight = arguments
        return self(bias, input, weight, made)


_linear = Linear()
LinearNode.operator = _linear
#: The operator, with the shortest way to it.
linear_2d = _linear.__call__
