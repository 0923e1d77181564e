"""compile(): options of optimizers that change between steps, as schedulers and users set them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from compile_checks import assert_compiled

import numbagrad as torch
from numbagrad import nn, optim
from numbagrad.optim import lr_scheduler

STEPS = 14


def trained(make, change, compiles):
    """Parameters and state after some steps, between which ``change(optimizer, k)`` was called."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = make(network.parameters())
    after = change(optimizer)

    def step(x):
        optimizer.zero_grad()
        loss = network(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    run = torch.compile(step, fullgraph=True) if compiles else step
    for k in range(STEPS):
        run(torch.full((5, 3), 0.5 + k / STEPS))
        after(k)
    tensors = [*network.parameters()]
    for parameter in network.parameters():
        tensors += [x for x in optimizer.state[parameter].values() if isinstance(x, torch.Tensor)]
    return [x.detach().numpy() for x in tensors], run


def setting(name, value):
    """Sets an option of all groups behind each step."""

    def change(optimizer):
        def after(k):
            for group in optimizer.param_groups:
                group[name] = value(k)

        return after

    return change


def scheduled(make):
    def change(optimizer):
        scheduler = make(optimizer)
        return lambda k: scheduler.step()

    return change


@pytest.mark.parametrize(
    ("make", "change", "once"),
    [
        (lambda p: optim.SGD(p, 0.1, momentum=0.9),
         scheduled(lambda o: lr_scheduler.OneCycleLR(o, 0.2, total_steps=STEPS + 1)), True),
        (lambda p: optim.Adam(p, 0.01),
         scheduled(lambda o: lr_scheduler.OneCycleLR(o, 0.02, total_steps=STEPS + 1)), True),
        (lambda p: optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
         scheduled(lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, 3)), True),
        (lambda p: optim.RMSprop(p, 0.01, momentum=0.5),
         setting("momentum", lambda k: 0.5 + k / 40), True),
        (lambda p: optim.AdamW(p, 0.01), setting("weight_decay", lambda k: 0.1 + k / 40), True),
        (lambda p: optim.RAdam(p, 0.01, weight_decay=0.1, decoupled_weight_decay=True),
         setting("weight_decay", lambda k: 0.1 if k % 7 else 0.0), False),
        (lambda p: optim.AdamW(p, 0.01), setting("weight_decay", lambda k: 0.1 * (k % 3)), False),
        (lambda p: optim.SGD(p, 0.1, momentum=0.9), setting("momentum", lambda k: 0.4 * (k % 3)),
         False),
        (lambda p: optim.SGD(p, 0.1, weight_decay=0.1),
         setting("weight_decay", lambda k: 0.1 * (k // 5)), False),
    ],
    ids=["one cycle", "one cycle of betas", "cyclic", "rmsprop", "decay", "radam", "decay, or none",
         "momentum, or none", "coupled decay"],
)  # fmt: skip
def test_an_option_that_changes_is_not_frozen(make, change, once):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, compiled = trained(make, change, True)
    expected, _ = trained(make, change, False)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    if once:
        assert_compiled(compiled, 1)
