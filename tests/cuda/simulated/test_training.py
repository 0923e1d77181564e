"""Nets on the device: eager and compiled steps give the CPU's losses and parameters."""

from __future__ import annotations

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import nn
from numbagrad.cuda.driver import driver

F = nn.functional


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))


def trained(device, optimizer, loss, compiled=False):
    """Losses of four steps of the two-layer net, and its parameters after them."""
    net = network().to(device)
    steps = getattr(torch.optim, optimizer)(net.parameters(), lr=0.1)
    generator = np.random.default_rng(1)
    x = torch.tensor(generator.normal(size=(6, 3)).astype(np.float32), device=device)
    y = torch.tensor([0, 1, 0, 1, 1, 0], device=device)
    target = y if loss is F.cross_entropy else torch.stack([y, 1 - y], 1).float()

    def step(x, target):
        steps.zero_grad()
        value = loss(net(x), target)
        value.backward()
        steps.step()
        return value

    run = torch.compile(step) if compiled else step
    losses = [run(x, target).item() for _ in range(4)]
    return losses, [p.detach().cpu().numpy() for p in net.parameters()]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("loss", [F.mse_loss, F.cross_entropy])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.filterwarnings("error")
def test_a_net_is_trained(optimizer, loss, compiled):
    losses, parameters = trained("cuda", optimizer, loss, compiled)
    expected, others = trained("cpu", optimizer, loss)
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for own, other in zip(parameters, others, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-6)


def test_a_compiled_step_is_launches_alone():
    """Once it is recorded each call runs the same launches, fewer than the first."""
    net = network().to("cuda")
    steps = torch.optim.SGD(net.parameters(), lr=0.1)

    @torch.compile
    def step(x, y):
        steps.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        steps.step()
        return loss

    x, y = torch.ones(4, 3, device="cuda"), torch.zeros(4, 2, device="cuda")
    counts = []
    for _ in range(5):
        before = driver().launches
        step(x, y)
        counts.append(driver().launches - before)
    assert counts[3] == counts[4] < counts[0]


def test_gradients_accumulate():
    x = torch.tensor([1.0, 2.0], device="cuda", requires_grad=True)
    for _ in range(2):
        (x * x + x).sum().backward()
    assert x.grad.tolist() == [6.0, 10.0]
    (gradient,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    gradient.sum().backward()
    assert x.grad.tolist() == [12.0, 22.0]
