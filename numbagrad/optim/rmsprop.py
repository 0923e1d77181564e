"""RMSprop: steps along the gradient over the root of a mean of its squares."""

from __future__ import annotations

from typing import Any

from ..ops.creation.filled import zeros_like
from ..tensor import Tensor
from . import update
from .optimizer import Optimizer
from .options import Group, Numbers, check_options
from .step_functions import step_function

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(Optimizer):
    """RMSprop of Hinton's lectures; ``centered`` divides by the deviation of the gradient."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    _counters = ("step",)
    _buffers = ("square_avg",)
    _anew = ("lr", "alpha", "eps")
    _anew_positive = ("momentum",)

    def _start(self, parameter: Tensor, group: Group) -> None:
        super()._start(parameter, group)
        state = self.state[parameter]
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(parameter, requires_grad=False)
        if group["centered"]:
            state["grad_avg"] = zeros_like(parameter, requires_grad=False)

    def _numbers(self, group: Group, step: float) -> Numbers:
        alpha = float(group["alpha"])
        return alpha, 1 - alpha, float(group["eps"]), -float(group["lr"]), float(group["momentum"])

    def _update(self, parameter: Tensor, gradient: Tensor, group: Group, numbers: Numbers) -> None:
        state = self.state[parameter]
        alpha, share, eps, rate, momentum = numbers
        square = state["square_avg"]
        update.accumulate_square(square, (square, gradient, alpha, share))
        if group["centered"]:
            mean = state["grad_avg"]
            update.lerp(mean, (mean, gradient, share))
            if parameter.is_complex():  # two real numbers, not their product
                square = square.clone()
                update.accumulate_square(square, (square, mean, 1.0, -1.0))
            else:
                square = square.addcmul(mean, mean, value=-1)
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"]
            update.divide_by_root(buffer, (buffer, gradient, square, eps, momentum, 1.0))
            update.add_scaled(parameter, (parameter, buffer, rate))
        else:
            update.divide_by_root(parameter, (parameter, gradient, square, eps, 1.0, rate))


rmsprop = step_function(
    RMSprop,
    "square_avgs grad_avgs momentum_buffer_list state_steps",
    "foreach maximize differentiable capturable has_complex",
    "lr alpha eps weight_decay momentum centered",
)
