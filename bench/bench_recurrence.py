"""A user's recurrence (4096×64), its loss and all gradients, around loops with ``fastmath``.

The same compiled loops are run by torch, in a ``Function``; ours are a ``Function`` as well, and
declared with ``kernel()``, each eager and compiled.
"""

import warnings

import pytest
import torch

import numbagrad

from .workloads import recurrence

TABLE = "Functions around @njit kernels"
BARS = {
    ("Function", "eager"): 0.9, ("Function", "compiled"): 0.9,
    ("kernel()", "eager"): 0.6, ("kernel()", "compiled"): 0.5,
}  # fmt: skip


@pytest.mark.parametrize("declared, run", BARS)
def test_recurrence(race, declared, run):
    if declared == "Function":
        operator = recurrence.function_operator(numbagrad, fastmath=True)
    else:
        operator = recurrence.kernel_operator(numbagrad, fastmath=True)
    ours = recurrence.step_with(numbagrad, operator).step
    theirs = recurrence.step_with(torch, recurrence.function_operator(torch, fastmath=True)).step
    assert float(ours()) == pytest.approx(float(theirs()), rel=1e-4)
    if run == "compiled":
        ours = numbagrad.compile(ours)
    with warnings.catch_warnings():
        # Loops called through numpy() cannot be part of a program; what runs is what users get.
        warnings.filterwarnings("ignore", message="compile: .* numpy")
        race(
            TABLE,
            f"recurrence 4096×64 with fastmath, loss and all gradients, {declared} {run}",
            bar=BARS[declared, run],
            numbagrad=ours,
            torch=theirs,
        )
