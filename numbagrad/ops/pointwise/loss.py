"""Losses, element by element. ``__init__.py`` says what an entry is;
``nn.functional`` reduces them.
"""

from __future__ import annotations

import functools

from ...formula import abs, exp, isnan, log, log1p, maximum, minimum, sigmoid, where
from ..operators.definition import Refused, define
from .domains import POSITIVE, UNIT

# Losses, element by element

define_loss = functools.partial(define, dtypes="float", in_place=False)

define_loss(
    "mse_loss",
    lambda x, target: (x - target) * (x - target),
    gradient={
        "x": lambda grad, x, target: 2 * (x - target) * grad,
        "target": lambda grad, x, target: 2 * (target - x) * grad,
    },
)
define(
    "l1_loss",
    lambda x, target: abs(x - target),
    domain={"x": (0.1, 3.0), "target": (-3.0, 0.0)},
    dtypes="number",
    in_place=False,
    grad_fn="AbsBackward0",
)
define_loss(
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
    converted=("beta",),
)
define_loss(
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
    converted=("delta",),
)
define_loss(
    "binary_cross_entropy",
    lambda x, target: (target - 1) * maximum(log1p(-x), -100) - target * maximum(log(x), -100),
    gradient={
        "x": lambda grad, x, target: grad * (x - target) / maximum((1 - x) * x, 1e-12),
        "target": lambda grad, x: grad * (maximum(log1p(-x), -100) - maximum(log(x), -100)),
    },
    domain={"x": UNIT, "target": (0.0, 1.0)},
)
define_loss(
    "binary_cross_entropy_with_logits",
    lambda x, target: (1 - target) * x - (minimum(x, 0) - log1p(exp(-abs(x)))),
    gradient={
        "x": lambda grad, x, target: (sigmoid(x) - target) * grad,
        "target": lambda grad, x: -x * grad,
    },
    domain={"target": (0.0, 1.0)},
)
define_loss(
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
    grad_fn="BinaryCrossEntropyWithLogitsBackward0",
)
define_loss(
    "kl_div",
    lambda x, target: (
        where(isnan(target), target, where(target == 0, 0, target * log(target))) - target * x
    ),
    gradient={"x": lambda grad, target: -grad * target},
    domain={"target": POSITIVE},
    grad_fn="SubBackward0",
    complex=Refused("kl_div: Complex inputs not supported.", RuntimeError),
)
define_loss(
    "kl_div_log_target", lambda x, target: exp(target) * (target - x), grad_fn="MulBackward0"
)


def smooth_l1_gradient(grad, difference, beta):
    """Linear between -beta and beta, constant outside."""
    inside = grad * difference / beta
    return where(difference <= -beta, -grad, where(difference >= beta, grad, inside))


def huber_gradient(grad, difference, delta):
    """Linear between -delta and delta, constant outside."""
    outer = delta * grad
    inside = grad * difference
    return where(difference <= -delta, -outer, where(difference >= delta, outer, inside))
