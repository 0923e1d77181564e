"""Adamax: steps along a mean of gradients, over the largest magnitude that they had."""

from __future__ import annotations

from typing import Any

from ..ops.creation.filled import zeros_like
from ..tensor import Tensor
from . import update
from .optimizer import Optimizer, check_betas, check_range, check_rate, new_count

__all__ = ["Adamax"]


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
        check_rate(lr)
        check_range("epsilon value", eps, eps >= 0.0)
        check_betas(betas)
        check_range("weight_decay value", weight_decay, weight_decay >= 0.0)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    _counters = ("step",)
    _anew = ("lr", "betas", "eps")

    def _start(self, parameter: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        state["step"] = new_count()
        state["exp_avg"] = zeros_like(parameter, requires_grad=False)
        state["exp_inf"] = zeros_like(parameter, requires_grad=False)

    def _numbers(self, group: dict[str, Any], step: float) -> tuple[float, ...]:
        beta1, beta2 = group["betas"]
        rate = -float(group["lr"]) / (1 - beta1**step)
        return 1 - beta1, beta2, float(group["eps"]), rate

    def _update(
        self,
        parameter: Tensor,
        gradient: Tensor,
        group: dict[str, Any],
        numbers: tuple[float, ...],
    ) -> None:
        state = self.state[parameter]
        share, decay, eps, rate = numbers
        mean, largest = state["exp_avg"], state["exp_inf"]
        update.lerp(mean, (mean, gradient, share))
        update.adamax_largest(largest, (largest, gradient, decay, eps))
        update.adamax(parameter, (parameter, mean, largest, rate))
