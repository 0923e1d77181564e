"""Arithmetic and powers. ``__init__.py`` says what an entry is."""

from __future__ import annotations

import math

from ...dtype import bool_
from ...formula import (
    abs,
    bits,
    complex,
    copysign,
    floor_divide,
    fmod,
    from_bits,
    hypot,
    isnan,
    log,
    remainder,
    rsqrt,
    sign,
    sqrt,
    trunc_divide,
    where,
)
from ..operators.definition import HOLOMORPHIC, ComplexRule, Refused, analytic, define
from .domains import NONZERO, ORDERED, POSITIVE

# What torch refuses of operands whose promoted dtype it would take. Each is given the dtypes of the
# operands by name.


def no_booleans(dtypes):
    """Subtraction takes no bool, not even beside another dtype."""
    booleans = [name for name in ("x", "y") if dtypes[name] is bool_]
    if len(booleans) == 2:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    if booleans:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
            "to invert a mask, use the `~` or `logical_not()` operator instead."
        )


def fitting_alpha(dtypes):
    """alpha is of no higher kind than the operands it scales."""
    alpha = dtypes["alpha"]
    if alpha.is_complex and not (dtypes["x"].is_complex or dtypes["y"].is_complex):
        raise RuntimeError(
            "For non-complex input tensors, argument alpha must not be a complex number."
        )
    if alpha.is_floating_point and not (dtypes["x"].has_fractions or dtypes["y"].has_fractions):
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if alpha is bool_ and not (dtypes["x"] is bool_ and dtypes["y"] is bool_):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")


def no_booleans_and_fitting_alpha(dtypes):
    """Both of the above."""
    no_booleans(dtypes)
    fitting_alpha(dtypes)


def true_division(dtypes):
    """addcdiv divides floats; two integers would be rounded."""
    if not (dtypes["a"].has_fractions or dtypes["b"].has_fractions):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported; use addcmul with a reciprocal, "
            "or convert tensor1 or tensor2 to a floating point dtype first."
        )


def one_dtype(dtypes):
    """lerp promotes nothing and takes floats; a number as weight takes their dtype."""
    if not dtypes["x"].has_fractions:
        raise NotImplementedError(
            f"lerp is not implemented for {dtypes['x'].name}; convert with .to(dtype) first"
        )
    if dtypes["end"] is not dtypes["x"]:
        raise RuntimeError(f"expected dtype {dtypes['x'].name} for `end` but got dtype "
                           f"{dtypes['end'].name}")  # fmt: skip


# Arithmetic

define("add", lambda x, y: x + y, complex=HOLOMORPHIC, takes_numbers=True)
define(
    "add_scaled",
    lambda x, y, alpha: x + alpha * y,
    scalars={"alpha": 1},
    grad_fn="AddBackward0",
    check=fitting_alpha,
    complex=HOLOMORPHIC,
    takes_numbers=True,
)
define(
    "sub",
    lambda x, y: x - y,
    dtypes="number",
    check=no_booleans,
    complex=HOLOMORPHIC,
    takes_numbers=True,
)
define(
    "sub_scaled",
    lambda x, y, alpha: x - alpha * y,
    scalars={"alpha": 1},
    dtypes="number",
    grad_fn="SubBackward0",
    check=no_booleans_and_fitting_alpha,
    complex=HOLOMORPHIC,
    takes_numbers=True,
)
define(
    "rsub",
    lambda x, y, alpha: y - alpha * x,
    scalars={"alpha": 1},
    dtypes="number",
    in_place=False,
    check=no_booleans_and_fitting_alpha,
    complex=HOLOMORPHIC,
)
define("mul", lambda x, y: x * y, aliases=("multiply",), complex=HOLOMORPHIC, takes_numbers=True)
analytic(
    "div",
    lambda x, y: x / y,
    gradient={"y": lambda grad, x, y: -grad * ((x / y) / y)},
    domain={"y": NONZERO},
    aliases=("divide", "true_divide"),
    takes_numbers=True,
)
define(
    "div_floor",
    floor_divide_formula := lambda x, y: floor_divide(x, y),
    domain={"x": (2.1, 2.4), "y": (0.9, 1.0)},
    dtypes="number",
    grad_fn="DivBackward2",
    refuses_zero_divisors=True,
    takes_numbers=True,
)
define(
    "div_trunc",
    lambda x, y: trunc_divide(x, y),
    domain={"x": (-0.9, -0.6), "y": (1.0, 3.0)},
    dtypes="number",
    grad_fn="DivBackward2",
    refuses_zero_divisors=True,
    takes_numbers=True,
)
define(
    "floor_divide",
    floor_divide_formula,
    domain={"y": NONZERO},
    dtypes="number",
    differentiable=False,
    refuses_zero_divisors=True,
    discontinuous=True,
    takes_numbers=True,
)
define(
    "remainder",
    lambda x, y: remainder(x, y),
    domain={"x": (2.1, 2.9), "y": (-2.0, -1.5)},
    dtypes="number",
    grad_fn="RemainderBackward1",
    refuses_zero_divisors=True,
    discontinuous=True,
)
define(
    "fmod",
    lambda x, y: fmod(x, y),
    domain={"x": (-2.9, -2.1), "y": (1.5, 2.0)},
    dtypes="number",
    grad_fn="FmodBackward1",
    refuses_zero_divisors=True,
    discontinuous=True,
)
define("neg", lambda x: -x, dtypes="number", aliases=("negative",), complex=HOLOMORPHIC)
define(
    "reciprocal",
    lambda x: 1 / x,
    gradient={"x": lambda grad, result: -grad * (result * result)},
    domain={"x": NONZERO},
    result="float",
    complex=ComplexRule(formula=complex.reciprocal),
)
analytic(
    "rdiv",
    lambda x, number: (1 / x) * number,
    domain={"x": NONZERO, "number": (2.0, 3.0)},
    scalars={"number": None},
    promoting=("number",),
    in_place=False,
    grad_fn="MulBackward0",
    converted=("number",),
)
define(
    "abs",
    lambda x: abs(x),
    domain={"x": NONZERO},
    dtypes="number",
    aliases=("absolute",),
    complex=ComplexRule(
        gradient={"x": lambda grad, x: complex.sgn(x) * grad},
        tangent={"x": lambda tangent, x: complex.real(complex.conj(complex.sgn(x)) * tangent)},
    ),
)
define(
    "angle",
    lambda x: where(isnan(x), math.nan, where(x < 0, math.pi, 0)),
    domain={"x": NONZERO},
    result="float",
    in_place=False,
    complex=ComplexRule(
        formula=complex.angle,
        gradient={"x": lambda grad, x: complex.turning(x) * grad},
        tangent={"x": lambda tangent, x: complex.real(complex.conj(complex.turning(x)) * tangent)},
    ),
)
define(
    "sign",
    lambda x: sign(x),
    domain={"x": NONZERO},
    complex=Refused(
        "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn "
        "instead."
    ),
)
define("sgn", lambda x: sign(x), domain={"x": NONZERO}, complex=ComplexRule(by_parts=True))
define(
    "addcmul",
    lambda x, a, b, value: x + value * a * b,
    scalars={"value": 1},
    dtypes="number",
    complex=HOLOMORPHIC,
    refuses_numbers="computed",
)
define(
    "addcdiv",
    lambda x, a, b, value: x + value * a / b,
    gradient={"b": lambda grad, a, b, value: -grad * (value * a / (b * b))},
    domain={"b": NONZERO},
    scalars={"value": 1},
    dtypes="float",
    check=true_division,
    complex=HOLOMORPHIC,
    refuses_numbers="computed",
)
define(
    "lerp",
    lambda x, end, weight: where(
        abs(weight) < 0.5, x + weight * (end - x), end - (end - x) * (1 - weight)
    ),
    gradient={
        "x": lambda grad, weight: grad * (1 - weight),
        "end": lambda grad, weight: grad * weight,
        "weight": lambda grad, x, end: grad * (end - x),
    },
    dtypes="float",
    grad_fn="LerpBackward1",
    check=one_dtype,
    complex=HOLOMORPHIC,
    bounded_inputs=("weight",),
    refuses_numbers="computed",
)
define(
    "hypot",
    lambda x, y: hypot(x, y),
    gradient={
        "x": lambda grad, x, result: grad * (x / result),
        "y": lambda grad, y, result: grad * (y / result),
    },
    domain={"x": NONZERO},
    dtypes="float",
)
define(
    "copysign",
    lambda x, y: copysign(x, y),
    gradient={"x": lambda grad, x, result: where(x == 0, 0, grad * (result / x))},
    domain={"x": NONZERO, "y": NONZERO},
    result="float",
)


def neighbors(step):
    """A formula of the neighbor of ``x`` on the way to ``y``, of numbers in floats of the kernel.

    Patterns of bits are ordered as magnitudes are. ``step`` is the difference between those of two
    neighbors: 1, or more for numbers that have fewer bits than the floats that hold them.
    """

    def next_after(x, y):
        pattern = bits(x)
        away = from_bits(where((x > 0) == (y > x), pattern + step, pattern - step))
        smallest = copysign(from_bits(bits(x * 0) + step), y)
        return where(isnan(x) | isnan(y), x + y, where(x == y, y, where(x == 0, smallest, away)))

    return next_after


def next_after_in_float16(x, y):
    """The neighbor of a float16 in a float32.

    Magnitudes below 2**-13 are multiples of 2**-24; above lie those of normal numbers, whose last
    bit is the 13th of a float32. Beside infinity is the largest of them.
    """
    upwards = where(y > x, 1, -1)
    by_pattern = neighbors(1 << 13)(x, y)
    sum = x + upwards * 2.0**-24
    beside = where(abs(x) < 2.0**-13, where(x == 0, sum, copysign(sum, x)), by_pattern)
    beside = where((abs(x) == math.inf) & (x != y), copysign(65504.0, x), beside)
    return where(isnan(x) | isnan(y), x + y, where(x == y, y, beside))


define(
    "nextafter",
    neighbors(1),
    gradient={
        "x": lambda grad, x, y: where(x == y, 0, grad),
        "y": lambda grad: 0,
    },
    domain=ORDERED,
    dtypes="float",
    discontinuous=True,
    masked=True,
)

#: The formulas of numbers of half precision, in the floats that hold them.
NEIGHBORS_OF_HALF = {"float16": next_after_in_float16, "bfloat16": neighbors(1 << 16)}

# Powers


def by_exponent(base, exponent, result):
    """The derivative of a complex power by its exponent; 0 for powers of 0."""
    vanishes = (
        complex.equals(base, 0) & (complex.real(exponent) >= 0) & (complex.imag(exponent) == 0)
    )
    return complex.select(vanishes, 0, result * complex.log(base))


def by_number(x, exponent):
    """A complex power by a number: unlike by a tensor, 0 to the power of 0 is 1."""
    return complex.select(complex.equals(exponent, 0), 1, complex.power(x, exponent))


def slope_by_number(base, exponent):
    """The derivative of a complex power by a number."""
    slope = by_number(base, exponent - 1) * exponent
    return complex.select(complex.equals(exponent, 0), 0, slope)


define(
    "pow",
    lambda x, y: x**y,
    gradient={
        "x": lambda grad, x, y: where(y == 0, 0, grad * (y * x ** (y - 1))),
        "y": lambda grad, x, y, result: where((x == 0) & (y >= 0), 0, grad * (result * log(x))),
    },
    domain={"x": POSITIVE},
    dtypes="number",
    grad_fn="PowBackward1",
    complex=ComplexRule(
        gradient={"y": lambda grad, x, y, result: complex.conj(by_exponent(x, y, result)) * grad},
        tangent={"y": lambda tangent, x, y, result: by_exponent(x, y, result) * tangent},
    ),
)
define(
    "pow_scalar",
    lambda x, exponent: x**exponent,
    gradient={
        "x": lambda grad, x, exponent: where(
            exponent == 0, 0, grad * (exponent * x ** (exponent - 1))
        )
    },
    domain={"x": POSITIVE},
    scalars={"exponent": None},
    dtypes="any",
    grad_fn="PowBackward0",
    promoting=("exponent",),
    complex=ComplexRule(
        formula=by_number,
        gradient={"x": lambda grad, x, exponent: complex.conj(slope_by_number(x, exponent)) * grad},
        tangent={"x": lambda tangent, x, exponent: slope_by_number(x, exponent) * tangent},
    ),
    refuses_numbers="narrow",
)
define(
    "rpow",
    lambda x, base: base**x,
    gradient={
        "x": lambda grad, x, base, result: where(
            (base == 0) & (x >= 0), 0, grad * (result * log(base))
        )
    },
    domain={"base": POSITIVE},
    scalars={"base": None},
    in_place=False,
    dtypes="number",
    grad_fn="PowBackward2",
    promoting=("base",),
    complex=ComplexRule(
        formula=lambda x, base: complex.select(complex.equals(base, 1), 1, complex.power(base, x)),
        gradient={
            "x": lambda grad, x, base, result: complex.conj(by_exponent(base, x, result)) * grad
        },
        tangent={"x": lambda tangent, x, base, result: by_exponent(base, x, result) * tangent},
    ),
    converted=("base",),
)
# The exponents that torch too computes without pow; `pow_scalar` goes here when it meets them.
define(
    "pow_2",
    lambda x: x * x,
    dtypes="number",
    grad_fn="PowBackward0",
    aliases=("square",),
    complex=HOLOMORPHIC,
)
define(
    "pow_3",
    lambda x: x * x * x,
    dtypes="number",
    grad_fn="PowBackward0",
    gradient={"x": lambda grad, x: grad * (3 * (x * x))},
    complex=HOLOMORPHIC,
)
define(
    "pow_half",
    lambda x: sqrt(x),
    domain={"x": POSITIVE},
    dtypes="float",
    gradient={"x": lambda grad, x: grad * (0.5 * x**-0.5)},  # torch saves the input of a power
    grad_fn="PowBackward0",
    complex=HOLOMORPHIC,
)
define(
    "pow_minus_half",
    lambda x: rsqrt(x),
    domain={"x": POSITIVE},
    dtypes="float",
    gradient={"x": lambda grad, x: grad * (-0.5 * x**-1.5)},
    grad_fn="PowBackward0",
    complex=HOLOMORPHIC,
)
define(
    "pow_minus_1",
    lambda x: 1 / x,
    domain={"x": NONZERO},
    dtypes="float",
    gradient={"x": lambda grad, x: -grad * x**-2},
    grad_fn="PowBackward0",
    complex=ComplexRule(formula=complex.reciprocal),
)
define(
    "pow_minus_2",
    lambda x: 1 / (x * x),
    domain={"x": NONZERO},
    dtypes="float",
    gradient={"x": lambda grad, x: grad * (-2 * x**-3)},
    grad_fn="PowBackward0",
    complex=ComplexRule(formula=lambda x: complex.reciprocal(x * x)),
)
analytic(
    "sqrt",
    lambda x: sqrt(x),
    gradient={"x": lambda grad, result: grad / (2 * result)},
    domain={"x": POSITIVE},
)
analytic(
    "rsqrt",
    lambda x: rsqrt(x),
    gradient={"x": lambda grad, result: -0.5 * grad * (result * result * result)},
    domain={"x": POSITIVE},
)
