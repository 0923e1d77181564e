"""Training scripts whose steps count, configure, stop early and freeze."""

from __future__ import annotations

import argparse
import copy
import dataclasses
import math

import numpy as np
from scripts_tools import STEPS, batch, mlp, parts, script

import numbagrad as torch
from numbagrad import nn, optim

F = nn.functional


@script
def accumulated_with_a_counter(compile):
    net, optimizer = parts()
    state = {"n": 0, "updates": 0}

    @compile
    def step(x, y):
        loss = F.cross_entropy(net(x), y) / 2
        loss.backward()
        state["n"] += 1
        if state["n"] % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
            state["updates"] += 1
        return loss.detach()

    return [[step(*batch(k)) for k in range(STEPS)], state, dict(net.state_dict())]


@script
def accumulated_by_an_argument(compile):
    net, optimizer = parts()

    @compile
    def step(x, y, update):
        (F.cross_entropy(net(x), y) / 2).backward()
        if update:
            optimizer.step()
            optimizer.zero_grad()

    for k in range(STEPS):
        step(*batch(k), k % 2 == 1)
    return dict(net.state_dict())


@script
def micro_batches_inside(compile):
    net, optimizer = parts()

    @compile
    def step(x, y):
        optimizer.zero_grad()
        total = 0.0
        for a, b in zip(x.chunk(3), y.chunk(3), strict=True):
            loss = F.cross_entropy(net(a), b) / 3
            loss.backward()
            total = total + loss.detach()
        optimizer.step()
        return total

    return [[step(*batch(k, 6)) for k in range(STEPS)], dict(net.state_dict())]


@script
def losses_appended_as_numbers(compile):
    net, optimizer = parts()
    history = []

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        history.append(loss.item())

    for k in range(STEPS):
        step(*batch(k))
    return [history, dict(net.state_dict())]


@script
def losses_appended_as_tensors(compile):
    net, optimizer = parts()
    history = []

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        history.append(loss.detach())

    for k in range(STEPS):
        step(*batch(k))
    return [history, len(history)]


@script
def running_totals_on_an_object(compile):
    net, optimizer = parts()

    class Meter:
        def __init__(self):
            self.total, self.count, self.best = 0.0, 0, math.inf

        def update(self, value, n):
            self.total += value * n
            self.count += n
            self.best = min(self.best, value)

    meter = Meter()

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        meter.update(loss.item(), x.shape[0])

    for k in range(STEPS):
        step(*batch(k, 3 + k % 2))
    return [meter.total, meter.count, meter.best]


@script
def running_total_as_a_tensor(compile):
    net, optimizer = parts()
    total, correct = torch.zeros(()), torch.zeros((), dtype=torch.int64)

    @compile
    def step(x, y):
        optimizer.zero_grad()
        out = net(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            total.add_(loss.detach())
            correct.add_((out.argmax(1) == y).sum())

    for k in range(STEPS):
        step(*batch(k))
    return [total, correct]


@script
def confusion_matrix_of_numpy(compile):
    net, optimizer = parts()
    counts = np.zeros((3, 3), int)

    @compile
    def step(x, y):
        optimizer.zero_grad()
        out = net(x)
        F.cross_entropy(out, y).backward()
        optimizer.step()
        for a, b in zip(y.tolist(), out.argmax(1).tolist(), strict=True):
            counts[a, b] += 1

    for k in range(STEPS):
        step(*batch(k))
    return [counts.tolist(), dict(net.state_dict())]


@script
def config_dataclass_that_the_loop_changes(compile):
    @dataclasses.dataclass
    class Config:
        smoothing: float = 0.0
        clip: float = 1.0
        noise: float = 0.0

    net, optimizer = parts()
    config = Config()

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x + config.noise), y, label_smoothing=config.smoothing)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), config.clip)
        optimizer.step()
        return loss.detach()

    losses = []
    for k in range(STEPS):
        config.smoothing = 0.1 * (k // 3)
        if k == 4:
            config.clip, config.noise = 0.1, 0.5
        losses.append(step(*batch(k)))
    return [losses, dict(net.state_dict())]


@script
def config_of_argparse(compile):
    args = argparse.Namespace(lr=0.1, wd=0.01, loss="ce", width=6)
    net = mlp(4, args.width, 3)

    @compile
    def step(x, y):
        out = net(x)
        loss = F.cross_entropy(out, y) if args.loss == "ce" else F.multi_margin_loss(out, y)
        net.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= args.lr * (p.grad + args.wd * p)
        return loss.detach()

    losses = []
    for k in range(STEPS):
        args.lr *= 0.9
        args.loss = "ce" if k < 4 else "margin"
        losses.append(step(*batch(k)))
    return [losses, dict(net.state_dict())]


@script
def config_in_nested_dictionaries(compile):
    config = {"optim": {"lr": 0.1}, "loss": {"weights": [1.0, 1.0, 1.0], "reduction": "mean"}}
    net = mlp(4, 3)

    @compile
    def step(x, y):
        options = config["loss"]
        loss = F.cross_entropy(
            net(x), y, torch.tensor(options["weights"]), reduction=options["reduction"]
        )
        net.zero_grad()
        loss.backward()
        for p in net.parameters():
            p.data.add_(p.grad, alpha=-config["optim"]["lr"])
        return loss.detach()

    losses = []
    for k in range(STEPS):
        config["loss"]["weights"][k % 3] += 0.5
        if k == 5:
            config["optim"]["lr"] = 0.01
        losses.append(step(*batch(k)))
    return [losses, dict(net.state_dict())]


@script
def config_read_by_getattr(compile):
    class Config:
        lr, momentum, decay = 0.1, 0.9, 0.0

    net, optimizer = parts()

    @compile
    def step(x, y):
        for group in optimizer.param_groups:
            for name in ("lr", "momentum"):
                group[name] = getattr(Config, name)
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()

    for k in range(STEPS):
        Config.lr = 0.1 / (k + 1)
        step(*batch(k))
    return [optimizer.param_groups[0]["lr"], dict(net.state_dict())]


@script
def callbacks(compile):
    class Callback:
        def __init__(self):
            self.events = []

        def before(self, trainer):
            self.events.append(("before", trainer.n))

        def after(self, trainer, loss):
            self.events.append(("after", trainer.n, round(loss.item(), 3)))

    class Trainer:
        def __init__(self):
            self.net, self.optimizer = parts()
            self.callbacks, self.n = [Callback(), Callback()], 0

        def step(self, x, y):
            for each in self.callbacks:
                each.before(self)
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.net(x), y)
            loss.backward()
            self.optimizer.step()
            for each in self.callbacks:
                each.after(self, loss)
            self.n += 1
            return loss.detach()

    trainer = Trainer()
    step = compile(trainer.step)
    losses = [step(*batch(k)) for k in range(STEPS)]
    return [losses, trainer.n, [each.events for each in trainer.callbacks]]


@script
def trainer_with_a_property(compile):
    class Trainer:
        def __init__(self):
            self.net = mlp(4, 3)
            self.seen = 0

        @property
        def rate(self):
            return 0.1 / (1 + self.seen // 10)

        def step(self, x, y):
            loss = F.cross_entropy(self.net(x), y)
            grads = torch.autograd.grad(loss, [*self.net.parameters()])
            with torch.no_grad():
                for p, g in zip(self.net.parameters(), grads, strict=True):
                    p.sub_(g * self.rate)
            self.seen += len(x)

    trainer = Trainer()
    step = compile(trainer.step)
    for k in range(STEPS):
        step(*batch(k))
    return [trainer.seen, dict(trainer.net.state_dict())]


@script
def early_stopping(compile):
    net, optimizer = parts(2.0)
    best, bad, stopped = [math.inf], [0], [False]

    @compile
    def step(x, y):
        if stopped[0]:
            return None
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        if loss.item() < best[0]:
            best[0], bad[0] = loss.item(), 0
        else:
            bad[0] += 1
            stopped[0] = bad[0] >= 2
        return loss.detach()

    return [[step(*batch(k)) for k in range(STEPS)], best, bad, stopped]


@script
def best_weights_kept(compile):
    net, optimizer = parts(1.0)
    kept = {"loss": math.inf, "weights": None}

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        if loss.item() < kept["loss"]:
            kept["loss"] = loss.item()
            kept["weights"] = copy.deepcopy(net.state_dict())
        optimizer.step()

    for k in range(STEPS):
        step(*batch(k))
    return [kept["loss"], dict(kept["weights"])]


@script
def curriculum(compile):
    net, optimizer = parts()
    level = {"length": 1}

    @compile
    def step(x, y):
        x = x[:, : level["length"]]
        x = F.pad(x, (0, 4 - x.shape[1]))
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses = []
    for k in range(STEPS):
        level["length"] = 1 + k // 2
        losses.append(step(*batch(k)))
    return [losses, dict(net.state_dict())]


@script
def layers_unfrozen_one_by_one(compile):
    net = mlp(4, 5, 5, 3)
    layers = [each for each in net if isinstance(each, nn.Linear)]
    for layer in layers[:-1]:
        layer.requires_grad_(False)
    optimizer = optim.SGD(net.parameters(), 0.1, momentum=0.9)

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses = []
    for k in range(STEPS):
        if k in (3, 5):
            layers[1 if k == 3 else 0].requires_grad_(True)
        losses.append(step(*batch(k)))
    return [losses, dict(net.state_dict())]


@script
def frozen_again_inside_the_step(compile):
    net, optimizer = parts()
    n = [0]

    @compile
    def step(x, y):
        net[0].requires_grad_(n[0] % 2 == 0)
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        n[0] += 1

    for k in range(STEPS):
        step(*batch(k))
    return [n, dict(net.state_dict())]


@script
def train_and_eval_by_turns(compile):
    net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.2), nn.Linear(6, 3))
    optimizer = optim.SGD(net.parameters(), 0.1)

    @compile
    def train(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    @compile
    @torch.no_grad()
    def evaluate(x, y):
        return (net(x).argmax(1) == y).sum(), F.cross_entropy(net(x), y)

    found = []
    for k in range(STEPS):
        net.train()
        found.append(train(*batch(k)))
        net.eval()
        found.append(evaluate(*batch(k + 100)))
    return [found, dict(net.state_dict())]


@script
def eval_mode_inside_of_one_function(compile):
    net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.2), nn.Linear(6, 3))
    optimizer = optim.SGD(net.parameters(), 0.1)

    @compile
    def step(x, y):
        net.train()
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        net.eval()
        with torch.no_grad():
            return F.cross_entropy(net(x), y)

    return [[step(*batch(k)) for k in range(STEPS)], dict(net.state_dict()), net.training]
