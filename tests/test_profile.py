"""``numbagrad.profile``: launches of programs and eager operators with their times."""

from __future__ import annotations

import json

import pytest

import numbagrad as torch
from numbagrad.executor import capture
from numbagrad.executor.mode import NATIVE
from numbagrad.program import timing

pytestmark = pytest.mark.skipif(not NATIVE, reason="there are no launches")


def step(x, w):
    w.grad = None
    loss = (x.mm(w).tanh() + 1).pow(2).sum()
    loss.backward()
    return loss


@pytest.fixture
def arguments():
    torch.manual_seed(0)
    return torch.randn(8, 6), torch.randn(6, 4, requires_grad=True)


def in_order(events):
    return all([a.start + a.duration <= b.start for a, b in zip(events, events[1:], strict=False)])


def test_every_launch_of_a_program_is_timed(arguments):
    compiled = torch.compile(step)
    for _ in range(3):
        compiled(*arguments)
    description = torch.explain(compiled)(*arguments).forward
    with torch.profile() as profile:
        for _ in range(5):
            expected = compiled(*arguments).item()
    launches = sum([row.launches for row in description.rows])
    assert len(profile.events) == 5 * launches
    assert {event.where for event in profile.events} == {"program"}
    assert all([event.duration >= 0 for event in profile.events]) and in_order(profile.events)
    product = next(event for event in profile.events if event.name == "matmul")
    assert product.flops == 2 * 8 * 6 * 4 and product.bytes == 4 * (8 * 6 + 6 * 4 + 8 * 4)
    assert compiled(*arguments).item() == expected
    assert len(profile.events) == 5 * launches  # what runs afterwards is not seen


def test_eager_operators_are_timed_and_compute_what_they_do(arguments):
    expected = step(*arguments).item()
    gradient = arguments[1].grad.tolist()
    with torch.profile() as profile:
        assert step(*arguments).item() == expected
    assert arguments[1].grad.tolist() == gradient
    names = [event.name for event in profile.events]
    assert names[:2] == ["matmul", "tanh"] and names.count("matmul") == 2
    assert {event.where for event in profile.events} == {"eager"} and in_order(profile.events)
    assert capture.active is None and timing.active is None
    with torch.profile(eager=False) as profile:
        step(*arguments)
    assert profile.events == []


def test_hand_written_kernels_are_timed(arguments):
    image, weights = torch.randn(2, 3, 6, 6), torch.randn(4, 3, 3, 3, requires_grad=True)
    with torch.profile() as profile:
        torch.nn.functional.conv2d(image, weights).backward(torch.ones(2, 4, 4, 4))
    names = [event.name for event in profile.events]
    assert "convolve_float32" in names and "correlate_float32" in names


def test_an_optimizer_and_random_numbers_are_as_ever(arguments):
    def train(profiled):
        torch.manual_seed(1)
        w = torch.ones(6, 4, requires_grad=True)
        update = torch.optim.Adam([w], lr=0.1)
        with torch.profile(eager=profiled):
            for _ in range(3):
                update.zero_grad()
                step(arguments[0] * torch.rand(8, 6), w)
                update.step()
        return w.tolist()

    assert train(True) == train(False)


def test_functions_are_recorded_inside_of_a_profile(arguments):
    compiled = torch.compile(step)
    with torch.profile() as profile:
        for _ in range(4):
            compiled(*arguments)
        arguments[0] + 1
    assert {event.where for event in profile.events} == {"eager", "program"}
    assert profile.events[-1].name == "add"


def test_calls_of_python_in_programs_are_timed(arguments):
    @torch.kernel
    def doubled(x, y):
        y[:] = 2 * x

    compiled = torch.compile(lambda x: doubled(x.exp()).sum())
    for _ in range(2):
        compiled(arguments[0])
    with torch.profile() as profile:
        compiled(arguments[0])
    assert [event.where for event in profile.events].count("python") == 1
    assert next(x.name for x in profile.events if x.where == "python") == "doubled"


def test_the_table_shows_rates_and_limits(arguments):
    with torch.profile() as profile:
        step(*arguments)
    text = str(profile)
    assert "GFLOP/s" in text and "limits of this machine on" in text
    assert "8×6, 6×4 -> 8×4" in text and "outside of them" in text
    assert profile.limits.gflops > 0.1 and profile.limits.gigabytes > 0.1
    assert "... and" in profile.table(rows=1)


def test_the_trace_is_what_chrome_reads(arguments, tmp_path):
    with torch.profile() as profile:
        step(*arguments)
    profile.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert len(events) == len(profile.events)
    assert {"name", "ph", "ts", "dur", "pid", "tid", "args"} <= events[0].keys()
    assert events[0]["ph"] == "X" and events[0]["args"]["flops"] == 384


def test_an_error_ends_the_profile(arguments):
    with pytest.raises(RuntimeError, match="size mismatch|shapes|must match"), torch.profile():
        arguments[0] @ arguments[0]
    assert capture.active is None and timing.active is None
    with torch.profile(), pytest.raises(RuntimeError, match="one at a time"):
        torch.profile().__enter__()
    assert (arguments[0] + 1).shape == (8, 6)
