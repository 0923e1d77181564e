"""Every node that a row of the operator table leaves leads to its operator, and to the call of it.

`explain(node)` shows the pair of that call; test_explain.py has what it shows.
"""

from __future__ import annotations

import pytest
from operator_entry import as_tuple
from operator_table import ENTRIES, POINTWISE_ENTRIES
from test_operators import by_name, differentiable, tensors

import numbagrad as torch
from numbagrad.executor.mode import NATIVE
from numbagrad.ops.operators.base import Operator
from numbagrad.ops.operators.composite import CompositeNode
from numbagrad.ops.operators.node_calls import Recall

ROWS = [entry for entry in (*POINTWISE_ENTRIES, *ENTRIES) if differentiable(entry)]


@pytest.mark.parametrize("entry", ROWS, ids=by_name)
def test_a_node_leads_to_the_call_that_left_it(entry):
    operands = tensors(entry.draw("float64"), requires_grad=True)
    results = as_tuple(entry.call(torch, *operands))
    for result in [x for x in results if x.grad_fn is not None]:
        node = result.grad_fn
        if isinstance(node, CompositeNode):
            assert node.pair.signature
            continue
        operator, recall = type(node).operator, Recall()
        assert isinstance(operator, Operator), node
        if operator.is_view:  # no kernel makes a view: there is no call to find
            continue
        inputs = [edge for edge in node.next_edges if edge and not torch.is_tensor(edge[0])]
        if None in [recall.form(*edge) for edge in inputs]:
            continue  # the operand was a view that is gone, and whose form no node has
        call = next(iter(operator.calls_of(node, recall)), None)
        if call is None and not NATIVE:
            continue  # launchers know which kernels there are, and so what nothing keeps
        assert call is not None, node
        again = as_tuple(operator(*call))
        assert {x.grad_fn.name() for x in again if x.grad_fn is not None} == {node.name()}
        same = again[result.output_nr]
        assert (same.numel(), same.dtype) == (result.numel(), result.dtype)
