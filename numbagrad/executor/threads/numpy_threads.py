"""How many threads the library of linear algebra that NumPy brings takes for one call.

Decompositions of large matrices are calls of LAPACK through NumPy (``ops/linear_algebra/``), and
NumPy's wheels bring OpenBLAS, which has threads of its own. ``set_num_threads`` limits them as well
from here. Nothing is looked for before the first call. Libraries other than OpenBLAS go by their
environment variables.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

import numpy as np

from .cpus import available_cpus

#: Names are changed by what OpenBLAS was built for: NumPy's wheels, 64-bit integers, neither.
_NAMES = (
    "scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}"
)  # fmt: skip


@functools.lru_cache(maxsize=1)
def _functions() -> tuple[Callable[[int], object], Callable[[], int]] | None:
    """Functions of OpenBLAS that set and tell its number of threads; None without OpenBLAS.

    The names are looked for in the extension module that calls LAPACK, and in what it is linked to.
    """
    try:
        library = ctypes.CDLL(np.linalg._umath_linalg.__file__)
    except (AttributeError, OSError):  # another NumPy, or one that is linked into the program
        return None
    for name in _NAMES:
        setter = getattr(library, name.format("set_num_threads"), None)
        getter = getattr(library, name.format("get_num_threads"), None)
        if setter is not None and getter is not None:
            setter.argtypes, setter.restype = [ctypes.c_int], None
            return setter, getter
    return None


def set_threads_of_numpy(count: int) -> None:
    """Have OpenBLAS take ``count`` threads from here on, or one a CPU, if NumPy brings it."""
    functions = _functions()
    if functions is not None:
        functions[0](min(count, available_cpus()))


def threads_of_numpy() -> int | None:
    """How many threads OpenBLAS takes; None if NumPy calls another library."""
    functions = _functions()
    return None if functions is None else functions[1]()
