"""Run a program: a table of launches over planned memory, in one call.

Installed as a builtin by ``program/program.py``. Between its kernels there is no Python:
it writes the addresses that change from run to run into the packed arguments, lets go of the GIL,
and runs the launches one after another, each over threads if it is worth that.
"""

from __future__ import annotations

from ..codegen.atomics import call_2
from ..codegen.intrinsics import call_kernel, int64, load, store
from ..kernels.program_layout import (
    LAUNCH_ARGUMENTS,
    LAUNCH_GRAIN,
    LAUNCH_KERNEL,
    LAUNCH_TOTAL,
    LAUNCH_WORDS,
    PATCH_ARGUMENT,
    PATCH_OFFSET,
    PATCH_TARGET,
    PATCH_WORDS,
    PROGRAM_CLOCK,
    PROGRAM_CLOCK_ID,
    PROGRAM_FAILED,
    PROGRAM_LAUNCHES,
    PROGRAM_LAUNCHES_AT,
    PROGRAM_LONG,
    PROGRAM_PATCHES,
    PROGRAM_PATCHES_AT,
    PROGRAM_TIMES,
)
from .heads import ArrayHead, ObjectHead
from .launch import raise_miss, release_gil, restore_gil
from .layout import MISS_OPERAND, Table
from .objects import new_reference
from .threads import parallel_for


def run_program(self, arguments, given):
    """``builtin(*arrays) -> None``: run the program of the table on the memory of the arrays."""
    table = Table(ArrayHead(self).data)
    runtime = table.runtime
    array_type = runtime.array_type
    for k in range(given):
        array = load(arguments, k, int64)
        if ObjectHead(array).type != array_type:
            return raise_miss(runtime, MISS_OPERAND)
    patch = load(table, PROGRAM_PATCHES_AT, int64)
    for _ in range(load(table, PROGRAM_PATCHES, int64)):
        array = load(arguments, load(patch, PATCH_ARGUMENT, int64), int64)
        address = ArrayHead(array).data + load(patch, PATCH_OFFSET, int64)
        store(load(patch, PATCH_TARGET, int64), 0, address, int64)
        patch += 8 * PATCH_WORDS
    state = 0
    long = load(table, PROGRAM_LONG, int64)
    if long != 0:
        state = release_gil()
    pool = runtime.pool
    launch = load(table, PROGRAM_LAUNCHES_AT, int64)
    clock = load(table, PROGRAM_CLOCK, int64)
    time = load(table, PROGRAM_TIMES, int64)
    if clock != 0:
        call_2(clock, load(table, PROGRAM_CLOCK_ID, int64), time)
    for _ in range(load(table, PROGRAM_LAUNCHES, int64)):
        kernel = load(launch, LAUNCH_KERNEL, int64)
        packed = load(launch, LAUNCH_ARGUMENTS, int64)
        total = load(launch, LAUNCH_TOTAL, int64)
        grain = load(launch, LAUNCH_GRAIN, int64)
        if total <= grain:
            call_kernel(kernel, packed, 0, total)
        else:
            parallel_for(pool, kernel, packed, total, grain)
        if load(table, PROGRAM_FAILED, int64) != 0:  # a function of the user's raised
            break
        if clock != 0:
            time += 16  # seconds and nanoseconds
            call_2(clock, load(table, PROGRAM_CLOCK_ID, int64), time)
        launch += 8 * LAUNCH_WORDS
    if long != 0:
        restore_gil(state)
    return new_reference(runtime.none)
