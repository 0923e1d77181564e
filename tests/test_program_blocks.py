"""Blocks of programs: parts that nobody uses as a whole, and values that are computed again."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.executor.mode import NATIVE
from numbagrad.executor.plan import cost

pytestmark = pytest.mark.skipif(not NATIVE, reason="compile() runs functions as they are")

STEPS, BATCH, WIDTH = 20, 6, 8
STATE = 4 * BATCH * WIDTH


def gated(x, w):
    """A recurrence whose backward reads a part of a product, and a difference."""
    w.grad = None
    state = x
    for _ in range(STEPS):
        gate, new, _ = (state @ w).chunk(3, 1)
        new = torch.tanh(new)
        state = new + torch.sigmoid(gate) * (state - new)
    loss = state.pow(2).sum()
    loss.backward()
    return loss


def compiled(function=gated):
    torch.manual_seed(0)
    x = torch.randn(BATCH, WIDTH)
    w = (torch.randn(WIDTH, 3 * WIDTH) / 3).requires_grad_()
    step = torch.compile(function)
    for _ in range(4):
        found = step(x, w).item(), w.grad.numpy().copy()
    return step, (x, w), found


def test_the_results_are_those_of_the_function_itself():
    _, (x, w), (loss, grad) = compiled()
    assert loss == pytest.approx(gated(x, w).item(), rel=1e-5)
    np.testing.assert_allclose(grad, w.grad.numpy(), rtol=1e-4, atol=1e-5)


def test_a_part_that_is_kept_keeps_nothing_else():
    step, arguments, _ = compiled()
    program = torch.explain(step)(*arguments).forward
    turn = next(k for k, row in enumerate(program.rows) if "tanh_backward" in row.operators)
    saved = [block for block in program.blocks if block.first < turn - 2 and block.last > turn]
    assert len(saved) >= 3 * (STEPS - 2)
    assert max(block.bytes for block in saved) <= STATE


def test_a_difference_is_computed_again_where_both_of_its_terms_are_kept(monkeypatch):
    def kept():
        step, arguments, found = compiled()
        blocks = torch.explain(step)(*arguments).forward.blocks
        return len([x for x in blocks if x.last - x.first > 20 and x.bytes == STATE]), found

    few, (loss, grad) = kept()
    monkeypatch.setattr(cost, "model", dataclasses.replace(cost.model, recompute=0))
    many, (expected, expected_grad) = kept()
    assert few < many
    assert loss == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(grad, expected_grad, rtol=1e-5, atol=1e-6)


def test_a_value_that_is_written_later_is_kept_as_it_was():
    def step(x, w):
        y = x.exp()
        difference = y - x
        kept = difference * 1
        for _ in range(10):
            w = (w @ w) / 8
        y.mul_(0)
        return (difference + w).sum() + kept.sum() + y.sum()

    torch.manual_seed(1)
    x, w = torch.randn(8, 8), torch.randn(8, 8) / 3
    function = torch.compile(step)
    for _ in range(3):
        assert function(x, w).item() == pytest.approx(step(x, w).item(), rel=1e-5)


def test_parts_of_a_block_that_somebody_reads_as_a_whole_stay_together():
    def step(x):
        joined = torch.cat([x.exp(), x.sin()], 1)
        first, second = joined.chunk(2, 1)
        return joined @ joined.T, first * second

    x = torch.randn(5, 7)
    function = torch.compile(step)
    for _ in range(3):
        for found, expected in zip(function(x), step(x), strict=True):
            np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-5, 1e-5)


def test_what_a_forward_kept_is_read_where_it_lies_by_its_backward():
    class Gates(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(2)
            self.w = torch.nn.Parameter(torch.randn(8, 24) / 3)

        def forward(self, x):
            first, second, third = (x @ self.w).chunk(3, 1)
            return first.sigmoid() * second + third.tanh() * second

    x = torch.randn(5, 8)
    eager, compiled = Gates(), torch.compile(Gates())
    for _ in range(4):
        found = []
        for model in (eager, compiled):
            model.zero_grad()
            y = model(x)
            y.pow(2).sum().backward(retain_graph=True)
            y.sum().backward()
            found.append([y.detach().numpy(), next(iter(model.parameters())).grad.numpy()])
        for expected, made in zip(*found, strict=True):
            np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-5)
