"""Rprop: steps along the sign of the gradient, of lengths that each element learns."""

from __future__ import annotations

from typing import Any

from ..ops.creation.filled import full_like, zeros_like
from ..tensor import Tensor
from . import update
from .optimizer import Optimizer, new_count
from .options import Group, Numbers, check_rate
from .step_functions import step_function

__all__ = ["Rprop", "rprop"]


class Rprop(Optimizer):
    """Resilient propagation of Riedmiller and Braun, "A Direct Adaptive Method".

    A length grows by ``etas[1]`` where the gradient keeps its sign and shrinks by ``etas[0]`` where
    it does not, within ``step_sizes``. ``foreach`` and ``capturable`` choose between
    implementations of torch and mean nothing here.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        for name, pair in (("etas", etas), ("step_sizes", step_sizes)):
            if not isinstance(pair, (list, tuple, Tensor)):
                raise TypeError(f"Rprop: {name} must be two numbers in a tuple, but got {pair!r}")
            if len(pair) != 2:
                raise ValueError(f"Rprop: {name} must be two numbers, but got {pair}")
        shrink, grow = etas
        if not 0.0 < shrink < 1.0 < grow:
            raise ValueError(f"Invalid eta values: {shrink}, {grow}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    _counters = ("step",)
    _anew = ("lr", "etas", "step_sizes")

    def _start(self, parameter: Tensor, group: Group) -> None:
        state = self.state[parameter]
        rate = float(group["lr"])
        state["step"] = new_count()
        state["prev"] = zeros_like(parameter, requires_grad=False)
        length = complex(rate, rate) if parameter.is_complex() else rate
        state["step_size"] = full_like(parameter, length, requires_grad=False)

    def _numbers(self, group: Group, step: float) -> Numbers:
        shrink, grow = group["etas"]
        least, most = group["step_sizes"]
        return float(shrink), float(grow), float(least), float(most)

    def _update(self, parameter: Tensor, gradient: Tensor, group: Group, numbers: Numbers) -> None:
        state = self.state[parameter]
        shrink, grow, *bounds = numbers
        before, steps = state["prev"], state["step_size"]
        update.rprop_steps(steps, (steps, gradient, before, shrink, grow))
        update.bound(steps, (steps, *bounds))
        update.rprop_remember(before, (before, gradient))
        update.rprop(parameter, (parameter, before, steps))


rprop = step_function(
    Rprop,
    "prevs step_sizes state_steps",
    "foreach capturable maximize differentiable has_complex",
    "step_size_min step_size_max etaminus etaplus",
)
