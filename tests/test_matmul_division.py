"""What threads share of a product: the bits of one thread, whatever is shared and what follows."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.executor.mode import NATIVE
from numbagrad.executor.threads import pool
from numbagrad.kernels.matmul import layout

pytestmark = pytest.mark.skipif(not NATIVE, reason="there are no kernels")

DTYPES = [torch.float32, torch.float64]
THREADS = [2, 3, 4]

#: Rows, depth and columns: whole and other numbers of tiles, units and blocks.
SIZES = [
    (64, 1000, 100),
    (8, 4096, 16),
    (8, 4096, 64),
    (29, 2051, 47),
    (1030, 513, 4),
    (5, 9001, 61),
]


@pytest.fixture(autouse=True)
def threads_from_the_start(monkeypatch):
    monkeypatch.setattr(pool, "SECONDS_WORTH_COMPILING", -1)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def on(threads, function):
    """What a function returns with so many threads, as ndarrays; the same each time."""
    torch.set_num_threads(threads)
    first, *others = [[x.numpy().copy() for x in function()] for _ in range(6)]
    for other in others:
        for x, y in zip(first, other, strict=True):
            np.testing.assert_array_equal(x, y)
    return first


def same_bits(make, threads, *arguments):
    """What the function that ``make`` returns gives, with one thread and with several."""
    alone = on(1, lambda: make()(*arguments))
    shared = on(threads, lambda: make()(*arguments))
    for x, y in zip(alone, shared, strict=True):
        np.testing.assert_array_equal(x, y)
    return shared


def product(x, y):
    return (x @ y,)


def factors(rows, depth, columns, dtype):
    torch.manual_seed(rows)
    return torch.randn(rows, depth, dtype=dtype), torch.randn(depth, columns, dtype=dtype)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows, depth, columns", SIZES)
def test_eager_products_in_all_layouts(rows, depth, columns, dtype, threads):
    a, b = factors(rows, depth, columns, dtype)
    for x in (a, a.T.contiguous().T):
        for y in (b, b.T.contiguous().T):
            (found,) = same_bits(lambda: product, threads, x, y)
            expected = x.numpy().astype(np.longdouble) @ y.numpy().astype(np.longdouble)
            tolerance = 100 * np.finfo(found.dtype).eps * np.sqrt(depth)
            np.testing.assert_allclose(found, expected, tolerance, tolerance)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("rows, depth, columns", [(64, 784, 128), (64, 256, 256), (100, 500, 300)])
def test_the_training_of_a_layer(rows, depth, columns, threads):
    torch.manual_seed(rows)
    x, target = torch.randn(rows, depth), torch.randn(rows, columns)
    start = torch.randn(columns, depth) / 30

    def make():
        layer = torch.nn.Linear(depth, columns)
        with torch.no_grad():
            layer.weight.copy_(start)
            layer.bias.zero_()
        optimizer = torch.optim.SGD(layer.parameters(), lr=1e-4)

        def step(x, target):
            optimizer.zero_grad()
            loss = (layer(x).relu() - target).pow(2).sum()
            loss.backward()
            optimizer.step()
            return loss

        compiled = torch.compile(step)

        def steps(x, target):
            for _ in range(4):
                compiled(x, target)
            return layer.weight.detach(), layer.weight.grad, layer.bias.detach()

        return steps

    same_bits(make, threads, x, target)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows, depth, columns", SIZES)
def test_what_follows_a_product_in_a_program(rows, depth, columns, dtype, threads):
    x, w = factors(rows, depth, columns, dtype)
    bias, mask = torch.randn(columns, dtype=dtype), torch.randn(rows, columns) > 0
    rest = torch.randn(rows, columns, dtype=dtype)

    def layer(x, w, bias, mask, rest):
        product = x @ w
        return product, torch.where(mask, torch.tanh(product + bias), rest)

    given = x, w, bias, mask, rest
    found = same_bits(lambda: torch.compile(layer), threads, *given)
    for value, expected in zip(found, layer(*given), strict=True):
        tolerance = 1e3 * np.finfo(value.dtype).eps
        np.testing.assert_allclose(value, expected.numpy(), tolerance, tolerance)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_added_to_and_updated_in_place(dtype, threads):
    x, w = factors(64, 1100, 70, dtype)
    start = torch.randn(64, 70, dtype=dtype)

    def make():
        total, weight = start.clone(), w.clone()

        def step(x):
            with torch.no_grad():
                total.add_(x @ weight)
                weight.sub_(1e-3 * (x.T @ total))
            return total, weight

        def steps(x):
            for _ in range(5):
                total.copy_(start)
                found = compiled(x)
            return found

        compiled = torch.compile(step)
        return steps

    same_bits(make, threads, x)


def test_gradients_are_those_of_eager_calls():
    x, w = factors(48, 1600, 60, torch.float64)
    w.requires_grad_()

    def step(x, w):
        w.grad = None
        loss = (x @ w).relu().pow(2).sum()
        loss.backward()
        return loss.detach(), w.grad

    torch.set_num_threads(1)
    expected = [value.numpy().copy() for value in step(x, w)]
    torch.set_num_threads(2)
    compiled = torch.compile(step)
    for _ in range(4):
        for value, other in zip(compiled(x, w), expected, strict=True):
            np.testing.assert_allclose(value.numpy(), other, 1e-12, 1e-12)


def test_the_number_of_threads_may_change_between_runs():
    x, w = factors(64, 1000, 100, torch.float32)
    torch.set_num_threads(4)
    step = torch.compile(lambda x, w: ((x @ w).exp2(),))
    expected = on(4, lambda: step(x, w))
    for threads in (1, 2, 4):
        np.testing.assert_array_equal(on(threads, lambda: step(x, w))[0], expected[0])


def test_no_depth_and_no_rows():
    torch.set_num_threads(2)
    for rows, depth, columns in ((64, 0, 100), (0, 1000, 100), (64, 1000, 0)):
        x, w = torch.ones(rows, depth), torch.ones(depth, columns)
        step = torch.compile(lambda x, w: (x @ w + 1,))
        for _ in range(3):
            (found,) = step(x, w)
            np.testing.assert_array_equal(found.numpy(), (x @ w + 1).numpy())


def division(rows, depth, columns, threads=2, a_deep=False, b_deep=True, batch=1, terms=1,
             method=layout.TILES):  # fmt: skip
    return layout.division(method, rows, columns, depth, terms, batch, a_deep, b_deep, 4, threads)


def test_a_deep_product_with_a_small_result_shares_its_depth():
    assert division(64, 1000, 100)[0] == 2
    assert division(8, 4096, 64)[0] == 8
    assert division(64, 4096, 64, threads=16)[0] == 8


def test_other_products_do_not():
    for pieces, _ in (
        division(64, 1000, 100, threads=1),
        division(64, 1000, 100, batch=3),
        division(64, 1000, 100, terms=2),
        division(64, 512, 100),  # one block
        division(8, 1000, 8),  # no work for two
        division(1000, 800, 100),  # each thread has its own rows of A
        division(4096, 4096, 4096),
        division(64, 10_000_000, 64),  # more partial results than caches hold
    ):
        assert pieces == 0


def test_a_layer_shares_the_rows_of_its_weight_that_are_the_columns_of_the_product():
    assert division(64, 784, 128, b_deep=False, method=layout.DOTS) == (0, 64)
    assert division(64, 256, 256, b_deep=False) == (0, 128)
    assert division(64, 1000, 100, b_deep=False, method=layout.DOTS) == (0, 52)
    assert division(64, 784, 128, b_deep=False, method=layout.DOTS, threads=1)[1] == 128
    assert division(128, 784, 16, b_deep=False, method=layout.DOTS)[1] == 16


def test_the_gradient_of_a_weight_is_made_in_whole_rows():
    assert division(256, 128, 784, a_deep=True) == (0, 784)
    assert division(1000, 64, 100, a_deep=True) == (0, layout.unit_columns(1000, 100, 64))


@pytest.mark.parametrize("threads", [2, 3, 5, 16])
@pytest.mark.parametrize("method", [layout.TILES, layout.DOTS])
def test_shares_of_columns_are_nearly_equal(method, threads):
    for columns in range(1, 600):
        width = layout.equal_width(method, columns, threads)
        assert width == columns or width * threads <= columns * 1.125


def test_a_long_weight_is_shared_sooner_than_a_long_batch():
    def share(rows, depth, columns, a_deep=False, b_deep=True):
        return layout.least_share(rows, columns, depth, a_deep, b_deep, 4)

    assert share(8, 4096, 16) == share(4096, 8, 16, a_deep=True) == layout.LONG_SHARE
    assert share(8, 16, 4096, b_deep=False) == layout.LONG_SHARE
    assert share(4096, 8, 16) == layout.SHARE  # forward of a batch of 4096
    assert share(8, 4096, 16, a_deep=True) == layout.SHARE  # and the gradient of its weight
    assert share(32, 1024, 32) == layout.SHARE  # whose update a single thread makes
    assert division(8, 4096, 16)[0] == 8


FORKS = """
import os, threading, time
import numpy as np
import numbagrad as torch
from numbagrad.executor.threads import pool

pool.SECONDS_WORTH_COMPILING = -1
torch.set_num_threads(2)
torch.manual_seed(0)
x, w = torch.randn(64, 4000), torch.randn(4000, 60)
step = torch.compile(lambda x, w: (x @ w).relu())
for _ in range(3):
    expected = step(x, w).numpy().copy()

def forever():
    while True:
        step(x, w)

threading.Thread(target=forever, daemon=True).start()
for _ in range(30):
    time.sleep(0.001)
    child = os.fork()
    if child == 0:
        same = [np.array_equal(step(x, w).numpy(), expected) for _ in range(3)]
        os._exit(0 if all(same) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_child_that_was_forked_in_the_midst_of_a_product_begins_anew():
    process = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=120, check=False
    )
    assert (process.returncode, process.stdout) == (0, "done\n"), process.stderr
