"""Timing several contestants in turns, so that a ratio holds on a machine whose speed drifts.

Used by the fixture ``race`` of ``conftest.py``. Each turn runs every contestant for about the same
time, one after the other; a row reports the median over the turns and the ratios of medians. With
``BENCH_LEAST=1`` it is the least: on a machine that others load, all else is their time. With
``BENCH_CPU_TIME=1`` the clock is the CPU time of the process, for one thread on such a machine.
"""

from __future__ import annotations

import dataclasses
import os
import statistics
import time
from collections.abc import Callable, Mapping

#: Seconds of one run, and how often the contestants take turns. On a busy machine many short runs
#: find a quiet moment.
RUN_SECONDS = float(os.environ.get("BENCH_SECONDS", "0.02"))
TURNS = int(os.environ.get("BENCH_TURNS", "11"))

#: Calls before any timing: the first ones of a compiled function record, compile and check it.
FIRST_CALLS = 5

#: Idle threads of OpenMP spin for a while and would take the CPU from whoever is timed next.
PAUSE_SECONDS = min(0.02, RUN_SECONDS)


_clock = time.process_time if os.environ.get("BENCH_CPU_TIME") == "1" else time.perf_counter


@dataclasses.dataclass
class Row:
    """A line of a table: seconds a call of each contestant, ours first, and the bar of the ratio.

    ``work`` is what a call does, in flop, for rows that report speed.
    """

    table: str
    name: str
    threads: int
    seconds: dict[str, float]
    bar: float | None = None
    work: float | None = None

    @property
    def ratio(self) -> float:
        """Our time over that of the fastest rival."""
        ours, *rivals = self.seconds.values()
        return ours / min(rivals)


def time_of_calls(function: Callable[[], object], calls: int) -> float:
    """Seconds of one call, the mean of so many."""
    start = _clock()
    for _ in range(calls):
        function()
    return (_clock() - start) / calls


def calls_in_a_turn(function: Callable[[], object]) -> int:
    """How many calls take about ``RUN_SECONDS``; also warms the contestant up."""
    for _ in range(FIRST_CALLS):
        function()
    calls = 1
    while True:
        seconds = time_of_calls(function, calls) * calls
        if seconds > RUN_SECONDS / 4:
            return max(1, round(calls * RUN_SECONDS / seconds))
        calls *= 4


def in_turns(contestants: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds a call of every contestant: the median, or the least if the environment says so."""
    calls = {name: calls_in_a_turn(function) for name, function in contestants.items()}
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(TURNS):
        for name, function in contestants.items():
            time.sleep(PAUSE_SECONDS)
            function()
            samples[name].append(time_of_calls(function, calls[name]))
    summary = min if os.environ.get("BENCH_LEAST") == "1" else statistics.median
    return {name: summary(values) for name, values in samples.items()}
