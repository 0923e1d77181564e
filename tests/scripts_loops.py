"""Training scripts that differ in the loop around the step: counters, logs, callbacks, configs."""

from __future__ import annotations

import argparse
import collections
import contextlib
import copy
import dataclasses
import io
import itertools
import json
import logging
import math
import random
import time

import numpy as np

import numbagrad as torch
from numbagrad import nn, optim
from numbagrad.utils.data import DataLoader, TensorDataset
from scripts_tools import STEPS, mlp, normal, script, whole

F = nn.functional


def batch(k, size=5):
    return normal(k, size, 4), whole(k, 3, size)


def parts(lr=0.1, **more):
    """A network and an optimizer."""
    net = mlp(4, 6, 3)
    return net, optim.SGD(net.parameters(), lr, **more)


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


@script
def log_of_python(compile):
    net, optimizer = parts()
    lines = []

    class Keep(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage())

    logger = logging.getLogger("scripts.loops")
    logger.handlers[:], logger.propagate = [Keep()], False
    logger.setLevel(logging.INFO)

    @compile
    def step(x, y, k):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        if k % 2 == 0:
            logger.info("step %d: %.4f", k, loss.item())
        logger.debug("seen")

    for k in range(STEPS):
        logger.setLevel(logging.DEBUG if k > 5 else logging.INFO)
        step(*batch(k), k)
    return [lines, dict(net.state_dict())]


@script
def printed_progress(compile):
    net, optimizer = parts()
    out = io.StringIO()

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        print(f"loss {loss.item():.3f}", file=out)
        return loss.detach()

    return [[step(*batch(k)) for k in range(STEPS)], out.getvalue()]


@script
def metrics_as_lines_of_json(compile):
    net, optimizer = parts()
    out = io.StringIO()

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        norms = {name: round(p.grad.norm().item(), 3) for name, p in net.named_parameters()}
        optimizer.step()
        json.dump({"loss": round(loss.item(), 3), **norms}, out)

    for k in range(STEPS):
        step(*batch(k))
    return [out.getvalue(), dict(net.state_dict())]


@script
def writer_with_a_global_step(compile):
    class Writer:
        def __init__(self):
            self.rows = collections.defaultdict(list)
            self.step = 0

        def add_scalar(self, name, value):
            self.rows[name].append((self.step, float(value)))

    net, optimizer = parts()
    writer = Writer()

    @compile
    def step(x, y):
        optimizer.zero_grad()
        out = net(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        writer.add_scalar("loss", loss.detach())
        writer.add_scalar("accuracy", (out.argmax(1) == y).float().mean())
        writer.step += 1

    for k in range(STEPS):
        step(*batch(k))
    return [dict(writer.rows), writer.step]


@script
def time_is_measured(compile):
    net, optimizer = parts()
    times = []

    @compile
    def step(x, y):
        begin = time.perf_counter_ns()
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        times.append((begin, time.perf_counter_ns()))
        return loss.detach()

    losses = [step(*batch(k)) for k in range(STEPS)]
    return [losses, len(set(times)), all(a < b for a, b in times)]


@script
def window_of_recent_losses(compile):
    net, optimizer = parts()
    recent = collections.deque(maxlen=3)
    means = []

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        recent.append(loss.item())
        means.append(sum(recent) / len(recent))

    for k in range(STEPS):
        step(*batch(k))
    return [list(recent), means]


@script
def clipped_with_a_log_of_norms(compile):
    net, optimizer = parts(0.5)
    norms, clipped = [], [0]

    @compile
    def step(x, y):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        if norm > 0.5:
            clipped[0] += 1
        norms.append(float(norm))
        optimizer.step()

    for k in range(STEPS):
        step(*batch(k))
    return [norms, clipped, dict(net.state_dict())]


@script
def clipped_by_value(compile):
    net, optimizer = parts(0.5)

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_value_(net.parameters(), 0.05)
        optimizer.step()
        return loss.detach()

    return [[step(*batch(k)) for k in range(STEPS)], dict(net.state_dict())]


@script
def steps_with_bad_numbers_skipped(compile):
    net, optimizer = parts()
    skipped = [0]

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        if not torch.isfinite(loss):
            skipped[0] += 1
            return loss.detach()
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses = []
    for k in range(STEPS):
        x, y = batch(k)
        losses.append(step(x / 0 if k in (2, 6) else x, y))
    return [losses, skipped, dict(net.state_dict())]


@script
def bad_numbers_removed_by_where(compile):
    net, optimizer = parts()

    @compile
    def step(x, y):
        optimizer.zero_grad()
        x = torch.where(x > 1, torch.full_like(x, float("nan")), x)
        loss = F.cross_entropy(net(torch.nan_to_num(x)), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step(*batch(k)) for k in range(STEPS)], dict(net.state_dict())]


@script
def errors_caught_in_the_step(compile):
    net, optimizer = parts()
    log = []

    @compile
    def step(x, y):
        try:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            if x.shape[0] == 3:
                raise ValueError("a small batch")
            optimizer.step()
        except ValueError as error:
            log.append(str(error))
            return None
        return loss.detach()

    losses = [step(*batch(k, 3 if k in (2, 5) else 5)) for k in range(STEPS)]
    return [losses, log, dict(net.state_dict())]


@script
def errors_that_leave_the_step(compile):
    net, optimizer = parts()
    raised = []

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        if loss.item() > 1.2:
            raise RuntimeError("too large")
        return loss.detach()

    for k in range(STEPS):
        try:
            step(*batch(k))
        except RuntimeError as error:
            raised.append((k, str(error)))
    return [raised, dict(net.state_dict())]


@script
def batches_of_a_loader_inside(compile):
    net, optimizer = parts()
    loader = DataLoader(TensorDataset(normal(0, 12, 4), whole(0, 3, 12)), batch_size=5)

    @compile
    def epoch():
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            total = total + loss.detach()
        return total

    return [[epoch() for _ in range(4)], dict(net.state_dict())]


@script
def shuffled_loader_outside(compile):
    net, optimizer = parts()
    loader = DataLoader(
        TensorDataset(normal(0, 12, 4), whole(0, 3, 12)), batch_size=4, shuffle=True, drop_last=True
    )

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step(x, y) for _ in range(3) for x, y in loader], dict(net.state_dict())]


@script
def iterator_of_batches_inside(compile):
    net, optimizer = parts()
    batches = itertools.cycle([batch(k) for k in range(3)])

    @compile
    def step():
        x, y = next(batches)
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step() for _ in range(STEPS)], dict(net.state_dict())]


@script
def generator_that_trains(compile):
    net, optimizer = parts()

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    def run():
        for k in range(STEPS):
            yield k, step(*batch(k)).item()

    return [list(run()), dict(net.state_dict())]


@script
def index_of_the_batch_on_an_object(compile):
    class Data:
        def __init__(self):
            self.x, self.y, self.at = normal(0, 24, 4), whole(0, 3, 24), 0

        def next(self):
            begin = self.at
            self.at = (self.at + 5) % 20
            return self.x[begin : begin + 5], self.y[begin : begin + 5]

    net, optimizer = parts()
    data = Data()

    @compile
    def step():
        x, y = data.next()
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step() for _ in range(STEPS)], data.at]


@script
def random_batches_of_python(compile):
    net, optimizer = parts()
    x, y = normal(0, 20, 4), whole(0, 3, 20)

    @compile
    def step():
        chosen = torch.tensor(random.sample(range(20), 5))
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x[chosen]), y[chosen])
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step() for _ in range(STEPS)], random.random()]


@script
def random_batches_of_numpy(compile):
    net, optimizer = parts()
    x, y, draw = normal(0, 20, 4), whole(0, 3, 20), np.random.default_rng(3)

    @compile
    def step():
        chosen = torch.from_numpy(draw.permutation(20)[:5])
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x[chosen]), y[chosen])
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step() for _ in range(STEPS)], float(draw.random())]


@script
def random_batches_of_the_library(compile):
    net, optimizer = parts()
    x, y = normal(0, 20, 4), whole(0, 3, 20)

    @compile
    def step():
        chosen = torch.randperm(20)[:5]
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x[chosen]), y[chosen])
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step() for _ in range(STEPS)], torch.rand(2)]


@script
def mixed_inputs(compile):
    net, optimizer = parts()

    @compile
    def step(x, y):
        weight = random.betavariate(0.4, 0.4)
        order = torch.randperm(len(x))
        optimizer.zero_grad()
        out = net(weight * x + (1 - weight) * x[order])
        loss = weight * F.cross_entropy(out, y) + (1 - weight) * F.cross_entropy(out, y[order])
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step(*batch(k)) for k in range(STEPS)], random.random()]


@script
def noise_that_fades(compile):
    net, optimizer = parts()

    @compile
    def step(x, y, sigma):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x + sigma * torch.randn_like(x)), y)
        loss.backward()
        for p in net.parameters():
            p.grad.add_(torch.randn_like(p), alpha=sigma * 0.1)
        optimizer.step()
        return loss.detach()

    return [[step(*batch(k), 0.8**k) for k in range(STEPS)], dict(net.state_dict())]


@script
def dropout_that_grows(compile):
    dropout = nn.Dropout(0.0)
    net = nn.Sequential(nn.Linear(4, 8), dropout, nn.Linear(8, 3))
    optimizer = optim.SGD(net.parameters(), 0.1)

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses = []
    for k in range(STEPS):
        dropout.p = 0.1 * (k // 2)
        losses.append(step(*batch(k)))
    return [losses, dict(net.state_dict())]


@script
def pruned_with_masks(compile):
    net, optimizer = parts()
    masks = {name: torch.ones_like(p) for name, p in net.named_parameters()}

    @compile
    def step(x, y):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        with torch.no_grad():
            for name, p in net.named_parameters():
                p.mul_(masks[name])

    for k in range(STEPS):
        if k == 4:
            masks["0.weight"][normal(9, 6, 4) > 0] = 0
        if k == 6:
            masks["2.weight"] = (normal(8, 3, 6) > 0).float()
        step(*batch(k))
    return dict(net.state_dict())


@script
def activations_kept_by_a_hook(compile):
    net, optimizer = parts()
    kept = {}
    net[0].register_forward_hook(lambda m, a, out: kept.update(mean=out.detach().mean()))

    @compile
    def step(x, y):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        return kept["mean"] * 2

    return [[step(*batch(k)) for k in range(STEPS)], kept]


@script
def gradients_scaled_by_a_hook(compile):
    net, optimizer = parts()
    scale = [1.0]
    net[0].weight.register_hook(lambda g: g * scale[0])

    @compile
    def step(x, y):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()

    for k in range(STEPS):
        scale[0] = 0.5 ** (k // 2)
        step(*batch(k))
    return dict(net.state_dict())


@script
def gradients_counted_by_a_hook(compile):
    net, optimizer = parts()
    counts = collections.Counter()
    for name, p in net.named_parameters():
        p.register_post_accumulate_grad_hook(lambda p, name=name: counts.update([name]))

    @compile
    def step(x, y):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()

    for k in range(STEPS):
        step(*batch(k))
    return [dict(counts), dict(net.state_dict())]


@script
def checkpoint_written_and_read(compile):
    net, optimizer = parts(momentum=0.9)

    @compile
    def step(x, y):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()

    file = io.BytesIO()
    for k in range(STEPS):
        if k == 3:
            torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
        if k == 6:
            file.seek(0)
            loaded = torch.load(file)
            net.load_state_dict(loaded["net"])
            optimizer.load_state_dict(loaded["optimizer"])
        step(*batch(k))
    return [dict(net.state_dict()), optimizer.state_dict()["state"]]


@script
def checkpoint_inside_the_step(compile):
    net, optimizer = parts()
    files, n = [], [0]

    @compile
    def step(x, y):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        n[0] += 1
        if n[0] % 3 == 0:
            files.append(io.BytesIO())
            torch.save(net.state_dict(), files[-1])

    for k in range(STEPS):
        step(*batch(k))
    loaded = [torch.load(io.BytesIO(each.getvalue())) for each in files]
    return [n, [dict(each) for each in loaded]]


@script
def activations_recomputed(compile):
    from numbagrad.utils.checkpoint import checkpoint

    first, second = mlp(4, 6, 6), nn.Linear(6, 3)
    optimizer = optim.SGD([*first.parameters(), *second.parameters()], 0.1)

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(second(checkpoint(first, x, use_reentrant=False)), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step(*batch(k)) for k in range(STEPS)], dict(first.state_dict())]


@script
def autocast_in_the_step(compile):
    net, optimizer = parts()

    @compile
    def step(x, y):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach().float()

    return [[step(*batch(k)) for k in range(STEPS)], dict(net.state_dict())]


@script
def loss_scaled_by_hand(compile):
    net, optimizer = parts()
    scale, good = [2.0**10], [0]

    @compile
    def step(x, y):
        optimizer.zero_grad()
        (F.cross_entropy(net(x), y) * scale[0]).backward()
        finite = all(torch.isfinite(p.grad).all().item() for p in net.parameters())
        if finite:
            for p in net.parameters():
                p.grad.div_(scale[0])
            optimizer.step()
            good[0] += 1
            if good[0] % 3 == 0:
                scale[0] *= 2
        else:
            scale[0] /= 2

    for k in range(STEPS):
        x, y = batch(k)
        step(x * float("inf") if k == 4 else x, y)
    return [scale, good, dict(net.state_dict())]


@script
def scaler_of_the_library(compile):
    net, optimizer = parts()
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=3)

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return [[step(*batch(k)) for k in range(STEPS)], scaler.get_scale(), dict(net.state_dict())]


@script
def epochs_inside_one_call(compile):
    net, optimizer = parts()
    x, y = batch(0, 9)

    @compile
    def train(count):
        losses = []
        for _ in range(count):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return losses

    return [[train(2), train(2), train(3), train(2)], dict(net.state_dict())]


@script
def result_of_the_last_step_read(compile):
    net, optimizer = parts()
    last = {"loss": None}

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        if last["loss"] is not None:
            loss = loss + 0.1 * (loss - last["loss"]).abs()
        loss.backward()
        optimizer.step()
        last["loss"] = loss.detach()
        return loss.detach()

    return [[step(*batch(k)) for k in range(STEPS)], last]


@script
def settings_in_a_context(compile):
    net, optimizer = parts()
    stack = []

    @contextlib.contextmanager
    def scope(name):
        stack.append(name)
        yield len(stack)
        stack.append(f"end {name}")

    @compile
    def step(x, y):
        with scope("forward") as depth:
            loss = F.cross_entropy(net(x), y) * (1 + 0.01 * depth)
        with scope("backward"):
            optimizer.zero_grad()
            loss.backward()
        optimizer.step()
        return loss.detach()

    return [[step(*batch(k)) for k in range(STEPS)], stack]


@script
def loss_chosen_from_a_table(compile):
    net, optimizer = parts()
    table = {"ce": F.cross_entropy, "margin": F.multi_margin_loss}
    schedule = ["ce", "ce", "ce", "margin", "margin", "ce", "margin", "ce"]

    @compile
    def step(x, y, kind):
        optimizer.zero_grad()
        loss = table[kind](net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [step(*batch(k), schedule[k]) for k in range(STEPS)]


@script
def batches_of_many_sizes(compile):
    net, optimizer = parts()

    @compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach(), len(x)

    return [[step(*batch(k, 2 + k % 4)) for k in range(3 * STEPS)], dict(net.state_dict())]


@script
def batch_in_a_dictionary(compile):
    net, optimizer = parts()

    @compile
    def step(batch, options):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(batch["x"]), batch["y"], label_smoothing=options["smooth"])
        loss.backward()
        optimizer.step()
        return {"loss": loss.detach(), "size": len(batch["x"])}

    found = []
    for k in range(STEPS):
        x, y = batch(k)
        found.append(step({"x": x, "y": y}, {"smooth": 0.1 * (k % 2)}))
    return [found, dict(net.state_dict())]


@script
def batch_in_a_dataclass(compile):
    @dataclasses.dataclass
    class Batch:
        x: torch.Tensor
        y: torch.Tensor
        weight: float = 1.0

    net, optimizer = parts()

    @compile
    def step(batch):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(batch.x), batch.y) * batch.weight
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [step(Batch(*batch(k), 1.0 + k % 2)) for k in range(STEPS)]
