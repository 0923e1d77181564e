"""The tests of every device on ``cuda``, and what compiled steps launch there."""

from __future__ import annotations

import pytest
from device_cases import *  # noqa: F403 - tests of every device
from device_cases import F, network

import numbagrad as torch
from numbagrad.cuda.driver import driver


@pytest.fixture
def device():
    """The device of the tests that are imported."""
    return "cuda"


def test_indices_are_checked(device):
    """On this device nobody waits for the check: ``test_asserts.py``."""
    index = torch.tensor([3], device=device)
    torch.ones(3, 2, device=device).index_select(0, index)
    with pytest.raises(RuntimeError, match="device-side assert"):
        torch.cuda.synchronize()


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
