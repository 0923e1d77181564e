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

from ...codegen import loader
from ...formula import abs, floor, multiply_by_power, reciprocal_estimate, trunc
from ...formula.lowering import float_floor_divide, float_remainder, in_float64
from .arithmetic import FLOAT32, FLOAT64, Value
from .division import (
    fmod_usual,
    integer_quotient,
    integer_rest,
    is_beyond_float64,
    is_unusual_quotient,
)
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
    times_power_of_two,
)
from .gamma import is_unusual_gamma, lgamma_usual
from .logarithm import acosh, asinh, atanh, log, log1p, log2, log10
from .power import is_unusual_power, power, power_usual
from .refinement import near_quotient_refined, near_sqrt_refined
from .roots import hypot
from .trigonometric import (
    acos,
    asin,
    atan,
    atan2,
    cos,
    cos_of_any,
    sin,
    sin_of_any,
    tan,
    tan_of_any,
)

#: Magnitudes up to which the faster lowerings of gelu, and of sine and its kin, hold.
GELU_BOUND = 5.5
CIRCULAR_BOUND = {"float32": 1e4, "float64": 1e14}
#: The same of special functions that take sine and cosine in float64; Airy's of ``x**1.5``.
OSCILLATING_BOUND = {
    **dict.fromkeys(("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_j0"), 1e14),
    "airy_ai": 1e9,
}

_FORMATS = (FLOAT32, FLOAT64)
_FUNCTIONS = (
    exp, exp2, expm1, log, log2, log10, log1p, sigmoid, tanh, sinh, cosh, asinh, acosh, atanh,
    erf, erfc, gelu, asin, acos, atan, atan2, hypot, times_power_of_two,
)  # fmt: skip

#: Integers that are divided as floats, which hold all of them.
_FLOAT_OF_INTEGER = {
    "int8": "float32", "uint8": "float32", "int16": "float32", "int32": "float64",
}  # fmt: skip
_INTEGER_DIVISIONS = {
    "floor_divide": partial(integer_quotient, rounded=floor),
    "trunc_divide": partial(integer_quotient, rounded=trunc),
    "remainder": partial(integer_rest, rounded=floor),
    "fmod": partial(integer_rest, rounded=trunc),
}

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
    **{("pow", f.name): partial(power, f=f) for f in _FORMATS},
    **{
        (name, integer): partial(rule, integer=integer, real=real)
        for integer, real in _FLOAT_OF_INTEGER.items()
        for name, rule in _INTEGER_DIVISIONS.items()
    },
}


def _beyond(bound: float) -> Callable[[Value], Value]:
    """Whether the magnitude of an argument is beyond a bound."""
    return lambda x: abs(x) > bound


def _divisions(fmod: Callable[..., Value]) -> dict[str, Callable[..., Value]]:
    """The operations that are made of a remainder."""
    return {
        "fmod": fmod,
        "remainder": partial(float_remainder, fmod=fmod),
        "floor_divide": partial(float_floor_divide, fmod=fmod),
    }


#: Faster replacements, and what says of arguments that they do not hold. Pointwise kernels use them
#: for the elements for which they do (see `executor.families.pointwise`).
CPU_BOUNDED: Mapping[tuple[str, str], tuple[Callable[..., Value], Callable[..., Value]]] = {
    ("gelu", "float32"): (_beyond(GELU_BOUND), partial(gelu_usual, f=FLOAT32)),
    **{
        ("pow", f.name): (partial(is_unusual_power, f=f), partial(power_usual, f=f))
        for f in _FORMATS
    },
    **{
        ("lgamma", f.name): (partial(is_unusual_gamma, f=f), partial(lgamma_usual, f=f))
        for f in _FORMATS
    },
    **{
        (name, f.name): (partial(is_unusual_quotient, f=f), rule)
        for f in _FORMATS
        for name, rule in _divisions(partial(fmod_usual, f=f)).items()
    },
    **{
        (name, "int64"): (is_beyond_float64, partial(rule, integer="int64", real="float64"))
        for name, rule in _INTEGER_DIVISIONS.items()
    },
    **{
        (function.__name__, f.name): (_beyond(CIRCULAR_BOUND[f.name]), partial(function, f=f))
        for f in _FORMATS
        for function in (sin, cos, tan)
    },
    **{
        (name, f.name): (_beyond(bound), partial(in_float64, name, f.name))
        for f in _FORMATS
        for name, bound in OSCILLATING_BOUND.items()
    },
}

#: Instructions of AVX-512 instead: estimates of reciprocals for a division, and powers of two
#: multiplied by one of the instructions of `codegen/instructions.py`.
CPU_INSTRUCTED: dict[tuple[str, str], Callable[..., Value]] = {
    ("near_quotient", "float32"): near_quotient_refined,
    ("near_sqrt", "float32"): near_sqrt_refined,
    ("rough_reciprocal", "float32"): reciprocal_estimate,
    **{("exp", f.name): partial(exp_instructed, f=f) for f in _FORMATS},
    **{("exp2", f.name): partial(exp2_instructed, f=f) for f in _FORMATS},
    **{("times_power_of_two", f.name): multiply_by_power for f in _FORMATS},
}


def cpu_lowering() -> Mapping[tuple[str, str], Callable[..., Value]]:
    """The rules that hold for every argument, on the CPU that kernels are compiled for."""
    return CPU_LOWERING | (CPU_INSTRUCTED if loader.target().vector_bits == 512 else {})
