"""Peak memory of whole training steps, beside what the same steps need eagerly.

Counted is what a step needs on top of what stays between steps (parameters, their gradients, the
optimiser's state); for a program that is its arena and what it allocates. tracemalloc sees NumPy's
memory, hence ours; torch's profiler notes every allocation of torch.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
import torch

import numbagrad

from .workloads import WORKLOADS
from .workloads.workload import Task

TABLE = "Peak memory of whole steps, KiB beyond what stays"
BAR = 0.6
#: Steps until programs for every state of the gradients are there.
WARM_UP = 6


def peak(step: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    """KiB that a step of numbagrad allocates at most at one time."""
    gc.collect()
    tracemalloc.start()
    for _ in range(2):  # what stays was allocated while it was watched
        step(*arguments)
        gc.collect()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    step(*arguments)
    found = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return found / 1024


def peak_of_program(task: Task) -> float:
    """The same for the compiled step, whose arena stays allocated."""
    compiled = numbagrad.compile(task.step)
    for _ in range(WARM_UP):
        compiled(*task.arguments)
    program = numbagrad.explain(compiled)(*task.arguments).forward
    return peak(compiled, task.arguments) + program.arena_bytes / 1024


def peak_of_torch(task: Task) -> float:
    """The same for a step of torch, from the allocations that its profiler lists."""
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profile:
        task.step(*task.arguments)
        with torch.profiler.record_function("measured"):
            task.step(*task.arguments)
    events = sorted(profile.profiler.kineto_results.events(), key=lambda event: event.start_ns())
    begin = next(event.start_ns() for event in events if event.name() == "measured")
    live = before = most = 0
    for event in events:
        if event.name() == "[memory]":
            live += event.nbytes()
            if event.start_ns() < begin:
                before = most = live
            most = max(most, live)
    return (most - before) / 1024


@pytest.mark.parametrize("name", WORKLOADS)
def test_memory(name, record):
    workload = WORKLOADS[name]
    tasks = {library: workload.make(library) for library in (numbagrad, torch)}
    for task in tasks.values():
        for _ in range(WARM_UP):
            task.step(*task.arguments)
    eager, torch_peak = peak(*tasks[numbagrad][:2]), peak_of_torch(tasks[torch])
    found = peak_of_program(workload.make(numbagrad))
    record(TABLE, f"{name}, over numbagrad eager", BAR, {"numbagrad": found, "eager": eager})
    record(TABLE, f"{name}, over torch", None, {"numbagrad": found, "torch": torch_peak})
