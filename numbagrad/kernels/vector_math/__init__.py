"""Elementary functions as branch-free arithmetic, so that LLVM turns their loops into vectors.

The printers of `formula/` call the functions in `CPU_LOWERING` on symbolic values just before a CPU
kernel is printed; every function returns the expression that replaces a call of exp, log, erf, ...
They use the primitives of `numbagrad.formula` and nothing else: no tables, no loops over data, no
calls of a C library, and `where` instead of branches.

A module holds a family of functions and their coefficients. The polynomials and ratios are
near-minimax fits (Lawson's reweighted least squares in 50 digits, then the coefficients rounded
from the lowest up and the rest fitted again); the comment at each says what it approximates, where,
and with what relative error of the function's result. Errors of whole functions are bounded in
tests/test_math_accuracy.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from ...formula import reciprocal_estimate
from .arithmetic import FLOAT32, FLOAT64, Value
from .error_function import erf, erfc, gelu, gelu_gradient_float32, gelu_usual
from .exponential import (
    cosh,
    exp,
    exp2,
    exp2_instructed,
    exp_instructed,
    expm1,
    sigmoid,
    sinh,
    tanh,
)
from .logarithm import acosh, asinh, atanh, log, log1p, log2, log10
from .refinement import near_quotient_refined, near_sqrt_refined
from .trigonometric import acos, asin, atan, cos, cos_of_any, sin, sin_of_any, tan, tan_of_any

_FORMATS = (FLOAT32, FLOAT64)
_FUNCTIONS = (
    exp, exp2, expm1, log, log2, log10, log1p, sigmoid, tanh, sinh, cosh, asinh, acosh, atanh,
    erf, erfc, gelu, asin, acos, atan,
)  # fmt: skip

#: (function, dtype) -> the function over symbolic values that replaces it in a CPU kernel, good for
#: every argument. What is not here is left to the C library (sine and its kin in float64)
#: or to `formula.lowering`.
CPU_LOWERING: dict[tuple[str, str], Callable[..., Value]] = {
    (function.__name__, f.name): partial(function, f=f) for function in _FUNCTIONS for f in _FORMATS
} | {
    ("sin", "float32"): partial(sin_of_any, f=FLOAT32),
    ("cos", "float32"): partial(cos_of_any, f=FLOAT32),
    ("tan", "float32"): partial(tan_of_any, f=FLOAT32),
    ("gelu_gradient", "float32"): gelu_gradient_float32,
}

#: Faster replacements, and the magnitude of the argument up to which they hold. Pointwise kernels
#: use them for the elements within it (see `executor.pointwise`).
CPU_BOUNDED: Mapping[tuple[str, str], tuple[float, Callable[..., Value]]] = {
    ("gelu", "float32"): (5.5, partial(gelu_usual, f=FLOAT32)),
} | {
    (function.__name__, f.name): (bound, partial(function, f=f))
    for f, bound in ((FLOAT32, 1e4), (FLOAT64, 1e14))
    for function in (sin, cos, tan)
}

#: What CPUs with AVX-512 have instead: estimates of reciprocals for a division, and powers of two
#: multiplied by one of the instructions of `codegen/instructions.py`.
CPU_INSTRUCTED: Mapping[tuple[str, str], Callable[..., Value]] = {
    ("near_quotient", "float32"): near_quotient_refined,
    ("near_sqrt", "float32"): near_sqrt_refined,
    ("rough_reciprocal", "float32"): reciprocal_estimate,
    **{("exp", f.name): partial(exp_instructed, f=f) for f in _FORMATS},
    **{("exp2", f.name): partial(exp2_instructed, f=f) for f in _FORMATS},
}
