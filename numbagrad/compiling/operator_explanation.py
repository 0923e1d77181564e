"""``explain(operator)(*arguments)``: the pair of a signature, the forward and the backward.

An operator that is called with tensors that require grad leaves a node, sometimes a few. What these
keep passes between the two, and the kernels of the backward are those that run when they are asked
for the gradients of the arguments.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..autograd.engine_interface import grad
from ..autograd.node import Node, visible
from ..dtype import name_of
from ..executor.explain import Explanation, described_kernels
from ..executor.explain import explain as explain_kernels
from ..executor.library import Kernel
from ..ops.composite import CompositeNode
from ..ops.creation import ones_like
from ..program.explanation import describe
from ..program.program import Program
from ..tensor import Tensor

__all__ = ["OperatorExplanation", "with_backward"]


@dataclasses.dataclass(frozen=True)
class OperatorExplanation(Explanation):
    """The kernels of an operator's forward and backward, and what passes between them.

    ``kernels`` are those of the forward, ``backward`` those of the backward. ``saved`` has an entry
    for each node that the forward leaves, in the order of the backward: the name of the node, and
    what it keeps, described by its name where it has one, its dtype and its shape.
    """

    saved: tuple[tuple[str, tuple[str, ...]], ...] = ()
    backward: tuple[Kernel, ...] = ()

    def __str__(self) -> str:
        between = [f"{node} keeps {', '.join(kept) or 'nothing'}" for node, kept in self.saved]
        backward = described_kernels(f"backward of {self.call}", self.backward)
        return "\n\n".join([super().__str__(), "\n".join(between), backward])

    __repr__ = __str__


def with_backward(
    forward: Explanation, arguments: tuple[Any, ...], most: int | None = None
) -> Explanation:
    """The explanation of a call of an operator, with its backward if the results have one.

    A call that left more than ``most`` nodes is no operator: its backward is not run.
    """
    inputs = [x for x in _tensors(arguments) if x._requires_grad]
    results = [x for x in _tensors((forward.result,)) if x.grad_fn is not None]
    nodes = _nodes_between(results, inputs)
    if not nodes or (most is not None and len(nodes) > most):
        return forward
    saved = tuple([(node.name(), tuple(_described(node))) for node in nodes])
    composites = [node for node in nodes if isinstance(node, CompositeNode)]
    if composites:  # the kernels of both are made together
        programs = [node.pair.programs for node in composites]
        kernels = [_kernels([both[k] for both in programs], forward.call) for k in (0, 1)]
    else:
        gradients = explain_kernels(
            grad, results, inputs, [ones_like(x) for x in results],
            retain_graph=True, allow_unused=True,
        )  # fmt: skip
        kernels = [forward.kernels, gradients.kernels]
    return OperatorExplanation(forward.call, kernels[0], forward.result, saved, kernels[1])


def _kernels(programs: list[Program], title: str) -> tuple[Kernel, ...]:
    rows = [row for program in programs for row in describe(program, title).rows]
    return tuple(dict.fromkeys([kernel for row in rows for kernel in row.kernels]))


def _tensors(values: Any) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _nodes_between(results: list[Tensor], inputs: list[Tensor]) -> list[Any]:
    """The nodes between results and inputs, each once, those nearer to the results first."""
    ends = {id(x if x._producer is None else x._producer) for x in inputs}
    found: dict[int, Any] = {}
    pending: list[Any] = [result.grad_fn for result in results]
    while pending:
        node = pending.pop(0)
        if id(node) in ends or id(node) in found or not isinstance(node, Node):
            continue
        visible(node)  # so that it names what it saved
        found[id(node)] = node
        pending += [edge[0] for edge in node.next_edges if edge is not None]
    return sorted(found.values(), key=lambda node: -node.sequence_nr)


def _described(node: Any) -> Iterator[str]:
    names = [name for name in node._possible_fields() if name in node._saved_fields()]
    found = [(name, getattr(node, f"_saved_{name}")) for name in names]
    if not found:
        found = [("", value) for value in (*node.unpack(), *getattr(node, "kept", ()))]
    for name, value in found:
        array = value._array if isinstance(value, Tensor) else value
        if isinstance(array, np.ndarray):
            yield f"{name} {name_of(array.dtype)}{list(array.shape)}".strip()
        elif name:
            yield f"{name}={value!r}"
