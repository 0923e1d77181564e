"""ASGD: gradient descent that keeps the mean of the parameters over its steps."""

from __future__ import annotations

from typing import Any

from ..ops.creation.filled import zeros_like
from ..tensor import Tensor
from . import update
from .optimizer import Counted, Optimizer, new_count
from .options import Group, Numbers, check_options
from .step_functions import step_function

__all__ = ["ASGD", "asgd"]


class ASGD(Optimizer):
    """Averaged SGD of Polyak and Juditsky, "Acceleration of Stochastic Approximation".

    The mean of a parameter over its steps after the first ``t0`` is its state's ``"ax"``. The
    rate falls as ``lr / (1 + lambd * lr * step) ** alpha``; ``lambd`` is a decay of weights, too.
    ``foreach`` and ``capturable`` choose between implementations of torch and mean nothing here.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_options(lr=lr, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    _counters = ("step", "eta", "mu")
    _anew = ("lr", "lambd", "alpha", "t0")

    def _start(self, parameter: Tensor, group: Group) -> None:
        state = self.state[parameter]
        state["step"] = new_count()
        state["eta"] = new_count(float(group["lr"]))
        state["mu"] = new_count(1.0)
        state["ax"] = zeros_like(parameter, requires_grad=False)

    def _count(self, group: Group, *counters: Any) -> Counted:
        step, rate, share = [float(value) for value in counters]
        step += 1
        decay = group["lambd"]
        start = float(group["lr"])
        next_rate = start / (1 + decay * start * step) ** group["alpha"]
        next_share = 1 / max(1, step - group["t0"])
        return (step, next_rate, next_share), (1 - decay * rate, -rate, share)

    def _update(self, parameter: Tensor, gradient: Tensor, group: Group, numbers: Numbers) -> None:
        keep, rate, share = numbers
        mean = self.state[parameter]["ax"]
        update.accumulate(parameter, (parameter, gradient, keep, rate))
        update.average(mean, (mean, parameter, share))


asgd = step_function(
    ASGD,
    "axs mus etas state_steps",
    "foreach maximize differentiable capturable has_complex",
    "lambd lr t0 alpha weight_decay",
)
