"""The first steps of the workloads of ``bench/`` beside torch: results, weights and gradients."""

from __future__ import annotations

import pytest
import torch

import numbagrad
from bench.workloads import WORKLOADS, difference, outcome

STEPS = 3


@pytest.mark.parametrize("name", WORKLOADS)
def test_first_steps_equal_torch(name):
    ours, theirs = (WORKLOADS[name].make(library) for library in (numbagrad, torch))
    for k in range(STEPS):
        found = outcome(ours, ours.step(*ours.arguments))
        expected = outcome(theirs, theirs.step(*theirs.arguments))
        largest, where = difference(expected, found)
        assert largest <= 1e-4, f"{where}, step {k}"
