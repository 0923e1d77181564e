"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import update
from .optimizer import Optimizer
from .options import Group, Numbers, check_options
from .step_functions import step_function

__all__ = ["SGD", "sgd"]


class SGD(Optimizer):
    """``p -= lr * grad``, or along a momentum ``b = momentum * b + (1 - dampening) * grad``.

    ``nesterov`` steps along ``grad + momentum * b``. ``foreach`` and ``fused`` choose between
    implementations of torch and mean nothing here.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_options(lr=lr, momentum=momentum, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)

    def _update_group(self, group: dict[str, Any]) -> None:
        if group["momentum"] or group["weight_decay"] or group["maximize"]:
            super()._update_group(group)
            return
        (rate,) = self._drawn(lambda: (-float(group["lr"]),), group)
        for parameter in group["params"]:
            if self._has_gradient(parameter):
                update.add_scaled(parameter, (parameter, parameter._accumulated, rate))

    _anew_positive = ("momentum",)

    def _numbers(self, group: Group, step: float) -> Numbers:
        return -float(group["lr"]), float(group["momentum"]), 1.0 - group["dampening"]

    def _update(self, parameter: Tensor, gradient: Tensor, group: Group, numbers: Numbers) -> None:
        rate, momentum, share = numbers
        if not group["momentum"]:
            update.add_scaled(parameter, (parameter, gradient, rate))
            return
        state = self.state[parameter]
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = state["momentum_buffer"] = gradient.detach().clone()
        else:
            update.accumulate(buffer, (buffer, gradient, momentum, share))
        if group["nesterov"]:
            update.nesterov(parameter, (parameter, gradient, buffer, momentum, rate))
        else:
            update.add_scaled(parameter, (parameter, buffer, rate))


sgd = step_function(
    SGD,
    "momentum_buffer_list",
    "has_sparse_grad foreach fused grad_scale found_inf",
    "weight_decay momentum lr dampening nesterov maximize",
    gradients="d_p_list",
)
