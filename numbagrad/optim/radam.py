"""RAdam: Adam whose first steps, with too few squares to divide by, are those of a momentum."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import update
from .optimizer import Optimizer
from .options import Group, Numbers, check_options
from .step_functions import step_function

__all__ = ["RAdam", "radam"]


class RAdam(Optimizer):
    """RAdam of Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond".

    ``decoupled_weight_decay`` shrinks the parameters instead of adding to the gradient. ``foreach``
    and ``capturable`` choose between implementations of torch and mean nothing here.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    _counters = ("step",)
    _buffers = ("exp_avg", "exp_avg_sq")
    _anew = ("lr", "betas", "eps")

    def _numbers(self, group: Group, step: float) -> Numbers:
        beta1, beta2 = group["betas"]
        rate = -float(group["lr"])
        correction = 1 - beta2**step
        # How many squares the mean of them amounts to: now, and in the end.
        last = 2 / (1 - beta2) - 1
        length = last - 2 * step * beta2**step / correction
        scale = 0.0
        if length > 5.0:
            ratio = (length - 4) * (length - 2) * last / ((last - 4) * (last - 2) * length)
            scale = (ratio * correction) ** 0.5
        loss = rate * group["weight_decay"]  # of a weight, where their decay is decoupled
        numbers = (1 - beta1, beta2, 1 - beta2, loss)
        return (*numbers, float(group["eps"]), rate / (1 - beta1**step), scale)

    def _update(self, parameter: Tensor, gradient: Tensor, group: Group, numbers: Numbers) -> None:
        state = self.state[parameter]
        share, beta2, rest, loss, *others = numbers
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        update.lerp(mean, (mean, gradient, share))
        update.accumulate_square(square, (square, gradient, beta2, rest))
        if group["decoupled_weight_decay"] and group["weight_decay"]:
            update.add_scaled(parameter, (parameter, parameter, loss))
        update.radam(parameter, (parameter, mean, square, *others))


radam = step_function(
    RAdam,
    "exp_avgs exp_avg_sqs state_steps",
    "decoupled_weight_decay foreach differentiable capturable has_complex maximize",
    "beta1 beta2 lr weight_decay eps",
)
