"""Functions of Python on arrays inside of operators: a program calls them at each run."""

from __future__ import annotations

import numpy as np
import pytest
from compile_checks import assert_compiled

import numbagrad as torch
from numbagrad.executor import capture
from numbagrad.ops.operators.array_function import array_function


def run_changed(function, first, then):
    """The result of a compiled function for an argument that changes after it was captured."""
    step = torch.compile(function)
    for _ in range(4):
        step(first)
    return step, step(then)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.isin(x, torch.tensor([1, 3])),
        lambda x: torch.histc(x.double(), 4, 0, 8) * 2,
        lambda x: torch.searchsorted(torch.tensor([1, 2, 5]), x) + 1,
    ],
    ids=["isin", "histc", "searchsorted"],
)
def test_results_are_computed_anew(function):
    then = torch.tensor([3, 7, 7, 5])
    _, found = run_changed(function, torch.tensor([1, 2, 3, 4]), then)
    assert found.equal(function(then))


@pytest.mark.parametrize(
    ("function", "first", "then"),
    [
        (torch.unique, [1, 1, 2, 3], [4, 4, 4, 5]),
        (torch.unique_consecutive, [1, 1, 2, 3], [4, 4, 4, 4]),
        (torch.bincount, [1, 1, 2, 3], [0, 0, 0, 7]),
        (lambda x: torch.repeat_interleave(x), [1, 1, 2, 3], [0, 5, 0, 1]),
    ],
    ids=["unique", "unique_consecutive", "bincount", "repeat_interleave"],
)
def test_a_size_that_depends_on_values_is_never_frozen(function, first, then):
    given = torch.tensor(then)
    with pytest.warns(UserWarning, match="whose size depends on values"):
        _, found = run_changed(lambda x: function(x) * 2, torch.tensor(first), given)
    assert found.equal(function(given) * 2)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * torch.hann_window(4),
        lambda x: x * torch.fft.fftfreq(4),
        lambda x: x * torch.empty_strided((4,), (2,)).fill_(3),
        lambda x: x * torch.FloatTensor(4).fill_(2),
        lambda x: torch.vmap(lambda w, i: w[i])(x.reshape(2, 2), torch.tensor([[0], [-1]])),
        lambda x: torch.vmap(lambda w: torch.embedding(w, torch.tensor([1, 0])))(
            x.reshape(1, 2, 2)
        ),
    ],
    ids=["window", "frequencies", "strided", "legacy", "indices of samples", "embedding"],
)
def test_what_shapes_alone_decide_is_part_of_a_program(function):
    step, found = run_changed(function, torch.ones(4), then := torch.arange(4.0))
    assert_compiled(step)
    assert found.equal(function(then))


def test_checks_are_made_at_each_run():
    step, found = run_changed(
        lambda x: torch.linalg.eigvals(x).real.sum(), torch.eye(3), torch.full((3, 3), 2.0)
    )
    assert found.item() == pytest.approx(6.0)
    with pytest.raises(RuntimeError):
        step(torch.full((3, 3), float("inf")))


def test_outside_of_a_capture_the_function_is_called():
    seen = []

    @array_function("check", refused="what this test does")
    def look(array):
        seen.append(array)

    values = np.ones(2)
    assert capture.active is None and look(values) is None and seen[0] is values
