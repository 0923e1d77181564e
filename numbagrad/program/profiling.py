"""``profile``: the time of every launch, in compiled programs and of eager operators.

A program that is timed asks the clock natively between its launches. Eager operators are seen as a
trace sees them (``program/trace.py``), by one that notes times and keeps nothing; without a
profile neither costs anything.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import html
import json
import os
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..executor import capture
from ..executor.cache import library
from ..executor.mode import NATIVE
from ..executor.plan.operations import Array, Call, Operation, moved
from ..kernels.launches.program_layout import ProgramTable
from . import timing
from .limits import Limits, limits
from .observer import Observer
from .program import Program
from .work import flops, space

_CLOCK = time.CLOCK_MONOTONIC


def _now() -> int:
    return time.clock_gettime_ns(_CLOCK)


@dataclasses.dataclass(frozen=True)
class Event:
    """One launch, or one call of Python in a program.

    Attributes:
        name: the operators it runs.
        where: "program", "eager" or "python".
        space: what it runs over: sizes, or those of operands and result.
        start: nanoseconds of the monotonic clock.
        duration: nanoseconds.
        flops: arithmetic operations by definition, None where nobody knows.
        bytes: bytes read and written.
    """

    name: str
    where: str
    space: str
    start: int
    duration: int
    flops: int | None
    bytes: int


class Profile:
    """The launches that ran inside a ``with profile() as p`` block.

    ``str(p)`` is a table, ``p.events`` the launches, ``p.export_chrome_trace(path)`` writes them
    for ``chrome://tracing`` and Perfetto.
    """

    def _repr_html_(self) -> str:
        """The table, in notebooks."""
        return f"<pre>{html.escape(str(self))}</pre>"

    def __init__(self, eager: bool = True) -> None:
        self.events: list[Event] = []
        self.nanoseconds = 0
        self._observer = _Observer(self) if eager and NATIVE else None
        self._times: dict[int, tuple[ProgramTable, Array]] = {}
        self._started = 0

    def __enter__(self) -> Profile:
        if timing.active is not None:
            raise RuntimeError("profile() inside of profile(): one at a time")
        timing.active = self
        if self._observer is not None and capture.active is None:
            self._observer.look(True)
        self._started = _now()
        return self

    def __exit__(self, *error: Any) -> None:
        self.nanoseconds += _now() - self._started
        timing.active = None
        if self._observer is not None and capture.active is self._observer:
            self._observer.look(False)
        for table, _ in self._times.values():
            table.clock = 0
        self._times.clear()

    # --- what programs call -----------------------------------------------------------------------

    def start(self, program: Program) -> None:
        """Have a run of a program timed."""
        for table, operations in program.natives():
            if id(table) not in self._times:
                times = np.zeros((len(operations) + 1, 2), dtype=np.int64)
                self._times[id(table)] = table, times
                table.clock_id = _CLOCK
                table.times = times.ctypes.data
            table.clock = _clock_address()

    def stop(self, program: Program) -> None:
        """Note the times of the run."""
        for table, operations in program.natives():
            table.clock = 0
            times = self._times[id(table)][1] @ np.array([1_000_000_000, 1])
            last = None
            for operation, begin, end in zip(operations, times[:-1], times[1:], strict=True):
                first = operation is not last  # a reduction may need a second launch to join
                self.add(operation, "program", int(begin), int(end - begin), first)
                last = operation

    def call(self, call: Call, run: Callable[..., None], arrays: list[Any]) -> None:
        """Time a call of Python inside a program."""
        start = _now()
        run(call, arrays)
        self.add(call, "python", start, _now() - start)

    def add(
        self, operation: Operation, where: str, start: int, duration: int, counts: bool = True
    ) -> None:
        """Note a launch; of several for one operation only one ``counts`` its work."""
        work = (flops(operation), moved(operation)) if counts else (0, 0)
        self.events.append(Event(operation.name, where, space(operation), start, duration, *work))

    # --- for people -------------------------------------------------------------------------------

    @property
    def limits(self) -> Limits:
        """The limits of the machine; measured when first asked for."""
        return limits()

    def table(self, rows: int = 40) -> str:
        """Launches by name and sizes, those that took longest first."""
        return "\n".join(self._table(rows))

    __str__ = table

    def _table(self, rows: int) -> Iterator[str]:
        groups: dict[Any, list[Event]] = {}
        for event in self.events:
            groups.setdefault((event.name, event.where, event.space), []).append(event)
        found = sorted(groups.items(), key=lambda item: -_nanoseconds(item[1]))
        total = max(_nanoseconds(self.events), 1)
        yield (
            f"{'launch':34} {'where':8} {'sizes':32} {'calls':>6} {'µs each':>9} {'ms':>9} "
            f"{'%':>5} {'GFLOP/s':>8} {'GB/s':>7}"
        )
        for (name, where, sizes), events in found[:rows]:
            spent = max(_nanoseconds(events), 1)
            known = [event.flops for event in events if event.flops is not None]
            rate = f"{sum(known) / spent:8.1f}" if known else f"{'?':>8}"
            yield (
                f"{name[:34]:34} {where:8} {sizes[:32]:32} {len(events):6} "
                f"{spent / len(events) / 1e3:9.2f} {spent / 1e6:9.3f} {100 * spent / total:5.1f} "
                f"{rate} {sum([event.bytes for event in events]) / spent:7.1f}"
            )
        if len(found) > rows:
            yield f"... and {len(found) - rows} more"
        rest = max(self.nanoseconds - total, 0)
        yield (
            f"{len(self.events)} launches, {total / 1e6:.3f} ms; outside of them "
            f"{rest / 1e6:.3f} ms"
        )
        most = self.limits
        yield (
            f"limits of this machine on {most.threads} threads: {most.gflops:.0f} GFLOP/s "
            f"(float32), {most.gigabytes:.1f} GB/s (copy)"
        )

    def export_chrome_trace(self, path: str | pathlib.Path) -> None:
        """Write the launches as a trace: microseconds, one complete event each."""
        trace = [
            {
                "name": event.name,
                "cat": event.where,
                "ph": "X",
                "ts": event.start / 1e3,
                "dur": event.duration / 1e3,
                "pid": os.getpid(),
                "tid": event.where,
                "args": {
                    "sizes": event.space, "flops": event.flops, "bytes": event.bytes,
                },
            }
            for event in self.events
        ]  # fmt: skip
        text = json.dumps({"traceEvents": trace, "displayTimeUnit": "ns"})
        pathlib.Path(path).write_text(text, encoding="utf-8")


def _nanoseconds(events: list[Event]) -> int:
    return sum([event.duration for event in events])


def _clock_address() -> int:
    """Address of the C function that tells the time."""
    try:
        function = ctypes.CDLL(None).clock_gettime
    except (AttributeError, OSError, TypeError) as error:
        raise RuntimeError(
            "profile: this system has no clock_gettime, which timed programs call"
        ) from error
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class _Observer(Observer):
    """An observer that notes when eager operators ran."""

    def __init__(self, profile: Profile):
        super().__init__()
        self._profile = profile
        self._last: tuple[int, int] | None = None

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """Run an operator inside of the ``with`` block, and time it."""
        with super().pause():
            compiling = library.stats().seconds
            start = _now()
            try:
                yield
            finally:
                compiled = library.stats().seconds - compiling
                self._last = start, max(_now() - start - int(1e9 * compiled), 0)

    def note(self, operation: Operation) -> None:
        """Note the operation that ran last; what ran elsewhere has no time and is left out."""
        if self._last is not None:
            self._profile.add(operation, "eager", *self._last)
            self._last = None
        super().note(operation)


__all__ = ["Event", "Profile"]
