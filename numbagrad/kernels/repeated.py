"""A program of launches, run for blocks of unit vectors: each block as a whole in one thread.

Launched by ``numbagrad/program/repeated.py``. Threads that share every launch of a program
wait for each other after each; here nobody waits before all blocks are done.
"""

from __future__ import annotations

from ..codegen.atomics import atomic_store, compare_exchange
from ..codegen.intrinsics import call_kernel, float32, float64, int64, load, store, subroutine
from ..codegen.kernel import kernel
from .program_layout import (
    LAUNCH_ARGUMENTS,
    LAUNCH_KERNEL,
    LAUNCH_TOTAL,
    LAUNCH_WORDS,
    PATCH_ARGUMENT,
    PATCH_OFFSET,
    PATCH_TARGET,
    PATCH_WORDS,
    PROGRAM_LAUNCHES,
    PROGRAM_LAUNCHES_AT,
    PROGRAM_PATCHES,
    PROGRAM_PATCHES_AT,
)
from .repeated_layout import (
    ARRAY_ADDRESS,
    ARRAY_ROW_BYTES,
    ARRAY_WORDS,
    BASIS_ADDRESS,
    BASIS_FIRST,
    BASIS_ITEM,
    BASIS_SIZE,
    BASIS_WORDS,
    WORKER_ARRAYS,
    WORKER_BASES,
    WORKER_BASES_AT,
    WORKER_BUSY,
    WORKER_PROGRAM,
    WORKER_WORDS,
)


@subroutine
def write_units(worker, start, rows, value):
    """Write ``value`` where the unit vectors from ``start`` on have their ones."""
    basis = load(worker, WORKER_BASES_AT, int64)
    for _ in range(load(worker, WORKER_BASES, int64)):
        address = load(basis, BASIS_ADDRESS, int64)
        size = load(basis, BASIS_SIZE, int64)
        column = start - load(basis, BASIS_FIRST, int64)
        for row in range(rows):
            if 0 <= column < size:
                if load(basis, BASIS_ITEM, int64) == 4:
                    store(address, row * size + column, float32(value), float32)
                else:
                    store(address, row * size + column, float64(value), float64)
            column += 1
        basis += 8 * BASIS_WORDS


@subroutine
def run_once(worker, start):
    """Run the program of a worker for the block whose first row is ``start``."""
    table = load(worker, WORKER_PROGRAM, int64)
    arrays = load(worker, WORKER_ARRAYS, int64)
    patch = load(table, PROGRAM_PATCHES_AT, int64)
    for _ in range(load(table, PROGRAM_PATCHES, int64)):
        array = arrays + 8 * ARRAY_WORDS * load(patch, PATCH_ARGUMENT, int64)
        address = load(array, ARRAY_ADDRESS, int64) + start * load(array, ARRAY_ROW_BYTES, int64)
        target = load(patch, PATCH_TARGET, int64)
        store(target, 0, address + load(patch, PATCH_OFFSET, int64), int64)
        patch += 8 * PATCH_WORDS
    launch = load(table, PROGRAM_LAUNCHES_AT, int64)
    for _ in range(load(table, PROGRAM_LAUNCHES, int64)):
        kernel = load(launch, LAUNCH_KERNEL, int64)
        packed = load(launch, LAUNCH_ARGUMENTS, int64)
        call_kernel(kernel, packed, 0, load(launch, LAUNCH_TOTAL, int64))
        launch += 8 * LAUNCH_WORDS


@kernel
def run_blocks(args, lo, hi):
    """Run a program for the blocks ``[lo, hi)``.

    Words: the table of workers, how many there are, the first row of block 0, rows of a block.
    There are as many workers as threads, so that one is free for each.
    """
    workers = load(args, 0, int64)
    end = workers + 8 * WORKER_WORDS * load(args, 1, int64)
    rows = load(args, 3, int64)
    worker = workers
    for block in range(lo, hi):
        while not compare_exchange(worker + 8 * WORKER_BUSY, 0, 1):
            worker += 8 * WORKER_WORDS
            if worker == end:
                worker = workers
        start = load(args, 2, int64) + block * rows
        write_units(worker, start, rows, 1)
        run_once(worker, start)
        write_units(worker, start, rows, 0)
        atomic_store(worker + 8 * WORKER_BUSY, 0)
