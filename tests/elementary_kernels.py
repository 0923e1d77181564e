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
from numbagrad.kernels.vector_math import CPU_LOWERING

SIGNATURE = "void(int64, int64, int64)"


def loop(function: str, dtype: str) -> Callable[[int, int, int], None]:
    """The function in a loop over `count` elements at the address `source`, ready to compile."""
    formula = trace(lambda x: make(function, x))
    lines, (result,) = print_numba(formula, dtype, CPU_LOWERING)
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
def compiled(function: str, dtype: str) -> Callable[[np.ndarray], np.ndarray]:
    """The function over contiguous arrays of `dtype`."""
    address = load(compile_to_object(loop(function, dtype), SIGNATURE), "numbagrad_entry")
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(address)

    def run(x: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(x, dtype=dtype)
        out = np.empty_like(x)
        entry(x.ctypes.data, out.ctypes.data, x.size)
        return out

    return run
