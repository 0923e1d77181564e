"""Adadelta: steps whose size follows from those before, without a learning rate to choose."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import update
from .optimizer import Optimizer
from .options import Group, Numbers, check_options
from .step_functions import step_function

__all__ = ["Adadelta", "adadelta"]


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
        check_options(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    _counters = ("step",)
    _buffers = ("square_avg", "acc_delta")
    _anew = ("lr", "rho", "eps")

    def _numbers(self, group: Group, step: float) -> Numbers:
        rho = float(group["rho"])
        return rho, 1 - rho, float(group["eps"]), -float(group["lr"])

    def _update(self, parameter: Tensor, gradient: Tensor, group: Group, numbers: Numbers) -> None:
        state = self.state[parameter]
        rho, share, eps, rate = numbers
        square, steps = state["square_avg"], state["acc_delta"]
        update.accumulate_square(square, (square, gradient, rho, share))
        update.adadelta(parameter, (parameter, gradient, square, steps, eps, rate))
        update.adadelta_steps(steps, (steps, gradient, square, eps, rho, share))


adadelta = step_function(
    Adadelta,
    "square_avgs acc_deltas state_steps",
    "capturable foreach differentiable has_complex",
    "lr rho eps weight_decay maximize",
)
