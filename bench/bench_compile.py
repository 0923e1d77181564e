"""Whole training steps as one program, beside torch (eager and compiled) and JAX.

Rivals run with one and with two threads, and the quicker counts; ours runs with the number of
threads of the row. All contestants have to agree on the first steps. torch.compile takes minutes
for some of these steps until its own cache has them; ``BENCH_RIVALS=torch,JAX`` leaves it out.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator

import pytest

import numbagrad

from .conftest import THREADS
from .contestant import Process
from .race import PAUSE_SECONDS, in_turns
from .workloads import WORKLOADS

TABLE = "Whole steps, compiled"
EAGER_TABLE = "Whole steps, eager"
TURNS = 9
RIVAL_THREADS = (1, 2)

#: Name in the table, library, and whether the step goes through its ``compile``.
ALL_RIVALS = (("torch", "torch", False), ("torch.compile", "torch", True), ("JAX", "jax", True))
CHOSEN = os.environ.get("BENCH_RIVALS", "torch,torch.compile,JAX").split(",")
RIVALS = [rival for rival in ALL_RIVALS if rival[0] in CHOSEN]
OURS = (("compiled", "numbagrad", True), ("eager", "numbagrad", False))


@pytest.fixture(scope="module")
def processes() -> Iterator[dict[tuple[str, int], Process]]:
    wanted = [("numbagrad", THREADS)]
    wanted += [(library, threads) for library in ("torch", "jax") for threads in RIVAL_THREADS]
    started = {key: Process(*key) for key in wanted}
    yield started
    for process in started.values():
        process.close()


def measure(
    workload: str, processes: dict[tuple[str, int], Process]
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Seconds a step of each contestant, and what its first steps returned."""
    contestants = [(name, (library, THREADS), compiled) for name, library, compiled in OURS]
    contestants += [
        (name, (library, threads), compiled)
        for name, library, compiled in RIVALS
        for threads in RIVAL_THREADS
        if WORKLOADS[workload].torch_compiles or name != "torch.compile"
    ]
    for _, process, compiled in contestants:
        processes[process].ask("prepare", workload, compiled)
    first = {name: processes[process].answer() for name, process, _ in contestants}
    samples: list[list[float]] = [[] for _ in contestants]
    for _ in range(TURNS):
        for (_, process, compiled), times in zip(contestants, samples, strict=True):
            time.sleep(PAUSE_SECONDS)
            processes[process].ask("turn", workload, compiled)
            times.append(processes[process].answer())
    for process in processes.values():
        process.ask("drop")
        process.answer()
    seconds: dict[str, float] = {}
    for (name, _, _), times in zip(contestants, samples, strict=True):
        seconds[name] = min(statistics.median(times), seconds.get(name, float("inf")))
    return seconds, first


@pytest.mark.parametrize("name", WORKLOADS)
def test_workload(name, processes, record):
    workload = WORKLOADS[name]
    seconds, first = measure(name, processes)
    rivals = {rival: seconds[rival] for rival, _, _ in RIVALS if rival in seconds}
    text = f"{name}: {workload.what}"
    record(TABLE, text, workload.bar, {"numbagrad": seconds["compiled"], **rivals})
    record(EAGER_TABLE, text, None, {"numbagrad": seconds["eager"], "torch": seconds["torch"]})
    for contestant, values in first.items():
        assert values == pytest.approx(first["torch"], rel=1e-4), contestant


def test_call(record):
    @numbagrad.compile
    def step(a, b, c, d):
        return a

    arguments = [numbagrad.ones(8, 8) for _ in range(4)]
    found = in_turns({"numbagrad": lambda: step(*arguments)})
    record(
        "Calls", "call of a compiled step that does nothing, four arguments (rival: the bar)", 1.0,
        {**found, "bar": 1.5e-6},
    )  # fmt: skip


def test_product_in_an_eager_loop(record):
    """A compiled forward that is recorded, over the same without ``compile``."""
    a = numbagrad.ones(8, 8, requires_grad=True)
    compiled = numbagrad.compile(lambda x: x.mm(x))
    found = in_turns({"numbagrad": lambda: compiled(a), "eager": lambda: a.mm(a)})
    record("Calls", "8×8 compiled a.mm(a), recorded, over eager", 1.1, found)


def test_backward_in_an_eager_loop(record):
    """The same with a backward, which the engine walks."""
    a = numbagrad.ones(8, 8, requires_grad=True)
    compiled = numbagrad.compile(lambda x: (x * x).sum())
    found = in_turns(
        {"numbagrad": lambda: compiled(a).backward(), "eager": lambda: (a * a).sum().backward()}
    )
    record("Calls", "8×8 compiled (a * a).sum(), backward() outside, over eager", 1.1, found)
