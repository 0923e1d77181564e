"""The pointwise operators: one entry each, with formula, gradient where the derived one would be
numerically worse or save more, and the domain from which the tests draw.

Read by the executor, which makes the kernels, and by the tests, which check every entry; `define`
keeps them in the register. Names are ATen's; what torch computes at kinks, poles, infinities and
NaN is what the formulas compute. A tensor and a number share an entry wherever the formula does.
"""

from __future__ import annotations

import math

from ..dtype import bool_
from ..formula import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    ceil,
    copysign,
    cos,
    cosh,
    digamma,
    erf,
    erfc,
    erfinv,
    exp,
    exp2,
    expm1,
    floor,
    floor_divide,
    fmod,
    gelu,
    hypot,
    isfinite,
    isinf,
    isnan,
    lgamma,
    log,
    log1p,
    log2,
    log10,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    ndtr,
    polygamma,
    remainder,
    round,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
    trunc_divide,
    where,
)
from .definition import define

LN2 = math.log(2.0)
SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805

POSITIVE = (0.1, 3.0)
NONZERO = ((-3.0, -0.1), (0.1, 3.0))
WITHIN_ONE = (-0.9, 0.9)
UNIT = (0.05, 0.95)
BETWEEN_INTEGERS = ((-1.9, -1.1), (-0.9, -0.1), (0.1, 0.9), (1.1, 1.9))
ORDERED = {"x": (-3.0, -0.1), "y": (0.1, 3.0)}

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
    if alpha.is_floating_point and not (
        dtypes["x"].is_floating_point or dtypes["y"].is_floating_point
    ):
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
    if not (dtypes["a"].is_floating_point or dtypes["b"].is_floating_point):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported; use addcmul with a reciprocal, "
            "or convert tensor1 or tensor2 to a floating point dtype first."
        )


def one_dtype(dtypes):
    """lerp promotes nothing and takes floats; a number as weight takes their dtype."""
    if not dtypes["x"].is_floating_point:
        raise NotImplementedError(
            f"lerp is not implemented for {dtypes['x'].name}; convert with .to(dtype) first"
        )
    if dtypes["end"] is not dtypes["x"]:
        raise RuntimeError(f"expected dtype {dtypes['x'].name} for `end` but got dtype "
                           f"{dtypes['end'].name}")  # fmt: skip


def same_dtypes(dtypes):
    """heaviside promotes nothing either."""
    if dtypes["x"] is not dtypes["values"]:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


# Arithmetic

define("add", lambda x, y: x + y)
define(
    "add_scaled",
    lambda x, y, alpha: x + alpha * y,
    scalars={"alpha": 1},
    grad_fn="AddBackward0",
    check=fitting_alpha,
)
define("sub", lambda x, y: x - y, dtypes="number", check=no_booleans)
define(
    "sub_scaled",
    lambda x, y, alpha: x - alpha * y,
    scalars={"alpha": 1},
    dtypes="number",
    grad_fn="SubBackward0",
    check=no_booleans_and_fitting_alpha,
)
define(
    "rsub",
    lambda x, y, alpha: y - alpha * x,
    scalars={"alpha": 1},
    dtypes="number",
    in_place=False,
    check=no_booleans_and_fitting_alpha,
)
define("mul", lambda x, y: x * y, aliases=("multiply",))
define(
    "div",
    lambda x, y: x / y,
    gradient={"y": lambda grad, x, y: -grad * ((x / y) / y)},
    domain={"y": NONZERO},
    result="float",
    aliases=("divide", "true_divide"),
)
define(
    "div_floor",
    floor_divide_formula := lambda x, y: floor_divide(x, y),
    domain={"x": (2.1, 2.4), "y": (0.9, 1.0)},
    dtypes="number",
    grad_fn="DivBackward2",
    divides=True,
)
define(
    "div_trunc",
    lambda x, y: trunc_divide(x, y),
    domain={"x": (-0.9, -0.6), "y": (1.0, 3.0)},
    dtypes="number",
    grad_fn="DivBackward2",
    divides=True,
)
define(
    "floor_divide",
    floor_divide_formula,
    domain={"y": NONZERO},
    dtypes="number",
    differentiable=False,
    divides=True,
)
define(
    "remainder",
    lambda x, y: remainder(x, y),
    domain={"x": (2.1, 2.9), "y": (-2.0, -1.5)},
    dtypes="number",
    grad_fn="RemainderBackward1",
    divides=True,
)
define(
    "fmod",
    lambda x, y: fmod(x, y),
    domain={"x": (-2.9, -2.1), "y": (1.5, 2.0)},
    dtypes="number",
    grad_fn="FmodBackward1",
    divides=True,
)
define("neg", lambda x: -x, dtypes="number", aliases=("negative",))
define(
    "reciprocal",
    lambda x: 1 / x,
    gradient={"x": lambda grad, result: -grad * (result * result)},
    domain={"x": NONZERO},
    result="float",
)
define(
    "rdiv",
    lambda x, number: (1 / x) * number,
    domain={"x": NONZERO, "number": (2.0, 3.0)},
    scalars={"number": None},
    promoting=("number",),
    result="float",
    in_place=False,
    grad_fn="MulBackward0",
)
define("abs", lambda x: abs(x), domain={"x": NONZERO}, dtypes="number", aliases=("absolute",))
define("sign", lambda x: sign(x), domain={"x": NONZERO})
define("sgn", lambda x: sign(x), domain={"x": NONZERO})
define("addcmul", lambda x, a, b, value: x + value * a * b, scalars={"value": 1}, dtypes="number")
define(
    "addcdiv",
    lambda x, a, b, value: x + value * a / b,
    gradient={"b": lambda grad, a, b, value: -grad * (value * a / (b * b))},
    domain={"b": NONZERO},
    scalars={"value": 1},
    dtypes="float",
    check=true_division,
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

# Powers

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
)
# The exponents that torch too computes without pow; `pow_scalar` goes here when it meets them.
define("pow_2", lambda x: x * x, dtypes="number", grad_fn="PowBackward0", aliases=("square",))
define(
    "pow_3",
    lambda x: x * x * x,
    dtypes="number",
    grad_fn="PowBackward0",
    gradient={"x": lambda grad, x: grad * (3 * (x * x))},
)
define(
    "pow_half",
    lambda x: sqrt(x),
    domain={"x": POSITIVE},
    dtypes="float",
    gradient={"x": lambda grad, x: grad * 0.5 / sqrt(x)},  # torch saves the input of a power
    grad_fn="PowBackward0",
)
define(
    "pow_minus_half",
    lambda x: rsqrt(x),
    domain={"x": POSITIVE},
    dtypes="float",
    grad_fn="PowBackward0",
)
define(
    "pow_minus_1",
    lambda x: 1 / x,
    domain={"x": NONZERO},
    dtypes="float",
    gradient={"x": lambda grad, x: -grad / (x * x)},
    grad_fn="PowBackward0",
)
define(
    "pow_minus_2",
    lambda x: 1 / (x * x),
    domain={"x": NONZERO},
    dtypes="float",
    gradient={"x": lambda grad, x: grad * -2 / (x * x * x)},
    grad_fn="PowBackward0",
)
define(
    "sqrt",
    lambda x: sqrt(x),
    gradient={"x": lambda grad, result: grad / (2 * result)},
    domain={"x": POSITIVE},
    result="float",
)
define(
    "rsqrt",
    lambda x: rsqrt(x),
    gradient={"x": lambda grad, result: -0.5 * grad * (result * result * result)},
    domain={"x": POSITIVE},
    result="float",
)

# Comparisons and tests; they give bool

define("eq", lambda x, y: x == y, result="bool")
define("ne", lambda x, y: x != y, result="bool", aliases=("not_equal",))
define("lt", lambda x, y: x < y, result="bool", aliases=("less",))
define("le", lambda x, y: x <= y, result="bool", aliases=("less_equal",))
define("gt", lambda x, y: x > y, result="bool", aliases=("greater",))
define("ge", lambda x, y: x >= y, result="bool", aliases=("greater_equal",))
define("isnan", lambda x: isnan(x), result="bool", in_place=False)
define("isinf", lambda x: isinf(x), result="bool", in_place=False)
define("isfinite", lambda x: isfinite(x), result="bool", in_place=False)
define("isposinf", lambda x: isinf(x) & (x > 0), result="bool", in_place=False)
define("isneginf", lambda x: isinf(x) & (x < 0), result="bool", in_place=False)
define(
    "isclose",
    lambda x, y, rtol, atol: (x == y) | (isfinite(y) & (abs(x - y) <= atol + abs(rtol * y))),
    scalars={"rtol": 1e-5, "atol": 1e-8},
    promoting=("rtol", "atol"),
    dtypes="float",
    result="bool",
    in_place=False,
)
define("logical_not", lambda x: logical_not(x), result="bool")
define("logical_and", lambda x, y: logical_and(x, y), result="bool")
define("logical_or", lambda x, y: logical_or(x, y), result="bool")
define("logical_xor", lambda x, y: logical_xor(x, y), result="bool")

# Bits

define("bitwise_not", lambda x: ~x, dtypes="integral")
define("bitwise_and", lambda x, y: x & y, dtypes="integral")
define("bitwise_or", lambda x, y: x | y, dtypes="integral")
define("bitwise_xor", lambda x, y: x ^ y, dtypes="integral")
define("bitwise_left_shift", lambda x, y: x << y, dtypes="integer")
define("bitwise_right_shift", lambda x, y: x >> y, dtypes="integer")

# Selection and bounds

define("where", lambda condition, x, y: where(condition, x, y), in_place=False)
define("masked_fill", lambda x, mask, value: where(mask, value, x))
define(
    "clamp",
    clamp_formula := lambda x, low, high: minimum(maximum(x, low), high),
    gradient={"x": lambda grad, x, low, high: where((x >= low) & (x <= high), grad, 0)},
    domain={"x": ((-3.0, -1.2), (-0.8, 0.8), (1.2, 3.0)), "low": (-1.1, -0.9), "high": (0.9, 1.1)},
    scalars={"low": None, "high": None},
    dtypes="number",
    aliases=("clip",),
    grad_fn="ClampBackward1",
    promoting=("low", "high"),
)
define(
    "clamp_tensor",
    clamp_formula,
    gradient={
        "x": lambda grad, x, low, high: where((x >= low) & (x <= high), grad, 0),
        "low": lambda grad, x, low, high: where((x < low) & (low < high), grad, 0),
        "high": lambda grad, x, low, high: where((x > high) | (high < low), grad, 0),
    },
    domain={"x": ((-3.0, -1.2), (-0.8, 0.8), (1.2, 3.0)), "low": (-1.1, -0.9), "high": (0.9, 1.1)},
    dtypes="number",
    grad_fn="ClampBackward0",
)
define(
    "clamp_min",
    lambda x, low: maximum(x, low),
    gradient={"x": lambda grad, x, low: where(x >= low, grad, 0)},
    domain={"x": NONZERO, "low": (-0.09, 0.09)},
    scalars={"low": None},
    dtypes="number",
    promoting=("low",),
)
define(
    "clamp_min_tensor",
    lambda x, low: maximum(x, low),
    gradient={
        "x": lambda grad, x, low: where(x >= low, grad, 0),
        "low": lambda grad, x, low: where(x < low, grad, 0),
    },
    domain={"x": NONZERO, "low": (-0.09, 0.09)},
    grad_fn="ClampMinBackward1",
)
define(
    "clamp_max",
    lambda x, high: minimum(x, high),
    gradient={"x": lambda grad, x, high: where(x <= high, grad, 0)},
    domain={"x": NONZERO, "high": (-0.09, 0.09)},
    scalars={"high": None},
    dtypes="number",
    promoting=("high",),
)
define(
    "clamp_max_tensor",
    lambda x, high: minimum(x, high),
    gradient={
        "x": lambda grad, x, high: where(x <= high, grad, 0),
        "high": lambda grad, x, high: where(x > high, grad, 0),
    },
    domain={"x": NONZERO, "high": (-0.09, 0.09)},
    grad_fn="ClampMaxBackward1",
)
define("minimum", lambda x, y: minimum(x, y), domain=ORDERED, in_place=False)
define("maximum", lambda x, y: maximum(x, y), domain=ORDERED, in_place=False)
define(
    "fmin",
    lambda x, y: where((x <= y) | isnan(y), x, y),
    domain=ORDERED,
    in_place=False,
)
define(
    "fmax",
    lambda x, y: where((x >= y) | isnan(y), x, y),
    domain=ORDERED,
    in_place=False,
)
define(
    "heaviside",
    lambda x, values: where(x == 0, values, where(x > 0, 1, 0)),
    domain={"x": NONZERO},
    differentiable=False,
    check=same_dtypes,
)
define(
    "nan_to_num",
    lambda x, nan, posinf, neginf: where(
        isnan(x), nan, where(isinf(x), where(x > 0, posinf, neginf), x)
    ),
    gradient={"x": lambda grad, x: where(isfinite(x), grad, 0)},
    scalars={"nan": 0.0, "posinf": None, "neginf": None},
)

# Rounding

define("floor", lambda x: floor(x), domain={"x": BETWEEN_INTEGERS}, dtypes="number")
define("ceil", lambda x: ceil(x), domain={"x": BETWEEN_INTEGERS}, dtypes="number")
define(
    "trunc", lambda x: trunc(x), domain={"x": BETWEEN_INTEGERS}, dtypes="number", aliases=("fix",)
)
define("round", lambda x: round(x), domain={"x": (-0.4, 0.4)}, dtypes="number")
define("frac", lambda x: x - trunc(x), domain={"x": BETWEEN_INTEGERS}, dtypes="float")

# Exponentials and logarithms

define("exp", lambda x: exp(x), gradient={"x": lambda grad, result: grad * result}, result="float")
define(
    "exp2",
    lambda x: exp2(x),
    gradient={"x": lambda grad, result: grad * result * LN2},
    result="float",
)
define(
    "expm1",
    lambda x: expm1(x),
    gradient={"x": lambda grad, result: grad * (result + 1)},
    result="float",
)
define("log", lambda x: log(x), domain={"x": POSITIVE}, result="float")
define(
    "log1p", lambda x: log1p(x), domain={"x": (-0.9, 3.0)}, result="float", grad_fn="Log1PBackward0"
)
define("log2", lambda x: log2(x), domain={"x": POSITIVE}, result="float")
define("log10", lambda x: log10(x), domain={"x": POSITIVE}, result="float")
define(
    "logaddexp",
    lambda x, y: where(isinf(x) & (x == y), x, maximum(x, y) + log1p(exp(-abs(x - y)))),
    gradient={
        "x": lambda grad, x, y: grad / (1 + exp(y - x)),
        "y": lambda grad, x, y: grad / (1 + exp(x - y)),
    },
    dtypes="float",
    in_place=False,
)
define(
    "logaddexp2",
    lambda x, y: where(
        isinf(x) & (x == y), x, maximum(x, y) + log1p(exp2(-abs(x - y))) * (1 / LN2)
    ),
    gradient={
        "x": lambda grad, x, y: grad / (1 + exp2(y - x)),
        "y": lambda grad, x, y: grad / (1 + exp2(x - y)),
    },
    dtypes="float",
    in_place=False,
)
define(
    "xlogy",
    lambda x, y: where(isnan(y), y, where(x == 0, 0, x * log(y))),
    gradient={
        "x": lambda grad, x, y: where((x == 0) & (y <= 0), 0, grad * log(y)),
        "y": lambda grad, x, y: grad * x / y,
    },
    domain={"x": NONZERO, "y": POSITIVE},
    result="float",
)
define(
    "special_xlog1py",
    lambda x, y: where(isnan(y), y, where(x == 0, 0, x * log1p(y))),
    gradient={
        "x": lambda grad, x, y: where((x == 0) & (y <= -1), 0, grad * log1p(y)),
        "y": lambda grad, x, y: grad * x / (y + 1),
    },
    domain={"x": NONZERO, "y": (-0.9, 3.0)},
    result="float",
    in_place=False,
    grad_fn="SpecialXlog1PyBackward0",
)
define(
    "logit",
    lambda x: log(x / (1 - x)),
    gradient={
        "x": lambda grad, x: where((x >= 0) & (x <= 1), grad / (x * (1 - x)), math.nan),
    },
    domain={"x": UNIT},
    result="float",
)
define(
    "logit_clamped",
    lambda x, eps: log(within(x, eps, 1 - eps) / (1 - within(x, eps, 1 - eps))),
    gradient={
        "x": lambda grad, x, eps: where((x >= eps) & (x <= 1 - eps), grad / (x * (1 - x)), 0),
    },
    domain={"x": UNIT, "eps": (0.01, 0.04)},
    scalars={"eps": None},
    result="float",
    grad_fn="LogitBackward0",
)

# Trigonometric functions and their inverses

define("sin", lambda x: sin(x), result="float")
define("cos", lambda x: cos(x), result="float")
define(
    "tan",
    lambda x: tan(x),
    gradient={"x": lambda grad, result: grad * (1 + result * result)},
    domain={"x": (-1.3, 1.3)},
    result="float",
)
define("asin", lambda x: asin(x), domain={"x": WITHIN_ONE}, result="float", aliases=("arcsin",))
define("acos", lambda x: acos(x), domain={"x": WITHIN_ONE}, result="float", aliases=("arccos",))
define("atan", lambda x: atan(x), result="float", aliases=("arctan",))
define(
    "atan2",
    lambda y, x: atan2(y, x),
    gradient={
        "y": lambda grad, y, x: where((x == 0) & (y == 0), 0, grad * (x / (x * x + y * y))),
        "x": lambda grad, y, x: where((x == 0) & (y == 0), 0, grad * (-y / (x * x + y * y))),
    },
    domain={"x": POSITIVE},
    result="float",
    aliases=("arctan2",),
)
define(
    "sinc",
    lambda x: where(x == 0, 1, sin(math.pi * x) / (math.pi * x)),
    gradient={
        "x": lambda grad, x: where(
            x == 0,
            0,
            grad * ((math.pi * x * cos(math.pi * x) - sin(math.pi * x)) / (math.pi * x * x)),
        )
    },
    domain={"x": NONZERO},
    result="float",
)
define("deg2rad", lambda x: x * (math.pi / 180.0), result="float", grad_fn="Deg2RadBackward0")
define("rad2deg", lambda x: x * (180.0 / math.pi), result="float", grad_fn="Rad2DegBackward0")

# Hyperbolic functions and their inverses

define("sinh", lambda x: sinh(x), result="float")
define("cosh", lambda x: cosh(x), result="float")
define(
    "tanh",
    lambda x: tanh(x),
    gradient={"x": lambda grad, result: grad * ((1 - result) * (1 + result))},
    result="float",
)
define("asinh", lambda x: asinh(x), result="float", aliases=("arcsinh",))
define("acosh", lambda x: acosh(x), domain={"x": (1.1, 3.0)}, result="float", aliases=("arccosh",))
define("atanh", lambda x: atanh(x), domain={"x": WITHIN_ONE}, result="float", aliases=("arctanh",))

# Special functions

define("erf", lambda x: erf(x), result="float")
define("erfc", lambda x: erfc(x), result="float")
define(
    "erfinv",
    lambda x: erfinv(x),
    domain={"x": WITHIN_ONE},
    result="float",
    # Not by the result, which may then be written in place: samplers scale it.
    gradient={"x": lambda grad, x: grad * (math.sqrt(math.pi) / 2) * exp(erfinv(x) * erfinv(x))},
)
define("lgamma", lambda x: lgamma(x), domain={"x": POSITIVE}, result="float")
define("digamma", lambda x: digamma(x), domain={"x": POSITIVE}, result="float")
define(
    "polygamma_1",
    lambda x: polygamma(1, x),
    domain={"x": POSITIVE},
    result="float",
    grad_fn="PolygammaBackward0",
)
define(
    "polygamma_2",
    lambda x: polygamma(2, x),
    domain={"x": POSITIVE},
    result="float",
    grad_fn="PolygammaBackward0",
)
define("special_ndtr", lambda x: ndtr(x), result="float", in_place=False, grad_fn="MulBackward1")
define(
    "special_entr",
    lambda x: where(isnan(x), x, where(x > 0, -x * log(x), where(x == 0, 0, -math.inf))),
    gradient={"x": lambda grad, x: grad * where(isnan(x), x, -log(x) - 1)},
    domain={"x": POSITIVE},
    result="float",
    in_place=False,
)

# Activations

define(
    "sigmoid",
    lambda x: sigmoid(x),
    gradient={"x": lambda grad, result: grad * (1 - result) * result},
    result="float",
)
define(
    "log_sigmoid",
    lambda x: minimum(x, 0) - log1p(exp(-abs(x))),
    gradient={"x": lambda grad, x: grad * sigmoid(-x)},
    dtypes="float",
    in_place=False,
)
define(
    "relu",
    lambda x: where(x <= 0, 0, x),
    gradient={"x": lambda grad, result: where(result <= 0, 0, grad)},
    domain={"x": NONZERO},
    dtypes="number",
)
define(
    "hardtanh",
    lambda x, min_val, max_val: minimum(maximum(x, min_val), max_val),
    gradient={"x": lambda grad, x, min_val, max_val: where((x > min_val) & (x < max_val), grad, 0)},
    domain={
        "x": ((-3.0, -1.2), (-0.8, 0.8), (1.2, 3.0)),
        "min_val": (-1.1, -0.9),
        "max_val": (0.9, 1.1),
    },
    scalars={"min_val": -1.0, "max_val": 1.0},
    dtypes="number",
)
define(
    "leaky_relu",
    lambda x, negative_slope: where(x > 0, x, x * negative_slope),
    domain={"x": NONZERO, "negative_slope": (0.01, 0.3)},
    scalars={"negative_slope": 0.01},
    dtypes="float",
)
define(
    "prelu",
    lambda x, weight: where(x > 0, x, weight * x),
    gradient={
        "x": lambda grad, x, weight: where(x > 0, grad, grad * weight),
        "weight": lambda grad, x: where(x > 0, 0, grad * x),
    },
    domain={"x": NONZERO},
    dtypes="float",
    in_place=False,
    grad_fn="PreluKernelBackward0",
)
define(
    "threshold",
    lambda x, threshold, value: where(x <= threshold, value, x),
    gradient={"x": lambda grad, x, threshold: where(x <= threshold, 0, grad)},
    domain={"x": NONZERO, "threshold": (-0.09, 0.09)},
    scalars={"threshold": None, "value": None},
    dtypes="number",
)
define(
    "elu",
    lambda x, alpha, scale, input_scale: where(
        x > 0, x * scale, expm1(x * input_scale) * (alpha * scale)
    ),
    gradient={
        "x": lambda grad, x, alpha, scale, input_scale: where(
            x > 0, grad * scale, grad * (alpha * scale * input_scale) * exp(x * input_scale)
        )
    },
    domain={"x": NONZERO, "alpha": POSITIVE, "scale": POSITIVE, "input_scale": POSITIVE},
    scalars={"alpha": 1.0, "scale": 1.0, "input_scale": 1.0},
    dtypes="float",
)
define(
    "selu",
    lambda x: where(x > 0, x * SELU_SCALE, expm1(x) * (SELU_ALPHA * SELU_SCALE)),
    gradient={
        "x": lambda grad, x: where(
            x > 0, grad * SELU_SCALE, grad * (SELU_ALPHA * SELU_SCALE) * exp(x)
        )
    },
    domain={"x": NONZERO},
    dtypes="float",
    grad_fn="EluBackward0",
)
define(
    "celu",
    lambda x, alpha: where(x > 0, x, expm1(x / alpha) * alpha),
    gradient={"x": lambda grad, x, alpha: where(x > 0, grad, grad * exp(x / alpha))},
    domain={"x": NONZERO, "alpha": (0.5, 2.0)},
    scalars={"alpha": 1.0},
    dtypes="float",
)
define("gelu", lambda x: gelu(x), dtypes="float", in_place=False)
define(
    "gelu_tanh",
    # (1 + tanh(u)) / 2 = sigmoid(2 u), which does not cancel for negative u.
    lambda x: x * sigmoid(2 * SQRT_2_OVER_PI * (x + 0.044715 * (x * x * x))),
    dtypes="float",
    in_place=False,
    grad_fn="GeluBackward0",
)
define(
    "silu",
    lambda x: x / (1 + exp(-x)),
    gradient={"x": lambda grad, x: grad * sigmoid(x) * (1 + x * (1 - sigmoid(x)))},
    dtypes="float",
)
define(
    "mish",
    lambda x: x * tanh(log1p(exp(x))),
    gradient={"x": lambda grad, x: grad * mish_derivative(x)},
    dtypes="float",
)
define(
    "softplus",
    lambda x, beta, threshold: where(x * beta > threshold, x, log1p(exp(x * beta)) / beta),
    gradient={
        "x": lambda grad, x, beta, threshold: where(
            x * beta > threshold, grad, grad * exp(x * beta) / (exp(x * beta) + 1)
        )
    },
    domain={"beta": (0.5, 2.0), "threshold": (19.0, 20.0)},
    scalars={"beta": 1.0, "threshold": 20.0},
    dtypes="float",
    in_place=False,
)
define(
    "softsign",
    lambda x: x / (1 + abs(x)),
    gradient={"x": lambda grad, x: grad / ((1 + abs(x)) * (1 + abs(x)))},
    domain={"x": NONZERO},
    result="float",
    in_place=False,
    grad_fn="DivBackward0",
)
define(
    "tanhshrink",
    lambda x: x - tanh(x),
    gradient={"x": lambda grad, x: grad * (tanh(x) * tanh(x))},
    result="float",
    in_place=False,
    grad_fn="SubBackward0",
)
define(
    "hardsigmoid",
    lambda x: minimum(maximum(x + 3, 0), 6) / 6,
    gradient={"x": lambda grad, x: where((x > -3) & (x < 3), grad * (1 / 6), 0)},
    domain={"x": ((-5.0, -3.2), (-2.8, 2.8), (3.2, 5.0))},
    dtypes="float",
)
define(
    "hardswish",
    lambda x: x * minimum(maximum(x + 3, 0), 6) / 6,
    gradient={"x": lambda grad, x: where(x <= -3, 0, where(x >= 3, grad, grad * (x / 3 + 0.5)))},
    domain={"x": ((-5.0, -3.2), (-2.8, 2.8), (3.2, 5.0))},
    dtypes="float",
)
define(
    "hardshrink",
    lambda x, lambd: where((x >= -lambd) & (x <= lambd), 0, x),
    gradient={"x": lambda grad, x, lambd: where((x < -lambd) | (x > lambd), grad, 0)},
    domain={"x": ((-3.0, -0.7), (-0.3, 0.3), (0.7, 3.0)), "lambd": (0.4, 0.6)},
    scalars={"lambd": 0.5},
    dtypes="float",
    in_place=False,
)
define(
    "softshrink",
    lambda x, lambd: where(x > lambd, x - lambd, where(x < -lambd, x + lambd, x * 0)),
    gradient={"x": lambda grad, x, lambd: where((x < -lambd) | (x > lambd), grad, 0)},
    domain={"x": ((-3.0, -0.7), (-0.3, 0.3), (0.7, 3.0)), "lambd": (0.4, 0.6)},
    scalars={"lambd": 0.5},
    dtypes="float",
    in_place=False,
)

# Losses, element by element

define(
    "mse_loss",
    lambda x, target: (x - target) * (x - target),
    gradient={
        "x": lambda grad, x, target: 2 * (x - target) * grad,
        "target": lambda grad, x, target: 2 * (target - x) * grad,
    },
    dtypes="float",
    in_place=False,
)
define(
    "l1_loss",
    lambda x, target: abs(x - target),
    domain={"x": (0.1, 3.0), "target": (-3.0, 0.0)},
    dtypes="number",
    in_place=False,
    grad_fn="AbsBackward0",
)
define(
    "smooth_l1_loss",
    lambda x, target, beta: where(
        abs(x - target) < beta,
        0.5 * (x - target) * (x - target) / beta,
        abs(x - target) - 0.5 * beta,
    ),
    gradient={
        "x": lambda grad, x, target, beta: smooth_l1_gradient(grad, x - target, beta),
        "target": lambda grad, x, target, beta: smooth_l1_gradient(grad, target - x, beta),
    },
    domain={"x": ((-0.4, 0.4), (2.0, 3.0)), "target": (-0.4, 0.4), "beta": (0.9, 1.1)},
    scalars={"beta": 1.0},
    dtypes="float",
    in_place=False,
)
define(
    "huber_loss",
    lambda x, target, delta: where(
        abs(x - target) <= delta,
        0.5 * (x - target) * (x - target),
        delta * (abs(x - target) - 0.5 * delta),
    ),
    gradient={
        "x": lambda grad, x, target, delta: huber_gradient(grad, x - target, delta),
        "target": lambda grad, x, target, delta: huber_gradient(grad, target - x, delta),
    },
    domain={"x": ((-0.4, 0.4), (2.0, 3.0)), "target": (-0.4, 0.4), "delta": (0.9, 1.1)},
    scalars={"delta": 1.0},
    dtypes="float",
    in_place=False,
)
define(
    "binary_cross_entropy",
    lambda x, target: (target - 1) * maximum(log1p(-x), -100) - target * maximum(log(x), -100),
    gradient={
        "x": lambda grad, x, target: grad * (x - target) / maximum((1 - x) * x, 1e-12),
        "target": lambda grad, x: grad * (maximum(log1p(-x), -100) - maximum(log(x), -100)),
    },
    domain={"x": UNIT, "target": (0.0, 1.0)},
    dtypes="float",
    in_place=False,
)
define(
    "binary_cross_entropy_with_logits",
    lambda x, target: (1 - target) * x - (minimum(x, 0) - log1p(exp(-abs(x)))),
    gradient={
        "x": lambda grad, x, target: (sigmoid(x) - target) * grad,
        "target": lambda grad, x: -x * grad,
    },
    domain={"target": (0.0, 1.0)},
    dtypes="float",
    in_place=False,
)
define(
    "binary_cross_entropy_with_logits_weighted",
    lambda x, target, pos_weight: (
        (1 - target) * x - ((pos_weight - 1) * target + 1) * (minimum(x, 0) - log1p(exp(-abs(x))))
    ),
    gradient={
        "x": lambda grad, x, target, pos_weight: (
            grad * ((pos_weight * target + 1 - target) * sigmoid(x) - pos_weight * target)
        ),
        "target": lambda grad, x, pos_weight: (
            grad * (-x - (pos_weight - 1) * (minimum(x, 0) - log1p(exp(-abs(x)))))
        ),
    },
    domain={"target": (0.0, 1.0), "pos_weight": POSITIVE},
    dtypes="float",
    in_place=False,
    grad_fn="BinaryCrossEntropyWithLogitsBackward0",
)
define(
    "kl_div",
    lambda x, target: (
        where(isnan(target), target, where(target == 0, 0, target * log(target))) - target * x
    ),
    gradient={"x": lambda grad, target: -grad * target},
    domain={"target": POSITIVE},
    dtypes="float",
    in_place=False,
    grad_fn="SubBackward0",
)
define(
    "kl_div_log_target",
    lambda x, target: exp(target) * (target - x),
    dtypes="float",
    in_place=False,
    grad_fn="MulBackward0",
)


def within(x, low, high):
    """x, but low below it and else high above it; not a clamp where low > high."""
    return where(x < low, low, where(x > high, high, x))


def mish_derivative(x):
    """d mish / dx = t + x (1 - t^2) sigmoid(x) with t = tanh(softplus(x))."""
    t = tanh(log1p(exp(x)))
    return t + x * (1 - t * t) * sigmoid(x)


def smooth_l1_gradient(grad, difference, beta):
    """Linear between -beta and beta, constant outside."""
    inside = grad * difference / beta
    return where(difference <= -beta, -grad, where(difference >= beta, grad, inside))


def huber_gradient(grad, difference, delta):
    """Linear between -delta and delta, constant outside."""
    outer = delta * grad
    inside = grad * difference
    return where(difference <= -delta, -outer, where(difference >= delta, outer, inside))
