"""Training scripts whose steps log, measure, catch errors and skip."""

from __future__ import annotations

import collections
import io
import json
import logging
import time

from scripts_tools import STEPS, batch, parts, script

import numbagrad as torch
from numbagrad import nn

F = nn.functional


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
