"""Operators of layers that are one node in the graph, as in torch: linear, nll_loss, mean losses.

``functional.py`` checks arguments and calls them. Forward is made of the kernels of other
operators; the gradients are Tensor operations, so they can be differentiated again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.grad_mode import state as grad_mode
from ..autograd.node import Node, edge_of, next_sequence_nr
from ..autograd.saved import save
from ..executor.builtin import LaunchMiss
from ..executor.matmul import matmul as product
from ..ops.matmul import mm
from ..ops.operator import pointwise
from ..ops.tensor_operator import TensorOperator
from ..ops.view import sum_to_size
from ..tensor import Tensor, new_tensor

Array = np.ndarray[Any, Any]

# --- linear ---------------------------------------------------------------------------------------

_new = object.__new__
_addition = pointwise("add").program


class LinearNode(Node):
    """Node of ``input @ weight.T + bias``: keeps the input only for the gradient of the weight."""

    __slots__ = ("bias_shape",)

    bias_shape: tuple[int, ...]

    def backward(self, grad: Tensor | None) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """The gradients of bias, input and weight; None for those that need none."""
        if grad is None:
            return None, None, None
        input, weight = self.unpack()
        of_bias, of_input, of_weight = self.next_edges
        bias_grad = None if of_bias is None else sum_to_size(grad, self.bias_shape)
        if grad_mode.enabled:
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


#: torch's name of the node.
_AddmmBackward0 = type("AddmmBackward0", (LinearNode,), {"__slots__": ()})


def linear_2d(bias: Tensor, input: Tensor, weight: Tensor) -> Tensor:
    """``input @ weight.T + bias`` of matrices: a product, and the bias added where it lies.

    One node by hand instead of three: networks of small layers are bound by such calls. The edges
    are in the order of torch's node.
    """
    made = product(input._array, weight._array.T)
    try:
        _addition.into(made, bias._array, made)
    except LaunchMiss as miss:
        _addition.resolve(miss, (made, bias._array, made), into=True)
    result = new_tensor(made)
    bias_needed, input_needed = bias._requires_grad, input._requires_grad
    weight_needed = weight._requires_grad
    if (bias_needed or input_needed or weight_needed) and grad_mode.enabled:
        node: Any = _new(_AddmmBackward0)
        node.next_edges = (edge_of(bias), edge_of(input), edge_of(weight))
        node._hooks = None
        node.sequence_nr = next_sequence_nr()
        node.saved = (
            save(input) if weight_needed else None,
            save(weight) if input_needed else None,
        )
        node.bias_shape = bias._array.shape
        result._requires_grad = True
        result._grad_fn = node
    return result


# --- negative log likelihood ----------------------------------------------------------------------


def _places(target: Array) -> tuple[Array, ...]:
    """Indices of one class for every element of ``target``, in (batch, class, ...) arrays."""
    grid = np.ogrid[tuple(slice(size) for size in target.shape)]
    batch, *rest = grid
    return (batch, target, *rest)


def _chosen(input: Array, target: Array, factor: Array) -> Array:
    return -input[_places(target)] * factor


def _placed(grad: Array, target: Array, factor: Array, shape: tuple[int, ...]) -> Array:
    made = np.zeros(shape, grad.dtype)
    made[_places(target)] = -grad * factor
    return made


_nll_elements_gradient: TensorOperator
_nll_total_gradient: TensorOperator

#: Minus the entry of the class of every element, times a factor; classes are dimension 1.
nll_elements = TensorOperator(
    "nll_elements",
    lambda input, target, factor: _chosen(input, target, factor),
    {
        "input": lambda grad, target, factor, input_shape: _nll_elements_gradient(
            grad, target, factor, input_shape
        )
    },
    grad_fn="NllLossBackward0",
)
_nll_elements_gradient = TensorOperator(
    "nll_loss_backward",
    lambda grad_output, target, factor, shape: _placed(grad_output, target, factor, shape),
    {"grad_output": lambda grad, target, factor: nll_elements(grad, target, factor)},
)

#: The sum of the above.
nll_total = TensorOperator(
    "nll_total",
    lambda input, target, factor: np.asarray(_chosen(input, target, factor).sum(), input.dtype),
    {
        "input": lambda grad, target, factor, input_shape: _nll_total_gradient(
            grad, target, factor, input_shape
        )
    },
    grad_fn="NllLossBackward0",
)
_nll_total_gradient = TensorOperator(
    "nll_loss_backward",
    lambda grad_output, target, factor, shape: _placed(grad_output, target, factor, shape),
    {"grad_output": lambda grad, target, factor: nll_total(grad, target, factor)},
)


def named(operator: TensorOperator, grad_fn: str) -> TensorOperator:
    """The operator with another name of its node."""
    return TensorOperator(operator.name, operator.forward, operator.gradient, grad_fn=grad_fn)


nll_elements_2d = named(nll_elements, "NllLoss2DBackward0")
nll_total_2d = named(nll_total, "NllLoss2DBackward0")


# --- pointwise losses -----------------------------------------------------------------------------


def _gradient_of(name: str, place: int) -> Callable[..., Tensor]:
    """The gradient of a reduced pointwise loss with respect to one of its two tensors."""
    needed: list[int | None] = [None, None]
    needed[place] = 0

    def gradient(grad: Tensor, input: Tensor, target: Tensor, option: Any, mean: bool) -> Tensor:
        options = () if option is None else (option,)
        rule = pointwise(name).rule((*needed, *[None for _ in options]))
        operands = (input, target, *options)
        used = [operands[i] for i in rule.uses]
        scaled = grad / input._array.size if mean else grad
        assert rule.joint is not None
        return rule.joint(scaled, *used)

    return gradient


def _reduced_forward(name: str) -> Callable[..., Array]:
    def forward(input: Array, target: Array, option: Any, mean: bool) -> Array:
        options = () if option is None else (option,)
        loss = pointwise(name)(new_tensor(input), new_tensor(target), *options)
        return (loss.mean() if mean else loss.sum())._array

    return forward


@functools.cache
def reduced_loss(name: str) -> TensorOperator:
    """Mean or sum of a pointwise loss of two tensors of one shape and dtype, as one operator.

    Called with input, target, the option of the loss or None, and whether the mean is asked for.
    """
    return TensorOperator(
        name,
        _reduced_forward(name),
        {"input": _gradient_of(name, 0), "target": _gradient_of(name, 1)},
    )
