"""Training scripts whose network, loss or optimizer is changed between steps, as phases begin.

Each change is a function of the parts of a script and the number of the step; what a step does
with the parts is the same in all of them.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
import types

from scripts_tools import STEPS, batch, mlp, scripts

import numbagrad as torch
from numbagrad import nn, optim

F = nn.functional


@dataclasses.dataclass(frozen=True)
class Weights:
    """What the terms of the loss count."""

    fit: float = 1.0
    decay: float = 0.0
    smoothing: float = 0.0


class Parts:
    """What a script trains with."""

    def __init__(self):
        first = nn.Linear(4, 6, bias=False)  # in front of a norm its gradient would be rounding
        self.net = nn.Sequential(first, nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, 3))
        self.optimizer = optim.SGD(self.net.parameters(), 0.05, momentum=0.9)
        self.weights = Weights()
        self.loss = F.cross_entropy
        self.clip = math.inf
        self.noise = 0.0
        self.teacher = None
        self.average = copy.deepcopy(self.net)
        self.decay = 0.9
        self.handles = []


def frozen_below(parts, k):
    for p in parts.net[0].parameters():
        p.requires_grad_(k < 3 or k > 5)


def only_the_head(parts, k):
    if k == 4:
        parts.net[:3].requires_grad_(False)
        parts.optimizer = optim.Adam(parts.net[3].parameters(), 0.01)


def another_optimizer(parts, k):
    if k == 4:
        parts.optimizer = optim.AdamW(parts.net.parameters(), 0.01, weight_decay=0.1)


def rates_of_groups(parts, k):
    if k == 3:
        first, rest = list(parts.net[0].parameters()), list(parts.net[3].parameters())
        parts.optimizer = optim.SGD([{"params": first, "lr": 0.01}, {"params": rest}], 0.1)
    for group in parts.optimizer.param_groups:
        group["lr"] *= 0.9


def momentum_that_grows(parts, k):
    parts.optimizer.param_groups[0]["momentum"] = min(0.5 + 0.05 * k, 0.8)


def weights_of_terms(parts, k):
    parts.weights = dataclasses.replace(parts.weights, decay=0.01 if k > 3 else 0.0)


def smoothing(parts, k):
    parts.weights = dataclasses.replace(parts.weights, smoothing=0.1 if k > 3 else 0.0)


def another_loss(parts, k):
    parts.loss = F.cross_entropy if k < 4 else functools.partial(F.multi_margin_loss, margin=0.5)


def clipping(parts, k):
    parts.clip = (math.inf, 1.0, 0.1)[k % 3]


def noise(parts, k):
    parts.noise = 0.1 / (1 + k) if k > 2 else 0.0


def evaluation_of_the_norm(parts, k):
    parts.net[1].train(k < 4)


def momentum_of_the_norm(parts, k):
    parts.net[1].momentum = 0.1 if k < 4 else None


def another_activation(parts, k):
    if k == 4:
        parts.net[2] = nn.GELU()


def a_layer_more(parts, k):
    if k == 4:
        parts.net.append(nn.Linear(3, 3))
        parts.optimizer.add_param_group({"params": list(parts.net[4].parameters()), "lr": 0.01})


def a_forward_of_its_own(parts, k):
    if k == 4:
        plain = type(parts.net[0]).forward
        parts.net[0].forward = types.MethodType(lambda self, x: plain(self, x) * 0.5, parts.net[0])


def hooks(parts, k):
    if k == 3:
        parts.handles.append(parts.net[2].register_forward_hook(lambda m, i, o: o * 0.5))
        parts.handles.append(parts.net[3].weight.register_hook(lambda g: g * 2))
    if k == 6:
        for handle in parts.handles:
            handle.remove()


def a_teacher(parts, k):
    if k == 4:
        parts.teacher = copy.deepcopy(parts.net).requires_grad_(False).eval()


def a_checkpoint_comes_back(parts, k):
    if k == 2:
        parts.kept = copy.deepcopy((parts.net.state_dict(), parts.optimizer.state_dict()))
    if k == 5:
        parts.net.load_state_dict(parts.kept[0])
        parts.optimizer.load_state_dict(parts.kept[1])


def initialised_again(parts, k):
    if k == 4:
        nn.init.constant_(parts.net[3].weight, 0.1)
        parts.optimizer.state.clear()


def pruned(parts, k):
    if k == 4:
        torch.nn.utils.prune.l1_unstructured(parts.net[0], "weight", amount=0.5)


def tied(parts, k):
    if k == 4:
        parts.net[3].weight = nn.Parameter(parts.net[3].weight.detach().clone())
        parts.optimizer = optim.SGD(parts.net.parameters(), 0.05)


def decay_of_the_average(parts, k):
    parts.decay = 1 - 1 / (k + 2)


def a_network_in_the_position_of_another(parts, k):
    if k == 4:
        torch.manual_seed(3)
        parts.net = nn.Sequential(mlp(4, 5, 3), nn.Identity())
        parts.average = copy.deepcopy(parts.net)
        parts.optimizer = optim.SGD(parts.net.parameters(), 0.05)


def trained_through(compile, change):
    """The losses of steps before each of which something is changed, and what was trained."""
    parts = Parts()

    @compile
    def step(x, y):
        parts.optimizer.zero_grad()
        if parts.noise:
            x = x + parts.noise * torch.randn_like(x)
        scores = parts.net(x)
        weights = parts.weights
        if parts.loss is F.cross_entropy:
            loss = parts.loss(scores, y, label_smoothing=weights.smoothing)
        else:
            loss = parts.loss(scores, y)
        if weights.decay:
            loss = loss + weights.decay * sum([(p * p).sum() for p in parts.net.parameters()])
        if parts.teacher is not None:
            loss = loss + F.mse_loss(scores, parts.teacher(x))
        loss.backward()
        if parts.clip < math.inf:
            nn.utils.clip_grad_norm_(parts.net.parameters(), parts.clip)
        parts.optimizer.step()
        with torch.no_grad():
            pairs = zip(parts.average.parameters(), parts.net.parameters(), strict=False)
            for mean, p in pairs:
                if mean.shape == p.shape:
                    mean.lerp_(p, 1 - parts.decay)
        return loss.detach()

    losses = []
    for k in range(STEPS):
        change(parts, k)
        losses.append(step(*batch(k)))
    return [losses, dict(parts.net.state_dict()), dict(parts.average.state_dict())]


CHANGES = [
    frozen_below, only_the_head, another_optimizer, rates_of_groups, momentum_that_grows,
    weights_of_terms, smoothing, another_loss, clipping, noise, evaluation_of_the_norm,
    momentum_of_the_norm, another_activation, a_layer_more, a_forward_of_its_own, hooks, a_teacher,
    a_checkpoint_comes_back, initialised_again, pruned, tied, decay_of_the_average,
    a_network_in_the_position_of_another,
]  # fmt: skip
scripts(trained_through, {change.__name__: change for change in CHANGES})
