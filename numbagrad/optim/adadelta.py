"""Adadelta: steps whose size follows from those before, without a learning rate to choose."""

from __future__ import annotations

from typing import Any

from ..ops.creation.filled import zeros_like
from ..tensor import Tensor
from . import update
from .optimizer import Optimizer, check_range, check_rate, new_count

__all__ = ["Adadelta"]


class Adadelta(Optimizer):
    """Adadelta of Zeiler, "ADADELTA: An Adaptive Learning Rate Method"."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_range("rho value", rho, 0.0 <= rho <= 1.0)
        check_range("epsilon value", eps, eps >= 0.0)
        check_range("weight_decay value", weight_decay, weight_decay >= 0.0)
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    _counters = ("step",)
    _anew = ("lr", "rho", "eps")

    def _start(self, parameter: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        state["step"] = new_count()
        state["square_avg"] = zeros_like(parameter, requires_grad=False)
        state["acc_delta"] = zeros_like(parameter, requires_grad=False)

    def _numbers(self, group: dict[str, Any], step: float) -> tuple[float, ...]:
        rho = float(group["rho"])
        return rho, 1 - rho, float(group["eps"]), -float(group["lr"])

    def _update(
        self,
        parameter: Tensor,
        gradient: Tensor,
        group: dict[str, Any],
        numbers: tuple[float, ...],
    ) -> None:
        state = self.state[parameter]
        rho, share, eps, rate = numbers
        square, steps = state["square_avg"], state["acc_delta"]
        update.accumulate_square(square, (square, gradient, rho, share))
        update.adadelta(parameter, (parameter, gradient, square, steps, eps, rate))
        update.adadelta_steps(steps, (steps, gradient, square, eps, rho, share))
