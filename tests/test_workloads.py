"""The workloads of ``bench/``: a compiled step computes what the same step computes eagerly."""

from __future__ import annotations

import warnings

import pytest

import numbagrad
from bench.workloads import WORKLOADS, difference, outcome

STEPS = 20

#: Relative to the largest element; a fused program rounds differently, and twenty steps amplify it.
ROUNDING = 2e-5


@pytest.mark.parametrize("name", WORKLOADS)
def test_compiled_step_equals_eager_step(name):
    eager, compiled = (WORKLOADS[name].make(numbagrad) for _ in range(2))
    step = numbagrad.compile(compiled.step)
    for k in range(STEPS):
        expected = outcome(eager, eager.step(*eager.arguments))
        found = outcome(compiled, step(*compiled.arguments))
        largest, where = difference(expected, found)
        assert largest <= ROUNDING, f"{where}, step {k}"


@pytest.mark.parametrize("name", WORKLOADS)
def test_step_becomes_a_program(name):
    task = WORKLOADS[name].make(numbagrad)
    step = numbagrad.compile(task.step)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            step(*task.arguments)
