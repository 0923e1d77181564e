"""The formulas of the updates: each is one kernel that overwrites its first operand.

The optimizers call ``into(tensor, operands)`` of these; numbers are operands too, so that another
learning rate needs no other kernel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..formula import abs, near_quotient, near_sqrt, sign, sqrt, where
from ..formula import maximum as larger
from ..formula import minimum as smaller
from ..formula.complex import Complex, imag, real
from ..ops.operators.definition import ComplexRule, PointwiseDefinition
from ..ops.operators.pointwise_operator import PointwiseOperator, pointwise
from ..tensor import Tensor

Update = Callable[[Tensor, tuple[Any, ...]], None]


def _update(formula: Callable[..., Any], name: str) -> Update:
    rule = ComplexRule(formula=functools.partial(_of_each_part, formula))
    return PointwiseOperator(PointwiseDefinition(name, formula, complex=rule)).into


def _of_each_part(formula: Callable[..., Any], **values: Any) -> Complex:
    """A formula for the real and for the imaginary part: a complex parameter is two real ones."""
    return Complex(
        *[
            formula(**{
                name: part(x) if isinstance(x, Complex) else x for name, x in values.items()
            })
            for part in (real, imag)
        ]
    )  # fmt: skip


#: ``x + factor * y``.
add_scaled: Update = pointwise("add_scaled").into
#: ``x + weight * (y - x)``.
lerp: Update = pointwise("lerp").into
#: The larger of both, of complex numbers in each part.
maximum = _update(lambda x, y: larger(x, y), "largest_square")

#: ``decay * x + rate * y``: a momentum.
accumulate = _update(lambda x, y, decay, rate: x * decay + rate * y, "accumulate")
#: ``decay * x + rate * y ** 2``: a mean of squares.
accumulate_square = _update(lambda x, y, decay, rate: x * decay + rate * y * y, "accumulate_square")
#: SGD with Nesterov momentum: ``x + rate * (grad + momentum * buffer)``.
nesterov = _update(
    lambda x, grad, buffer, momentum, rate: x + rate * (grad + momentum * buffer), "nesterov"
)
#: The smallest normal number of float32: an estimated quotient needs a denominator as large.
_LEAST = 2.0**-126


def _with_eps(root: Any, eps: Any) -> Any:
    """``root + eps``, where an eps that is not zero is no less than ``_LEAST``.

    The root of any square that is not zero is far above that.
    """
    return root + where((eps > 0) & (eps < _LEAST), _LEAST, eps)


#: ``decay * x + rate * direction / (sqrt(square) + eps)``: Adam, RMSprop, Adagrad. The divider
#: would take half of the time of such a step, so root and quotient are within a unit in the last
#: place only.
divide_by_root = _update(
    lambda x, direction, square, eps, decay, rate: (
        x * decay + near_quotient(rate * direction, _with_eps(near_sqrt(square), eps))
    ),
    "divide_by_root",
)
#: Adadelta: the parameter, and the mean of the squares of its steps.
adadelta = _update(
    lambda x, grad, square, steps, eps, rate: (
        x + rate * (sqrt(steps + eps) / sqrt(square + eps) * grad)
    ),
    "adadelta",
)
adadelta_steps = _update(
    lambda steps, grad, square, eps, decay, rate: (
        steps * decay + rate * (steps + eps) / (square + eps) * grad * grad
    ),
    "adadelta_steps",
)

#: Adamax: the largest magnitude of gradients so far, which decays, and the parameter.
adamax_largest = _update(
    lambda largest, grad, decay, eps: larger(largest * decay, abs(grad) + eps), "adamax_largest"
)
adamax = _update(lambda x, mean, largest, rate: x + rate * (mean / largest), "adamax")

#: RAdam: as Adam with ``scale`` in place of one in the quotient, or along the mean alone where
#: that is zero.
radam = _update(
    lambda x, mean, square, eps, rate, scale: (
        x
        + rate * mean * where(scale > 0, near_quotient(scale, _with_eps(near_sqrt(square), eps)), 1)
    ),
    "radam",
)
#: ASGD: the mean of a parameter over its steps; a share of one makes it the parameter.
average = _update(lambda mean, x, share: where(share == 1, x, mean + (x - mean) * share), "average")

#: Rprop: the lengths of steps, which grow where the gradient keeps its sign and shrink where it
#: does not, within bounds; the gradient to remember, zero where they shrink; the parameter.
rprop_steps = _update(
    lambda steps, grad, before, shrink, grow: (
        steps * where(grad * before > 0, grow, where(grad * before < 0, shrink, 1))
    ),
    "rprop_steps",
)
bound = _update(lambda x, least, most: smaller(larger(x, least), most), "bound")
rprop_remember = _update(lambda before, grad: where(grad * before < 0, 0, grad), "rprop_remember")
rprop = _update(lambda x, grad, steps: x - sign(grad) * steps, "rprop")
