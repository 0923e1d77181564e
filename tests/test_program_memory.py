"""Memory of compiled programs: what stays after recording, and how the arena is shared."""

from __future__ import annotations

import dataclasses
import gc
import tracemalloc

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.executor.mode import NATIVE
from numbagrad.executor.plan import cost

pytestmark = pytest.mark.skipif(not NATIVE, reason="compile() runs functions as they are")

SIZE = 600  # so that arrays are much larger than tables of Python's that happen to grow
BYTES = 4 * SIZE * SIZE


def deep(x, w):
    w.grad = None
    y = x
    for _ in range(8):
        y = (y @ w).tanh()
    y.sum().backward()
    return y.detach().amax()


def peak_of(step, *arguments):
    """Bytes that a call allocates at most beside what was there."""
    gc.collect()
    tracemalloc.start()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    step(*arguments)
    found = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return found


@pytest.fixture
def arguments():
    torch.manual_seed(0)
    w = torch.randn(SIZE, SIZE) / SIZE**0.5
    return torch.randn(SIZE, SIZE), w.requires_grad_()


def compiled_step(arguments):
    compiled = torch.compile(deep)
    for _ in range(3):
        compiled(*arguments)
    return compiled


def test_what_was_recorded_is_not_kept(arguments):
    compiled_step(arguments)  # kernels are compiled and loaded
    arguments[1].grad = None
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    compiled = compiled_step(arguments)
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    arenas = sum(
        recorded.program.arena_bytes for found in compiled._programs.values() for recorded in found
    )
    assert kept < arenas + 5 * BYTES  # the gradient, and Python's own objects


def test_the_arena_is_as_small_as_what_lives_at_the_same_time(arguments):
    compiled = compiled_step(arguments)
    program = torch.explain(compiled)(*arguments).forward
    blocks = [block for block in program.blocks if block.home == "arena"]
    least = max(
        sum(block.bytes for block in blocks if block.first <= row <= block.last)
        for row in range(len(program.rows))
    )
    assert program.arena_bytes <= 1.1 * least + 64 * len(program.blocks)


def test_arena_and_results_take_no_more_than_an_eager_step(arguments):
    deep(*arguments)
    eager = peak_of(deep, *arguments)
    compiled = compiled_step(arguments)
    program = compiled._programs.popitem()[1][-1].program
    assert program.arena_bytes + sum(m.nbytes for m in program.results) <= eager
    assert np.isfinite(arguments[1].grad.numpy()).all()


def test_a_result_that_is_not_written_yet_holds_what_comes_before():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        *[layer for _ in range(6) for layer in (torch.nn.Linear(40, 40), torch.nn.Tanh())]
    )
    x = torch.randn(40, 40)

    def step():
        net.zero_grad()
        loss = net(x).pow(2).sum()
        loss.backward()
        return loss.detach()

    step()
    expected = [p.grad.numpy().copy() for p in net.parameters()]
    compiled = torch.compile(step)
    for _ in range(4):
        compiled()
        for p, each in zip(net.parameters(), expected, strict=True):
            np.testing.assert_allclose(p.grad.numpy(), each, rtol=1e-4, atol=1e-5)
    program = torch.explain(compiled)().forward
    homes = {block.home for block in program.blocks}
    assert any([home.startswith("result") for home in homes])
    assert program.arena_bytes < 3 * 4 * 40 * 40 < program.block_bytes


def test_an_element_is_written_over_the_operand_that_nobody_reads_any_more(arguments):
    x, w = (each.detach() for each in arguments)

    @torch.compile
    def step(x, w):
        return ((x @ w) * (w @ x) @ w).sum()

    for _ in range(3):
        found = step(x, w)
    expected = ((x @ w) * (w @ x) @ w).sum()
    np.testing.assert_allclose(found.item(), expected.item(), rtol=1e-3)
    (recorded,) = [each for found in step._programs.values() for each in found]
    assert recorded.program.arena_bytes < 2.1 * BYTES  # of three products and their factor


def test_an_operand_that_is_read_again_or_a_second_time_is_not_written_over(arguments):
    x, w = (each.detach() for each in arguments)

    def step(x, w):
        first, second = x @ w, w @ x
        shifted = first.t() + first  # one element needs two of the operand
        waves = (second * 1e5).sin()  # computed a second time where the argument is large
        made = torch.linalg.inv(torch.eye(4) * 2)  # memory that a call of Python makes
        return shifted @ w, waves, second @ x, made * made + made

    compiled = torch.compile(step)
    for _ in range(4):
        for found, expected in zip(compiled(x, w), step(x, w), strict=True):
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
def test_the_factor_of_the_last_gradient_lies_where_its_last_rows_will_be(optimizer, monkeypatch):
    def trained(factor_bytes):
        model = dataclasses.replace(
            cost.model, factor_bytes=factor_bytes, factor_bytes_single_thread=factor_bytes
        )
        monkeypatch.setattr(cost, "model", model)
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Linear(300, 160), torch.nn.Tanh(), torch.nn.Linear(160, 5)
        )
        updates = optimizer(net.parameters(), 0.01)
        x, y = torch.randn(30, 300), torch.randn(30, 5)

        @torch.compile
        def step(x, y):
            updates.zero_grad()
            loss = (net(x) - y).pow(2).mean()
            loss.backward()
            updates.step()
            return loss.detach()

        losses = [step(x, y).item() for _ in range(6)]
        arrays = [array for p in net.parameters() for array in (p.detach(), p.grad)]
        return torch.explain(step)(x, y).forward, losses, [x.numpy().copy() for x in arrays]

    whole, losses, arrays = trained(1 << 60)
    cut, found, others = trained(1 << 10)
    assert found == losses
    for array, other in zip(arrays, others, strict=True):
        assert np.array_equal(array, other)
    factor = 4 * 30 * 160
    assert whole.arena_bytes >= factor > 2 * cut.arena_bytes
    pieces = [row.shape for row in cut.rows if row.shape.endswith("×300")]
    assert pieces == ["112×30, 30×300 -> 112×300", "48×30, 30×300 -> 48×300"]


def test_a_result_written_in_parts_holds_blocks_until_each_is_written(arguments):
    x, w = (each.detach() for each in arguments)

    def step(x, w):
        first = (x @ w).sin()
        second = (first @ w).sin() * first
        third = (second @ w).sin() * second
        return torch.cat([x * 2, third, second + third])

    compiled = torch.compile(step)
    for _ in range(4):
        found, expected = compiled(x, w).numpy(), step(x, w).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    assert torch.explain(compiled)(x, w).forward.arena_bytes < 3 * BYTES
