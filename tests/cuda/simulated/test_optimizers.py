"""Optimizers on the device: one launch for all parameters, by the formulas that the CPU runs."""

from __future__ import annotations

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import nn
from numbagrad.cuda.driver import driver

#: Optimizers, and the launches of a step of the net after the first.
STEPS = [
    ("SGD", {}, 1),
    ("SGD", {"momentum": 0.9}, 1),
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "dampening": 0.0}, 1),
    ("SGD", {"maximize": True, "momentum": 0.5}, 1),
    ("Adam", {}, 1),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}, 1),
    ("AdamW", {}, 1),
    ("RMSprop", {"momentum": 0.9}, 1),
    ("Adagrad", {}, 1),
    ("Adadelta", {}, 1),
    ("NAdam", {}, 1),
    ("RAdam", {}, 1),
    ("Adamax", {}, 1),
    ("Rprop", {}, 1),
    ("ASGD", {}, 1),
]


def trained(device, name, options, dtype=torch.float32, steps=3):
    """Parameters after some steps, and the launches of the last one."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 2)).to(dtype).to(device)
    optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.05, **options)
    x = torch.linspace(-1, 1, 6, dtype=dtype).reshape(2, 3).to(device)
    count = 0
    for _ in range(steps):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        before = driver().launches
        optimizer.step()
        count = driver().launches - before
    return [p.detach().cpu().double().numpy() for p in net.parameters()], count


@pytest.mark.parametrize(("name", "options", "launches"), STEPS)
def test_all_parameters_in_one_launch(name, options, launches):
    found, count = trained("cuda", name, options)
    expected, _ = trained("cpu", name, options)
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-6)
    assert count == launches


def test_float64_is_as_exact():
    found, expected = [trained(x, "AdamW", {}, torch.float64)[0] for x in ("cuda", "cpu")]
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-12)


def test_half_precision_is_rounded_at_each_formula():
    found, expected = [
        trained(x, "SGD", {"momentum": 0.9}, torch.bfloat16) for x in ("cuda", "cpu")
    ]
    assert found[1] > 1
    for own, other in zip(found[0], expected[0], strict=True):
        np.testing.assert_allclose(own.astype(np.float32), other.astype(np.float32), rtol=2e-2)


def test_parameters_that_share_memory_are_changed_in_order():
    def run(device):
        flat = torch.arange(6.0, device=device)
        parameters = [nn.Parameter(flat[:4]), nn.Parameter(flat[2:])]
        for p in parameters:
            p.grad = torch.ones(4, device=device) * p.detach()
        torch.optim.SGD(parameters, lr=0.5, momentum=0.9).step()
        return flat.tolist()

    assert run("cuda") == run("cpu")


def test_parameters_with_other_counts_have_launches_of_their_own():
    parameters = [nn.Parameter(torch.ones(3, device="cuda")) for _ in range(4)]
    optimizer = torch.optim.Adam(parameters)
    parameters[0].grad = torch.ones(3, device="cuda")
    optimizer.step()
    for p in parameters:
        p.grad = torch.ones(3, device="cuda")
    before = driver().launches
    optimizer.step()
    # One goes on; three make their state and begin.
    assert driver().launches - before == 2


def test_what_raises_leaves_what_was_done_done():
    class Stops(torch.optim.SGD):
        def _update(self, parameter, gradient, group, numbers):
            super()._update(parameter, gradient, group, numbers)
            if parameter is group["params"][1]:
                raise ValueError("here")

    parameters = [nn.Parameter(torch.ones(2, device="cuda")) for _ in range(3)]
    for p in parameters:
        p.grad = torch.ones(2, device="cuda")
    with pytest.raises(ValueError, match="here"):
        Stops(parameters, lr=0.5, momentum=0.9).step()
    assert [p[0].item() for p in parameters] == [0.5, 0.5, 1.0]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_compiled_steps_launch_as_few_as_eager_ones(name):
    """All formulas of a step over all parameters are one launch in a program too."""

    def run(compiled):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 2), nn.Linear(2, 2)).cuda()
        options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
        optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.05, **options)
        x = torch.linspace(-1, 1, 6).reshape(2, 3).cuda()

        def step(x, updates):
            optimizer.zero_grad()
            net(x).square().mean().backward()
            if updates:
                optimizer.step()

        call = torch.compile(step) if compiled else step
        counts = []
        for updates in (True,) * 5 + (False,) * 5:
            before = driver().launches
            call(x, updates)
            counts.append(driver().launches - before)
        return [p.detach().cpu().numpy() for p in net.parameters()], counts[4] - counts[9]

    (found, launches), (expected, eager) = run(True), run(False)
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-5, atol=1e-7)
    assert launches == eager == 1
