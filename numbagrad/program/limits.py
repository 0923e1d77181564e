"""Limits of this machine: arithmetic and memory traffic, measured once a process.

The profiler prints what kernels achieve beside these. Both are measured with kernels of the same
kind, on the threads that kernels use.
"""

from __future__ import annotations

import dataclasses
import functools
from time import perf_counter
from typing import Any

import numpy as np

from ..executor.plan.operations import Pointwise
from ..executor.plan.views import Memory, View
from ..executor.threads import pool
from ..formula import Formula, symbol, trace
from .program import Program

_REPETITIONS = 15
_COPIED = 1 << 24  # elements, more than caches hold
_COMPUTED = 1 << 19  # elements, enough for all threads
_CHAINS, _STEPS = 8, 32


@dataclasses.dataclass(frozen=True)
class Limits:
    """Arithmetic in float32 (GFLOP/s), and memory read and written by a copy (GB/s)."""

    gflops: float
    gigabytes: float
    threads: int


def limits() -> Limits:
    """The limits with the threads that kernels use now."""
    return _measured(pool.get_num_threads())


@functools.cache
def _measured(threads: int) -> Limits:
    copied = np.ones(_COPIED, np.float32)
    seconds = _fastest(trace(lambda x: x), [copied])
    gigabytes = 2 * copied.nbytes / seconds / 1e9
    numbers = np.full(_COMPUTED, 0.5, np.float32)
    seconds = _fastest(_multiply_and_add(), [numbers, numbers.copy()])
    gflops = 2 * _CHAINS * _STEPS * _COMPUTED / seconds / 1e9
    return Limits(gflops, gigabytes, threads)


def _multiply_and_add() -> Formula:
    """Fused multiply-adds that do not wait for each other: several chains over registers."""
    x, y = symbol("x"), symbol("y")
    total: Any = 0.0
    for chain in range(_CHAINS):
        value: Any = x + 0.01 * chain
        for _ in range(_STEPS):
            value = value * x + y
        total = total + value
    return Formula(("x", "y"), [total])


def _fastest(formula: Formula, inputs: list[np.ndarray[Any, Any]]) -> float:
    """Seconds of the fastest of some runs of a formula over arrays."""
    arrays = [*inputs, np.empty_like(inputs[0])]
    views = [View(Memory(x, made=False), 0, x.shape, x.strides, x.dtype) for x in arrays]
    operation = Pointwise.of_views("limit", formula, views[:-1], views[-1], "float32")
    program = Program([operation], views, [])
    found = []
    for _ in range(_REPETITIONS):
        start = perf_counter()
        program.run(arrays)
        found.append(perf_counter() - start)
    return min(found)


__all__ = ["Limits", "limits"]
