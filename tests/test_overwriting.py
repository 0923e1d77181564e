"""Which arrays of a user's loops may share their memory, and programs in which they do."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit, prange

import numbagrad as torch
from numbagrad.executor.mode import NATIVE
from numbagrad.executor.user_kernels.overwriting import may_overwrite

pytestmark = pytest.mark.skipif(not NATIVE, reason="compile() runs functions as they are")


# --- functions whose output may lie over their input ----------------------------------------------


@njit
def backwards(x, y):
    total = np.zeros(x.shape[1])
    for t in range(len(x)):
        total[0] += t
    for t in range(x.shape[0] - 1, -1, -1):
        for k in range(x.shape[1]):
            total[k] += x[t, k]
        for k in range(x.shape[1]):
            y[t, k] = total[k]


@njit
def element_by_element(x, y):
    for i in range(1, x.shape[0], 2):
        for j in range(x.shape[1]):
            if i > 3:
                y[i, j] = 2 * x[i, j]
            else:
                y[i, j] = x[i, j] + 1


@njit
def neighbours_in_the_row(x, y):
    buffer = np.empty(x.shape[1])
    for i in range(x.shape[0]):
        for j in range(x.shape[1] - 1):
            buffer[j] = x[i, j] + x[i, j + 1]
        for j in range(x.shape[1] - 1):
            y[i, j] = buffer[j]
            y[i, j] += y[i, j]


# --- and those whose output may not ---------------------------------------------------------------


@njit
def the_row_before(x, y):
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i - 1, j]


@njit
def neighbours_in_one_loop(x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1] - 1):
            y[i, j] = x[i, j + 1]


@njit
def writes_first(x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = 0
        for j in range(x.shape[1]):
            y[i, j] += x[i, j]


@njit
def writes_all_before(x, y):
    y[:] = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j]


@njit
def twice(x, y):
    for _ in range(2):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[i, j] = x[i, j] + 1


@njit
def twice_inside(x, y):
    for i in range(x.shape[0]):
        for _ in range(2):
            for j in range(x.shape[1]):
                y[i, j] = x[i, j] + 1


@njit
def negative_rows(x, y):
    for i in range(-1, x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] + 1


@njit
def another_name(x, y):
    z = x
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = z[i - 1, j] + x[i, j]


@njit
def keeps_a_row(x, y):
    row = x[0]
    for i in range(x.shape[0]):
        row = x[i]
        for j in range(x.shape[1]):
            y[i, j] = 0
            y[i, j] = row[j]


@njit
def keeps_a_slice(x, y):
    for i in range(x.shape[0]):
        row = x[i, :]
        for j in range(x.shape[1]):
            y[i, j] = 0
        for j in range(x.shape[1]):
            y[i, j] = row[j]


@njit
def turned(x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[j, i] = x[i, j]


@njit
def moves_its_counter(x, y):
    for i in range(x.shape[0]):
        i = (i + 1) % x.shape[0]
        for j in range(x.shape[1]):
            y[i, j] = x[i, j]


@njit
def rows_in_any_order(x, y):
    for i in np.zeros(4, np.int64):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] + 1


@njit
def passes_it_on(x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] + x.sum()


@njit
def writes_in_a_while(x, y):
    j = 0
    for i in range(x.shape[0]):
        j = 0
        while j < x.shape[1]:
            y[i, j] = x[i, x.shape[1] - 1 - j]
            j += 1


@njit(parallel=True)
def in_parallel(x, y):
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j]


SAFE = (backwards, element_by_element, neighbours_in_the_row)
UNSAFE = (
    the_row_before, neighbours_in_one_loop, writes_first, writes_all_before, twice, twice_inside,
    negative_rows, another_name, keeps_a_row, keeps_a_slice, turned, moves_its_counter,
    rows_in_any_order, passes_it_on, writes_in_a_while, in_parallel,
)  # fmt: skip


def rows():
    return np.random.default_rng(0).standard_normal((5, 5))


@pytest.mark.parametrize("function", SAFE, ids=lambda function: function.__name__)
def test_loops_that_read_before_they_write_may_share(function):
    assert may_overwrite(function, 0, 1, 2)
    assert not may_overwrite(function, 0, 1, 1)
    x, y = rows(), rows()
    function(x.copy(), y)
    shared = x.copy()
    function(shared, shared)
    written = y != rows()
    np.testing.assert_array_equal(shared[written], y[written])


@pytest.mark.parametrize("function", UNSAFE, ids=lambda function: function.__name__)
def test_other_loops_may_not_share(function):
    assert not may_overwrite(function, 0, 1, 2)


def test_a_function_without_source_may_not_share():
    scope = {}
    exec("def f(x, y):\n    for i in range(x.size):\n        y[i] = x[i]\n", scope)
    assert not may_overwrite(njit(scope["f"]), 0, 1, 1)


def scaled(x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = 3 * x[i, j]


def scaled_backward(grad_y, grad_x):
    for i in range(grad_y.shape[0]):
        for j in range(grad_y.shape[1]):
            grad_x[i, j] = 3 * grad_y[i, j]


def shifted_backward(grad_y, grad_x):
    for i in range(grad_y.shape[0]):
        for j in range(grad_y.shape[1]):
            grad_x[i, j] = 3 * grad_y[i - 1, j]


def step_of(backward):
    """A step whose gradient a user's loops write, as a program, and the step itself."""
    operator = torch.kernel(njit(scaled), njit(backward))
    x = torch.from_numpy(np.random.default_rng(0).random((100, 50), np.float32)).requires_grad_()

    def step():
        x.grad = None
        operator(x).sin().pow(2).sum().backward()
        return x.grad

    compiled = torch.compile(step)
    for _ in range(4):
        compiled()
    found = compiled().numpy().copy()
    np.testing.assert_allclose(found, step().numpy(), rtol=1e-5, atol=1e-5)
    return torch.explain(compiled)().forward


def test_a_gradient_is_written_over_the_one_that_it_is_made_of():
    shared, apart = step_of(scaled_backward), step_of(shifted_backward)
    size = 4 * 100 * 50
    assert shared.arena_bytes < 1.1 * size < 1.9 * size < apart.arena_bytes


def test_what_is_read_last_lies_in_the_result_that_is_written_over_it():
    @torch.compile
    def step(x, w):
        return ((x @ w) @ w).sigmoid() + (x @ w)[:1]

    torch.manual_seed(0)
    x, w = torch.randn(64, 64), torch.randn(64, 64) / 8
    for _ in range(4):
        found = step(x, w)
        expected = ((x @ w) @ w).sigmoid() + (x @ w)[:1]
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)
