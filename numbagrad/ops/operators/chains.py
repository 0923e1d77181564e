"""Chains of formulas in a backward as one kernel each: gradients that nobody sees are not written.

``PointwiseNode.run_chain`` leads here from the engine, for large gradients. A chain is a node and
those behind it, as long as each has a single contributor and hands a single gradient on, to a node
without hooks. Its kernel computes what those of its nodes do, to the same bits: a formula that adds
to the gradient it is given, which LLVM could contract with a product before, is of no chain.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...autograd.node import detached
from ...autograd.saved import SavedInput, SavedOutput
from ...executor.builtin import LaunchMiss
from ...executor.cache import library
from ...formula import Formula, symbol
from ...kernels.layout import MAX_OPERANDS
from ...tensor import Tensor, new_tensor
from .definition import PointwiseDefinition

if TYPE_CHECKING:
    from .gradient_rule import GradientRule, PointwiseNode

#: Elements of gradients, not written and not read, that take as long as compiling a kernel.
_WORTH_COMPILING = 200_000_000
#: Nodes of a chain at most: the operands of a kernel are few.
_LONGEST = 8

#: Nodes that belong to chains without a kernel as yet, and so are the first of none.
_tails: weakref.WeakSet[PointwiseNode] = weakref.WeakSet()


def run_chain(
    node: PointwiseNode, grad: Tensor, buffers: Collection[int], ready: Sequence[int]
) -> tuple[list[PointwiseNode], tuple[Any, ...]] | None:
    """The nodes of a chain, and the gradients that the last of them returns.

    Args:
        node: the first, which is about to run on ``grad``.
        buffers, ready: of the engine, without this node.

    Returns:
        None if there is no chain, or no kernel for it yet.
    """
    array = grad._array
    if node in _tails:
        return None
    if array.__class__ is not np.ndarray or array.dtype.char not in "fd" or detached.in_use:
        return None
    if not array.flags.c_contiguous and any(array.strides):
        return None
    nodes: list[PointwiseNode] = []
    operands = [array]
    target: PointwiseNode | None = node
    while target is not None and len(nodes) < _LONGEST:
        used = _operands_of(target, array)
        if used is None or len(operands) + len(used) + 2 > MAX_OPERANDS:
            break
        nodes.append(target)
        operands += used
        target = _following(target, buffers, ready)
    chain = _chain_of(nodes)
    made = None if chain is None else chain.run(operands)
    if made is None:
        _tails.update(nodes[1:])
        return None
    return nodes, nodes[-1].rule.of_chain(made)


def _operands_of(node: PointwiseNode, grad: np.ndarray[Any, Any]) -> list[Any] | None:
    """The operands of a node beside the gradient; None if a chain ends before it.

    Saved tensors have the form of the gradient, and need neither hooks nor an error.
    """
    if node.restore is not None:
        return None
    if node.rule.joint is None:
        return []
    if node.saved is None or node.rule.adds_to_gradient:
        return None
    arrays = []
    for entry in node.saved:
        if isinstance(entry, Tensor):
            array, version = entry._array, 0
        elif entry.__class__ is SavedInput:
            array, version = entry.tensor._array, entry.version
        elif entry.__class__ is SavedOutput:
            array, version = entry.array, entry.version
        else:
            return None
        cell = entry._version_cell
        if (cell is not None and cell[0] != version) or array.__class__ is not np.ndarray:
            return None
        if array.dtype is not grad.dtype or array.shape != grad.shape:
            return None
        if not array.flags.c_contiguous:
            return None
        arrays.append(array)
    if node.numbers is None:
        return arrays
    remaining = iter(arrays)
    return [next(remaining) if number is None else number for number in node.numbers]


def _following(
    node: PointwiseNode, buffers: Collection[int], ready: Sequence[int]
) -> PointwiseNode | None:
    """The node that the only gradient of a node goes to, if that is of a chain."""
    position = node.rule.only
    edge = None if position is None else node.next_edges[position]
    target: Any = None if edge is None else edge[0]
    if not getattr(target, "_begins_chains", False) or target._hooks is not None:
        return None
    number = -target.sequence_nr
    if number in buffers or (ready and ready[0] < number):  # others contribute, or may
        return None
    following: PointwiseNode = target
    return following


def _chain_of(nodes: Sequence[PointwiseNode]) -> _Chain | None:
    """The chain of the nodes that compute, which are those of its kernel."""
    rules = tuple([node.rule for node in nodes if node.rule.joint is not None])
    if len(rules) < 2:
        return None
    chains = rules[0].chains
    found = chains.get(rules[1:])
    if found is None:
        found = chains[rules[1:]] = _Chain(rules)
    return found


class _Chain:
    """The operator of the gradients of a chain, and what it would have spared so far."""

    __slots__ = ("operator", "_stages", "_spared", "_asked")

    def __init__(self, rules: Sequence[GradientRule]) -> None:
        self.operator = _composed(rules)
        self._stages = len(rules)
        self._spared = 0
        self._asked = False

    def run(self, operands: list[Any]) -> list[Tensor] | None:
        """The outputs of the kernel; None as long as it is not worth compiling."""
        try:
            made = self.operator.program.launch(*operands)
        except LaunchMiss as miss:
            made = self._compiled(miss, operands)
        if made is None:
            return None
        return [new_tensor(x) for x in (made if made.__class__ is tuple else (made,))]

    def _compiled(self, miss: LaunchMiss, operands: list[Any]) -> Any:
        """The results of a kernel that was missing; None if it is not to be waited for."""
        self._spared += operands[0].size * (self._stages - 1)
        worth = self._spared >= _WORTH_COMPILING
        if self._asked and not worth:
            return None
        self._asked = True
        resolve = functools.partial(self.operator.program.resolve, miss, tuple(operands))
        return library.without_waiting(resolve, worth)


def _composed(rules: Sequence[GradientRule]) -> Any:
    """The operator that computes the gradients of a chain, and last the one that is passed on."""
    inputs = ["grad"]
    outputs, passed = [symbol("grad")], []
    for stage, rule in enumerate(rules):
        assert rule.joint is not None
        formula = rule.joint.formula
        first, *others = formula.inputs
        names = [f"{name}_{stage}" for name in others]
        inputs += names
        replacements = dict(zip(others, map(symbol, names), strict=True))
        passed = outputs if rule.passes else []  # by the last one alone
        outputs = list(formula.substitute({first: outputs[0], **replacements}, inputs).outputs)
    name = "_".join([rule.operator.name for rule in rules])
    definition = PointwiseDefinition(f"{name}_backward", None)  # type: ignore[arg-type]
    return rules[0].operator.of_formula(definition, Formula(inputs, [*outputs, *passed]))
