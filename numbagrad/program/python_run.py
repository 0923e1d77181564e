"""The launches of a program as calls of Python functions, kernel after kernel, on one thread.

Stands for ``native/program.py`` where kernels are not compiled, and in tests that compare the two.
It reads the tables that ``program.py`` writes for the compiled launcher.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..codegen import addresses
from ..kernels.launches.program_layout import ProgramTable

Array = np.ndarray[Any, Any]


class PythonRun:
    """``run(*arrays)``: the launches of a table on the memory of the arrays, as Python."""

    def __init__(self, table: ProgramTable):
        self._table = table

    def __call__(self, *arrays: Array) -> None:
        table = self._table
        for k in range(table.patches.count):
            patch = table.patches.first[k]
            address = arrays[patch.argument].ctypes.data + patch.offset
            addresses.store_element(patch.target, 0, address, "int64")
        for k in range(table.launches.count):
            launch = table.launches.first[k]
            addresses.run_kernel(launch.kernel, launch.arguments, 0, launch.total)
            if table.failed:
                return


def run_as_python(program: Any) -> None:
    """Have a program run its kernels as Python from now on."""
    for part in program._parts:
        if hasattr(part, "launches"):
            part.run = PythonRun(part.table)
