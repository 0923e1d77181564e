"""NAdam: Adam with the momentum of Nesterov."""

from __future__ import annotations

from typing import Any

from ..ops.creation.filled import zeros_like
from ..tensor import Tensor
from . import update
from .optimizer import Counted, Optimizer, new_count
from .options import Group, Numbers, check_options
from .step_functions import step_function

__all__ = ["NAdam", "nadam"]


class NAdam(Optimizer):
    """NAdam of Dozat, "Incorporating Nesterov Momentum into Adam".

    The share of the mean in a step grows towards ``betas[0]`` as ``momentum_decay`` says.
    ``decoupled_weight_decay`` shrinks the parameters instead of adding to the gradient. ``foreach``
    and ``capturable`` choose between implementations of torch and mean nothing here.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(
            lr=lr, eps=eps, betas=betas, weight_decay=weight_decay, momentum_decay=momentum_decay
        )
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    _counters = ("step", "mu_product")
    _anew = ("lr", "betas", "eps", "momentum_decay")

    def _start(self, parameter: Tensor, group: Group) -> None:
        state = self.state[parameter]
        state["step"] = new_count()
        state["mu_product"] = new_count(1.0)
        state["exp_avg"] = zeros_like(parameter, requires_grad=False)
        state["exp_avg_sq"] = zeros_like(parameter, requires_grad=False)

    def _count(self, group: Group, *counters: Any) -> Counted:
        step, product = counters
        step += 1
        beta1, beta2 = group["betas"]
        now, next = [
            beta1 * (1.0 - 0.5 * 0.96 ** (float(k) * group["momentum_decay"]))
            for k in (step, step + 1)
        ]
        product = product * type(product)(now)  # in the precision of the tensor that keeps it
        rate = -float(group["lr"])
        # m / (sqrt(v) / correction + eps), with the correction moved out of the division.
        correction = (1 - beta2 ** float(step)) ** 0.5
        along_gradient = rate * (1.0 - now) / (1.0 - float(product)) * correction
        along_mean = rate * next / (1.0 - float(product) * next) * correction
        keep = 1.0
        if group["decoupled_weight_decay"]:
            keep += rate * group["weight_decay"]
        numbers = (1 - beta1, beta2, 1 - beta2, group["eps"] * correction, keep)
        return (step, product), (*numbers, along_gradient, along_mean)

    def _update(self, parameter: Tensor, gradient: Tensor, group: Group, numbers: Numbers) -> None:
        state = self.state[parameter]
        share, beta2, rest, eps, keep, along_gradient, along_mean = numbers
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        update.lerp(mean, (mean, gradient, share))
        update.accumulate_square(square, (square, gradient, beta2, rest))
        update.divide_by_root(parameter, (parameter, gradient, square, eps, keep, along_gradient))
        update.divide_by_root(parameter, (parameter, mean, square, eps, 1.0, along_mean))


nadam = step_function(
    NAdam,
    "exp_avgs exp_avg_sqs mu_products state_steps",
    "decoupled_weight_decay foreach capturable differentiable has_complex maximize",
    "beta1 beta2 lr weight_decay momentum_decay eps",
)
