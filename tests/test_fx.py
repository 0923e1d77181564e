"""``torch.fx``: functions as graphs, graphs as modules, and what changes and runs them."""

from __future__ import annotations

import copy
import operator
import pickle

import pytest

import numbagrad as torch
from numbagrad import fx, nn
from numbagrad.fx.passes.shape_prop import ShapeProp
from numbagrad.nn import functional as F


class Gated(nn.Module):
    """Layers, a parameter that is read directly, a buffer, and an attribute that is a tensor."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.rest = nn.Sequential(nn.Tanh(), nn.Linear(4, 2))
        self.gate = nn.Parameter(torch.full((4,), 0.5))
        self.register_buffer("shift", torch.ones(4))
        self.scale = torch.full((2,), 3.0)

    def forward(self, x, *, twice=False):
        opened = self.gate * 2
        y = F.relu(self.first(x) * opened + self.shift)
        left, right = y.chunk(2, dim=1)
        return self.rest(torch.cat([right, left], dim=1)) * self.scale, y.shape[0]


def half(x):
    return x / 2


fx.wrap("half")


def test_a_module_is_a_graph_and_a_module_again():
    module, x = Gated(), torch.randn(5, 3)
    traced = fx.symbolic_trace(module)
    (expected, _), (got, rows) = module(x), traced(x)
    assert rows == 5 and got.equal(expected)
    got.sum().backward()
    assert traced.gate is module.gate and module.gate.grad is not None
    ops = [node.op for node in traced.graph.nodes]
    assert ops.count("get_attr") == 3 and "call_module" in ops and ops[-1] == "output"
    assert [n.target for n in traced.graph.nodes if n.op == "call_module"] == [
        "first", "rest.0", "rest.1",
    ]  # fmt: skip
    assert type(module.__dict__["_parameters"]) is dict and module(x)[0].equal(expected)


def test_code():
    traced = fx.symbolic_trace(lambda x, y=2: torch.add(x, y) * (x - 1)[0, :1].relu())
    assert traced.code.split("\n")[3:] == [
        "def forward(self, x, y = 2):",
        "    add = torch.add(x, y);  y = None",
        "    sub = x - 1;  x = None",
        "    getitem = sub[(0, slice(None, 1, None))];  sub = None",
        "    relu = getitem.relu();  getitem = None",
        "    mul = add * relu;  add = relu = None",
        "    return mul",
        "    ",
    ]
    assert (
        "def forward" in str(traced)
        and traced(torch.full((2, 2), 3.0)).tolist() == [[10.0] * 2] * 2
    )


def test_graphs_are_changed():
    traced = fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    graph = traced.graph
    (relu,) = graph.find_nodes(op="call_function", target=torch.relu)
    with graph.inserting_after(relu):
        negated = graph.call_method("neg", (relu,))
    assert relu.replace_all_uses_with(negated, lambda user: user is not negated)
    with pytest.raises(RuntimeError, match="still had 1 users"):
        graph.erase_node(relu)
    traced.recompile()
    assert traced(torch.tensor(2.0)) == -1
    graph.call_function(operator.add, (relu, 1))
    assert graph.eliminate_dead_code() and len(graph.nodes) == 5
    negated.args = (negated,)
    with pytest.raises(RuntimeError, match="used before it has been defined"):
        graph.lint()


def test_copies_and_files():
    traced = fx.symbolic_trace(Gated())
    x = torch.randn(2, 3)
    for other in (copy.deepcopy(traced), pickle.loads(pickle.dumps(traced))):
        assert other(x)[0].equal(traced(x)[0]) and other.gate is not traced.gate
        assert other.code == traced.code and type(other).__name__ == "Gated"
        assert set(other.state_dict()) == set(traced.state_dict())
    assert fx.symbolic_trace(traced).code == traced.code


def test_a_graph_by_hand():
    graph = fx.Graph()
    proxy = fx.Proxy(graph.placeholder("x"))
    weight = fx.Proxy(graph.get_attr("inner.weight"), proxy.tracer)
    graph.output((torch.einsum("i,i->i", (proxy, weight)) ** 2).node)
    module = fx.GraphModule({"inner.weight": torch.tensor([1.0, 2.0])}, graph, "Squares")
    assert module(torch.tensor([3.0, 1.0])).tolist() == [9.0, 4.0]
    assert type(module).__name__ == "Squares" and list(dict(module.named_buffers())) == [
        "inner.weight"
    ]
    assert [len(n.args) for n in graph.nodes if n.op == "call_function"] == [3, 2]


def test_interpreters():
    traced = fx.symbolic_trace(lambda x: torch.relu(x) + 1)

    class Negated(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return super().call_function(
                torch.neg if target is torch.relu else target, args, kwargs
            )

    assert fx.Interpreter(traced).run(torch.tensor(2.0)) == 3
    assert Negated(traced).transform()(torch.tensor(2.0)) == -1
    ShapeProp(traced).propagate(torch.ones(2, 3))
    assert [n.meta["tensor_meta"].shape for n in traced.graph.nodes] == [(2, 3)] * 4
    with pytest.raises(RuntimeError, match="While executing %matmul"):
        fx.Interpreter(fx.symbolic_trace(lambda x: torch.relu(x @ x).relu())).run(torch.ones(2, 3))


def test_tracers_decide_what_is_looked_into():
    class Whole(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return module_qualified_name == "rest"

    graph = Whole().trace(Gated())
    assert [n.target for n in graph.nodes if n.op == "call_module"] == ["rest"]
    assert torch.nn.functional.linear in [n.target for n in graph.nodes]
    wrapped = fx.symbolic_trace(lambda x: half(x) + 1)
    assert [n.target for n in wrapped.graph.nodes][1] is half and half(4) == 2
    assert wrapped(torch.tensor(4.0)) == 3


def test_values_that_are_asked_for():
    with pytest.raises(fx.proxy.TraceError, match="cannot be used as inputs to control flow"):
        fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(fx.proxy.TraceError, match="cannot be iterated"):
        fx.symbolic_trace(lambda x: [y for y in x])
    with pytest.raises(RuntimeError, match="'len' is not supported"):
        fx.symbolic_trace(len_of)
    traced = fx.symbolic_trace(lambda x, on: x if on else -x, concrete_args={"on": False})
    assert traced(torch.tensor(1.0), False) == -1
    with pytest.raises(AssertionError, match="on has been specialized to have value False"):
        traced(torch.tensor(1.0), True)
    with pytest.raises(NotImplementedError, match="does not support mutation"):
        next(iter(traced.graph.nodes)).kwargs["a"] = 1


def len_of(x):
    return len(x)
