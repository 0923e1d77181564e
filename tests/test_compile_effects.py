"""compile(): scripts full of effects, each compiled beside itself, call by call, on changing data.

Gradients that are kept, shared and cleared, hooks that come and go, options and groups of
optimizers that change, layers that are frozen, buffers, arguments that share memory.
"""

from __future__ import annotations

import collections
import copy

import pytest
from compile_checks import assert_compiled, lockstep, programs

import numbagrad as torch
from numbagrad import nn, optim
from numbagrad.executor.mode import NATIVE

Pair = collections.namedtuple("Pair", "first second")


def vector(k):
    """One argument: three numbers."""
    return (torch.randn(3),)


def rows(k):
    """One argument: four rows of three numbers."""
    return (torch.randn(4, 3),)


def _views_of_a_parameter():
    weight = torch.ones(4, requires_grad=True)

    def step(x):
        with torch.no_grad():
            return (weight * 1)[1:], weight.detach()[1:], weight[1:], weight.view(2, 2)

    def after(results, k, x):
        views = [view._is_view() for view in results]
        results[0].add_(1)
        with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
            results[3].add_(1)
        return views

    return step, lambda: weight, after


def _same_tensor_twice():
    def step(x):
        y = x * 2
        return Pair(y, y), y

    def after(results, k, x):
        pair, single = results
        pair.first.add_(1)
        return pair.first is pair.second, pair.second is single

    return step, None, after


def _structures():
    weight = torch.ones(3, requires_grad=True)

    def step(x):
        return {"a": weight * x, "b": [x, weight], "c": (1, None, "s", x.sum())}

    def after(result, k, x):
        return result["b"][0] is x, result["b"][1] is weight

    return step, None, after


def _shared_gradient():
    first, second = (torch.ones(3, requires_grad=True) for _ in range(2))

    def step(x):
        first.grad = second.grad = None
        (first * x).sum().backward()
        second.grad = first.grad
        return first.grad * 2

    def after(result, k, x):
        first.grad.add_(1)
        return second.grad is first.grad

    return step, lambda: second.grad, after


def _gradients_that_are_kept():
    layer, kept = nn.Linear(3, 2), []

    def step(x):
        layer.zero_grad()
        loss = layer(x).pow(2).mean()
        loss.backward()
        return loss.detach()

    def after(result, k, x):
        kept.append(layer.weight.grad)
        return kept[-3:]

    return step, None, after


def _gradient_in_place():
    weight = torch.ones(3, requires_grad=True)

    def step(x):
        if weight.grad is not None:
            weight.grad.zero_()
        (weight * x).sum().backward()
        weight.grad.mul_(0.5)
        with torch.no_grad():
            weight.sub_(weight.grad)
        return weight.grad

    def after(result, k, x):
        same = result is weight.grad
        if k == 4:
            weight.grad = None
        if k == 6:
            weight.grad = torch.ones(3)
        return same

    return step, lambda: weight, after


def _accumulation():
    layer = nn.Linear(3, 2)
    optimizer = optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)

    def step(x):
        loss = layer(x).pow(2).mean()
        loss.backward()
        return loss.detach()

    def after(result, k, x):
        if k % 3 == 2:
            optimizer.step()
            optimizer.zero_grad(set_to_none=k % 2 == 0)

    return step, lambda: [[p, p.grad] for p in layer.parameters()], after


def _hooks_that_come_and_go():
    weight, handles = torch.ones(3, requires_grad=True), []

    def step(x):
        weight.grad = None
        (weight * x).sum().backward()
        return weight.grad.clone()

    def after(result, k, x):
        if k == 3:
            handles.append(weight.register_hook(lambda grad: grad * 2))
        if k == 5:
            weight.register_hook(lambda grad: grad + 1)
        if k == 6:
            handles[0].remove()
        if k == 7:
            weight.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(3))

    return step, None, after


def _graph_walked_twice():
    weight = torch.ones(3, requires_grad=True)

    def step(x):
        weight.grad = None
        loss = (weight * x).exp().sum()
        loss.backward(retain_graph=True)
        loss.backward()
        return weight.grad.clone(), loss

    def after(results, k, x):
        with pytest.raises(RuntimeError, match="second time"):
            results[1].backward()

    return step, None, after


def _graph_that_keeps_nothing_walked_twice():
    weight = torch.ones(3, requires_grad=True)

    def step(x):
        weight.grad = None
        loss = (-weight - weight + x).sum()
        loss.backward()
        return weight.grad.clone(), loss

    def after(results, k, x):
        results[1].backward()  # sums and signs keep nothing that the first walk would have freed
        assert weight.grad.tolist() == [-4.0, -4.0, -4.0]

    return step, None, after


def _gradient_penalty():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))

    def step(x):
        model.zero_grad()
        x.requires_grad_()
        (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        loss = (slope.norm(dim=1) - 1).pow(2).mean()
        loss.backward()
        return loss.detach(), slope.detach()

    return step, lambda: [p.grad for p in model.parameters()]


def _groups_and_options():
    layer, head = nn.Linear(3, 2), nn.Linear(2, 2)
    optimizer = optim.Adam(layer.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = head(layer(x)).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    def after(result, k, x):
        if k == 3:
            optimizer.add_param_group({"params": head.parameters(), "lr": 0.01})
        if k == 5:
            optimizer.param_groups[1]["betas"] = (0.5, 0.9)
        if k == 7:
            optimizer.param_groups[0]["weight_decay"] = 0.1

    return step, lambda: [*layer.parameters(), *head.parameters()], after


def _frozen_layers():
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    def after(result, k, x):
        if k in (2, 6):
            model[0].requires_grad_(k == 6)
        if k == 7:
            model[2].bias.requires_grad = False

    return step, lambda: [[p, p.grad] for p in model.parameters()], after


def _buffers_and_modes():
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.3))
    model.register_buffer("average", torch.zeros(3))

    def step(x):
        y = model(x)
        model.average.mul_(0.9).add_(y.detach().mean(0), alpha=0.1)
        return y.detach()

    def after(result, k, x):
        if k in (2, 4):
            model.train(k == 4)
        if k == 5:
            model[1].momentum = 0.5
        if k == 6:
            model[2].p = 0.7
        if k == 7:
            model[1].reset_running_stats()
        if k == 8:
            model.average = torch.ones(3)

    return step, lambda: dict(model.state_dict()), after


def _swapped_memory():
    first, second = torch.ones(3), torch.zeros(3)

    def step(x):
        first.add_(x)
        second.copy_(first)
        first.copy_(x * 2)
        return first + second

    return step, lambda: [first, second]


def _average_of_weights():
    model = nn.Linear(3, 2)
    average = copy.deepcopy(model)
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
        with torch.no_grad():
            for mean, own in zip(average.parameters(), model.parameters(), strict=True):
                mean.lerp_(own, 0.1)
        return x.sum()

    return step, lambda: [*model.parameters(), *average.parameters()]


def _recurrence_with_unused_results():
    layer = nn.LSTM(3, 2)

    def step(x):
        y, (h, c) = layer(x.view(4, 1, 3))
        return y, h, c

    def after(results, k, x):
        layer.zero_grad()
        (results[0].sum() if k % 3 else (results[1] * results[2]).sum()).backward()
        return [p.grad.clone() for p in layer.parameters()]

    return step, None, after


SCRIPTS = {
    function.__name__.strip("_"): (function, inputs)
    for function, inputs in (
        (_views_of_a_parameter, vector), (_same_tensor_twice, vector), (_structures, vector),
        (_shared_gradient, vector), (_gradients_that_are_kept, rows), (_gradient_in_place, vector),
        (_accumulation, rows), (_hooks_that_come_and_go, vector), (_graph_walked_twice, vector),
        (_graph_that_keeps_nothing_walked_twice, vector),
        (_gradient_penalty, rows), (_groups_and_options, rows), (_frozen_layers, rows),
        (_buffers_and_modes, rows), (_swapped_memory, vector), (_average_of_weights, rows),
        (_recurrence_with_unused_results, rows),
    )
}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
def test_script(name):
    make, inputs = SCRIPTS[name]
    compiled = lockstep(make, inputs, 10, versions=False)
    assert_compiled(compiled)


# --- arguments that share memory ------------------------------------------------------------------


def _same_memory(k):
    x = torch.arange(4.0) + k
    return x, x[:] if k % 2 else torch.ones(4)


def _overlapping(k):
    x = torch.arange(6.0) + k
    return x[:4], x[2:] if k % 2 else torch.ones(4)


def _halves(k):
    x = torch.arange(6.0) + k
    return x[:3], x[3:]


def _same_tensor(k):
    x = torch.arange(4.0) + k
    return x, x if k % 2 else torch.ones(4)


def _repeated(k):
    return torch.ones(4), torch.randn(1).expand(4) if k % 2 else torch.randn(4)


@pytest.mark.parametrize("inputs", [_same_memory, _overlapping, _halves, _same_tensor, _repeated])
def test_arguments_that_share_memory(inputs):
    def step(x, y):
        x.add_(1)
        return x + y, y * 1

    compiled = lockstep(lambda: step, inputs, 10)
    assert not NATIVE or programs(compiled)


def _left_on_a_tensor(x):
    x.register_hook(lambda grad: grad * 1.5)
    return x * 2


def _left_after_a_backward(x):
    y = x.contiguous()
    y.register_hook(lambda grad: grad * 1.5)
    (x * x).sum().backward()
    return (x * 2).detach()


def _left_on_a_node(x):
    if x.grad_fn is not None:
        x.grad_fn.register_prehook(lambda grads: (grads[0] * 1.5,))
    return x * 2


def _left_behind_the_accumulation(x):
    if x.is_leaf:
        x.register_post_accumulate_grad_hook(lambda leaf: leaf.grad.mul_(2).numel() and None)
    return x * 2


def _left_as_a_wish(x):
    x.retain_grad()
    return x * 2


@pytest.mark.parametrize("is_leaf", [True, False])
@pytest.mark.parametrize(
    "function",
    [_left_on_a_tensor, _left_after_a_backward, _left_on_a_node, _left_behind_the_accumulation,
     _left_as_a_wish],
)  # fmt: skip
def test_hooks_that_are_left_on_arguments(function, is_leaf):
    """They run in later walks through the arguments."""

    def arguments(k):
        x = torch.randn(3, requires_grad=True)
        return (x if is_leaf else x * 1,)

    def after(result, k, x):
        ((result * result).sum() + (x * 3).sum()).backward()
        return None if not x.is_leaf and not x.retains_grad else x.grad.clone()

    lockstep(lambda: (function, None, after), arguments, 5)
