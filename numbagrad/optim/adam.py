"""Adam and AdamW: steps along a mean of gradients, over the root of a mean of their squares."""

from __future__ import annotations

from typing import Any

from ..ops.creation.filled import zeros_like
from ..tensor import Tensor
from . import update
from .optimizer import Optimizer
from .options import Group, Numbers, check_options
from .step_functions import step_function

__all__ = ["Adam", "AdamW", "adam"]


class Adam(Optimizer):
    """Adam of Kingma and Ba, "Adam: A Method for Stochastic Optimization".

    ``amsgrad`` divides by the largest mean of squares so far. ``decoupled_weight_decay`` shrinks
    the parameters instead of adding to the gradient, as AdamW does. ``foreach``, ``capturable`` and
    ``fused`` choose between implementations of torch and mean nothing here.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, betas=betas)
        if not any([all([isinstance(beta, kind) for beta in betas]) for kind in (float, Tensor)]):
            raise ValueError(f"betas must be either both floats or both Tensors, but got {betas}")
        check_options(weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": tuple(float(beta) for beta in betas), "eps": eps,
            "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
            "fused": fused, "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)

    _no_sparse = "Adam does not support sparse gradients, please consider SparseAdam instead"
    _counters = ("step",)
    _buffers = ("exp_avg", "exp_avg_sq")
    _anew = ("lr", "betas", "eps")

    def _start(self, parameter: Tensor, group: Group) -> None:
        super()._start(parameter, group)
        state = self.state[parameter]
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(parameter, requires_grad=False)

    def _numbers(self, group: Group, step: float) -> Numbers:
        beta1, beta2 = group["betas"]
        rate = float(group["lr"])
        keep = 1.0
        if group["decoupled_weight_decay"]:
            keep -= rate * group["weight_decay"]
        # rate * m / (sqrt(v) / correction + eps), with the correction moved out of the division.
        correction = (1 - beta2**step) ** 0.5
        step_size = -rate / (1 - beta1**step) * correction
        return 1 - beta1, beta2, 1 - beta2, group["eps"] * correction, keep, step_size

    def _update(self, parameter: Tensor, gradient: Tensor, group: Group, numbers: Numbers) -> None:
        state = self.state[parameter]
        share, beta2, rest, eps, keep, step_size = numbers
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        update.lerp(mean, (mean, gradient, share))
        update.accumulate_square(square, (square, gradient, beta2, rest))
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            update.maximum(largest, (largest, square))
            square = largest
        update.divide_by_root(parameter, (parameter, mean, square, eps, keep, step_size))


class AdamW(Adam):
    """Adam with the weight decay of Loshchilov and Hutter, "Decoupled Weight Decay"."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, foreach=foreach,
            capturable=capturable, differentiable=differentiable, fused=fused,
            decoupled_weight_decay=True,
        )  # fmt: skip


adam = step_function(
    Adam,
    "exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps",
    "foreach capturable differentiable fused grad_scale found_inf has_complex "
    "decoupled_weight_decay",
    "amsgrad beta1 beta2 lr weight_decay eps maximize",
)
