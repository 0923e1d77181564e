"""The launches of a program as calls of Python functions, kernel after kernel, on one thread.

Stands for ``native/program.py`` where kernels are not compiled, and in tests that compare the two.
It reads the tables that ``program.py`` writes for the compiled launcher.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..codegen import addresses
from ..kernels import program_layout as words

Array = np.ndarray[Any, Any]


class PythonRun:
    """``run(*arrays)``: the launches of a table on the memory of the arrays, as Python."""

    def __init__(self, table: Array, launches: Array, patches: Array):
        self._table = table
        self._launches = launches
        self._patches = patches[: int(table[words.PROGRAM_PATCHES])]

    def __call__(self, *arrays: Array) -> None:
        for target, argument, offset in self._patches.tolist():
            addresses.store_element(target, 0, arrays[argument].ctypes.data + offset, "int64")
        for launch in self._launches.tolist():
            addresses.run_kernel(
                launch[words.LAUNCH_KERNEL], launch[words.LAUNCH_ARGUMENTS], 0,
                launch[words.LAUNCH_TOTAL],
            )  # fmt: skip
            if self._table[words.PROGRAM_FAILED]:
                return


def run_as_python(program: Any) -> None:
    """Have a program run its kernels as Python from now on."""
    for part in program._parts:
        if hasattr(part, "launches"):
            _, launches, patches = part.keep
            part.run = PythonRun(part.table, launches, patches)
