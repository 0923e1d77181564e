"""``autograd.grad`` and ``backward(inputs=)`` to some of the leaves, beside torch.

For operators of every kind of node, and every choice of their inputs: the gradients, those of a
recorded walk, what is left in ``grad``, and which gradients hooks of the node see, None for those
that lead to no chosen input.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
import torch

import numbagrad

#: A call, and the shapes of its inputs: more elements than a kernel for all gradients is taken for.
CALLS = {
    "mul": (lambda t, x, w: x * w, (90, 50), (50,)),
    "div": (lambda t, x, w: x / (w.abs() + 1), (90, 50), (90, 50)),
    "pow": (lambda t, x, w: (x.abs() + 1) ** w, (90, 50), (90, 50)),
    "sub": (lambda t, x, w: x - w, (90, 50), (50,)),
    "squared": (lambda t, x, w: x * x * w, (90, 50), (90, 50)),
    "small": (lambda t, x, w: x * w.sin(), (5, 4), (5, 4)),
    "lerp": (lambda t, x, w, b: t.lerp(x, w, b), (90, 50), (90, 50), (90, 50)),
    "matmul": (lambda t, x, w: x @ w, (8, 6), (6, 5)),
    "linear": (lambda t, x, w, b: t.nn.functional.linear(x, w, b), (8, 6), (5, 6), (5,)),
    "conv2d": (
        lambda t, x, w, b: t.nn.functional.conv2d(x, w, b, padding=1), (2, 3, 6, 6), (4, 3, 3, 3),
        (4,),
    ),
    "layer_norm": (
        lambda t, x, w, b: t.nn.functional.layer_norm(x, (8,), w, b), (6, 8), (8,), (8,),
    ),
    "batch_norm": (
        lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, True), (6, 3, 4), (3,),
        (3,),
    ),
    "attention": (
        lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v), (2, 2, 5, 4),
        (2, 2, 6, 4), (2, 2, 6, 4),
    ),
    "lstm_cell": (
        lambda t, x, h, c, w, u: t.lstm_cell(x, (h, c), w, u)[0], (3, 4), (3, 5), (3, 5), (20, 4),
        (20, 5),
    ),
    "cat": (lambda t, x, w: t.cat([x, w]) * 2, (4, 3), (2, 3)),
    "bilinear": (lambda t, x, w, b: t.nn.functional.bilinear(x, w, b), (7, 3), (7, 4), (5, 3, 4)),
}  # fmt: skip

#: Nodes of other kinds than torch's: hooks see what these have.
OTHER_NODES = {"lstm_cell"}
#: torch has no second derivative.
ONCE = {"attention"}


def leaves(t, shapes):
    random = np.random.default_rng(1)
    return [t.from_numpy(random.standard_normal(shape)).requires_grad_() for shape in shapes]


def incoming(t, result):
    return t.from_numpy(np.random.default_rng(2).standard_normal(tuple(result.shape)))


def assert_same(ours, theirs):
    assert [x is None for x in ours] == [x is None for x in theirs]
    for own, other in zip(ours, theirs, strict=True):
        if own is not None:
            np.testing.assert_allclose(
                own.detach().numpy(), other.detach().numpy(), rtol=1e-9, atol=1e-11
            )


def choices(count):
    """One of the inputs, and all but one."""
    return sorted({c for n in (1, count - 1) for c in itertools.combinations(range(count), n)})


@pytest.mark.parametrize("name", CALLS)
def test_gradients_of_some_inputs(name):
    function, *shapes = CALLS[name]
    inputs = {t: leaves(t, shapes) for t in (numbagrad, torch)}
    results = {t: function(t, *x) for t, x in inputs.items()}
    for choice in choices(len(shapes)):
        for _ in range(3):  # programs for some gradients are made when they come back
            found = {}
            for t, result in results.items():
                chosen = [inputs[t][k] for k in choice]
                grad = incoming(t, result)
                found[t] = t.autograd.grad(result, chosen, grad, retain_graph=True)
                result.backward(grad, inputs=chosen, retain_graph=True)
                found[t] += tuple([x.grad for x in inputs[t]])
                for x in inputs[t]:
                    x.grad = None
            assert_same(found[numbagrad], found[torch])


@pytest.mark.parametrize("name", [name for name in CALLS if name not in ONCE])
def test_recorded_gradients_of_some_inputs(name):
    function, *shapes = CALLS[name]
    for choice in choices(len(shapes)):
        found = {}
        for t in (numbagrad, torch):
            inputs = leaves(t, shapes)
            result = function(t, *inputs)
            chosen = [inputs[k] for k in choice]
            first = t.autograd.grad(result, chosen, incoming(t, result), create_graph=True)
            second = sum([x.sin().sum() for x in first], t.zeros((), requires_grad=True))
            more = t.autograd.grad(second, inputs, materialize_grads=True)
            found[t] = [*first, *more]
        assert_same(found[numbagrad], found[torch])


@pytest.mark.parametrize("name", [name for name in CALLS if name not in OTHER_NODES])
def test_hooks_of_a_node_see_the_gradients_that_lead_on(name):
    function, *shapes = CALLS[name]
    for choice in choices(len(shapes)):
        seen = {}
        for t in (numbagrad, torch):
            inputs = leaves(t, shapes)
            result = function(t, *inputs)

            calls = seen[t] = []
            result.grad_fn.register_hook(
                lambda grads, _, calls=calls: calls.append([x is None for x in grads])
            )
            t.autograd.grad(result, [inputs[k] for k in choice], incoming(t, result))
        assert seen[numbagrad] == seen[torch]


def test_hooks_behind_edges_that_lead_nowhere():
    """A Function computes all gradients; what lies behind those that nobody wants does not run."""
    seen = {}
    for t in (numbagrad, torch):
        calls = seen[t] = []

        class Product(t.autograd.Function):
            @staticmethod
            def forward(ctx, a, b):
                ctx.save_for_backward(a, b)
                return a * b

            @staticmethod
            def backward(ctx, grad, calls=calls):
                calls.append(ctx.needs_input_grad)
                a, b = ctx.saved_tensors
                return grad * b, grad * a

        x, w = leaves(t, [(3,), (3,)])
        inner, other = x * 2, w * 3
        result = Product.apply(inner, other)
        note = functools.partial(lambda calls, text, *_: calls.append(text), calls)
        other.register_hook(functools.partial(note, "hook"))
        other.grad_fn.register_prehook(functools.partial(note, "before"))
        w.register_hook(functools.partial(note, "leaf"))
        inner.register_hook(functools.partial(note, "wanted"))
        result.grad_fn.register_hook(
            lambda grads, _, calls=calls: calls.append([x is None for x in grads])
        )
        t.autograd.grad(result.sum(), [x], retain_graph=True)
        t.autograd.grad(result.sum(), [inner], retain_graph=True)
        result.sum().backward(inputs=[inner], retain_graph=True)
    assert seen[numbagrad] == seen[torch]


def test_many_gradients_at_once():
    found = {}
    for t in (numbagrad, torch):
        x, w = leaves(t, [(4, 3), (2, 3)])
        result = t.nn.functional.linear(x, w)
        rows = t.eye(8, dtype=t.float64).reshape(8, 4, 2)
        found[t] = t.autograd.grad(result, [x], rows, is_grads_batched=True)
    assert_same(found[numbagrad], found[torch])


def test_derivatives_by_argument():
    def value(t, x, w):
        return (t.nn.functional.linear(x, w) * x).sum()

    for number in (0, 1):
        found = {}
        for t in (numbagrad, torch):
            x, w = leaves(t, [(3, 3), (3, 3)])
            found[t] = [t.func.grad(functools.partial(value, t), argnums=number)(x, w)]
        assert_same(found[numbagrad], found[torch])


def test_a_compiled_function():
    """Its backward to some inputs is a program of its own, without what leads to others."""

    def layers(t, x, w, b):
        return (t.tanh(x @ w) * b).sum(1)

    def ours(x, w, b):
        return layers(numbagrad, x, w, b)

    compiled = numbagrad.compile(ours)
    inputs, others = [leaves(t, [(6, 5), (5, 4), (4,)]) for t in (numbagrad, torch)]
    for _ in range(3):
        for choice in choices(3):
            result, expected = compiled(*inputs), layers(torch, *others)
            assert_same(
                numbagrad.autograd.grad(
                    result, [inputs[k] for k in choice], incoming(numbagrad, result)
                ),
                torch.autograd.grad(
                    expected, [others[k] for k in choice], incoming(torch, expected)
                ),
            )
    plan = result.grad_fn.plan
    assert len(plan.narrowed((False, False, True)).program.operations) < len(
        plan.program.operations
    )
