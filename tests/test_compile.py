"""compile(): what a compiled function computes, leaves behind and refuses."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import nn, optim
from numbagrad.compiling import CompileError
from numbagrad.compiling.captured_function import SIZES_AT_ONCE
from numbagrad.executor.mode import NATIVE

F = nn.functional


def programs(compiled):
    """The programs that a compiled function has."""
    return [recorded.program for found in compiled._programs.values() for recorded in found]


def follow(make, arguments, steps=8, exact=False):
    """Check that a step compiled computes what it computes as it is; returns the compiled one."""
    torch.manual_seed(3)
    plain = make()
    torch.manual_seed(3)
    compiled = torch.compile(make())
    for step in range(steps):
        given = arguments(step) if callable(arguments) else arguments
        expected, found = plain(*given), compiled(*given)
        np.testing.assert_allclose(
            found.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6
        )
    assert programs(compiled) or not NATIVE
    assert not compiled._given_up
    return compiled


def two_layer():
    w1 = torch.randn(30, 20, requires_grad=True)
    w2 = torch.randn(20, 5, requires_grad=True)

    def step(x, y):
        loss = (x.mm(w1).clamp(min=0).mm(w2) - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            for w in (w1, w2):
                w -= 1e-3 * w.grad
                w.grad = None
        return loss

    return step


def trained(optimizer, **options):
    def make():
        net = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 4))
        update = optimizer(net.parameters(), **options)

        def step(x, y):
            update.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            update.step()
            return loss

        return step

    return make


def test_two_layer_net():
    compiled = follow(two_layer, (torch.randn(6, 30), torch.randn(6, 5)))
    for program in programs(compiled):
        assert len(program.launches) < 14
    assert len(programs(compiled)) == (1 if NATIVE else 0)


@pytest.mark.parametrize("options", [{"lr": 0.1}, {"lr": 0.1, "momentum": 0.9}])
def test_sgd(options):
    follow(trained(optim.SGD, **options), (torch.randn(7, 12), torch.randn(7, 4)))


def test_a_learning_rate_that_changes_is_not_frozen():
    weight = torch.ones(3, requires_grad=True)
    update = optim.SGD([weight], lr=1.0)

    @torch.compile
    def step():
        update.zero_grad()
        weight.sum().backward()
        update.step()

    for _ in range(4):
        step()
    np.testing.assert_allclose(weight.detach().numpy(), [-3.0] * 3)
    update.param_groups[0]["lr"] = 0.5
    step()
    step()
    np.testing.assert_allclose(weight.detach().numpy(), [-4.0] * 3)


def test_results_stay_valid_after_the_next_call():
    weight = torch.ones(4)

    @torch.compile
    def step(x):
        return (x * weight).exp()

    first = step(torch.zeros(4))
    second = step(torch.zeros(4))
    third = step(torch.ones(4))
    np.testing.assert_allclose(first.numpy(), np.ones(4))
    np.testing.assert_allclose(second.numpy(), np.ones(4))
    np.testing.assert_allclose(third.numpy(), np.full(4, np.e), rtol=1e-6)


def test_gradients_that_somebody_holds_are_not_overwritten():
    weight = torch.ones(4, requires_grad=True)

    @torch.compile
    def step(x):
        weight.grad = None
        (weight * x).sum().backward()

    held = []
    for k in range(5):
        step(torch.full((4,), float(k)))
        held.append(weight.grad)
    for k, gradient in enumerate(held):
        np.testing.assert_allclose(gradient.numpy(), np.full(4, float(k)))


def test_gradients_accumulate():
    weight = torch.ones(4, requires_grad=True)

    @torch.compile
    def step():
        (weight * 2).sum().backward()

    for k in range(1, 6):
        step()
        np.testing.assert_allclose(weight.grad.numpy(), np.full(4, 2.0 * k))


def test_sizes_are_planned_anew():
    @torch.compile
    def step(x):
        return x.softmax(-1) * 2

    for size in (3, 5, 3, 5, 9):
        x = torch.randn(4, size)
        np.testing.assert_allclose(step(x).numpy(), (x.softmax(-1) * 2).numpy(), rtol=1e-5)
    assert len(programs(step)) == (0 if not NATIVE else 3)


def test_sizes_that_do_not_return_are_not_compiled():
    weight = torch.arange(8.0).reshape(4, 2).requires_grad_()

    @torch.compile
    def step(x, factor=1.0):
        return ((x @ weight).relu() * 2 + factor).exp().sum()

    for size in range(1, 21):
        x = torch.full((size, 4), 1 / size)
        assert step(x).item() == pytest.approx(step._function(x).item(), rel=1e-6)
    assert len(programs(step)) == SIZES_AT_ONCE * NATIVE
    step(torch.ones(2, 3, 4))  # of another rank
    assert len(programs(step)) == (SIZES_AT_ONCE + 1) * NATIVE
    for _ in range(2):
        for size in range(1, 21):
            step(torch.ones(size, 4))
    assert len(programs(step)) == 21 * NATIVE
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for size in range(100, 300):
            step(torch.ones(size, 4))
    assert len(programs(step)) == 21 * NATIVE
    assert ["sizes that came once" in str(each.message) for each in caught] == [True] * NATIVE


def test_a_flag_that_changes_is_seen():
    net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
    net.eval()
    compiled = torch.compile(lambda x: net(x).detach())
    x = torch.ones(2, 3)
    for _ in range(3):
        before = compiled(x)
    net.train()
    torch.manual_seed(0)
    noisy = compiled(x)
    torch.manual_seed(0)
    np.testing.assert_allclose(noisy.numpy(), net(x).detach().numpy(), rtol=1e-6)
    net.eval()
    np.testing.assert_allclose(compiled(x).numpy(), before.numpy())


def test_what_cannot_be_part_of_a_program_runs_as_always():
    def step(x):
        return x * 2 if x.sum() > 0 else x * 3

    compiled = torch.compile(step)
    said = "runs uncompiled, because of a branch on the value"
    with contextlib.nullcontext() if not NATIVE else pytest.warns(UserWarning, match=said):
        compiled(torch.ones(3))
    np.testing.assert_allclose(compiled(-torch.ones(3)).numpy(), [-3.0] * 3)


def test_fullgraph_raises():
    @torch.compile(fullgraph=True)
    def step(x):
        return x * x.sum().item()

    if not NATIVE:  # everything runs as it is, and nothing is refused
        same = step(torch.ones(3))
        np.testing.assert_allclose(same.numpy(), [3.0] * 3)
        return
    with pytest.raises(CompileError, match=r"item\(\)"):
        step(torch.ones(3))


def test_state_that_no_kernel_writes_is_noticed():
    counts = torch.zeros(3)

    def step(x):
        counts.numpy()[0] += 1
        return x + 1

    compiled = torch.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            compiled(torch.ones(2))
    assert counts[0].item() == 4


def test_python_state_that_changes_is_noticed():
    seen = []

    def step(x):
        seen.append(1)
        return x + len(seen)

    compiled = torch.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(12):
            assert compiled(torch.zeros(1)).item() == k + 1


def test_row_loops_agree_with_the_operators():
    def make():
        weight = torch.randn(33, requires_grad=True)
        bias = torch.randn(33, requires_grad=True)

        def step(x, g):
            x.grad = weight.grad = bias.grad = None
            y = F.gelu(F.softmax(F.layer_norm(x, (33,), weight, bias), 1)).log_softmax(1)
            y.backward(g)
            with torch.no_grad():
                weight.sub_(weight.grad)
                bias.sub_(bias.grad)
            return torch.cat([y.detach().view(-1), x.grad.view(-1)])

        return step

    x, g = torch.randn(40, 33, requires_grad=True), torch.randn(40, 33)
    compiled = follow(make, (x, g), steps=5)
    names = [type(o).__name__ for p in programs(compiled) for o in p.operations]
    assert "RowLoop" in names or not NATIVE


def test_sums_of_many_chunks_and_of_columns():
    def make():
        def step(x):
            x.grad = None
            y = (x * 2).exp()
            total, columns = (y * y).sum(), y.sum(0)
            return torch.cat([total.view(1), columns, y.amax(1), (y + 1).mean().view(1)])

        return step

    follow(make, (torch.randn(5000, 37) * 0.1,), steps=4)


def test_a_module_compiles_with_its_backward():
    def make():
        torch.manual_seed(4)
        return nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3))

    def train(net, model):
        update = optim.Adam(net.parameters(), lr=0.01)
        torch.manual_seed(5)
        x, y = torch.randn(9, 6), torch.randn(9, 3)
        losses = []
        for _ in range(8):
            update.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            update.step()
            losses.append(loss.item())
        return losses

    plain, net = make(), make()
    compiled = torch.compile(net)
    np.testing.assert_allclose(train(net, compiled), train(plain, plain), rtol=1e-5)
    assert list(compiled.state_dict()) == [f"_orig_mod.{name}" for name in net.state_dict()]
    compiled(torch.ones(2, 6))
    node = "AddmmBackward0" if not NATIVE else "CompiledFunctionBackward"
    assert compiled(torch.ones(2, 6)).grad_fn.name() == node


def test_the_backward_of_a_compiled_function_notices_what_was_overwritten():
    weight = torch.randn(3, requires_grad=True)
    compiled = torch.compile(lambda x: (x * weight).exp())
    for _ in range(3):
        result = compiled(torch.ones(3, requires_grad=True))
    with torch.no_grad():
        weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()
    result = compiled(torch.ones(3))
    result.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        result.sum().backward()


def test_compile_is_a_decorator_and_takes_the_options_of_torch():
    @torch.compile(mode="max-autotune", dynamic=True, backend="inductor")
    def double(x):
        return x * 2

    assert double(torch.ones(1)).item() == 2
    assert torch.compile(double, disable=True) is double
    with pytest.raises(TypeError, match="takes a function or a Module"):
        torch.compile(3)
