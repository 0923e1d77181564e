"""Kernels of single elementary functions, for the tests of `numbagrad.kernels.vector_math`.

A function is traced, lowered and printed as the executor does it, put into the simplest loop, and
compiled by the wrapper that all kernels go through.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

import numpy as np

from numbagrad.codegen.compiler import compile_to_object
from numbagrad.codegen.loader import load, target
from numbagrad.formula import print_numba, trace
from numbagrad.formula.expression import make
from numbagrad.kernels.vector_math import CPU_BOUNDED, CPU_INSTRUCTED, CPU_LOWERING

SIGNATURE = "void(int64, int64, int64)"

#: The kinds of lowerings: for every argument on every CPU, for arguments within a bound, and with
#: the instructions of a CPU that has them.
ANY, BOUNDED, INSTRUCTED = "any", "bounded", "instructed"


def rules(kind: str) -> dict[tuple[str, str], Callable]:
    """The lowerings of a kind."""
    fast = {key: rule for key, (_, rule) in CPU_BOUNDED.items()} if kind == BOUNDED else {}
    return CPU_LOWERING | fast | (dict(CPU_INSTRUCTED) if kind == INSTRUCTED else {})


def _lines(function: str, dtype: str, kind: str) -> tuple[list[str], list[str]]:
    """The function as statements, and where its result is."""
    return print_numba(trace(lambda x: make(function, x)), dtype, rules(kind))


#: Every lowering that this CPU can run: function, dtype, and its kind.
LOWERINGS = (
    [(function, dtype, ANY) for function, dtype in sorted(CPU_LOWERING)]
    + [(function, dtype, BOUNDED) for function, dtype in sorted(CPU_BOUNDED)]
    + [
        (function, dtype, INSTRUCTED)
        for function, dtype in sorted(CPU_LOWERING)
        if target().vector_bits == 512
        and _lines(function, dtype, INSTRUCTED) != _lines(function, dtype, ANY)
    ]
)


def within_bound(function: str, dtype: str, kind: str, x: np.ndarray) -> np.ndarray:
    """Whether a lowering is meant for each of the arguments; NaN is within every bound."""
    bound = CPU_BOUNDED[function, dtype][0] if kind == BOUNDED else np.inf
    return ~(np.abs(x) > bound)


def loop(function: str, dtype: str, kind: str = ANY) -> Callable[[int, int, int], None]:
    """The function in a loop over `count` elements at the address `source`, ready to compile."""
    lines, (result,) = _lines(function, dtype, kind)
    body = "\n".join(f"        {line}" for line in lines)
    source = (
        "import math\n"
        "from numbagrad.codegen.intrinsics import *\n"
        "from numbagrad.codegen.instructions import *\n"
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
def compiled(function: str, dtype: str, kind: str = ANY) -> Callable[[np.ndarray], np.ndarray]:
    """The function over contiguous arrays of `dtype`."""
    address = load(compile_to_object(loop(function, dtype, kind), SIGNATURE), "numbagrad_entry")
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(address)

    def run(x: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(x, dtype=dtype)
        out = np.empty_like(x)
        entry(x.ctypes.data, out.ctypes.data, x.size)
        return out

    return run
