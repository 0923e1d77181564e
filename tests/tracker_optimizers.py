"""Worlds of issues on optimizers, schedules, and what is called with other weights or closures."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

from tracker_worlds import World, issue

import numbagrad as torch
from numbagrad import nn


def _trained(make: Callable[[Any], Any]) -> tuple[Any, Any, Callable[[Any], None]]:
    torch.manual_seed(3)
    net = nn.Linear(3, 2)
    optimizer = make(net.parameters())

    def update(x):
        optimizer.zero_grad()
        net(x).square().sum().backward()
        optimizer.step()

    return net, optimizer, update


@issue(107076)
def adamw_and_a_scheduler():
    net, optimizer, update = _trained(lambda p: torch.optim.AdamW(p, 0.1))
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)

    def step(x):
        update(x)
        scheduler.step()
        return net.weight.detach().clone()

    return World(step, state=lambda: [optimizer.param_groups[0]["lr"], scheduler.last_epoch])


@issue(133898)
def one_cycle_changes_betas():
    net, optimizer, update = _trained(lambda p: torch.optim.AdamW(p, 0.1))
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=20)

    def step(x):
        update(x)
        scheduler.step()
        return net.weight.detach().clone()

    group = optimizer.param_groups[0]
    return World(step, state=lambda: [group["lr"], group["betas"]])


@issue(163093)
def plateau_lowers_the_rate():
    net, optimizer, update = _trained(lambda p: torch.optim.Adam(p, 0.1))
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=0.5, patience=1, min_lr=1e-3
    )

    def step(x, metric):
        update(x)
        scheduler.step(metric)
        return net.weight.detach().clone()

    metrics = [1.0, 0.9, 0.8, 0.5, 0.5, 0.5, 0.5, 0.4, 0.4, 0.4]
    return World(
        step, state=lambda: [optimizer.param_groups[0]["lr"], scheduler.num_bad_epochs],
        arguments=lambda k: (torch.ones(3), metrics[k]),
    )  # fmt: skip


@issue(120934)
def scheduler_between_compiled_steps():
    net, optimizer, update = _trained(lambda p: torch.optim.SGD(p, 0.1, momentum=0.9))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: 1 / (k + 1))

    def step(x):
        update(x)
        return net.weight.detach().clone()

    return World(step, lambda k: scheduler.step(), lambda: optimizer.param_groups[0]["lr"])


@issue(133487)
def functional_call_with_other_weights():
    torch.manual_seed(3)
    net = nn.Linear(3, 2)
    weights = {"weight": torch.ones(2, 3)}

    def step(x):
        return torch.func.functional_call(net, weights, (x,))

    def change(k):
        weights.pop("weight", None)
        weights["bias" if k % 2 else "weight"] = torch.ones(2) if k % 2 else torch.ones(2, 3) * k

    return World(step, change, lambda: net.weight)


@issue(136915)
def closures_as_arguments():
    def make(k):
        def shifted(y):
            return y + k

        return shifted

    def step(x, shift):
        return shift(x)

    return World(step, arguments=lambda k: (torch.ones(5), make(k)))


@issue(195901)
def frames_and_names():
    def step(x):
        return x + len(sys._getframe().f_code.co_name) + step.offset

    step.offset = 1
    return World(step, lambda k: setattr(step, "offset", k))


@issue(175624)
def dictionary_that_gets_new_keys():
    @dataclasses.dataclass
    class Batch:
        values: dict[str, Any]

    batch = Batch({"a": torch.ones(3)})

    def step(x):
        batch.values[f"made{len(batch.values)}"] = x * 2
        return sum(batch.values.values())

    return World(step, lambda k: batch.values.pop("a", None), lambda: dict(batch.values))
