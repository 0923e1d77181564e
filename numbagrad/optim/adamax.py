"""Adamax: steps along a mean of gradients, over the largest magnitude that they had."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import update
from .optimizer import Optimizer
from .options import Group, Numbers, check_options
from .step_functions import step_function

__all__ = ["Adamax", "adamax"]


class Adamax(Optimizer):
    """Adam with the infinity norm, of Kingma and Ba, "Adam: A Method for Stochastic Optimization".

    ``foreach`` and ``capturable`` choose between implementations of torch and mean nothing here.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    _counters = ("step",)
    _buffers = ("exp_avg", "exp_inf")
    _anew = ("lr", "betas", "eps")

    def _numbers(self, group: Group, step: float) -> Numbers:
        beta1, beta2 = group["betas"]
        rate = -float(group["lr"]) / (1 - beta1**step)
        return 1 - beta1, beta2, float(group["eps"]), rate

    def _update(self, parameter: Tensor, gradient: Tensor, group: Group, numbers: Numbers) -> None:
        state = self.state[parameter]
        share, decay, eps, rate = numbers
        mean, largest = state["exp_avg"], state["exp_inf"]
        update.lerp(mean, (mean, gradient, share))
        update.adamax_largest(largest, (largest, gradient, decay, eps))
        update.adamax(parameter, (parameter, mean, largest, rate))


adamax = step_function(
    Adamax,
    "exp_avgs exp_infs state_steps",
    "foreach maximize differentiable capturable has_complex",
    "eps beta1 beta2 lr weight_decay",
)
