"""Exponentials, logarithms, circular, hyperbolic and special functions.

``__init__.py`` says what an entry is.
"""

from __future__ import annotations

import math

from ...formula import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    complex,
    cos,
    cosh,
    digamma,
    erf,
    erfc,
    erfinv,
    exp,
    exp2,
    expm1,
    isinf,
    isnan,
    lgamma,
    log,
    log1p,
    log2,
    log10,
    maximum,
    ndtr,
    polygamma,
    sin,
    sinh,
    tan,
    tanh,
    where,
    xlog1py,
    xlogy,
)
from ..operators.definition import ComplexRule, Refused, analytic, define
from .domains import NONZERO, POSITIVE, UNIT, WITHIN_ONE

LN2 = math.log(2.0)

# Exponentials and logarithms

analytic("exp", lambda x: exp(x), gradient={"x": lambda grad, result: grad * result})
analytic("exp2", lambda x: exp2(x), gradient={"x": lambda grad, result: grad * result * LN2})
analytic("expm1", lambda x: expm1(x), gradient={"x": lambda grad, result: grad * (result + 1)})
analytic("log", lambda x: log(x), domain={"x": POSITIVE})
analytic("log1p", lambda x: log1p(x), domain={"x": (-0.9, 3.0)}, grad_fn="Log1PBackward0")
analytic("log2", lambda x: log2(x), domain={"x": POSITIVE})
analytic("log10", lambda x: log10(x), domain={"x": POSITIVE})
define(
    "logaddexp",
    lambda x, y: where(isinf(x) & (x == y), x, maximum(x, y) + log1p(exp(-abs(x - y)))),
    gradient={
        "x": lambda grad, x, y: grad / (1 + exp(y - x)),
        "y": lambda grad, x, y: grad / (1 + exp(x - y)),
    },
    dtypes="float",
    in_place=False,
    complex=ComplexRule(
        formula=complex.log_add,
        gradient={
            "x": lambda grad, x, y: grad * complex.conj(complex.share(x, y)),
            "y": lambda grad, x, y: grad * complex.conj(complex.share(y, x)),
        },
        tangent={
            "x": lambda tangent, x, y: tangent * complex.share(x, y),
            "y": lambda tangent, x, y: tangent * complex.share(y, x),
        },
    ),
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
    lambda x, y: xlogy(x, y),
    gradient={
        "x": lambda grad, x, y: where((x == 0) & (y <= 0), 0, xlogy(grad, y)),
        "y": lambda grad, x, y: grad * x / y,
    },
    domain={"x": NONZERO, "y": POSITIVE},
    result="float",
)
define(
    "special_xlog1py",
    lambda x, y: xlog1py(x, y),
    gradient={
        "x": lambda grad, x, y: where((x == 0) & (y <= -1), 0, xlog1py(grad, y)),
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

analytic("sin", lambda x: sin(x))
analytic("cos", lambda x: cos(x))
analytic(
    "tan",
    lambda x: tan(x),
    gradient={"x": lambda grad, result: grad * (1 + result * result)},
    domain={"x": (-1.3, 1.3)},
)
analytic("asin", lambda x: asin(x), domain={"x": WITHIN_ONE}, aliases=("arcsin",))
analytic("acos", lambda x: acos(x), domain={"x": WITHIN_ONE}, aliases=("arccos",))
analytic("atan", lambda x: atan(x), aliases=("arctan",))
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
analytic(
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
)
define(
    "deg2rad",
    lambda x: x * (math.pi / 180.0),
    result="float",
    grad_fn="Deg2RadBackward0",
    complex=Refused("deg2rad is not supported for complex tensors.", RuntimeError),
)
define(
    "rad2deg",
    lambda x: x * (180.0 / math.pi),
    result="float",
    grad_fn="Rad2DegBackward0",
    complex=Refused("rad2deg is not supported for complex tensors.", RuntimeError),
)

# Hyperbolic functions and their inverses

analytic("sinh", lambda x: sinh(x))
analytic("cosh", lambda x: cosh(x))
analytic(
    "tanh",
    lambda x: tanh(x),
    gradient={"x": lambda grad, result: grad * ((1 - result) * (1 + result))},
)
analytic("asinh", lambda x: asinh(x), aliases=("arcsinh",))
define(
    "acosh",
    lambda x: acosh(x),
    domain={"x": (1.1, 3.0)},
    result="float",
    aliases=("arccosh",),
    # One root would have another sign left of 0.
    complex=ComplexRule(
        gradient={
            "x": lambda grad, x: complex.conj(complex.rsqrt(x - 1) * complex.rsqrt(x + 1)) * grad
        },
        tangent={"x": lambda tangent, x: complex.rsqrt(x - 1) * complex.rsqrt(x + 1) * tangent},
    ),
)
analytic("atanh", lambda x: atanh(x), domain={"x": WITHIN_ONE}, aliases=("arctanh",))

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


def within(x, low, high):
    """x, but low below it and else high above it; not a clamp where low > high."""
    return where(x < low, low, where(x > high, high, x))
