"""``profile``: what ran inside a ``with`` block, by name; schedules of steps that are profiled."""

from __future__ import annotations

import enum
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from ..program.profiling import Event, Profile
from .spans import listeners
from .table import EventList, averages, function_events

__all__ = ["AutogradProfile", "DeviceType", "ProfilerAction", "ProfilerActivity", "profile",
           "schedule", "supported_activities", "tensorboard_trace_handler"]  # fmt: skip


class ProfilerActivity(enum.Enum):
    """Activities that a profile records; only the CPU has any."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3


class DeviceType(enum.Enum):
    """Kinds of devices."""

    CPU = 0
    CUDA = 1


class ProfilerAction(enum.Enum):
    """The action of a profile in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """The activities that a profile can record."""
    return {ProfilerActivity.CPU}


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """Which steps are profiled: ``active`` of them after ``wait`` and ``warmup``, again and again.

    Args:
        repeat: how often; 0 for ever.
        skip_first: steps before the first time.
        skip_first_wait: 1 to leave ``wait`` out the first time.
    """

    def action(step: int) -> ProfilerAction:
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        cycle, position = divmod(step, wait + warmup + active)
        if (repeat and cycle >= repeat) or position < wait:
            return ProfilerAction.NONE
        if position < wait + warmup:
            return ProfilerAction.WARMUP
        last = position == wait + warmup + active - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """A function for ``on_trace_ready`` that writes a trace into a folder."""
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def handle(prof: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        name = f"{worker}.{time.time_ns()}.pt.trace.json"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handle


class _Times:
    """Base of all profiles: they begin, end, and show the operators that ran."""

    def __init__(self) -> None:
        self._profile: Profile | None = None
        self._spans: list[Event] = []

    def _begin(self) -> None:
        self._profile, self._spans = Profile(), []
        self._profile.__enter__()
        listeners.append(self._spans)

    def _end(self) -> None:
        if self._profile is not None and any(each is self._spans for each in listeners):
            listeners[:] = [each for each in listeners if each is not self._spans]
            self._profile.__exit__(None, None, None)

    def _all(self) -> list[Event]:
        if self._profile is None:
            raise AssertionError("Profiler didn't finish running")
        return [*self._profile.events, *self._spans]

    def events(self) -> EventList:
        """Every launch and every marked block."""
        return function_events(self._all())

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, **options: Any
    ) -> EventList:
        """Rows by name, and by shape if asked for."""
        return averages(self.events(), group_by_input_shape)

    def table(self, **options: Any) -> str:
        """``key_averages().table(...)``."""
        return self.key_averages().table(**options)

    def export_chrome_trace(self, path: str) -> None:
        """Write what ran for ``chrome://tracing``."""
        trace = Profile(eager=False)
        trace.events = self._all()
        trace.export_chrome_trace(path)


class profile(_Times):
    """Times what runs inside of a ``with`` block, or between ``start`` and ``stop``.

    Args:
        activities: only the CPU has anything to see.
        schedule: a function from the number of a step to what is done in it.
        on_trace_ready: called with the profile when one is complete.
        record_shapes, profile_memory, with_stack, with_flops, with_modules, and others: accepted;
            shapes are always there, memory and stacks never.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Any = None,
    ) -> None:
        super().__init__()
        self._schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self._ready = on_trace_ready
        self.step_num = 0
        self._action = ProfilerAction.NONE

    def start(self) -> None:
        """Begin."""
        self._enter(self._schedule(self.step_num))

    def stop(self) -> None:
        """End."""
        recording = self._records(self._action)
        self._leave()
        if recording and self._ready is not None:
            self._ready(self)

    def step(self) -> None:
        """Say that the next step begins."""
        before = self._action
        self.step_num += 1
        after = self._schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE or not self._records(after):
            self._leave()
            if before is ProfilerAction.RECORD_AND_SAVE and self._ready is not None:
                self._ready(self)
        self._enter(after)

    @staticmethod
    def _records(action: ProfilerAction) -> bool:
        return action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)

    def _enter(self, action: ProfilerAction) -> None:
        if self._records(action) and not self._records(self._action):
            self._begin()
        self._action = action

    def _leave(self) -> None:
        if self._records(self._action):
            self._end()
        self._action = ProfilerAction.NONE

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()

    def add_metadata(self, key: str, value: str) -> None:
        """Accepted for torch's sake."""

    add_metadata_json = add_metadata


class AutogradProfile(_Times):
    """``torch.autograd.profiler.profile``: times what runs inside of a ``with`` block."""

    def __init__(self, enabled: bool = True, **options: Any) -> None:
        super().__init__()
        self.enabled = enabled

    def __enter__(self) -> AutogradProfile:
        if self.enabled:
            self._begin()
        return self

    def __exit__(self, *error: Any) -> None:
        self._end()

    def total_average(self) -> Any:
        """All of it as one row."""
        return self.key_averages().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all launches."""
        return self.key_averages().self_cpu_time_total
