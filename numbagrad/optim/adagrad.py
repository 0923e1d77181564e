"""Adagrad: steps along the gradient over the root of the sum of its squares."""

from __future__ import annotations

from typing import Any

from ..ops.creation.filled import full_like
from ..tensor import Tensor
from . import update
from .optimizer import Optimizer, new_count
from .options import Group, Numbers, check_options
from .step_functions import step_function

__all__ = ["Adagrad", "adagrad"]


class Adagrad(Optimizer):
    """Adagrad of Duchi et al., "Adaptive Subgradient Methods"."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        initial = initial_accumulator_value
        check_options(
            lr=lr, lr_decay=lr_decay, weight_decay=weight_decay,
            initial_accumulator_value=initial, eps=eps,
        )  # fmt: skip
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for parameter in group["params"]:
                self._start(parameter, group)

    def _start(self, parameter: Tensor, group: Group) -> None:
        state = self.state[parameter]
        initial: complex = float(group["initial_accumulator_value"])
        if parameter.is_complex():
            initial = complex(initial, initial)
        state["step"] = new_count()
        state["sum"] = full_like(parameter, initial, requires_grad=False)

    def share_memory(self) -> None:
        """Move the sums of squares into memory that other processes see."""
        for state in self.state.values():
            state["sum"].share_memory_()

    _counters = ("step",)
    _anew = ("lr", "lr_decay", "eps")

    def _numbers(self, group: Group, step: float) -> Numbers:
        rate = -float(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        return rate, float(group["eps"])

    def _update(self, parameter: Tensor, gradient: Tensor, group: Group, numbers: Numbers) -> None:
        rate, eps = numbers
        total = self.state[parameter]["sum"]
        update.accumulate_square(total, (total, gradient, 1.0, 1.0))
        update.divide_by_root(parameter, (parameter, gradient, total, eps, 1.0, rate))


adagrad = step_function(
    Adagrad,
    "state_sums state_steps",
    "fused grad_scale found_inf has_sparse_grad foreach differentiable has_complex",
    "lr weight_decay lr_decay eps maximize",
)
