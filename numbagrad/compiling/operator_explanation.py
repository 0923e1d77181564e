"""``explain(operator)(*arguments)``: the pair of a signature, the forward and the backward.

An operator that is called with tensors that require grad leaves a node, sometimes a few. That of a
composite operator has the pair of the signature. For others the pair is put together of what ran:
the kernels of the backward are those that run when the nodes are asked for the gradients.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..autograd.engine.interface import grad
from ..autograd.node import Node, visible
from ..executor.cache.library import Kernel
from ..executor.explain import Explanation, described_kernels
from ..executor.explain import explain as explain_kernels
from ..executor.pair import Kept, Pair, described, eager_pair, signature_of
from ..ops.creation.filled import ones_like
from ..ops.operators.base import Operator
from ..ops.operators.composite import CompositeNode
from ..ops.operators.node_calls import Recall
from ..tensor import Tensor

__all__ = ["OperatorExplanation", "kept_by", "with_backward"]


@dataclasses.dataclass(frozen=True)
class OperatorExplanation(Explanation):
    """The kernels of an operator's forward and backward, and what passes between them.

    They are those of ``pair``: ``kernels`` of its forward, ``backward`` of its backward. ``saved``
    has an entry for each node that the forward leaves, in the order of the backward: the name of
    the node, and what it keeps, described by its name where it has one, its dtype and its shape.
    """

    pair: Pair
    saved: tuple[Kept, ...]
    backward: tuple[Kernel, ...]
    #: How many calls are shown that run other kernels: more than one if a node does not tell which.
    calls: int = 1

    def __str__(self) -> str:
        between = [f"{node} keeps {', '.join(kept) or 'nothing'}" for node, kept in self.saved]
        if self.calls > 1:
            between.append(f"the call was one of {self.calls}: {self.pair.signature}")
        backward = described_kernels(f"backward of {self.call}", self.backward)
        return "\n\n".join([super().__str__(), "\n".join(between), backward])

    __repr__ = __str__


def with_backward(
    forward: Explanation, arguments: tuple[Any, ...], most: int | None = None, signature: str = ""
) -> Explanation:
    """The explanation of a call of an operator, with its backward if the results have one.

    A call that left more than ``most`` nodes is no operator: its backward is not run.
    """
    inputs = [x for x in _tensors(arguments) if x._requires_grad]
    results = [x for x in _tensors((forward.result,)) if x.grad_fn is not None]
    nodes = _nodes_between(results, inputs)
    if not nodes or (most is not None and len(nodes) > most):
        return forward
    inputs = inputs or _leaves_of(nodes)
    pair = _pair_of(forward, arguments, nodes, signature, lambda: _gradients(results, inputs))
    return OperatorExplanation(
        forward.call, pair.forward_kernels, forward.result, pair, pair.kept, pair.backward_kernels
    )


def _leaves_of(nodes: list[Any]) -> list[Tensor]:
    """The tensors that a call reads beside its arguments, as the parameters of a module."""
    found = [target for node in nodes for target, _ in node.next_functions]
    leaves = [target.variable for target in found if hasattr(target, "variable")]
    return list({id(leaf): leaf for leaf in leaves}.values())


def _pair_of(
    forward: Explanation,
    arguments: tuple[Any, ...],
    nodes: list[Any],
    signature: str,
    gradients: Callable[[], Explanation],
) -> Pair:
    """The pair of a call: that of a composite operator, or what ran, and runs for gradients."""
    made = [node.pair for node in nodes if isinstance(node, CompositeNode)]
    if made and len(nodes) == 1:
        return made[0]
    if made:  # the kernels of both are made together
        kernels = _each_once([pair.forward_kernels for pair in made])
        backward = _each_once([pair.backward_kernels for pair in made])
    else:
        kernels, backward = forward.kernels, gradients().kernels
    kept = tuple(map(kept_by, nodes))
    names = " ".join([node.name() for node in nodes])
    signature = signature or _signature(arguments, nodes)
    return eager_pair(names, signature, kernels, backward, kept)


def _signature(arguments: tuple[Any, ...], nodes: list[Any]) -> str:
    """The signature of the one operator that left a node, else of the call."""
    operator = type(nodes[0]).operator
    if len(nodes) == 1 and isinstance(operator, Operator):
        calls = [] if operator.is_view else list(operator.calls_of(nodes[0], Recall()))
        if operator.is_view:
            return operator.signature_of(arguments[:1])
        if len(calls) == 1:
            return operator.signature_of(calls[0])
    return signature_of(_arrays(arguments))


def kept_by(node: Any) -> Kept:
    """The values that a node keeps for its backward."""
    visible(node)  # so that it names what it saved
    return node.name(), tuple(_described(node))


def _gradients(results: list[Tensor], inputs: list[Tensor]) -> Explanation:
    return explain_kernels(
        grad, results, inputs, [ones_like(x) for x in results],
        retain_graph=True, allow_unused=True,
    )  # fmt: skip


def _each_once(kernels: list[tuple[Kernel, ...]]) -> tuple[Kernel, ...]:
    return tuple(dict.fromkeys([kernel for some in kernels for kernel in some]))


def _arrays(values: Any) -> list[Any]:
    """The arguments with arrays in the places of Tensors."""
    return [
        value._array
        if isinstance(value, Tensor)
        else _arrays(value)
        if isinstance(value, (list, tuple))
        else value
        for value in values
    ]


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
            yield f"{name} {described(array)}".strip()
        elif name:
            yield f"{name}={value!r}"
