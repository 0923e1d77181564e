"""Events of a profile, summed by name, as a table: what ``key_averages`` returns."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from ..program.profiling import Event

__all__ = ["EventList", "FunctionEvent", "averages", "function_events"]

_COLUMNS = ("cpu_time_total", "self_cpu_time_total", "cpu_time", "count")


@dataclasses.dataclass
class FunctionEvent:
    """Launches, or marked blocks, of one name.

    Attributes:
        key: the name.
        count: how many.
        cpu_time_total: microseconds of all of them.
        self_cpu_time_total: the same without what ran inside of them.
        input_shapes: over what they ran.
        flops: arithmetic by definition.
    """

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    input_shapes: str = ""
    flops: int = 0

    @property
    def name(self) -> str:
        """The name."""
        return self.key

    @property
    def cpu_time(self) -> float:
        """Microseconds of one of them on average."""
        return self.cpu_time_total / self.count

    device_time_total = self_device_time_total = cuda_time_total = device_time = 0.0
    cpu_memory_usage = self_cpu_memory_usage = 0


class EventList(list[FunctionEvent]):
    """A list of events that prints as a table."""

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as text, sorted by a column, the largest first.

        Raises:
            AttributeError: for a column that is not there.
        """
        rows: list[FunctionEvent] = list(self)
        if sort_by is not None:
            rows.sort(key=lambda event: getattr(event, sort_by), reverse=True)
        total = sum(event.self_cpu_time_total for event in self) or 1.0
        width = min(max([len(event.key) for event in self] + [4]), max_name_column_width)
        lines = [header] if header else []
        lines.append(
            f"{'Name':{width}}  {'Self CPU %':>10}  {'Self CPU':>12}  {'CPU total':>12}  "
            f"{'CPU time avg':>12}  {'# of Calls':>10}"
        )
        lines.append("-" * len(lines[-1]))
        for event in rows if row_limit < 0 else rows[:row_limit]:
            share = 100 * event.self_cpu_time_total / total
            lines.append(
                f"{event.key[:width]:{width}}  {share:9.2f}%  "
                f"{_time(event.self_cpu_time_total):>12}  {_time(event.cpu_time_total):>12}  "
                f"{_time(event.cpu_time):>12}  {event.count:10}"
            )
        return "\n".join([*lines, lines[-1][:0] + f"Self CPU time total: {_time(total)}", ""])

    def __str__(self) -> str:
        return self.table()

    def total_average(self) -> FunctionEvent:
        """All of them as one."""
        times = sum(event.self_cpu_time_total for event in self)
        return FunctionEvent("Total", sum(event.count for event in self), times, times)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all of them."""
        return sum(event.self_cpu_time_total for event in self)


def _time(microseconds: float) -> str:
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    return f"{microseconds / 1e3:.3f}ms" if microseconds >= 1e3 else f"{microseconds:.3f}us"


def function_events(events: Iterable[Event]) -> EventList:
    """Each event as a row of its own, in the order of time; blocks without what is inside."""
    rows = sorted(events, key=lambda event: (event.start, -event.duration))
    made = EventList()
    ends: list[tuple[int, FunctionEvent]] = []
    for event in rows:
        while ends and ends[-1][0] <= event.start:
            ends.pop()
        spent = event.duration / 1e3
        if ends:
            ends[-1][1].self_cpu_time_total -= spent
        row = FunctionEvent(event.name, 1, spent, spent, event.space, event.flops or 0)
        ends.append((event.start + event.duration, row))
        made.append(row)
    return made


def averages(events: Iterable[FunctionEvent], by_shape: bool = False) -> EventList:
    """Events of one name, and of one shape if asked for, as one row."""
    rows: dict[Any, FunctionEvent] = {}
    for event in events:
        key = (event.key, event.input_shapes if by_shape else "")
        if key not in rows:
            rows[key] = FunctionEvent(event.key, 0, 0.0, 0.0, key[1])
        row = rows[key]
        row.count += event.count
        row.cpu_time_total += event.cpu_time_total
        row.self_cpu_time_total += event.self_cpu_time_total
        row.flops += event.flops
    return EventList(rows.values())
