"""``explain(node)``: the pair of the signature that a node of the graph was made for.

The node of a composite operator and that of a compiled function hold their pair. Nodes of other
operators hold nothing that would cost their launches anything: their operator is called once more,
with arguments of the forms that the node and its neighbours tell, and the kernels that this finds
are those of the signature. ``executor/pair.py`` has one object for it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..autograd.node import Node
from ..dtype import from_numpy as dtype_of
from ..executor.explain import explain as explain_kernels
from ..executor.pair import Pair, eager_pair
from ..ops.creation.filled import ones
from ..ops.operators.composite import CompositeNode
from ..ops.operators.gradient_rule import PointwiseNode
from ..ops.operators.tensor_operator import OperatorNode
from ..tensor import Tensor
from .backward import CompiledFunctionBackward
from .operator_explanation import OperatorExplanation, kept_by, with_backward

__all__ = ["explain_node"]


def explain_node(node: Node) -> OperatorExplanation:
    """The pair of a ``grad_fn``: the kernels of forward and backward, and what passes between them.

    Of a node whose forward read what nothing tells any more, as an operand that no gradient uses,
    the backward alone is shown.

    Raises:
        RuntimeError: if what the node saved was freed.
        ValueError: if no form of the result is known, since all tensors are gone.
    """
    pair = _pair_held_by(node)
    if pair is not None:
        return _explanation(node, pair)
    found = _call_of(node)
    if found is not None:
        operator, arguments = found
        explained = with_backward(explain_kernels(operator, *arguments), tuple(arguments))
        if isinstance(explained, OperatorExplanation):
            return dataclasses.replace(explained, call=node.name())
    gradients = [
        None if form is None else ones(form[0], dtype=form[1]) for form in _result_forms(node)
    ]
    if None in gradients:
        raise ValueError(f"{node.name()}: the forms of its results are not known; keep one of them")
    backward = explain_kernels(node, *gradients).kernels
    return _explanation(node, eager_pair(node.name(), "", (), backward, (kept_by(node),)))


def _explanation(node: Node, pair: Pair) -> OperatorExplanation:
    return OperatorExplanation(
        node.name(), pair.forward_kernels, None, pair, pair.kept, pair.backward_kernels
    )


def _pair_held_by(node: Node) -> Pair | None:
    if isinstance(node, CompositeNode):
        return node.pair
    return node.plan.pair() if isinstance(node, CompiledFunctionBackward) else None


def _call_of(node: Node) -> tuple[Any, list[Any]] | None:
    """An operator and arguments for which it leaves such a node; None if these are not known."""
    if isinstance(node, PointwiseNode):
        operator: Any = node.rule.operator
        known = _operands_kept(node)
        edges = dict(enumerate(node.next_edges))
    elif isinstance(node, OperatorNode) and not node.operator.variadic:
        operator, plan = node.operator, node.plan
        known = dict(zip(plan.saves, node.unpack(), strict=False))
        pairs = zip(plan.keeps, node.values, strict=False)
        known |= {place: value for (place, is_shape), value in pairs if not is_shape}
        edges = dict(zip(plan.inputs, node.next_edges, strict=True))
    else:
        return None
    arguments: dict[int, Any] = {}
    for place in range(len(operator.parameters)):
        edge = edges.get(place)
        if edge is None and place in known:
            arguments[place] = known[place]
        elif edge is not None:
            same = [k for k in range(place) if (x := edges.get(k)) and x[0] is edge[0]]
            made = [arguments[k] for k in same if edges[k][1] == edge[1]]  # as of ``a * a``
            operand = made[0] if made else _operand(node, place, edge, known.get(place))
            if operand is None:
                return None
            arguments[place] = operand
        elif isinstance(node, PointwiseNode) and _is_number(operator, place):
            arguments[place] = 1.0  # whatever it was, the kernels are the same
        else:
            return None
    return operator, list(arguments.values())


def _operands_kept(node: PointwiseNode) -> dict[int, Any]:
    """The operands that the node of a formula keeps, by place."""
    saved = iter(node.unpack())
    numbers = node.numbers or (None,) * len(node.rule.uses)
    return {
        place: next(saved) if number is None else number
        for place, number in zip(node.rule.uses, numbers, strict=False)
    }


def _operand(node: Any, place: int, edge: tuple[Any, int], kept: Any) -> Tensor | None:
    """A tensor that requires grad, of the form of the operand that an edge leads to."""
    target, number = edge
    if isinstance(kept, Tensor):
        return kept.detach().requires_grad_()
    if isinstance(target, Tensor):
        return target.detach().requires_grad_()
    form = _result_forms(target)[number]
    if form is None and isinstance(node, PointwiseNode):
        restored = None if node.restore is None else node.restore[place]
        form = _result_forms(node)[0] if restored is None else restored
    return None if form is None else ones(form[0], dtype=form[1], requires_grad=True)


def _is_number(operator: Any, place: int) -> bool:
    """Whether an operand of a formula is always a number."""
    return operator.parameters[place] in operator.definition.scalars


def _result_forms(node: Node) -> Sequence[tuple[Sequence[int], Any] | None]:
    """Shape and dtype of the results of a node, as far as somebody knows."""
    forms: list[tuple[Sequence[int], Any] | None] = [
        None if each is None else (each.shape, each.dtype) for each in node._input_metadata
    ]
    if forms == [None] and isinstance(node, PointwiseNode) and node.restore is None:
        leaves = [edge[0]._array for edge in node.next_edges if edge and _is_tensor(edge[0])]
        saved = [x._array for x in node.unpack() if x._array.ndim]
        for array in (*leaves, *saved)[:1]:
            forms = [(array.shape, dtype_of(array.dtype))]
    return forms


def _is_tensor(target: Any) -> bool:
    return isinstance(target, Tensor)
