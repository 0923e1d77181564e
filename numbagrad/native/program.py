"""Run a program: a table of launches over planned memory, in one call.

Installed as a builtin by ``program/program.py``. Between its kernels there is no Python:
it writes the addresses that change from run to run into the packed arguments, lets go of the GIL,
and runs the launches one after another, each over threads if it is worth that.
"""

from __future__ import annotations

from ..codegen.atomics import call_2
from ..codegen.intrinsics import call_kernel, int64, load, store
from ..kernels.launches.program_layout import ProgramTable
from .launch import raise_miss, release_gil, restore_gil
from .layout import MISS_OPERAND, Table
from .object_heads import ArrayHead, ObjectHead
from .objects import new_reference
from .threads import parallel_for


def run_program(self, arguments, given):
    """``builtin(*arrays) -> None``: run the program of the table on the memory of the arrays."""
    table = ProgramTable(ArrayHead(self).data)
    runtime = Table(table).runtime
    array_type = runtime.array_type
    for k in range(given):
        array = load(arguments, k, int64)
        if ObjectHead(array).type != array_type:
            return raise_miss(runtime, MISS_OPERAND)
    patches = table.patches.first
    for k in range(table.patches.count):
        patch = patches[k]
        array = load(arguments, patch.argument, int64)
        store(patch.target, 0, ArrayHead(array).data + patch.offset, int64)
    state = 0
    long = table.long
    if long != 0:
        state = release_gil()
    pool = runtime.pool
    clock = table.clock
    time = table.times
    if clock != 0:
        call_2(clock, table.clock_id, time)
    launches = table.launches.first
    for k in range(table.launches.count):
        launch = launches[k]
        if launch.total <= launch.grain:
            call_kernel(launch.kernel, launch.arguments, 0, launch.total)
        else:
            parallel_for(pool, launch.kernel, launch.arguments, launch.total, launch.grain)
        if table.failed != 0:  # a function of the user's raised
            break
        if clock != 0:
            time += 16  # seconds and nanoseconds
            call_2(clock, table.clock_id, time)
    if long != 0:
        restore_gil(state)
    return new_reference(runtime.none)
