"""Kernels of single elementary functions, for the tests of `numbagrad.kernels.vector_math`.

A function is traced, lowered and printed as the executor does it, put into the simplest loop, and
compiled by the wrapper that all kernels go through.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

import numpy as np

from numbagrad.formula import print_numba, trace
from numbagrad.formula.expression import make
from numbagrad.kernels.compiler import compile_to_object
from numbagrad.kernels.loader import load
from numbagrad.kernels.vector_math import CPU_BOUNDED, CPU_LOWERING

SIGNATURE = "void(int64, int64, int64)"

#: Every lowering: function, dtype, and whether it is the one for arguments within a bound.
LOWERINGS = [(function, dtype, False) for function, dtype in sorted(CPU_LOWERING)] + [
    (function, dtype, True) for function, dtype in sorted(CPU_BOUNDED)
]


def rules(bounded: bool) -> dict[tuple[str, str], Callable]:
    """The lowering that kernels use for any argument, or for those within every bound."""
    fast = {key: rule for key, (_, rule) in CPU_BOUNDED.items()} if bounded else {}
    return CPU_LOWERING | fast


def within_bound(function: str, dtype: str, bounded: bool, x: np.ndarray) -> np.ndarray:
    """Whether a lowering is meant for each of the arguments; NaN is within every bound."""
    bound = CPU_BOUNDED[function, dtype][0] if bounded else np.inf
    return ~(np.abs(x) > bound)


def loop(function: str, dtype: str, bounded: bool = False) -> Callable[[int, int, int], None]:
    """The function in a loop over `count` elements at the address `source`, ready to compile."""
    formula = trace(lambda x: make(function, x))
    lines, (result,) = print_numba(formula, dtype, rules(bounded))
    body = "\n".join(f"        {line}" for line in lines)
    source = (
        "import math\n"
        "from numbagrad.kernels.intrinsics import *\n"
        "def kernel(source, target, count):\n"
        "    for i in range(count):\n"
        f"        x = load(source, i, {dtype})\n"
        f"{body}\n"
        f"        store(target, i, {result}, {dtype})\n"
    )
    namespace: dict = {}
    exec(source, namespace)
    return namespace["kernel"]


@functools.cache
def compiled(
    function: str, dtype: str, bounded: bool = False
) -> Callable[[np.ndarray], np.ndarray]:
    """The function over contiguous arrays of `dtype`."""
    address = load(compile_to_object(loop(function, dtype, bounded), SIGNATURE), "numbagrad_entry")
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(address)

    def run(x: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(x, dtype=dtype)
        out = np.empty_like(x)
        entry(x.ctypes.data, out.ctypes.data, x.size)
        return out

    return run
