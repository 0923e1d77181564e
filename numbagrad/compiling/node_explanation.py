"""``explain(node)``: the pair of the signature that a node of the graph was made for.

The node of a composite operator and that of a compiled function hold their pair. The class of any
other node names its operator, which knows the call that leaves such a node
(``ops/operators/node_calls.py``): called once more, it runs the kernels of the signature.
``executor/pair.py`` has one object for them, whether a call or a node asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.node import Node
from ..dtype import from_numpy
from ..executor.explain import explain as explain_kernels
from ..executor.pair import Pair, eager_pair
from ..ops.creation.filled import ones
from ..ops.operators.base import Operator
from ..ops.operators.composite import CompositeNode
from ..ops.operators.node_calls import Recall
from .backward import CompiledFunctionBackward
from .operator_explanation import OperatorExplanation, kept_by, with_backward

__all__ = ["explain_node"]


def explain_node(node: Node) -> OperatorExplanation:
    """The pair of a ``grad_fn``: the kernels of forward and backward, and what passes between them.

    A node keeps what its gradients read. Where that leaves several signatures that the operator has
    met, the kernels of each are shown. Of a node whose operands nothing tells any more the backward
    alone is shown.

    Raises:
        RuntimeError: if what the node saved was freed.
        ValueError: if no form of the result is known, since all tensors are gone.
    """
    pair = _pair_held_by(node)
    if pair is not None:
        return _explanation(node, [pair])
    recall = Recall()
    operator = type(node).operator
    if isinstance(operator, Operator):
        if operator.is_view:
            return _explanation(node, [_pair_of_view(node, operator, recall)])
        pairs: list[Pair] = []
        for call in operator.calls_of(node, recall):
            signature = operator.signature_of(call)
            forward = explain_kernels(operator, *call)
            explained = with_backward(forward, tuple(call), signature=signature)
            if isinstance(explained, OperatorExplanation):
                pairs.append(explained.pair)
        if pairs:
            return _explanation(node, pairs)
    return _explanation(node, [eager_pair(node.name(), "", (), *_backward_of(node, recall))])


def _explanation(node: Node, pairs: Sequence[Pair]) -> OperatorExplanation:
    """One pair, or what all signatures have that the node may be of."""
    pair = pairs[0]
    if len(pairs) > 1:
        pair = eager_pair(
            node.name(),
            " or ".join(dict.fromkeys([x.signature for x in pairs])),
            tuple(dict.fromkeys([k for x in pairs for k in x.forward_kernels])),
            tuple(dict.fromkeys([k for x in pairs for k in x.backward_kernels])),
            pair.kept,
        )
    different = {(x.forward_kernels, x.backward_kernels) for x in pairs}
    return OperatorExplanation(
        node.name(), pair.forward_kernels, None, pair, pair.kept, pair.backward_kernels,
        len(different),
    )  # fmt: skip


def _pair_held_by(node: Node) -> Pair | None:
    if isinstance(node, CompositeNode):
        return node.pair
    return node.plan.pair() if isinstance(node, CompiledFunctionBackward) else None


def _pair_of_view(node: Node, operator: Operator, recall: Recall) -> Pair:
    """The pair of a view, which is made without kernels."""
    edge = node.next_edges[0]
    input = None if edge is None else recall.operand(edge)
    signature = "" if input is None else operator.signature_of([input])
    return eager_pair(node.name(), signature, (), *_backward_of(node, recall))


def _backward_of(node: Node, recall: Recall) -> tuple[Any, Any]:
    """The kernels of the backward, and what the node keeps for it."""
    gradients = []
    for number in range(node._output_count):
        form = recall.form(node, number)
        if form is None:
            raise ValueError(
                f"{node.name()}: the forms of its results are not known; keep one of them"
            )
        gradients.append(ones(form[0], dtype=from_numpy(form[1])))
    return explain_kernels(node, *gradients).kernels, (kept_by(node),)
