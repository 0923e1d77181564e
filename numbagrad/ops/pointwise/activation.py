"""Activations. ``__init__.py`` says what an entry is;
``nn.functional`` gives them torch's names.
"""

from __future__ import annotations

import math

from ...formula import abs, exp, expm1, gelu, log1p, maximum, minimum, sigmoid, tanh, where
from ..operators.definition import HOLOMORPHIC, Refused, analytic, define
from .domains import NONZERO, POSITIVE

SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805

# Activations

analytic(
    "sigmoid",
    lambda x: sigmoid(x),
    gradient={"x": lambda grad, result: grad * (1 - result) * result},
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
    complex=Refused("clamp is not supported for complex types"),
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
    complex=Refused("clamp is not supported for complex types"),
)
define(
    "leaky_relu",
    lambda x, negative_slope: where(x > 0, x, x * negative_slope),
    domain={"x": NONZERO, "negative_slope": (0.01, 0.3)},
    scalars={"negative_slope": 0.01},
    dtypes="float",
    refuses_numbers="computed",
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


def bent(x):
    """``x`` with a derivative of 0 at 0: there exponential units have no curvature."""
    return where(x == 0, 0, x)


define(
    "elu",
    lambda x, alpha, scale, input_scale: where(
        x >= 0, x * scale, expm1(x * input_scale) * (alpha * scale)
    ),
    gradient={
        "x": lambda grad, x, alpha, scale, input_scale: where(
            x > 0, grad * scale, grad * (alpha * scale * input_scale) * exp(bent(x) * input_scale)
        )
    },
    domain={"x": NONZERO, "alpha": POSITIVE, "scale": POSITIVE, "input_scale": POSITIVE},
    scalars={"alpha": 1.0, "scale": 1.0, "input_scale": 1.0},
    dtypes="float",
    refuses_numbers="computed",
)
define(
    "selu",
    lambda x: where(x > 0, x * SELU_SCALE, expm1(x) * (SELU_ALPHA * SELU_SCALE)),
    gradient={
        "x": lambda grad, x: where(
            x > 0, grad * SELU_SCALE, grad * (SELU_ALPHA * SELU_SCALE) * exp(bent(x))
        )
    },
    domain={"x": NONZERO},
    dtypes="float",
    grad_fn="EluBackward0",
)
define(
    "celu",
    lambda x, alpha: where(x >= 0, x, expm1(x / alpha) * alpha),
    gradient={"x": lambda grad, x, alpha: where(x > 0, grad, grad * exp(bent(x) / alpha))},
    domain={"x": NONZERO, "alpha": (0.5, 2.0)},
    scalars={"alpha": 1.0},
    dtypes="float",
    refuses_numbers="computed",
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
    complex=HOLOMORPHIC,
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
    refuses_numbers="computed",
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
analytic(
    "tanhshrink",
    lambda x: x - tanh(x),
    gradient={"x": lambda grad, x: grad * (tanh(x) * tanh(x))},
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


def mish_derivative(x):
    """d mish / dx = t + x (1 - t^2) sigmoid(x) with t = tanh(softplus(x))."""
    t = tanh(log1p(exp(x)))
    return t + x * (1 - t * t) * sigmoid(x)
