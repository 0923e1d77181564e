"""Optimizers and schedulers: formulas, groups, state, closures and hooks, without torch.

The losses written as literals were printed by torch 2.13 from the same seed.
"""

import copy
import math
import pickle

import numpy as np
import pytest

import numbagrad as ng
from numbagrad import nn, optim
from numbagrad.optim import lr_scheduler

LOSSES = {
    "SGD": ({"lr": 0.1, "momentum": 0.9}, [0.68547, 0.68268, 0.6775, 0.67063, 0.67005]),
    "Adam": ({"lr": 0.05}, [0.68547, 0.67206, 0.66852, 0.66489, 0.66539]),
    "AdamW": ({"lr": 0.05}, [0.68547, 0.67207, 0.66854, 0.66491, 0.66542]),
    "RMSprop": ({"lr": 0.01}, [0.68547, 0.68057, 0.66928, 0.66489, 0.6644]),
    "Adagrad": ({"lr": 0.1}, [0.68547, 0.68057, 0.66929, 0.66493, 0.66421]),
    "Adadelta": ({}, [0.68547, 0.68409, 0.68268, 0.68129, 0.67995]),
    "Adamax": ({"lr": 0.05}, [0.68547, 0.67206, 0.66927, 0.66614, 0.66449]),
    "NAdam": ({"lr": 0.05}, [0.68547, 0.67236, 0.66605, 0.66412, 0.6619]),
    "RAdam": ({"lr": 0.05, "betas": (0.9, 0.99)}, [0.68547, 0.68406, 0.68268, 0.68131, 0.67995]),
    "ASGD": ({"lr": 0.1}, [0.68547, 0.68268, 0.67994, 0.67726, 0.67459]),
    "Rprop": ({}, [0.68547, 0.68126, 0.6764, 0.67071, 0.66874]),
    "LBFGS": ({"lr": 0.5, "max_iter": 3}, [0.68547, 0.69224, 0.63162, 0.57744, 0.5055]),
}


def problem():
    """A network and the closure that computes its loss and gradients."""
    ng.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    x, y = ng.randn(5, 3), ng.tensor([0, 1, 1, 0, 1])

    def closure():
        net.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        return loss

    return net, closure


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_those_of_torch(name):
    options, expected = LOSSES[name]
    net, closure = problem()
    optimizer = getattr(optim, name)(net.parameters(), **options)
    losses = [optimizer.step(closure).item() for _ in range(5)]
    assert losses == pytest.approx(expected, abs=2e-4 if name == "LBFGS" else 2e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_a_copy_by_state_goes_on_in_the_same_way(name):
    options, _ = LOSSES[name]
    net, closure = problem()
    optimizer = getattr(optim, name)(net.parameters(), **options)
    for _ in range(3):
        optimizer.step(closure)
    state = pickle.loads(pickle.dumps((net.state_dict(), optimizer.state_dict())))
    going_on = [optimizer.step(closure).item() for _ in range(3)]
    net, closure = problem()
    optimizer = getattr(optim, name)(net.parameters(), **options)
    net.load_state_dict(state[0])
    optimizer.load_state_dict(state[1])
    assert [optimizer.step(closure).item() for _ in range(3)] == going_on


@pytest.mark.parametrize("name", LOSSES)
def test_a_quadratic_is_minimised(name):
    x = nn.Parameter(ng.tensor([3.0, -2.0]))
    options = {"SGD": {"lr": 0.1}, "LBFGS": {"line_search_fn": "strong_wolfe"}}
    rate = {"Adadelta": {"lr": 30.0}}.get(name, {"lr": 0.3})
    optimizer = getattr(optim, name)([x], **options.get(name, rate))

    def closure():
        optimizer.zero_grad()
        loss = ((x - 1) ** 2).sum()
        loss.backward()
        return loss

    start = optimizer.step(closure).item()
    for _ in range(150):
        optimizer.step(closure)
    assert closure().item() < 0.01 * start


def test_adam_is_the_formula_of_its_paper():
    x = nn.Parameter(ng.tensor([1.0, 2.0], dtype=ng.float64))
    optimizer = optim.Adam([x], lr=0.1, betas=(0.8, 0.9), eps=1e-3)
    expected, m, v = np.array([1.0, 2.0]), 0.0, 0.0
    for t in range(1, 5):
        gradient = np.array([0.5, -1.0]) * t
        x.grad = ng.from_numpy(gradient.copy())
        optimizer.step()
        m, v = 0.8 * m + 0.2 * gradient, 0.9 * v + 0.1 * gradient**2
        expected -= 0.1 * (m / (1 - 0.8**t)) / (np.sqrt(v / (1 - 0.9**t)) + 1e-3)
        np.testing.assert_allclose(x.detach().numpy(), expected, rtol=1e-12)


def stepped(make, gradients, start=(1.0, 2.0)):
    """The optimizer, and the parameter after every step along given gradients, in double."""
    x = nn.Parameter(ng.tensor(start, dtype=ng.float64))
    optimizer = make([x])
    found = []
    for gradient in gradients:
        x.grad = ng.tensor(gradient, dtype=ng.float64)
        optimizer.step()
        found.append(x.tolist())
    return optimizer, found


GRADIENTS = [[0.5 * t, -1.0 * t] for t in range(1, 12)]


def test_adamax_is_the_formula_of_its_paper():
    _, found = stepped(lambda p: optim.Adamax(p, lr=0.1, betas=(0.8, 0.9)), GRADIENTS)
    expected, m, u = np.array([1.0, 2.0]), 0.0, 0.0
    for t, (gradient, x) in enumerate(zip(np.array(GRADIENTS), found, strict=True), 1):
        m, u = 0.8 * m + 0.2 * gradient, np.maximum(0.9 * u, np.abs(gradient) + 1e-8)
        expected -= 0.1 / (1 - 0.8**t) * m / u
        np.testing.assert_allclose(x, expected, rtol=1e-12)


def test_radam_divides_once_it_has_squares_enough():
    _, found = stepped(lambda p: optim.RAdam(p, lr=0.1, betas=(0.8, 0.9)), GRADIENTS)
    expected, m, v, divided = np.array([1.0, 2.0]), 0.0, 0.0, []
    for t, (gradient, x) in enumerate(zip(np.array(GRADIENTS), found, strict=True), 1):
        m, v = 0.8 * m + 0.2 * gradient, 0.9 * v + 0.1 * gradient**2
        last = 2 / 0.1 - 1
        length = last - 2 * t * 0.9**t / (1 - 0.9**t)
        step = 0.1 * m / (1 - 0.8**t)
        divided.append(length > 5)
        if divided[-1]:
            share = (length - 4) * (length - 2) * last / ((last - 4) * (last - 2) * length)
            step *= np.sqrt(share * (1 - 0.9**t)) / (np.sqrt(v) + 1e-8)
        expected -= step
        np.testing.assert_allclose(x, expected, rtol=1e-12)
    assert divided == [False] * 5 + [True] * 6


def test_asgd_keeps_the_mean_of_late_parameters():
    optimizer, found = stepped(lambda p: optim.ASGD(p, lr=0.1, lambd=0, t0=8), GRADIENTS)
    (state,) = optimizer.state.values()
    # The mean begins anew with the tenth step, the first of which the count is beyond t0 + 1.
    np.testing.assert_allclose(state["ax"].tolist(), np.mean(found[-2:], 0), rtol=1e-12)
    assert state["mu"].item() == pytest.approx(1 / 3)


def test_rprop_learns_lengths():
    gradients = [[1.0, 1.0], [2.0, -2.0], [3.0, -3.0], [4.0, -4.0]]
    optimizer, found = stepped(lambda p: optim.Rprop(p, lr=0.5), gradients, start=(0.0, 0.0))
    # Where the sign changes a step is left out, and the length is halved.
    expected = [[-0.5, -0.5], [-1.1, -0.5], [-1.82, -0.25], [-2.684, 0.05]]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    (state,) = optimizer.state.values()
    np.testing.assert_allclose(state["step_size"].tolist(), [0.864, 0.3], rtol=1e-12)


def test_nadam_keeps_the_product_of_its_momenta():
    optimizer, found = stepped(lambda p: optim.NAdam(p, lr=0.1), GRADIENTS)
    momenta = [0.9 * (1 - 0.5 * 0.96 ** (0.004 * t)) for t in range(1, 13)]
    expected, m, v, product = np.array([1.0, 2.0]), 0.0, 0.0, np.float32(1)
    for t, (gradient, x) in enumerate(zip(np.array(GRADIENTS), found, strict=True), 1):
        now, following = momenta[t - 1 : t + 1]
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        product *= np.float32(now)
        root = np.sqrt(v / (1 - 0.999**t)) + 1e-8
        expected -= 0.1 * (1 - now) / (1 - float(product)) * gradient / root
        expected -= 0.1 * following / (1 - float(product) * following) * m / root
        np.testing.assert_allclose(x, expected, rtol=1e-10)
    (state,) = optimizer.state.values()
    assert state["mu_product"].item() == product
    assert state["mu_product"].dtype is ng.float32


def test_groups_have_options_of_their_own():
    a, b = nn.Parameter(ng.ones(1)), nn.Parameter(ng.ones(1))
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1)
    c = nn.Parameter(ng.ones(1))
    optimizer.add_param_group({"params": [c], "lr": 0.0})
    for parameter in (a, b, c):
        parameter.grad = ng.ones(1)
    optimizer.step()
    assert [round(p.item(), 6) for p in (a, b, c)] == [0.9, 0.5, 1.0]
    assert optimizer.state_dict()["param_groups"][2]["params"] == [2]


def test_parameters_without_gradient_stay():
    a, b = nn.Parameter(ng.ones(1)), nn.Parameter(ng.ones(1))
    optimizer = optim.Adam([a, b])
    a.grad = ng.ones(1)
    optimizer.step()
    assert b.item() == 1.0 and b not in optimizer.state


def test_names_of_parameters_are_kept():
    net = nn.Linear(1, 1)
    optimizer = optim.SGD(net.named_parameters(), lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]


def test_a_step_is_written_in_place_and_seen_by_autograd():
    x = nn.Parameter(ng.ones(2))
    y = x * x
    x.grad = ng.ones(2)
    address = x.data_ptr()
    optim.SGD([x], lr=0.1).step()
    assert x.data_ptr() == address and x.is_leaf and x.requires_grad
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_views_and_half_precision():
    base = ng.zeros(4, 4, dtype=ng.float16)
    x = base[:, ::2].requires_grad_()
    x.grad = ng.ones(4, 2, dtype=ng.float16)
    optimizer = optim.SGD([x], lr=0.5, momentum=0.5)
    optimizer.step()
    optimizer.step()
    assert base.tolist() == [[-1.25, 0, -1.25, 0]] * 4
    assert optimizer.state[x]["momentum_buffer"].dtype is ng.float16


def test_hooks_around_a_step():
    x = nn.Parameter(ng.ones(1))
    optimizer = optim.SGD([x], lr=0.1)
    seen = []
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: seen.append("before"))
    handle = optimizer.register_step_post_hook(lambda opt, args, kwargs: seen.append("after"))
    optimizer.step()
    handle.remove()
    optimizer.step()
    assert seen == ["before", "after", "before"]


def test_an_optimizer_of_the_user():
    class Sign(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @ng.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    x = nn.Parameter(ng.ones(2))
    x.grad = ng.tensor([2.0, -3.0])
    optimizer = Sign([x], lr=0.5)
    lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    assert x.tolist() == [0.5, 1.5]


def test_a_rate_that_is_a_tensor():
    x = nn.Parameter(ng.ones(1))
    x.grad = ng.ones(1)
    rate = ng.tensor(0.5)
    optimizer = optim.SGD([x], lr=rate)
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    assert x.item() == 0.5 and rate.item() == 0.25


def test_text():
    assert repr(optim.SGD([nn.Parameter(ng.ones(1))], lr=0.1)) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n"
        "    foreach: None\n    fused: None\n    lr: 0.1\n    maximize: False\n    momentum: 0\n"
        "    nesterov: False\n    weight_decay: 0\n)"
    )


def test_what_is_not_supported_says_so():
    with pytest.raises(NotImplementedError, match="differentiable=True is not supported"):
        optim.SGD([nn.Parameter(ng.ones(1))], differentiable=True)


def test_copies_of_optimizers():
    x = nn.Parameter(ng.ones(1))
    optimizer = optim.SGD([x], lr=0.1, momentum=0.5)
    x.grad = ng.ones(1)
    optimizer.step()
    twin = copy.deepcopy(optimizer)
    assert twin.param_groups[0]["params"][0] is not x
    twin.step()
    assert repr(twin) == repr(optimizer)


# --- schedulers -----------------------------------------------------------------------------------


def rates(make, steps):
    optimizer = optim.SGD([nn.Parameter(ng.ones(1))], lr=1.0)
    scheduler = make(optimizer)
    found = []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


@pytest.mark.parametrize("make, expected", [
    (lambda o: lr_scheduler.StepLR(o, 2, 0.5), [1, 1, 0.5, 0.5, 0.25]),
    (lambda o: lr_scheduler.MultiStepLR(o, [1, 3], 0.1), [1, 0.1, 0.1, 0.01, 0.01]),
    (lambda o: lr_scheduler.ExponentialLR(o, 0.5), [1, 0.5, 0.25, 0.125, 0.0625]),
    (lambda o: lr_scheduler.LambdaLR(o, lambda t: 1 / (t + 1)), [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
    (lambda o: lr_scheduler.LinearLR(o, 0.5, 1.0, 2), [0.5, 0.75, 1, 1, 1]),
    (lambda o: lr_scheduler.ConstantLR(o, 0.5, 2), [0.5, 0.5, 1, 1, 1]),
    (lambda o: lr_scheduler.PolynomialLR(o, 4), [1, 0.75, 0.5, 0.25, 0]),
    (lambda o: lr_scheduler.CosineAnnealingLR(o, 4),
     [(1 + math.cos(math.pi * t / 4)) / 2 for t in range(5)]),
    (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2), [1, 0.5, 1, 0.5, 1]),
])  # fmt: skip
def test_rates(make, expected):
    assert rates(make, 5) == pytest.approx(expected)


def test_a_scheduler_goes_on_from_its_state():
    optimizer = optim.SGD([nn.Parameter(ng.ones(1))], lr=1.0)
    scheduler = lr_scheduler.StepLR(optimizer, 2, 0.5)
    for _ in range(3):
        optimizer.step()
        scheduler.step()
    saved = pickle.loads(pickle.dumps((optimizer.state_dict(), scheduler.state_dict())))
    optimizer = optim.SGD([nn.Parameter(ng.ones(1))], lr=1.0)
    scheduler = lr_scheduler.StepLR(optimizer, 2, 0.5)
    optimizer.load_state_dict(saved[0])
    scheduler.load_state_dict(saved[1])
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.25]


def test_stepping_before_the_optimizer_warns():
    scheduler = lr_scheduler.StepLR(optim.SGD([nn.Parameter(ng.ones(1))], lr=1.0), 1)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        scheduler.step()
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        scheduler.get_lr()


def test_plateau_reduces_after_patience():
    optimizer = optim.SGD([nn.Parameter(ng.ones(1))], lr=1.0)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, factor=0.5)
    found = []
    for metric in (3.0, 2.0, 2.0, ng.tensor(2.0), 2.0, 2.0):
        scheduler.step(metric)
        found += scheduler.get_last_lr()
    assert found == [1.0, 1.0, 1.0, 0.5, 0.5, 0.25]


class Holder(nn.Parameter):
    """A parameter that stands for another one, as wrappers of libraries do."""

    def __new__(cls, inner):
        return super().__new__(cls)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        args = [a.inner if isinstance(a, Holder) else a for a in args]
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("set_to_none", [True, False])
def test_gradients_that_lie_in_another_tensor_are_forgotten(set_to_none):
    holder = Holder(nn.Parameter(ng.ones(2)))
    module = nn.Module()
    module.holder = holder
    for owner in (optim.SGD([holder], lr=0.1), module):
        (holder * 3).sum().backward()
        assert holder.inner.grad.tolist() == [3, 3]
        owner.zero_grad(set_to_none=set_to_none)
        left = holder.inner.grad
        assert left is None if set_to_none else left.tolist() == [0, 0]


@pytest.mark.parametrize("options", [{}, {"momentum": 0.5}])
def test_parameters_whose_gradient_lies_in_another_tensor_are_not_stepped(options):
    holder = Holder(nn.Parameter(ng.ones(2)))
    optimizer = optim.SGD([holder], lr=0.1, **options)
    (holder * 3).sum().backward()
    with pytest.raises(NotImplementedError, match="gradient of this Holder"):
        optimizer.step()


def test_hooks_of_every_optimizer_run_around_those_of_one():
    from numbagrad.optim import optimizer as module

    layer, seen = nn.Linear(2, 1), []
    optimizer = optim.SGD(layer.parameters(), lr=0.1)
    before = module.register_optimizer_step_pre_hook(lambda *given: seen.append("all before"))
    after = module.register_optimizer_step_post_hook(lambda *given: seen.append("all after"))
    optimizer.register_step_pre_hook(lambda *given: seen.append("before"))
    optimizer.register_step_post_hook(lambda *given: seen.append("after"))
    try:
        optimizer.step()
    finally:
        before.remove()
        after.remove()
    optimizer.step()
    assert seen == ["all before", "before", "after", "all after", "before", "after"]


def test_a_compiled_step_notices_a_hook_of_every_optimizer():
    from numbagrad.optim import optimizer as module

    layer, rates = nn.Linear(2, 1), []
    optimizer = optim.SGD(layer.parameters(), lr=0.1)

    @ng.compile
    def step(x):
        optimizer.zero_grad()
        layer(x).sum().backward()
        optimizer.step()

    for _ in range(4):
        step(ng.ones(3, 2))
    hook = module.register_optimizer_step_pre_hook(lambda *given: rates.append(0.1))
    try:
        with pytest.warns(UserWarning, match="a change during the call, of rates"):
            for _ in range(4):
                step(ng.ones(3, 2))
    finally:
        hook.remove()
    step(ng.ones(3, 2))
    assert len(rates) == 4
