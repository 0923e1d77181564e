"""Connectionist temporal classification on ndarrays: tables of probabilities, losses, gradients.

Called by ``nn/functional/sequence_loss.py``; runs what ``kernels/losses/ctc_loss.py`` holds. Log
probabilities are (time, batch, classes) and contiguous; lengths and labels are int64 and were
checked.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from ...backend import foreign
from ...dtype import name_of
from ..hand_written import HandWrittenKernel
from ..memory.arrays import new_array

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
def _kernel(name: str, kind: np.dtype[Any]) -> HandWrittenKernel:
    return HandWrittenKernel("kernels.losses.ctc_loss", f"{name}_{name_of(kind)}")


def _run(name: str, made: Array, logs: Array, targets: Targets, *others: Any) -> Array:
    steps, batch, classes = logs.shape
    labels, starts, counts, lengths, states, blank = targets
    grain = max(_GRAIN // max(steps * states, 1), 1)
    words = made, logs, labels, starts, counts, lengths, batch, steps, states, classes, blank
    _kernel(name, logs.dtype)(batch, grain, *words, *others)
    return made


def _table(logs: Array, targets: Targets) -> Array:
    shape = logs.shape[1], logs.shape[0], targets.states
    return new_array(shape, np.dtype(np.float64), foreign(logs))


def forward(logs: Array, targets: Targets) -> Array:
    """Logarithms of the probabilities to be in a state at a time, (batch, time, states)."""
    return _run("forward", _table(logs, targets), logs, targets)


def losses(logs: Array, targets: Targets, table: Array) -> Array:
    """Minus the logarithms of the probabilities of the targets, (batch)."""
    made = new_array((logs.shape[1],), logs.dtype, foreign(logs))
    return _run("losses", made, logs, targets, table)


def gradient(
    grad: Array, logs: Array, targets: Targets, table: Array, loss: Array, zero_infinity: bool
) -> Array:
    """The gradient of the scores that the log probabilities are the log_softmax of."""
    beta = _run("backward", _table(logs, targets), logs, targets)
    made = new_array(logs.shape, logs.dtype, foreign(logs))
    return _run("gradient", made, logs, targets, table, beta, loss, grad, int(zero_infinity))
