"""compile(): steps around optimizers that Python runs: written by users, or with a closure."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from compile_checks import assert_compiled, breaks_said, programs

import numbagrad as torch
from numbagrad import nn, optim
from numbagrad.executor.mode import NATIVE

STEPS = 14


class Counting(optim.Optimizer):
    """Adam as found in many repositories: the count of steps is a number of Python."""

    def __init__(self, parameters, lr=0.01):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                if not state:
                    state["step"] = 0
                    state["mean"] = torch.zeros_like(parameter)
                    state["square"] = torch.zeros_like(parameter)
                state["step"] += 1
                state["mean"].mul_(0.9).add_(parameter.grad, alpha=0.1)
                state["square"].mul_(0.99).addcmul_(parameter.grad, parameter.grad, value=0.01)
                correction = math.sqrt(1 - 0.99 ** state["step"]) / (1 - 0.9 ** state["step"])
                rate = -group["lr"] * correction
                root = state["square"].sqrt().add_(1e-8)
                parameter.addcdiv_(state["mean"], root, value=rate)


def network_and(make):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    return network, make(network.parameters())


def inputs(k):
    return torch.from_numpy(np.random.default_rng(k).normal(size=(7, 3)).astype("float32"))


def with_a_written_optimizer(compiles):
    network, optimizer = network_and(Counting)

    def step(x):
        optimizer.zero_grad()
        loss = (network(x) - x.sum(1, keepdim=True)).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    run = torch.compile(step) if compiles else step
    return [run(inputs(k)).detach().numpy() for k in range(STEPS)], run


def with_a_closure(compiles):
    network, optimizer = network_and(lambda p: optim.LBFGS(p, lr=0.1, max_iter=3))
    x = inputs(0)

    def evaluate():
        optimizer.zero_grad()
        loss = (network(x) - x.sum(1, keepdim=True)).pow(2).mean()
        loss.backward()
        return loss

    run = torch.compile(evaluate) if compiles else evaluate
    return [optimizer.step(run).detach().numpy() for _ in range(STEPS)], run


@pytest.mark.parametrize("train", [with_a_written_optimizer, with_a_closure])
def test_what_an_optimizer_remembers_matters_only_to_who_reads_it(train):
    expected, _ = train(False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found, compiled = train(True)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
    if not NATIVE:
        return
    said = [str(each.message) for each in caught]
    assert not [text for text in said if "No more of these" in text], said
    if train is with_a_closure:
        assert not said
        assert_compiled(compiled)
        assert programs(compiled) <= 3  # gradients are None at first, state is there later
    else:
        assert len(breaks_said(caught)) == 1
        counts = [programs(each) for each in compiled._broken.pieces]
        assert max(counts) and max(counts) <= 3, counts


def test_a_call_that_begins_to_read_the_state():
    network, optimizer = network_and(lambda p: optim.SGD(p, 0.1, momentum=0.9))
    settings = {"reads": False}

    @torch.compile
    def step(x):
        total = network(x).sum()
        if settings["reads"]:
            for each in optimizer.state.values():
                total = total + each["momentum_buffer"].sum()
        optimizer.zero_grad()
        return total

    def momenta():
        return sum([float(s["momentum_buffer"].sum()) for s in optimizer.state.values()])

    for k in range(18):
        settings["reads"] = k % 6 > 3
        for parameter in network.parameters():
            parameter.grad = torch.full_like(parameter, 0.1 * k)
        optimizer.step()
        optimizer.zero_grad()
        x = inputs(k)
        expected = float(network(x).sum()) + (momenta() if settings["reads"] else 0)
        assert float(step(x)) == pytest.approx(expected, rel=1e-4)
