"""Training scripts that differ in where batches, noise, masks and checkpoints come from."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import io
import itertools
import random

import numpy as np
from scripts_tools import STEPS, batch, mlp, normal, parts, script, whole

import numbagrad as torch
from numbagrad import nn, optim
from numbagrad.utils.data import DataLoader, TensorDataset

F = nn.functional


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
