"""Nodes as users see them, and walks inside each other or at the same time."""

from __future__ import annotations

import logging

import pytest
from compile_checks import needs_programs
from engine_tools import leaf, run_threads, values

import numbagrad as nb
from numbagrad.autograd.engine import backward as engine
from numbagrad.autograd.function import Function
from numbagrad.ops.operators.tensor_operator import TensorOperator


def test_what_a_node_shows():
    x = leaf(1.0)
    node = (x * x).grad_fn
    assert node.name() == "MulBackward0"
    assert repr(node).startswith("<MulBackward0 object at 0x")
    (first, number), second = node.next_functions
    assert number == 0
    assert first.variable is x
    assert first == second[0]
    assert first.name() == "torch::autograd::AccumulateGrad"
    node.metadata["note"] = 1
    assert node.metadata == {"note": 1}


def test_next_functions():
    x = leaf(1.0)
    y = x * nb.ones(1)
    node = (y + x).grad_fn
    assert node.next_functions[0] == (y.grad_fn, 0)
    assert y.grad_fn.next_functions[1] == (None, 0)


def test_sequence_numbers_grow():
    x = leaf(1.0)
    y = x * 2
    z = y * 2
    assert z.grad_fn._sequence_nr() > y.grad_fn._sequence_nr()


def test_sequence_numbers_of_users_decide_between_nodes_that_are_ready():
    def order(first, second):
        x, seen = leaf(1.0), []
        a = x * 2
        b = x * 3
        c = a * b
        for name, tensor in (("a", a), ("b", b), ("c", c)):
            tensor.register_hook(lambda grad, name=name: seen.append(name))
        a.grad_fn._set_sequence_nr(first)
        b.grad_fn._set_sequence_nr(second)
        c.grad_fn._set_sequence_nr(0)
        assert a.grad_fn._sequence_nr() == first
        for gradient in nb.autograd.grad(c, x, retain_graph=True):
            assert values(gradient) == [12.0]
        c.backward()
        assert values(x.grad) == [12.0]
        return seen

    assert order(10**9, 10) == 2 * ["c", "a", "b"]
    assert order(10, 10**9) == 2 * ["c", "b", "a"]
    assert order(-1, -1) == 2 * ["c", "b", "a"]  # the younger of equals
    with pytest.raises(TypeError):
        leaf(1.0).exp().grad_fn._set_sequence_nr("first")


def test_the_log_tells_what_runs(caplog):
    x = leaf(1.0, 2.0)
    total = (x * 2 / 3).sum()
    copy = total.clone()
    with caplog.at_level(logging.DEBUG, logger="numbagrad.autograd.graph"):
        nb.autograd.backward((total, copy))
    lines = [record.getMessage() for record in caplog.records]
    names = ["CloneBackward0", "SumBackward0", "DivBackward0", "MulBackward0", "AccumulateGrad"]
    for line, name in zip(lines, names, strict=True):
        assert line.startswith(f"Executing: <{name} object at 0x")
    assert lines[0].endswith(" with grad_outputs: [f32[]]")
    assert lines[-1].endswith(" with grad_outputs: [f32[2]]")
    caplog.clear()
    (x * 2).sum().backward()
    assert not caplog.records


def test_a_walk_knows_whether_it_keeps_the_graph():
    x, kept = leaf(1.0), []
    y = x * x
    y.register_hook(lambda grad: kept.append(nb._C._autograd._get_current_graph_task_keep_graph()))
    y.backward(retain_graph=True)
    y.backward()
    assert kept == [True, False]
    assert nb._C._autograd._get_current_graph_task_keep_graph()


# Inside each other, and at the same time


def test_backward_inside_a_hook():
    x, other = leaf(3.0), leaf(5.0)
    y = x * 2
    y.register_hook(lambda grad: (other * other).sum().backward() or None)
    with nb.enable_grad():
        y.sum().backward(create_graph=True)
    assert values(other.grad) == [10.0]
    assert values(x.grad) == [2.0]


def test_backward_inside_a_function():
    class Inner(Function):
        """exp, differentiated by a graph of its own."""

        @staticmethod
        def forward(ctx, x):
            with nb.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.y = (ctx.x * ctx.x).sum()
            return ctx.y.detach()

        @staticmethod
        def backward(ctx, grad):
            with nb.enable_grad():
                ctx.y.backward()
            return ctx.x.grad * grad

    x = leaf(1.0, 2.0)
    (Inner.apply(x * 3) * 2).backward()
    assert values(x.grad) == [2 * 2 * 3 * 3.0, 2 * 2 * 3 * 6.0]


def test_eight_threads_with_graphs_of_their_own():
    def train(index):
        x = leaf(*[float(index + 1)] * 100)
        for _ in range(20):
            with nb.no_grad():
                y = x * 2
            assert not y.requires_grad
            (x * x * y).sum().backward()
            assert values(x.grad) == [4.0 * (index + 1) ** 2] * 100
            x.grad = None

    run_threads(8, train)


def test_eight_threads_add_to_one_leaf():
    x = leaf(*[1.0] * 64)

    def add(index):
        for _ in range(50):
            (x * 2).sum().backward()

    run_threads(8, add)
    assert values(x.grad) == [800.0] * 64


def test_walks_to_all_leaves_are_ordinary(monkeypatch):
    """Only where a part of the graph is left out each node is asked whether it is wanted."""
    plans = []

    class Noted(engine.Plan):
        """A plan that the test gets to see."""

        def __init__(self, *arguments):
            super().__init__(*arguments)
            plans.append(self)

    monkeypatch.setattr(engine, "Plan", Noted)
    x, w, b = (nb.rand(3, 3, requires_grad=True) for _ in range(3))

    def loss():
        return ((x @ w + b).tanh() * x.detach()).sum() + (w * w).sum()

    found = nb.autograd.grad(loss(), (x, w, b))
    for k, each in enumerate((x, w, b)):
        assert nb.equal(nb.autograd.grad(loss(), each)[0], found[k])
    loss().backward(inputs=[x, w, b])
    assert nb.equal(w.grad, found[1])
    y = x * 2
    nb.autograd.grad((y * w).sum(), (y, w))
    assert [plan.is_whole for plan in plans] == [True, False, False, False, True, False]


def test_a_walk_to_one_input_computes_its_gradient_alone():
    computed = []

    def of(name, factor):
        computed.append(name)
        return factor

    product = TensorOperator(
        "product",
        lambda a, b: a * b,
        {"a": lambda grad, b: of("a", grad * b), "b": lambda grad, a: of("b", grad * a)},
    )

    def multiply(a, b, y):
        y[...] = a * b

    def by_a(b, grad_y, grad_a):
        grad_a[...] = of("a", grad_y * b)

    def by_b(a, grad_y, grad_b):
        grad_b[...] = of("b", grad_y * a)

    kernel = nb.kernel(multiply, [by_a, by_b], shapes=lambda a, b: a)
    for function in (product, kernel):
        a, b = leaf(2.0), leaf(3.0)
        result = function(a, b)
        assert values(nb.autograd.grad(result, a, retain_graph=True)[0]) == [3.0]
        assert values(nb.autograd.grad(result, b, retain_graph=True)[0]) == [2.0]
        result.backward(inputs=[b], retain_graph=True)
        assert computed == ["a", "b", "b"]
        result.backward()
        assert sorted(computed[3:]) == ["a", "b"]
        computed.clear()


@needs_programs
def test_the_kernel_of_a_formula_and_the_program_of_a_layer_for_one_input():
    a, b = nb.ones(80, 80, requires_grad=True), nb.ones(80, 80, requires_grad=True)
    node = (a * b).grad_fn
    rule, uses = node.rule.narrowed((True, False))
    assert len(rule.joint.formula.outputs) == 1 and uses == (1,)
    scale, shift = nb.ones(80, requires_grad=True), nb.ones(80, requires_grad=True)
    result = nb.nn.functional.layer_norm(a, (80,), scale, shift)
    whole = result.grad_fn.pair
    for _ in range(3):
        nb.autograd.grad(result.sum(), shift, retain_graph=True)
    narrow = whole.narrowed((False, False, True))
    assert narrow is not whole and narrow.wanted == (False, False, True)
    assert len(narrow._backward_of(None).program.operations) == 1
