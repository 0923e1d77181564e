"""compile(): calls that say of a tensor outside whether it requires gradients."""

from __future__ import annotations

import numpy as np
import pytest
from compile_checks import assert_compiled, programs

import numbagrad as torch
from numbagrad import nn

CALLS = 12


def both(make, arguments):
    """What calls of a function return, and the flags and gradients they leave, compiled or not."""
    outcomes = []
    for compiles in (False, True):
        torch.manual_seed(0)
        function, leaves = make()
        run = torch.compile(function, fullgraph=True) if compiles else function
        found = []
        for k in range(CALLS):
            given = arguments(k)
            result = run(*given)
            for tensor in (*given, *leaves):
                found.append((tensor.requires_grad, tensor.grad is None))
                found += [] if tensor.grad is None else [tensor.grad.numpy().copy()]
            found.append(result.detach().numpy())
        outcomes.append(found)
        if compiles:
            assert_compiled(run)
    for expected, found in zip(*outcomes, strict=True):
        if isinstance(expected, tuple):
            assert found == expected
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    return run


def points(k):
    return (torch.from_numpy(np.random.default_rng(k).uniform(-1, 1, (7, 2)).astype("float32")),)


def physics():
    """Slopes of a network with respect to its inputs, in the loss."""
    network = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))

    def step(x):
        x.requires_grad_(True)
        u = network(x)
        (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        loss = ((slope - x.detach()) ** 2).mean()
        for parameter in network.parameters():
            parameter.grad = None
        loss.backward()
        return loss

    return step, list(network.parameters())


def test_an_argument_becomes_a_leaf():
    compiled = both(physics, points)
    assert programs(compiled) in (0, 2)  # with and without the gradients of before


def test_what_requires_gradients_already_has_another_program():
    step, _ = physics()
    compiled = torch.compile(step)
    for k in range(CALLS):
        (x,) = points(k)
        again = k % 3 == 2
        x.requires_grad_(again)
        compiled(x)
        expected = points(k)[0].requires_grad_()
        step(expected)
        assert x.requires_grad
        np.testing.assert_allclose(x.grad.numpy(), expected.grad.numpy(), rtol=1e-4, atol=1e-6)


def test_a_result_leads_to_an_argument_that_became_a_leaf():
    compiled = torch.compile(lambda x: (x.requires_grad_() ** 3).sum())
    for k in range(CALLS):
        (x,) = points(k)
        compiled(x).backward()
        np.testing.assert_allclose(x.grad.numpy(), 3 * x.detach().numpy() ** 2, rtol=1e-5)


@pytest.mark.parametrize("first", [True, False])
def test_parameters_are_frozen_for_a_part_of_the_call(first):
    def make():
        network = nn.Linear(2, 3)

        def step(x):
            for parameter in network.parameters():
                parameter.grad = None
            network.weight.requires_grad = first
            network(x).pow(2).sum().backward()
            network.weight.requires_grad = not first
            return network(x).pow(3).sum()

        return step, list(network.parameters())

    both(make, points)


def test_two_steps_freeze_what_the_other_trains():
    def make():
        judge, maker = nn.Linear(2, 1), nn.Linear(2, 2)

        def train(frozen, trained, x):
            for parameter in frozen.parameters():
                parameter.requires_grad = False
            for parameter in trained.parameters():
                parameter.requires_grad = True
                parameter.grad = None
            loss = judge(maker(x)).pow(2).sum()
            loss.backward()
            return loss

        def step(x):
            return train(judge, maker, x) + train(maker, judge, x)

        return step, [*judge.parameters(), *maker.parameters()]

    both(make, points)
