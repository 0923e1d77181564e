"""How many CPUs the process may use, and how many threads by default."""

from __future__ import annotations

import os

from ...native.thread_layout import CAPACITY

__all__: list[str] = []


def available_cpus() -> int:
    """How many CPUs the process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_num_threads() -> int:
    """Number of threads that the environment asks for, or CPUs that the process may use."""
    for variable in ("NUMBAGRAD_NUM_THREADS", "OMP_NUM_THREADS"):
        # OpenMP allows a list, one entry for each level of nesting; the first is ours.
        text = os.environ.get(variable, "").split(",")[0].strip()
        if text.isdecimal() and int(text) > 0:
            return min(int(text), CAPACITY)
    return min(available_cpus(), CAPACITY)
