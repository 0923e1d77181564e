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
from numbagrad.kernels.vector_math import (
    CIRCULAR_BOUND,
    CPU_BOUNDED,
    CPU_INSTRUCTED,
    CPU_LOWERING,
    GELU_BOUND,
    OSCILLATING_BOUND,
)

#: The kinds of lowerings: for every argument on every CPU, for arguments within a bound, and with
#: the instructions of a CPU that has them.
ANY, BOUNDED, INSTRUCTED = "any", "bounded", "instructed"


#: Functions of two arguments, which have tests of their own.
BINARY = (
    "pow", "times_power_of_two", "atan2", "hypot", "fmod", "remainder", "floor_divide",
    "trunc_divide",
)  # fmt: skip

#: The bounded lowering of lgamma holds for positive numbers; it has tests of its own.
POSITIVE = ("lgamma",)

#: Special functions, which are computed in float64: test_special_functions.py has their values.
SPECIAL = tuple(OSCILLATING_BOUND)


def rules(kind: str) -> dict[tuple[str, str], Callable]:
    """The lowerings of a kind."""
    fast = {key: rule for key, (_, rule) in CPU_BOUNDED.items()} if kind == BOUNDED else {}
    return CPU_LOWERING | fast | (dict(CPU_INSTRUCTED) if kind == INSTRUCTED else {})


def _lines(function: str, dtype: str, kind: str) -> tuple[list[str], list[str]]:
    """The function as statements over x, or x and y, and where its result is."""
    if function in BINARY:
        formula = trace(lambda x, y: make(function, x, y))
    else:
        formula = trace(lambda x: make(function, x))
    return print_numba(formula, dtype, rules(kind))


_UNARY = sorted(key for key in CPU_LOWERING if key[0] not in BINARY)

#: Every lowering of a function of one argument that this CPU can run: function, dtype, kind.
LOWERINGS = (
    [(function, dtype, ANY) for function, dtype in _UNARY]
    + [
        (*key, BOUNDED)
        for key in sorted(CPU_BOUNDED)
        if key[0] not in (*BINARY, *POSITIVE, *SPECIAL)
    ]
    + [
        (function, dtype, INSTRUCTED)
        for function, dtype in _UNARY
        if target().vector_bits == 512
        and _lines(function, dtype, INSTRUCTED) != _lines(function, dtype, ANY)
    ]
)


def bound_of(function: str, dtype: str) -> float:
    """The magnitude of the argument up to which the bounded lowering holds."""
    if function == "gelu":
        return GELU_BOUND
    return OSCILLATING_BOUND.get(function, CIRCULAR_BOUND[dtype])


def within_bound(function: str, dtype: str, kind: str, x: np.ndarray) -> np.ndarray:
    """Whether a lowering is meant for each of the arguments; NaN is within every bound."""
    bound = bound_of(function, dtype) if kind == BOUNDED else np.inf
    return ~(np.abs(x) > bound)


def loop(function: str, dtype: str, kind: str = ANY) -> Callable[..., None]:
    """The function in a loop over `count` elements from the addresses of its arguments."""
    lines, (result,) = _lines(function, dtype, kind)
    names = ("x", "y") if function in BINARY else ("x",)
    body = [f"{name} = load(at_{name}, i, {dtype})" for name in names] + lines
    source = (
        "import math\n"
        "from numbagrad.codegen.intrinsics import *\n"
        "from numbagrad.codegen.instructions import *\n"
        f"def kernel({', '.join(f'at_{name}' for name in names)}, target, count):\n"
        "    for i in range(count):\n"
        + "".join(f"        {line}\n" for line in body)
        + f"        store(target, i, {result}, {dtype})\n"
    )
    namespace: dict = {}
    exec(source, namespace)
    return namespace["kernel"]


def signature(function: str) -> str:
    """The signature of the loop of a function."""
    return f"void({', '.join(['int64'] * (4 if function in BINARY else 3))})"


@functools.cache
def compiled(function: str, dtype: str, kind: str = ANY) -> Callable[..., np.ndarray]:
    """The function over contiguous arrays of `dtype`."""
    text = signature(function)
    address = load(compile_to_object(loop(function, dtype, kind), text), "numbagrad_entry")
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * text.count("int64"))(address)

    def run(*arguments: np.ndarray) -> np.ndarray:
        arrays = [np.ascontiguousarray(x, dtype=dtype) for x in arguments]
        out = np.empty_like(arrays[0])
        entry(*[x.ctypes.data for x in (*arrays, out)], out.size)
        return out

    return run
