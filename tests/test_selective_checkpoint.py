"""Selective checkpoints: which results are kept, what is computed again, and what raises."""

import functools
import threading
import weakref

import numpy as np
import pytest

import numbagrad as nb
from numbagrad import nn
from numbagrad.ops import aten
from numbagrad.ops.operators.composite import TRACED_AT_ONCE
from numbagrad.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

pytestmark = pytest.mark.usefixtures("traced_at_once")


def leaf(*shape):
    nb.manual_seed(3)
    return nb.randn(*shape, dtype=nb.float64, requires_grad=True)


def selective(function, *arguments, policy, allow_mutation=False, **options):
    contexts = functools.partial(create_selective_checkpoint_contexts, policy, allow_mutation)
    return checkpoint(function, *arguments, use_reentrant=False, context_fn=contexts, **options)


class Counting:
    """A policy that keeps the results of some operators, and notes what it was asked."""

    def __init__(self, *kept):
        self.kept = kept
        self.asked = []
        self.outputs = []

    def __call__(self, context, operator, *arguments):
        assert not context.is_recompute
        self.asked.append(str(operator))
        self.outputs.append(context.op_output)
        save = operator in self.kept
        return CheckpointPolicy.MUST_SAVE if save else CheckpointPolicy.PREFER_RECOMPUTE


def gradients_agree(function, *inputs, policy, **options):
    """The gradients with a selective checkpoint, and without, are equal to the last bit."""
    expected = nb.autograd.grad(function(*inputs).sum(), inputs)
    made = nb.autograd.grad(selective(function, *inputs, policy=policy, **options).sum(), inputs)
    for a, b in zip(made, expected, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


# --- what is kept ---------------------------------------------------------------------------------


def test_a_kernel_whose_result_is_kept_runs_once():
    calls = []

    def square(x, out):
        calls.append(1)
        np.multiply(x, x, out=out)

    def square_backward(grad_out, x, grad_x):
        np.multiply(grad_out, 2 * x, out=grad_x)

    kernel = nb.kernel(square, square_backward)
    x = leaf(3)
    for policy, runs in ([kernel], 1), ([], 2):
        calls.clear()
        out = selective(lambda x: kernel(x.sin()).exp().sin(), x, policy=policy)
        (grad,) = nb.autograd.grad(out.sum(), x)
        assert len(calls) == runs
        y = x.detach().requires_grad_()
        ((y.sin() ** 2).exp().sin()).sum().backward()
        assert nb.allclose(grad, y.grad)


EVERY = [aten.mm.default, aten.addmm.default, aten.sin.default, aten.exp.default, aten.mul.Tensor]


@pytest.mark.parametrize(
    "policy", [[], EVERY[:1], EVERY[2:3], EVERY, lambda *_: True, lambda *_: False],
    ids=["nothing", "products", "sines", "some", "all", "none"],
)  # fmt: skip
@pytest.mark.parametrize("early_stop", [True, False])
def test_gradients_are_those_without_a_checkpoint(policy, early_stop):
    layer = nn.Linear(4, 4).double()
    x, y = leaf(4, 4), leaf(4, 4)

    def function(x, y):
        hidden = nn.functional.layer_norm(layer(x.sin() @ y), (4,))
        mean, deviation = nb.var_mean(hidden, 1)
        return (nn.functional.softmax(hidden, -1).t() * mean * deviation.exp()).sum(0)

    gradients_agree(function, x, y, policy=policy, early_stop=early_stop)


def test_what_is_kept_is_what_the_operator_returned():
    x = leaf(3)
    policy = Counting(aten.exp.default)
    out = selective(lambda x: x.cos().exp().sin(), x, policy=policy)
    assert policy.asked == ["aten.cos.default", "aten.exp.default", "aten.sin.default"]
    assert [output.requires_grad for output in policy.outputs] == [False] * 3
    assert nb.equal(policy.outputs[2], out)
    out.sum().backward()
    assert len(policy.asked) == 3  # nobody is asked in backward


def test_results_that_are_kept_are_not_kept_twice_nor_longer_than_needed():
    def memory_of_results(policy):
        counting = Counting(*policy)
        out = selective(lambda x: x.cos().exp().sin(), leaf(3), policy=counting)
        found = [weakref.ref(output._array) for output in counting.outputs[:2]]
        del counting.outputs[:]
        return out, found

    out, (cosine, exponential) = memory_of_results([aten.exp.default])
    assert cosine() is None and exponential() is not None
    out.sum().backward(retain_graph=True)
    assert exponential() is None
    out, (_, exponential) = memory_of_results([aten.exp.default])
    del out
    assert exponential() is None  # without a cycle


def test_operators_of_several_results():
    policy = Counting(aten.var_mean.correction)

    def function(x):
        variance, mean = nb.var_mean(x)
        return variance * mean

    gradients_agree(function, leaf(5), policy=policy)
    assert policy.asked == ["aten.var_mean.correction", "aten.mul.Tensor"]


def test_random_numbers_behind_a_kept_result_are_those_of_forward():
    x = leaf(50)

    def function(x):
        first = nn.functional.dropout(x.sin(), 0.5)
        second = nn.functional.dropout(first.exp(), 0.5)
        return second.cos()

    for kept in lambda *_: True, lambda *_: False, lambda c, op, *a: "bernoulli" in str(op):
        nb.manual_seed(1)
        expected = nb.autograd.grad(function(x).sum(), x)
        after = nb.rand(1)
        nb.manual_seed(1)
        out = selective(function, x, policy=kept)
        made = nb.autograd.grad(out.sum(), x)
        assert nb.equal(nb.rand(1), after)
        assert nb.equal(made[0], expected[0])


def test_inner_checkpoints_are_asked_first():
    inner, outer = Counting(aten.exp.default), Counting(aten.sin.default)

    def nested(x):
        return selective(lambda x: x.sin().exp().sin(), x, policy=inner).cos()

    gradients_agree(nested, leaf(3), policy=outer)
    assert inner.asked[:3] == ["aten.sin.default", "aten.exp.default", "aten.sin.default"]
    assert outer.asked == [*inner.asked[:3], "aten.cos.default"]
    gradients_agree(lambda x: checkpoint(nested, x, use_reentrant=False), leaf(3), policy=outer)


def test_with_other_transformations_inside():
    def function(x):
        _, tangent = nb.func.jvp(nb.sin, (x,), (x.cos(),))
        return nb.vmap(lambda row: row.sin().exp())(x) * tangent

    gradients_agree(function, leaf(2, 3), policy=lambda *_: True)


def test_a_walk_inside_computes_all_again_and_uses_up_what_was_kept():
    def function(x):
        return x.sin() * nb.func.grad(lambda y: y.cos().sum())(x)

    gradients_agree(function, leaf(3), policy=lambda *_: False)
    out = selective(function, leaf(3), policy=lambda *_: True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        out.sum().backward()


def test_inside_of_compile_it_runs_as_always():
    @nb.compile
    def function(x):
        return selective(lambda x: x.sin().exp().cos(), x, policy=EVERY)

    x = leaf(3)
    expected = nb.autograd.grad(x.sin().exp().cos().sum(), x)
    with pytest.warns(UserWarning, match="a selective checkpoint, called at .*"):
        for _ in range(4):
            made = nb.autograd.grad(function(x).sum(), x)
            assert nb.allclose(made[0], expected[0])


def test_operators_of_compiled_functions_are_asked_about():
    @nb.compile
    def compiled(x):
        return x.sin().exp()

    x = leaf(3)
    expected = nb.autograd.grad(x.sin().exp().cos().sum(), x)
    for _ in range(4):
        policy = Counting(aten.cos.default, aten.sin.default)
        out = selective(lambda x: compiled(x).cos(), x, policy=policy)
        made = nb.autograd.grad(out.sum(), x)
        assert nb.allclose(made[0], expected[0])
        assert policy.asked == ["aten.sin.default", "aten.exp.default", "aten.cos.default"]
    assert nb.allclose(compiled(x), x.sin().exp())


def test_threads_take_turns():
    x = leaf(3)
    expected = nb.autograd.grad(x.sin().exp().cos().sum(), x)
    found = []

    def work():
        for _ in range(5):
            out = selective(lambda x: x.sin().exp().cos(), x, policy=EVERY)
            found.append(nb.autograd.grad(out.sum(), x)[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20 and all([nb.equal(each, expected[0]) for each in found])


def test_walks_that_go_on_in_another_thread():
    """Walks inside of each other do so when they are 30 deep."""
    deepest = 33

    def nested(depth, x):
        if depth == deepest:
            return selective(lambda x: x.sin().exp().cos(), x, policy=EVERY).sum()
        with nb.enable_grad():
            y = x.detach().requires_grad_()
            inner = nested(depth + 1, y)

        class Inner(nb.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return inner.detach().clone()

            @staticmethod
            def backward(ctx, grad):
                return nb.autograd.grad(inner, y)[0] * grad

        return Inner.apply(x)

    x = leaf(3)
    made = nb.autograd.grad(selective(functools.partial(nested, 0), x, policy=EVERY), x)
    expected = nb.autograd.grad(x.sin().exp().cos().sum(), x)
    assert nb.equal(made[0], expected[0])


# --- what raises ----------------------------------------------------------------------------------


def test_a_kept_result_may_not_be_written():
    def function(x):
        return x.sin().mul_(2).cos().exp()

    out = selective(function, leaf(3), policy=[aten.sin.default])
    with pytest.raises(RuntimeError, match="cached during selective .* has been mutated"):
        out.sum().backward()
    out = selective(function, leaf(3), policy=[aten.sin.default], allow_mutation=True)
    out.sum().backward()
    gradients_agree(function, leaf(3), policy=[aten.cos.default])


def test_only_one_backward():
    out = selective(lambda x: x.sin().cos().exp(), leaf(3), policy=[aten.sin.default])
    out.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        out.sum().backward(retain_graph=True)


@pytest.mark.parametrize(
    "second, message",
    [
        (lambda x: x.sin().exp(), "aten.exp.default encountered .* but not found in storage"),
        (lambda x: x.sin().sin(), "aten.sin.default invocation index 1 .* not found in storage"),
        (lambda x: x * 1, "aten.mul.Tensor encountered .* but not found in storage"),
    ],
)
def test_other_operators_the_second_time(second, message):
    runs = []

    def function(x):
        runs.append(1)
        return x.sin() if len(runs) == 1 else second(x)

    out = selective(function, leaf(3), policy=lambda *_: False, early_stop=False)
    with pytest.raises(RuntimeError, match=message):
        out.sum().backward()


def test_arguments():
    with pytest.raises(ValueError, match="Expected op in `op_list` to be an OpOverload but got: 2"):
        create_selective_checkpoint_contexts([2])
    with pytest.raises(ValueError, match="update the OpOverloadPacket to a specific OpOverload"):
        create_selective_checkpoint_contexts([aten.mm])
    with pytest.raises(TypeError, match="must be either a function or a list of ops"):
        create_selective_checkpoint_contexts(2)


def test_an_error_leaves_no_context_open():
    def function(x):
        raise ZeroDivisionError

    policy = Counting()
    with pytest.raises(ZeroDivisionError):
        selective(function, leaf(3), policy=policy)
    leaf(3).sin()
    assert policy.asked == []


# --- names ----------------------------------------------------------------------------------------


def test_names_of_operators():
    assert nb.ops.aten.mm.default is aten.mm.default
    assert str(aten.sum.dim_IntList) == "aten.sum.dim_IntList"
    assert repr(aten.mm.default) == "<OpOverload(op='aten.mm', overload='default')>"
    assert repr(aten.mm) == "<OpOverloadPacket(op='aten.mm')>"
    assert aten.mm.default.name() == "aten::mm"
    assert aten.sum.dim_IntList.name() == "aten::sum.dim_IntList"
    assert aten.view.default.overloadpacket is aten.view
    with pytest.raises(AttributeError, match="no operator 'aten.nonsense'"):
        aten.nonsense  # noqa: B018
    with pytest.raises(AttributeError, match="no overload 'Tensor'; there are default"):
        aten.mm.Tensor  # noqa: B018


def test_a_composite_of_many_forms_has_one_name(monkeypatch):
    """With many forms the first calls of a new one run as it is written, but not in here."""
    monkeypatch.undo()
    nn.functional.layer_norm.composite.forget()
    names = ["aten.native_layer_norm.default"]
    for number in range(TRACED_AT_ONCE + 5):
        x = leaf(3, number + 2)
        norm = functools.partial(nn.functional.layer_norm, normalized_shape=x.shape[1:])
        policy = Counting(aten.native_layer_norm.default)
        (expected,) = nb.autograd.grad(norm(x).sum(), x)  # as it is written, if forms are many
        made = nb.autograd.grad(selective(norm, x, policy=policy).sum(), x)
        np.testing.assert_allclose(made[0].numpy(), expected.numpy(), rtol=1e-6, atol=1e-12)
        assert policy.asked == names
        y = leaf(4, number + 2)
        policy = Counting()
        selective(norm, y, policy=policy).sum().backward()
        assert policy.asked == names
