"""Muon: the momentum of a matrix, made orthogonal by a few products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..dtype import bfloat16
from ..ops.products.added_products import addmm
from ..tensor import Tensor
from . import update
from .optimizer import Optimizer
from .options import Group, Numbers, check_least

__all__ = ["Muon"]

_ADJUSTMENTS = (None, "original", "match_rms_adamw")


class Muon(Optimizer):
    """Muon of Jordan et al., "Muon: An optimizer for hidden layers in neural networks".

    Args:
        params: matrices.
        ns_coefficients: a, b and c of the Newton-Schulz step ``(a + b X X^T + c (X X^T)^2) X``.
        eps: the least norm by which the momentum is divided before the first of them.
        ns_steps: how many of them, fewer than 100.
        adjust_lr_fn: how the learning rate grows with the shape: ``"original"`` by the root of
            ``max(1, rows / columns)``, ``"match_rms_adamw"`` by 0.2 times that of the larger.

    Raises:
        ValueError: for parameters that are no matrices; in ``step`` for other than three
            coefficients, or too many steps. RuntimeError for complex ones, and sparse gradients.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: Sequence[float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_least("Learning rate", lr)
        check_least("momentum", momentum)
        check_least("weight decay", weight_decay)
        if adjust_lr_fn not in _ADJUSTMENTS:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        for parameter in (x for group in self.param_groups for x in group["params"]):
            if parameter.ndim != 2:
                raise ValueError(
                    "Muon only supports 2D parameters whereas we found a parameter with size: "
                    f"{parameter.size()}"
                )

    _buffers = ("momentum_buffer",)
    _anew = ("lr", "momentum", "weight_decay")

    @staticmethod
    def _descent(gradient: Any, parameter: Tensor, group: Group) -> Any:
        return gradient

    def _start(self, parameter: Tensor, group: Group) -> None:
        if parameter.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        super()._start(parameter, group)

    def _draw(self, group: Group, parameters: list[Tensor]) -> list[Numbers]:
        factors = [_factor(group["adjust_lr_fn"], *parameter.shape) for parameter in parameters]

        def compute() -> Numbers:
            rate = float(group["lr"])
            shared = 1.0 - group["momentum"], float(group["momentum"])
            return (*shared, 1.0 - rate * group["weight_decay"], *(-rate * x for x in factors))

        share, momentum, keep, *rates = self._drawn(compute, group)
        return [(share, momentum, keep, rate) for rate in rates]

    def _update(self, parameter: Tensor, gradient: Tensor, group: Group, numbers: Numbers) -> None:
        share, momentum, keep, rate = numbers
        buffer = self.state[parameter]["momentum_buffer"]
        update.lerp(buffer, (buffer, gradient, share))
        direction = gradient.lerp(buffer, momentum) if group["nesterov"] else buffer
        steps, coefficients = group["ns_steps"], group["ns_coefficients"]
        direction = _orthogonal(direction, coefficients, steps, group["eps"])
        update.accumulate(parameter, (parameter, direction.to(parameter.dtype), keep, rate))


def _factor(adjustment: str | None, rows: int, columns: int) -> float:
    """By how much the step of a matrix is larger than the learning rate."""
    if adjustment == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1.0, rows / columns))


def _orthogonal(matrix: Tensor, coefficients: Sequence[float], steps: int, eps: float) -> Tensor:
    """A matrix with about the singular vectors of another, and singular values near 1.

    The polynomial has a steep slope at 0 and does not converge: the values lie between about 0.5
    and 1.5 after five steps. In bfloat16, which is as exact as that is.
    """
    if steps >= 100:
        raise ValueError(
            f"Muon: ns_steps is {steps}; the number of steps must be less than 100 for "
            "computational efficiency"
        )
    if len(coefficients) != 3:
        raise ValueError(
            f"Muon: ns_coefficients must be a tuple of exactly 3 values, but got {coefficients}"
        )
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    wide = matrix.to(bfloat16)
    wide = wide.t() if tall else wide
    wide = wide / wide.norm().clamp(min=eps)
    for _ in range(steps):
        gram = wide @ wide.t()
        wide = addmm(wide, addmm(gram, gram, gram, beta=b, alpha=c), wide, beta=a)
    return wide.t() if tall else wide
