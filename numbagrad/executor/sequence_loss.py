"""Connectionist temporal classification on ndarrays: tables of probabilities, losses, gradients.

Called by ``nn/functional/sequence_loss.py``; runs what ``kernels/sequence_loss.py`` holds. Log
probabilities are (time, batch, classes) and contiguous; lengths and labels are int64 and were
checked.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from ..dtype import name_of
from .pointwise import JIT_DISABLED
from .word_kernel import WordKernel

Array = np.ndarray[Any, Any]

_GRAIN = 4096  # cells of a table that are worth a thread of their own


class Targets(NamedTuple):
    """The labels of all targets in a row, where those of each begin, and what goes with them."""

    labels: Array
    starts: Array
    counts: Array
    lengths: Array
    states: int
    blank: int


@functools.cache
def _kernel(name: str, kind: np.dtype[Any]) -> WordKernel:
    return WordKernel("kernels.sequence_loss", f"{name}_{name_of(kind)}")


def _run(name: str, made: Array, logs: Array, targets: Targets, *others: Any) -> Array:
    steps, batch, classes = logs.shape
    labels, starts, counts, lengths, states, blank = targets
    grain = max(_GRAIN // max(steps * states, 1), 1)
    words = made, logs, labels, starts, counts, lengths, batch, steps, states, classes, blank
    _kernel(name, logs.dtype)(batch, grain, *words, *others)
    return made


def _table(logs: Array, targets: Targets) -> Array:
    return np.empty((logs.shape[1], logs.shape[0], targets.states))


def forward(logs: Array, targets: Targets) -> Array:
    """Logarithms of the probabilities to be in a state at a time, (batch, time, states)."""
    if JIT_DISABLED:
        return _plain_table(logs, targets, 1)
    return _run("forward", _table(logs, targets), logs, targets)


def losses(logs: Array, targets: Targets, table: Array) -> Array:
    """Minus the logarithms of the probabilities of the targets, (batch)."""
    made = np.empty(logs.shape[1], logs.dtype)
    if not JIT_DISABLED:
        return _run("losses", made, logs, targets, table)
    for b, (count, length) in enumerate(zip(targets.counts, targets.lengths, strict=True)):
        if length == 0:
            made[b] = 0.0 if count == 0 else np.inf
        else:
            last = table[b, length - 1, max(2 * count - 1, 0) : 2 * count + 1]
            made[b] = -np.logaddexp.reduce(last)
    return made


def gradient(
    grad: Array, logs: Array, targets: Targets, table: Array, loss: Array, zero_infinity: bool
) -> Array:
    """The gradient of the scores that the log probabilities are the log_softmax of."""
    if JIT_DISABLED:
        return _plain_gradient(grad, logs, targets, table, loss, zero_infinity)
    beta = _run("backward", _table(logs, targets), logs, targets)
    made = np.empty(logs.shape, logs.dtype)
    return _run("gradient", made, logs, targets, table, beta, loss, grad, int(zero_infinity))


# --- without a compiler ---------------------------------------------------------------------------


def _classes_of_states(targets: Targets, b: int) -> Array:
    """The classes of the states of a target."""
    count, start = int(targets.counts[b]), int(targets.starts[b])
    made = np.full(2 * count + 1, targets.blank)
    made[1::2] = targets.labels[start : start + count]
    return made


def _plain_table(logs: Array, targets: Targets, direction: int) -> Array:
    """``forward``, or the same from the end for -1."""
    table = np.full((logs.shape[1], logs.shape[0], targets.states), -np.inf)
    for b, length in enumerate(targets.lengths):
        classes = _classes_of_states(targets, b)[::direction]
        skips = np.zeros(len(classes), bool)
        skips[3::2] = classes[3::2] != classes[1:-2:2]
        own = table[b, :length, : len(classes)][::direction, ::direction]
        rows = logs[:length, b][::direction][:, classes].astype(np.float64)
        for t in range(length):
            if t == 0:
                own[0, :2] = rows[0, :2]
                continue
            value = own[t - 1].copy()
            value[1:] = np.logaddexp(value[1:], own[t - 1, :-1])
            value[2:] = np.where(skips[2:], np.logaddexp(value[2:], own[t - 1, :-2]), value[2:])
            own[t] = value + rows[t]
    return table


def _plain_gradient(
    grad: Array, logs: Array, targets: Targets, table: Array, loss: Array, zero_infinity: bool
) -> Array:
    both = table + _plain_table(logs, targets, -1)
    made = np.zeros(logs.shape, logs.dtype)
    for b, length in enumerate(targets.lengths):
        if zero_infinity and np.isposinf(loss[b]):
            continue
        classes = _classes_of_states(targets, b)
        joint = np.full((length, logs.shape[2]), -np.inf)
        for state, place in enumerate(classes):
            joint[:, place] = np.logaddexp(joint[:, place], both[b, :length, state])
        own = logs[:length, b].astype(np.float64)
        with np.errstate(invalid="ignore"):
            made[:length, b] = (np.exp(own) - np.exp(joint + loss[b] - own)) * grad[b]
    return made
