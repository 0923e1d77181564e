"""A program run for many blocks of unit vectors, each block as a whole in one thread.

``func/blocks.py`` asks here for the rows of a Jacobian. Every thread has a program of its own, with
its own memory for what lies between the launches and for the unit vectors; results are written
where they belong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..codegen.record import array_of, row_of, write_list
from ..executor.hand_written import HandWrittenKernel
from ..executor.plan.operations import Array
from ..kernels.launches.unit_vectors_layout import Basis, Rows, Worker
from .program import Program

_run_blocks = HandWrittenKernel("kernels.launches.unit_vectors", "run_blocks")


class Repeated:
    """Copies of a program that share blocks of rows: of its basis, and of its results.

    Args:
        program: without parts in Python, numbers, and launches that may fail.
        basis: which of what it is given are unit vectors, contiguous, and for each the number of
            the unit vector whose one is its first element.
        workers: how many blocks are computed at once.
    """

    def __init__(self, program: Program, basis: Mapping[int, int], workers: int):
        self._rows = program.given[next(iter(basis))].shape[0]
        self._table = array_of(Worker, workers)
        self._workers = [
            _Worker(
                Program(program.operations, program.given, program.results), basis, Worker(words)
            )
            for words in self._table
        ]

    def run(self, given: Sequence[Array], made: Sequence[Array], start: int, blocks: int) -> None:
        """Compute ``blocks`` blocks of rows of ``made`` from row ``start`` on.

        Args:
            given: arrays that lie as the views that the program is given; of the basis any.
            made: for each result of the program, all rows of it, contiguous.
        """
        for worker in self._workers:
            worker.use(given, made)
        _run_blocks.launch(blocks, 1, self._table, len(self._workers), start, self._rows)


class _Worker:
    """One program, and its words."""

    def __init__(self, program: Program, basis: Mapping[int, int], worker: Worker):
        native = program.native
        if native is None or native.table is None:
            raise ValueError("a program with parts in Python cannot be run for blocks of rows")
        self._program, self._slots = program, native.slots
        self._units = {k: np.zeros(program.given[k].shape, program.given[k].dtype) for k in basis}
        self._arrays = array_of(Rows, len(native.slots))
        units = [
            row_of(Basis, data=x.ctypes.data, first=basis[k], size=x[0].size, item=x.itemsize)
            for k, x in self._units.items()
        ]
        worker.program = native.table.address
        worker.arrays = self._arrays.ctypes.data
        self._bases = write_list(worker.bases, units)

    def use(self, given: Sequence[Array], made: Sequence[Array]) -> None:
        """Note where the arrays of a run lie."""
        for words, slot in zip(self._arrays, self._slots, strict=False):
            if slot >= len(given):
                array = made[slot - len(given)]
                words[:] = array.ctypes.data, array.strides[0]
            else:
                words[:] = self._units.get(slot, given[slot]).ctypes.data, 0


__all__ = ["Repeated"]
