"""A program of launches, run for blocks of unit vectors: each block as a whole in one thread.

Launched by ``numbagrad/program/unit_vectors.py``. Threads that share every launch of a program
wait for each other after each; here nobody waits before all blocks are done.
"""

from __future__ import annotations

from ...codegen.atomics import atomic_store, compare_exchange
from ...codegen.intrinsics import call_kernel, float32, float64, int64, store, subroutine
from ...codegen.kernel import kernel
from ...codegen.record import WORD_BYTES, Word, size_of
from ..packing import Arguments
from .program_layout import ProgramTable
from .unit_vectors_layout import Rows, Worker

_WORKER_BYTES = WORD_BYTES * size_of(Worker)


class Blocks(Arguments):
    """Arguments of ``run_blocks``."""

    workers = Word()  # address of the first
    count = Word()  # of them
    start = Word()  # the first row of block 0
    rows = Word()  # of a block


@subroutine
def write_units(worker, start, rows, value):
    """Write ``value`` where the unit vectors from ``start`` on have their ones."""
    bases = Worker(worker).bases
    for k in range(bases.count):
        basis = bases.first[k]
        size = basis.size
        column = start - basis.first
        for row in range(rows):
            if 0 <= column < size:
                if basis.item == 4:
                    store(basis.data, row * size + column, float32(value), float32)
                else:
                    store(basis.data, row * size + column, float64(value), float64)
            column += 1


@subroutine
def run_once(worker, start):
    """Run the program of a worker for the block whose first row is ``start``."""
    table = ProgramTable(Worker(worker).program)
    arrays = Rows(Worker(worker).arrays)
    patches = table.patches.first
    for k in range(table.patches.count):
        patch = patches[k]
        array = arrays[patch.argument]
        address = array.start + start * array.row_bytes
        store(patch.target, 0, address + patch.offset, int64)
    launches = table.launches.first
    for k in range(table.launches.count):
        call_kernel(launches[k].kernel, launches[k].arguments, 0, launches[k].total)


@kernel(takes=Blocks)
def run_blocks(args, lo, hi):
    """Run a program for the blocks ``[lo, hi)``.

    There are as many workers as threads, so that one is free for each.
    """
    given = Blocks(args)
    rows = given.rows
    end = given.workers + _WORKER_BYTES * given.count
    worker = given.workers
    for block in range(lo, hi):
        while not compare_exchange(worker, 0, 1):
            worker += _WORKER_BYTES
            if worker == end:
                worker = given.workers
        start = given.start + block * rows
        write_units(worker, start, rows, 1)
        run_once(worker, start)
        write_units(worker, start, rows, 0)
        atomic_store(worker, 0)
