"""``Timer``: how long a statement takes, and ``Measurement``, what it found."""

from __future__ import annotations

import dataclasses
import statistics
import textwrap
import timeit
from collections.abc import Callable
from typing import Any

from ...executor.threads.pool import get_num_threads, set_num_threads

__all__ = ["Measurement", "Timer"]

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def unit_of(seconds: float) -> tuple[float, str]:
    """A unit in which a time is a number of few digits, and its name."""
    return next((unit for unit in _UNITS if seconds >= unit[0]), _UNITS[-1])


@dataclasses.dataclass
class Measurement:
    """Times of a statement.

    Attributes:
        number_per_run: how often it ran in each of ``raw_times``.
        raw_times: seconds of every run.
        num_threads, stmt, setup, label, sub_label, description, env: as the Timer was told.
    """

    number_per_run: int
    raw_times: list[float]
    num_threads: int = 1
    stmt: str = "stmt"
    setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None

    @property
    def times(self) -> list[float]:
        """Seconds of one call, for every run."""
        return [each / self.number_per_run for each in self.raw_times]

    @property
    def mean(self) -> float:
        """Mean of the times."""
        return statistics.mean(self.times)

    @property
    def median(self) -> float:
        """Median of the times."""
        return statistics.median(self.times)

    @property
    def iqr(self) -> float:
        """Distance of the quartiles of the times."""
        if len(self.raw_times) < 2:
            return 0.0
        quartiles = statistics.quantiles(self.times, n=4, method="inclusive")
        return quartiles[2] - quartiles[0]

    @property
    def title(self) -> str:
        """The statement that was timed."""
        name = self.label or self.stmt
        return f"{name}: {self.sub_label}" if self.sub_label else name

    @property
    def as_row_name(self) -> str:
        """The name that ``Compare`` writes before the row."""
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        unit, name = unit_of(self.median)
        runs = f"{len(self.raw_times)} measurements, {self.number_per_run} runs per measurement"
        spread = f"  IQR:    {self.iqr / unit:.2f} {name}\n" if len(self.raw_times) > 1 else ""
        return (
            f"<{type(self).__module__}.{type(self).__qualname__} object>\n{self.title}\n"
            f"  Median: {self.median / unit:.2f} {name}\n{spread}"
            f"  {runs}, {self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        )

    @staticmethod
    def merge(measurements: Any) -> list[Measurement]:
        """Measurements of the same statement as one, with the times of all."""
        merged: dict[Any, Measurement] = {}
        for each in measurements:
            key = (each.title, each.description, each.env, each.num_threads, each.number_per_run)
            if key in merged:
                merged[key].raw_times += each.raw_times
            else:
                merged[key] = dataclasses.replace(each, raw_times=list(each.raw_times))
        return list(merged.values())


class Timer:
    """Times a statement of Python in text, on one thread if not told otherwise.

    Args:
        stmt, setup: what is timed, and what runs once before; text, as for ``timeit.Timer``.
        global_setup: for C++, which there is none of; has to be empty.
        timer: the clock.
        globals: names that the statement sees.
        label, sub_label, description, env: what tables call it.
        num_threads: how many threads kernels may use.
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timeit.default_timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if str(language).lower() not in ("python", "py"):
            raise NotImplementedError("torch.utils.benchmark.Timer times Python alone here")
        self._names = dict(
            num_threads=num_threads, label=label, sub_label=sub_label, description=description,
            env=env, stmt=textwrap.dedent(stmt), setup=textwrap.dedent(setup),
        )  # fmt: skip
        self._num_threads = num_threads
        self._timer = timeit.Timer(
            textwrap.dedent(stmt), textwrap.dedent(setup), timer=timer, globals=globals or {}
        )

    def _run(self, number: int) -> float:
        threads = get_num_threads()
        set_num_threads(self._num_threads)
        try:
            return self._timer.timeit(number)
        finally:
            set_num_threads(threads)

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, **self._names)  # type: ignore[arg-type]

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Run it ``number`` times, as one measurement; a hundredth of that before it."""
        self._run(max(int(number // 100), 2))
        return self._measured(number, [self._run(number)])

    def _block_size(self, min_run_time: float) -> int:
        """How often to run it at a time, so that the clock is a thousandth of the time or less."""
        overhead = statistics.median([self._run(0) for _ in range(5)])
        number = 1
        while True:
            taken = self._run(number)
            if taken == 0 or (overhead / taken > 1e-4 and taken < min_run_time / 1000):
                number *= 10
            elif taken < min_run_time / 1000 and number < 10**9:
                number *= 10
            else:
                return number

    def blocked_autorange(
        self, callback: Callable[..., Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Run it in blocks for at least ``min_run_time`` seconds, and measure every block."""
        number = self._block_size(min_run_time)
        times: list[float] = []
        while sum(times) < min_run_time:
            times.append(self._run(number))
            if callback is not None:
                callback(number, times[-1])
        return self._measured(number, times)

    autorange = blocked_autorange

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[..., Any] | None = None,
    ) -> Measurement:
        """Run it until the quartiles lie within ``threshold`` of the median, or for the time."""
        number = self._block_size(min_run_time)
        times: list[float] = []
        while True:
            times.append(self._run(number))
            if callback is not None:
                callback(number, times[-1])
            found = self._measured(number, times)
            enough = sum(times) >= min_run_time and len(times) > 3
            if sum(times) >= max_run_time or (enough and found.iqr <= threshold * found.median):
                return found

    def collect_callgrind(self, *arguments: Any, **keywords: Any) -> Any:
        """Instructions counted by Valgrind; not there."""
        raise NotImplementedError(
            "torch.utils.benchmark.Timer.collect_callgrind is not available in numbagrad: "
            "kernels are compiled while the program runs; use blocked_autorange"
        )
