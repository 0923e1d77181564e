"""Operators with a kernel for their forward and one for all their gradients together.

A recurrent layer and attention are such: what they compute is a function of Tensors, the
definition, and how it is computed fast does not follow from that. Where the kernels do not apply
(transformations, half precision, gradients that are recorded), the definition runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...autograd.grad_mode import state as grad_mode
from ...autograd.node import Node, edge_of, new_node, produce
from ...autograd.saved import save, save_output
from ...dispatch import descent, interception, layers
from ...dispatch.bits import INTERCEPTED
from ...executor import capture
from ...tensor import Tensor, new_tensor
from ...transforms.levels import is_transformed
from . import saved_names
from .base import Operator
from .recorded_gradients import gradients_of

__all__ = ["KernelOperator"]

Array = np.ndarray[Any, Any]


class KernelNode(Node):
    """The node of a :class:`KernelOperator`. Subclasses are named as torch's nodes."""

    __slots__ = ("arguments", "positions", "needed", "kept", "_output_count")
    _computes_wanted = True

    operator: KernelOperator
    #: The arguments, with None in the places of Tensors.
    arguments: tuple[Any, ...]
    #: The places of the Tensors among them, and which of these need a gradient.
    positions: tuple[int, ...]
    needed: tuple[bool, ...]
    #: Arrays that the forward made for the backward.
    kept: tuple[Array, ...]

    def backward(self, *grads: Any, wanted: tuple[bool, ...] | None = None) -> tuple[Any, ...]:
        """The gradients of the Tensors among the arguments, None where none is needed."""
        needed = self.needed if wanted is None else wanted
        saved = self.unpack()
        count = len(self.positions)
        arguments = list(self.arguments)
        for position, tensor in zip(self.positions, saved[:count], strict=True):
            arguments[position] = tensor
        if grad_mode.enabled or is_transformed(grads) or is_transformed(saved):
            return gradients_of(self.operator.definition, arguments, needed, grads)
        results = [x._array for x in saved[count:]]
        if capture.active is not None and interception.is_open():
            return interception.gradients(
                self.operator.name,
                tuple(arguments),
                grads,
                partial(self.operator.gradients, grads, arguments, results, self.kept, needed),
            )
        return self.operator.gradients(grads, arguments, results, self.kept, needed)

    def _saved_fields(self) -> dict[str, tuple[str, Any]]:
        entries = {position: k for k, position in enumerate(self.positions)}
        fields = saved_names.of_call(self, self.operator.parameters, self.arguments, entries)
        for number in range(len(self.saved or ()) - len(self.positions)):
            name = "result" if self._output_count == 1 else f"result{number}"
            fields[name] = ("tensor", len(self.positions) + number)
        return fields

    def _possible_fields(self) -> list[str]:
        return saved_names.possible(type(self), self.operator.parameters)

    def release(self) -> None:
        """Free what was kept."""
        if self.saved:
            self.saved = None
            self.kept = ()


class KernelOperator(Operator):
    """An operator by its kernels, beside its definition.

    Args:
        name: what the operator is called.
        definition: what it computes, a function of Tensors and other values by position, which
            returns a Tensor or a tuple of them. All have a gradient.
        takes: ``takes(*arrays)`` says whether the kernels compute these arguments, with the
            ndarrays of Tensors in their places; all Tensors are ordinary ones then.
        forward: ``forward(*arrays)`` returns the arrays of the ``outputs`` results, and behind them
            what the backward is given as ``kept``.
        gradients: ``gradients(grads, arguments, results, kept, needed)`` returns a Tensor or None
            for each Tensor among the arguments; ``grads`` are Tensors or None, ``results`` the
            arrays of the first ``reads`` results, which may not be written until then.
        grad_fn: the name of the node.
    """

    __slots__ = (
        "definition", "name", "outputs", "parameters", "gradients", "_takes", "_forward", "_reads",
        "_node",
    )  # fmt: skip

    #: The definition answers for all other layers.
    layers = INTERCEPTED

    def __init__(
        self,
        name: str,
        definition: Callable[..., Any],
        takes: Callable[..., bool],
        forward: Callable[..., tuple[Array, ...]],
        gradients: Callable[..., tuple[Tensor | None, ...]],
        grad_fn: str,
        outputs: int = 1,
        reads: int = 0,
    ):
        self.name = name
        self.definition = definition
        self._reads = reads
        code = inspect.unwrap(definition).__code__
        self.parameters = code.co_varnames[: code.co_argcount]
        self.outputs = outputs
        self.gradients = gradients
        self._takes = takes
        self._forward = forward
        self._node: Any = type(grad_fn, (KernelNode,), {"__slots__": (), "operator": self})

    def __call__(self, *arguments: Any) -> Any:
        """The result of the definition, but for rounding."""
        if layers.active and layers.act_on(arguments):
            return self.definition(*arguments)
        arrays = [x._array if isinstance(x, Tensor) else x for x in arguments]
        plain = all([x.__class__ is np.ndarray for x in arrays if isinstance(x, np.ndarray)])
        if not plain or is_transformed(arguments) or not self._takes(*arrays):
            return self.definition(*arguments)
        if capture.active is not None and interception.is_apart(self.name, arguments):
            return self.definition(*arguments)
        return descent.call(self, arguments)

    def run(self, arrays: list[Any]) -> tuple[Array, ...]:
        """The results, and what is kept."""
        return self._forward(*arrays)

    def shown(self, made: Any) -> Any:
        """The results alone."""
        return made[0] if self.outputs == 1 else made[: self.outputs]

    def finish(self, made: Any, arguments: Sequence[Any]) -> Any:
        """The results as Tensors, with a node that keeps the rest."""
        results = tuple([new_tensor(x) for x in made[: self.outputs]])
        positions = [k for k, x in enumerate(arguments) if isinstance(x, Tensor)]
        needed = tuple([arguments[k]._requires_grad for k in positions])
        if grad_mode.enabled and True in needed:
            given = [arguments[k] for k in positions]
            entries = [save(x) for x in given]
            entries += [save_output(results[number], number) for number in range(self._reads)]
            node = new_node(self._node, tuple([edge_of(x) for x in given]), tuple(entries))
            node.arguments = tuple([None if isinstance(x, Tensor) else x for x in arguments])
            node.positions, node.needed = tuple(positions), needed
            node.kept = tuple(made[self.outputs :])
            node._output_count = self.outputs
            produce(node, *results)
        return results[0] if self.outputs == 1 else results

    def calls_of(self, node: Any, recall: Any) -> Iterable[list[Any]]:
        """The call that leaves such a node, which keeps all arguments."""
        arguments = list(node.arguments)
        for position, edge, tensor in zip(
            node.positions, node.next_edges, node.unpack(), strict=False
        ):
            arguments[position] = tensor if edge is None else recall.operand(edge, tensor)
        return [arguments]
