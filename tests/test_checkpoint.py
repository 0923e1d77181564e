"""utils.checkpoint: less memory, the same gradients; what must not differ is found out."""

from __future__ import annotations

import contextlib
import copy
import gc
import warnings
import weakref

import pytest
from checkpoint_tools import both_stops, both_variants, counted, gradient, leaf, wave

import numbagrad as nb
from numbagrad import nn
from numbagrad.autograd.graph import save_on_cpu
from numbagrad.utils.checkpoint import (
    CheckpointError,
    GraphExecGroup,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)

# Gradients


@both_variants
def test_gradients_are_those_of_the_function(use_reentrant):
    x = leaf(4)
    checkpoint(wave, x, use_reentrant=use_reentrant).sum().backward()
    assert nb.equal(x.grad, gradient(wave, leaf(4)))


def test_grad_works_without_reentrant_backward():
    x = leaf(4)
    expected = gradient(wave, x)
    assert nb.equal(gradient(lambda a: checkpoint(wave, a, use_reentrant=False), x), expected)


def test_nodes_can_ask_whether_they_may_checkpoint():
    """As fairscale's do: in a walk to chosen inputs, and in walks that such a walk starts."""
    seen = []

    class Asks(nb.autograd.Function):
        @staticmethod
        def forward(ctx, x, inner):
            ctx.inner = inner
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            seen.append(nb.autograd._is_checkpoint_valid())
            if ctx.inner:
                with nb.enable_grad():
                    Asks.apply(nb.ones(2, requires_grad=True), False).sum().backward()
            return grad, None

    x = nb.ones(2, requires_grad=True)
    assert nb.autograd._is_checkpoint_valid()
    Asks.apply(x, True).sum().backward()
    assert seen == [True, True]
    nb.autograd.grad(Asks.apply(x, True).sum(), x)
    Asks.apply(x, True).sum().backward(inputs=[x])
    assert seen == [True, True, False, False, False, False]


@both_variants
def test_parameters_get_gradients_too(use_reentrant):
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    other = copy.deepcopy(model)
    x = leaf(3, 4)
    checkpoint(model, x, use_reentrant=use_reentrant).sum().backward()
    other(x).sum().backward()
    for ours, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert nb.equal(ours.grad, theirs.grad)


def test_parameters_get_gradients_if_the_input_needs_none():
    model = nn.Linear(4, 2)
    checkpoint(model, nb.ones(3, 4), use_reentrant=False).sum().backward()
    assert model.weight.grad.sum().item() == 24


def test_arguments_and_results_may_be_anything():
    def function(k, inputs, f, scale=None):
        return {"result": f(k * inputs["x"]) * scale, "name": "wave"}, 1

    x, scale = leaf(3), leaf(3, seed=1)
    result, one = checkpoint(function, 2, {"x": x}, wave, scale=scale, use_reentrant=False)
    assert (one, result["name"]) == (1, "wave")
    got = nb.autograd.grad(result["result"].sum(), (x, scale))
    expected = nb.autograd.grad(function(2, {"x": x}, wave, scale)[0]["result"].sum(), (x, scale))
    assert all(map(nb.equal, got, expected))


@both_variants
def test_several_outputs(use_reentrant):
    x, y = leaf(3), leaf(3, seed=1)

    def function(a, b, k):
        return a * b, (a * k).sin(), k

    first, second, k = checkpoint(function, x, y, 3, use_reentrant=use_reentrant)
    (first.sum() + second.sum()).backward()
    assert k == 3
    assert nb.allclose(x.grad, y + 3 * (3 * x).cos())
    assert nb.allclose(y.grad, x)


def test_second_derivatives():
    x = leaf(3).double().detach().requires_grad_()

    def function(a):
        return checkpoint(wave, a, use_reentrant=False)

    assert nb.autograd.gradcheck(function, x)
    assert nb.autograd.gradgradcheck(function, x)


def test_hooks_of_tensors_run_once():
    w, x = leaf(3), leaf(3, seed=1)
    calls = []
    w.register_hook(lambda grad: calls.append(1))
    checkpoint(lambda a: w * a, w * x, use_reentrant=False).sum().backward()
    assert calls == [1]


def test_without_grad_mode_the_function_just_runs():
    function = counted(wave)
    with nb.no_grad():
        assert not checkpoint(function, leaf(3), use_reentrant=False).requires_grad
    assert function.count == 1


# When the function runs again


@both_variants
def test_the_function_runs_twice(use_reentrant):
    function = counted(wave)
    y = checkpoint(function, leaf(3), use_reentrant=use_reentrant)
    assert function.count == 1
    y.sum().backward()
    assert function.count == 2


def test_a_function_that_saves_nothing_runs_once():
    function = counted(lambda x: x.clone())
    checkpoint(function, leaf(3), use_reentrant=False).sum().backward()
    assert function.count == 1


def test_each_walk_runs_the_function_again():
    function = counted(wave)
    y = checkpoint(function, leaf(3), use_reentrant=False).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert function.count == 3


def test_looking_at_a_saved_tensor_runs_the_function_each_time():
    function = counted(lambda x: (x * x * x, x.exp())[1])
    y = checkpoint(function, leaf(3), use_reentrant=False)
    for count in (2, 3):
        assert nb.equal(y.grad_fn._saved_result, y)
        assert function.count == count
    y.sum().backward()
    assert function.count == 4
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = y.grad_fn._saved_result


@pytest.mark.parametrize(
    "block, argument, runs_to_the_end",
    [
        (None, True, False),
        (None, False, True),
        (False, True, True),
        (True, False, False),
    ],
)
def test_the_second_run_stops_when_all_tensors_are_there(block, argument, runs_to_the_end):
    last = counted(lambda x: x.clone())
    context = contextlib.nullcontext() if block is None else set_checkpoint_early_stop(block)
    with context:
        y = checkpoint(
            lambda x: last(x.sin().cos()), leaf(3), use_reentrant=False, early_stop=argument
        )
    y.sum().backward()
    assert last.count == 1 + runs_to_the_end


def test_nothing_of_the_user_catches_the_stop():
    def function(x):
        try:
            return x.sin().cos().clone()
        except Exception:
            return x

    x = leaf(3)
    y = checkpoint(function, x, use_reentrant=False)
    y.sum().backward()
    assert nb.allclose(x.grad, gradient(lambda a: a.sin().cos(), leaf(3)))


def test_walks_of_a_group_share_the_second_run():
    function = counted(lambda x: (x.sin(), x.cos()))
    x = leaf(3)
    first, second = checkpoint(function, x, use_reentrant=False)
    with GraphExecGroup():
        first.sum().backward()
        second.sum().backward()
    assert function.count == 2
    assert nb.allclose(x.grad, x.cos() - x.sin())
    with pytest.raises(RuntimeError, match="GraphExecGroup contexts cannot be nested"):
        with GraphExecGroup(), GraphExecGroup():
            pass


def test_walks_of_a_group_may_not_need_the_same_tensor():
    y = checkpoint(wave, leaf(3), use_reentrant=False).sum()
    with GraphExecGroup():
        y.backward(retain_graph=True)
        with pytest.raises(CheckpointError, match="Performing two backward calls that overlap"):
            y.backward()


# Memory


def alive(references):
    return sum([reference() is not None for reference in references])


@both_variants
def test_activations_are_dropped(use_reentrant):
    kept = []

    def function(x):
        for _ in range(5):
            x = x.sin()
            kept.append(weakref.ref(x))
        return x

    y = checkpoint(function, leaf(100), use_reentrant=use_reentrant)
    assert alive(kept) == 1  # the result
    y.sum().backward()
    assert alive(kept) == 1


def test_tensors_are_freed_one_by_one_in_backward():
    made = []

    class Watched(nb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x * 2
            ctx.save_for_backward(result)
            made.append(weakref.ref(result))
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            (saved,) = ctx.saved_tensors
            del saved
            seen.append(alive(made))
            return grad * 2

    def function(x):
        for _ in range(4):
            x = Watched.apply(x)
        return x.clone()

    seen = []
    y = checkpoint(function, leaf(3), use_reentrant=False)
    assert alive(made) == 0
    y.sum().backward()
    assert seen == [3, 2, 1, 0]


@pytest.mark.parametrize("walks", [0, 1])
def test_a_graph_that_is_dropped_leaves_nothing_behind(walks):
    x = leaf(3)

    def nested(a):
        return checkpoint(wave, checkpoint(wave, a, use_reentrant=False).sin(), use_reentrant=False)

    y = checkpoint(nested, x, use_reentrant=False)
    reference = weakref.ref(y.grad_fn)
    for _ in range(walks):
        y.sum().backward(retain_graph=True)
    del y
    gc.collect()
    assert reference() is None


# Nested checkpoints


def checkpointed(function):
    return lambda *args: checkpoint(function, *args, use_reentrant=False)


def differentiated(function):
    def result(x):
        with nb.enable_grad():
            (gradient,) = nb.autograd.grad(function(x), x, create_graph=True)
        return gradient

    return result


def walks_inside(x):
    a, b = wave(x), wave(x)
    nb.autograd.grad(a, x)
    nb.autograd.grad(b, x)
    return x.sin()


@both_stops
@pytest.mark.parametrize("function", [wave, walks_inside])
def test_checkpoints_and_derivatives_nest(function, early_stop):
    c, d = checkpointed, differentiated
    x = leaf()
    with set_checkpoint_early_stop(early_stop):
        for plain, *others in (
            (function, c(function), c(c(function))),
            (d(function), d(c(function)), d(c(c(function)))),
            (d(d(function)), d(c(d(function))), c(d(d(c(function)))), d(c(d(c(function))))),
            (d(d(d(function))), d(c(d(d(c(function))))), d(c(d(c(d(c(function))))))),
        ):
            expected = plain(x)
            for other in others:
                assert nb.allclose(other(x), expected)


@both_stops
def test_two_checkpoints_in_one(early_stop):
    def first(x):
        return x.sin().exp().sin()

    def second(x):
        return x.cos().sin().exp()

    def summed(function):
        return lambda x: function(x).sum()

    def both(x):
        return checkpointed(second)(checkpointed(first)(x))

    d, x = differentiated, leaf(3, 3)
    with set_checkpoint_early_stop(early_stop):
        expected = d(summed(d(summed(lambda a: second(first(a))))))(x)
        assert nb.allclose(d(summed(d(summed(checkpointed(both)))))(x), expected)
        assert nb.allclose(d(summed(checkpointed(d(summed(checkpointed(both))))))(x), expected)


@both_stops
def test_a_walk_in_a_hook(early_stop):
    def function(a):
        x = a.sin().cos()
        return x, x.sin()

    a = leaf()
    with set_checkpoint_early_stop(early_stop):
        x, out = checkpoint(function, a, use_reentrant=False)
    out.grad_fn.register_hook(lambda *_: x.backward(retain_graph=True))
    out.backward(retain_graph=True)
    twice = gradient(lambda b: function(b)[0], a) + gradient(lambda b: function(b)[1], a)
    assert nb.allclose(a.grad, twice)


def test_reentrant_checkpoints_nest():
    def inner(x):
        return checkpoint(wave, x, use_reentrant=True).sin()

    x = leaf(3)
    checkpoint(inner, x, use_reentrant=True).sum().backward()
    assert nb.allclose(x.grad, gradient(lambda a: wave(a).sin(), x))


def test_with_other_hooks_of_saved_tensors():
    def inside(x):
        h = x.pow(2)
        with save_on_cpu():
            h = h.pow(2).pow(2)
        return h.pow(2)

    x = leaf(2, 2)
    expected = gradient(lambda a: a.pow(16), x)
    assert nb.allclose(gradient(checkpointed(inside), x), expected, rtol=1e-4)
    with save_on_cpu():
        y = checkpointed(lambda a: a.pow(2).pow(2))(x.pow(2)).pow(2)
    y.sum().backward()
    assert nb.allclose(x.grad, expected, rtol=1e-4)


# Random numbers


@both_variants
def test_random_numbers_are_the_same_in_both_runs(use_reentrant):
    masks = []

    def function(x):
        mask = nb.bernoulli(nb.full((8,), 0.5))
        masks.append(mask)
        return (x * mask).sin()

    x = leaf(8)
    nb.manual_seed(3)
    y = checkpoint(function, x, use_reentrant=use_reentrant)
    after = nb.rand(1)
    state = nb.get_rng_state()
    y.sum().backward()
    assert nb.equal(masks[0], masks[1])
    assert (nb.get_rng_state() == state).all()
    nb.manual_seed(3)
    nb.bernoulli(nb.full((8,), 0.5))
    assert nb.equal(nb.rand(1), after)


@both_variants
def test_random_numbers_may_be_left_alone(use_reentrant):
    masks = []

    def function(x):
        masks.append(nb.rand(8))
        return (x * masks[-1]).sin()

    nb.manual_seed(3)
    y = checkpoint(function, leaf(8), use_reentrant=use_reentrant, preserve_rng_state=False)
    y.sum().backward()
    assert not nb.equal(masks[0], masks[1])


def test_fork_rng():
    nb.manual_seed(0)
    state = nb.get_rng_state()
    with nb.random.fork_rng():
        nb.rand(3)
    assert (nb.get_rng_state() == state).all()
    with nb.random.fork_rng(enabled=False):
        nb.rand(3)
    assert (nb.get_rng_state() != state).any()


# In sequence


@both_variants
@pytest.mark.parametrize("segments", [1, 2, 3, 4])
def test_checkpoint_sequential(segments, use_reentrant):
    model = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(4)])
    other = copy.deepcopy(model)
    x = leaf(3, 4)
    checkpoint_sequential(model, segments, x, use_reentrant=use_reentrant).sum().backward()
    other(x).sum().backward()
    for ours, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert nb.allclose(ours.grad, theirs.grad)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: debug"):
        checkpoint_sequential(model, 2, x, use_reentrant=use_reentrant, debug=True)


def test_all_segments_but_the_last_run_twice():
    functions = [counted(wave) for _ in range(4)]
    checkpoint_sequential(functions, 2, leaf(3), use_reentrant=False).sum().backward()
    assert [function.count for function in functions] == [2, 2, 1, 1]


# In compiled functions


@both_variants
def test_a_compiled_step_computes_again_too(use_reentrant):
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    x = nb.randn(3, 4, requires_grad=True)

    def step(a):
        model.zero_grad()
        loss = checkpoint(model, a, use_reentrant=use_reentrant).pow(2).sum()
        loss.backward()
        return loss

    compiled = nb.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a step that is not compiled says so
        results = [compiled(x).item() for _ in range(4)]
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    assert results == pytest.approx([step(x).item()] * 4)
    for parameter, expected in zip(model.parameters(), gradients, strict=True):
        assert nb.allclose(parameter.grad, expected)
