"""Chains: launches that run one after another for a few rows of a batch at a time."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.executor.mode import NATIVE
from numbagrad.executor.plan import cost

pytestmark = pytest.mark.skipif(not NATIVE, reason="compile() runs functions as they are")

ROWS = 512


@pytest.fixture
def small_tiles(monkeypatch):
    """Chains of whatever can be one, in tiles of few rows."""
    model = dataclasses.replace(
        cost.model, tile=3, least_tile=1, chain_saves=-(1 << 30), partial_bytes=1 << 20
    )
    monkeypatch.setattr(cost, "model", model)


def chains_of(step, *arguments):
    program = torch.explain(step)(*arguments).forward
    return program, [row for row in program.rows if row.name.startswith("chain")]


def training(width=32, seed=0, optimizer=torch.optim.Adam, rows=ROWS):
    """A step of a small net, its arguments and its parameters."""
    torch.manual_seed(seed)
    net = torch.nn.Sequential(
        torch.nn.Linear(width, width), torch.nn.Tanh(),
        torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 3),
    )  # fmt: skip
    updates = optimizer(net.parameters(), 0.01)

    def step(x, y):
        updates.zero_grad()
        loss = (net(x) - y).pow(2).mean()
        loss.backward()
        updates.step()
        return loss.detach()

    return step, (torch.randn(rows, width), torch.randn(rows, 3)), list(net.parameters())


def outcome(compiles, calls=6, **options):
    """Losses of some steps, and what the parameters are then."""
    step, arguments, parameters = training(**options)
    step = torch.compile(step) if compiles else step
    losses = [step(*arguments).item() for _ in range(calls)]
    return losses, [p.detach().numpy().copy() for p in parameters], (step, arguments)


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
def test_a_step_of_a_net_is_a_chain_that_trains_as_the_step_itself(optimizer):
    losses, parameters, (step, arguments) = outcome(True, optimizer=optimizer)
    expected, values, _ = outcome(False, optimizer=optimizer)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    for found, value in zip(parameters, values, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-3, atol=1e-4)
    program, (chain,) = chains_of(step, *arguments)
    assert {"tanh", "relu_backward", "tanh_backward"} <= set(chain.operators)
    assert len(program.rows) < 15
    assert chain.launches == 1 and chain.flops > 2e6
    assert "tiles of 128 rows" in chain.shape and "chain_of_" in str(program)


def test_what_a_chain_hands_on_has_the_size_of_a_tile(monkeypatch):
    _, _, (step, arguments) = outcome(True)
    program, chains = chains_of(step, *arguments)
    monkeypatch.setattr(cost, "model", dataclasses.replace(cost.model, chain_saves=1 << 60))
    _, _, (plain, arguments) = outcome(True)
    whole, none = chains_of(plain, *arguments)
    assert len(chains) == 1 and not none
    assert program.arena_bytes < 0.75 * whole.arena_bytes


@pytest.mark.parametrize("rows", [509, 1000, 129])
def test_the_last_tile_may_be_shorter(rows, monkeypatch):
    """As much memory for a row, and the same steps, as where tiles divide the batch."""
    monkeypatch.setattr(cost, "model", dataclasses.replace(cost.model, chain_saves=0))
    _, _, (even, arguments) = outcome(True)
    whole, _ = chains_of(even, *arguments)
    losses, parameters, (step, arguments) = outcome(True, rows=rows)
    expected, values, (_, _) = outcome(False, rows=rows)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    for found, value in zip(parameters, values, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-3, atol=1e-4)
    program, (chain,) = chains_of(step, *arguments)
    assert program.arena_bytes < 1.2 * whole.arena_bytes * max(rows / ROWS, 0.3)
    assert chain.flops > 2e6 * rows / ROWS


@pytest.mark.parametrize("rows", range(1, 700, 7))
def test_tiles_are_about_equal_and_cover_the_batch(rows):
    tiles = cost.model.tiles(rows)
    if tiles is None:
        assert rows < 4 * cost.model.least_tile
        return
    count = tiles.units * tiles.tiles
    last = rows - (count - 1) * tiles.rows
    assert cost.model.tile >= tiles.rows >= last > 0.8 * tiles.rows
    assert tiles.rows >= cost.model.least_tile and tiles.tiles > 1 and tiles.units % 2 == 0


def test_bits_do_not_depend_on_threads():
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append([outcome(True, rows=rows)[:2] for rows in (ROWS, 509)])
    finally:
        torch.set_num_threads(before)
    for each in found[1:]:
        for (losses, parameters), (expected, values) in zip(each, found[0], strict=True):
            assert losses == expected
            for a, b in zip(parameters, values, strict=True):
                assert np.array_equal(a, b)


def test_large_weights_and_few_rows_are_no_chain():
    for options, rows in (({"width": 200}, ROWS), ({}, 100)):
        step, arguments, _ = training(**options)
        step = torch.compile(step)
        arguments = [x[:rows].clone() for x in arguments]
        for _ in range(3):
            step(*arguments)
        assert not chains_of(step, *arguments)[1]


LAYERS = (
    "h = h @ {w} + {b}",
    "h = torch.nn.functional.linear(h, {w}, {b})",
    "h = torch.tanh(h)",
    "h = h.relu()",
    "h = h * torch.sigmoid(h)",
    "h = torch.softmax(h, 1)",
    "h = torch.nn.functional.layer_norm(h, (6,), {b})",
    "h = h + x",
    "h = h - h.mean(1, keepdim=True)",
    "h = h - h.mean(0)",
    "h = torch.cat([h[:, 1:], h[:, :1]], 1)",
    "h = (h @ {w}).t().contiguous().t()",
    "h = {v} @ (h.t() @ h) / 12",
    "h = h.flip(0)",
    "h = h.clone().mul_(0.5)",
    "h = h.clone(); h[:, 2] = 1.5",
    "h = h.clone(); h[3] = 0.5",
    "total = total + h.pow(2).sum()",
    "total = total + h.amax(0).sum()",
)

PENALTY = """
    slopes = torch.autograd.grad(total, w, create_graph=True, allow_unused=True)
    total = total + sum([s.pow(2).sum() for s in slopes if s is not None]) / 50
"""

UPDATE = """
    with torch.no_grad():
        for p in w:
            if p.grad is not None:
                p -= 0.01 * p.grad
"""


def net_of(seed):
    """A function of random layers on some rows, its weights and its biases."""
    choose = random.Random(seed)
    count = choose.randint(2, 8)
    lines = []
    for _ in range(count):
        k = choose.randrange(3)
        lines.append(choose.choice(LAYERS).format(w=f"w[{k}]", b=f"b[{k}]", v=f"v[{k}]"))
    twice = choose.random() < 0.3
    source = "".join(
        [
            "def step(x, w, b, v):\n",
            "    for p in (*w, *b, *v):\n        p.grad = None\n" if choose.random() < 0.7 else "",
            "    total = 0\n",
            "    h = x * w[0][0]\n",
            *[f"    {line}\n" for line in lines],
            "    total = total + (h - x).pow(2).mean()\n",
            PENALTY if twice else "",
            "    total.backward()\n",
            UPDATE if choose.random() < 0.5 else "",
            "    return total.detach(), h.detach()\n",
        ]
    )
    scope = {"torch": torch}
    exec(compile(source, "<net>", "exec"), scope)
    return scope["step"], source


def data_of(seed, rows):
    generator = np.random.default_rng(seed)

    def tensors(*shape, count=3):
        return [
            torch.from_numpy(generator.uniform(-1, 1, shape).astype(np.float32)).requires_grad_()
            for _ in range(count)
        ]

    return tensors(6, 6), tensors(6), tensors(rows, 6)


@pytest.mark.parametrize("part", range(8))
def test_random_nets_in_chains(part, small_tiles):
    chains, rows = 0, (12, 11, 10, 15)[part // 2]  # the last tile has all three rows, or fewer
    for seed in range(part * 6, part * 6 + 6):
        step, source = net_of(seed)
        compiled = torch.compile(step)
        both = data_of(seed, rows), data_of(seed, rows)
        for call in range(5):
            x = np.random.default_rng(call).uniform(-1, 1, (rows, 6)).astype(np.float32)
            expected = step(torch.from_numpy(x), *both[0])
            found = compiled(torch.from_numpy(x), *both[1])
            pairs = [*zip(found, expected, strict=True)]
            for ours, theirs in zip(*both, strict=True):
                pairs += zip(theirs, ours, strict=True)
                pairs += [(b.grad, a.grad) for a, b in zip(ours, theirs, strict=True)]
            for a, b in pairs:
                assert (a is None) == (b is None), source
                if a is not None:
                    a, b = a.detach().numpy(), b.detach().numpy()
                    scale = 1 + np.abs(b).max()
                    np.testing.assert_allclose(a, b, 1e-3, 1e-4 * scale, err_msg=source)
        programs = [each for found in compiled._programs.values() for each in found]
        names = [x.name for each in programs for x in each.program.operations]
        chains += len([name for name in names if name.startswith("chain")])
    assert chains > 3
