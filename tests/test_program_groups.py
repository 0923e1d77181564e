"""Groups: small launches that depend on one another in no way, side by side in one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.executor.mode import NATIVE
from numbagrad.executor.plan import cost

pytestmark = pytest.mark.skipif(not NATIVE, reason="compile() runs functions as they are")


def groups_of(step, *arguments):
    rows = torch.explain(step)(*arguments).forward.rows
    return [row for row in rows if row.name.startswith("group")]


def updates(count, size):
    """A step of Adam on many parameters, which have their gradients, and the parameters."""
    torch.manual_seed(0)
    parameters = [torch.randn(size, size).requires_grad_() for _ in range(count)]
    for parameter in parameters:
        parameter.grad = torch.randn(size, size)
    return torch.optim.Adam(parameters, 0.1).step, parameters


def compiled(update):
    return torch.compile(lambda: update())


def test_the_updates_of_many_parameters_are_one_launch_with_the_same_bits():
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            update, parameters = updates(60, 40)
            step = compiled(update)
            for _ in range(5):
                step()
            found.append([p.detach().numpy().copy() for p in parameters])
            (group,) = groups_of(step)
            assert len(group.operators) >= 180
            assert group.launches == 1 and group.shape == "60 times 40×40"
    finally:
        torch.set_num_threads(before)
    update, parameters = updates(60, 40)
    for _ in range(5):
        update()
    for arrays in found:
        for array, one, parameter in zip(arrays, found[0], parameters, strict=True):
            assert np.array_equal(array, one)
            np.testing.assert_allclose(array, parameter.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_few_bytes_are_not_worth_a_group():
    update, _ = updates(10, 8)
    step = compiled(update)
    for _ in range(4):
        step()
    assert not groups_of(step)


def test_products_of_one_factor_are_a_group():
    torch.manual_seed(1)
    x = torch.randn(64, 128)
    weights = [torch.randn(128, 128).requires_grad_() for _ in range(3)]

    def step(x):
        query, key, value = [x @ w for w in weights]
        return (torch.softmax(query @ key.t() / 128, 1) @ value).detach()

    program = torch.compile(step)
    for _ in range(4):
        found = program(x)
        np.testing.assert_allclose(found.numpy(), step(x).numpy(), rtol=1e-3, atol=1e-3)
    (group,) = groups_of(program, x)
    assert group.operators[:1] == ("matmul",) and "64×128, 128×128" in group.shape


@pytest.fixture
def any_group(monkeypatch):
    model = dataclasses.replace(cost.model, group_bytes=0, group_flops=0)
    monkeypatch.setattr(cost, "model", model)


def test_what_depends_on_another_is_in_no_group_with_it(any_group):
    def step(x, y, z):
        x.mul_(y)
        y.mul_(z)  # after the first has read it
        z.mul_(x)  # after the second has read it, and the first has written x
        return x + 1, y + 1, (z + 1).sum()

    program = torch.compile(step)
    for call in range(5):
        ours, theirs = [
            [torch.full((7, k + 2), call + 0.5 + k)[:, :2] for k in range(3)] for _ in range(2)
        ]
        for found, expected in zip(program(*ours), step(*theirs), strict=True):
            assert np.array_equal(found.numpy(), expected.numpy())
        for found, expected in zip(ours, theirs, strict=True):
            assert np.array_equal(found.numpy(), expected.numpy())


def test_groups_do_what_the_launches_do(any_group):
    torch.manual_seed(2)
    weights = [torch.randn(6, 6).requires_grad_() for _ in range(12)]
    optimizer = torch.optim.SGD(weights, 0.1, momentum=0.9)

    def step(x):
        optimizer.zero_grad()
        loss = sum([(torch.softmax(x @ w, 1) * w[0]).pow(2).sum() for w in weights])
        loss.backward()
        optimizer.step()
        return loss.detach()

    x = torch.randn(5, 6)
    start = [w.detach().clone() for w in weights]
    expected = [step(x).item() for _ in range(6)]
    with torch.no_grad():
        for w, first in zip(weights, start, strict=True):
            w.copy_(first)
    for state in optimizer.state.values():
        state["momentum_buffer"] = None
    program = torch.compile(step)
    np.testing.assert_allclose([program(x).item() for _ in range(6)], expected, rtol=1e-4)
    assert len(groups_of(program, x)) >= 2
