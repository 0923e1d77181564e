"""Adafactor: Adam's means of squares of a matrix, kept as one row and one column."""

from __future__ import annotations

import math
from typing import Any

from ..dtype import finfo
from ..tensor import Tensor
from . import update
from .optimizer import Optimizer, new_count
from .options import Group, Numbers, check_least

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Adafactor of Shazeer and Stern, "Adaptive Learning Rates with Sublinear Memory Cost".

    Args:
        lr: the largest relative step; the root of the number of steps divides 1 for others.
        beta2_decay: the exponent of the number of steps that is the share of a new square.
        eps: the root of the least mean of squares (None: the dtype's epsilon), and the least root
            mean square of a parameter that its steps are relative to.
        d: the largest root mean square of an update; larger ones are scaled down.

    Raises:
        ValueError: for options out of range. In ``step`` RuntimeError for complex parameters and
            sparse gradients.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_least("Learning rate", lr)
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None:
            check_least("epsilon1", eps[0])
        check_least("epsilon2", eps[1])
        check_least("Clipping threshold d", d, 1)
        check_least("weight_decay", weight_decay)
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d,
            "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    _counters = ("step",)
    _anew = ("lr", "beta2_decay", "weight_decay")

    @staticmethod
    def _descent(gradient: Any, parameter: Tensor, group: Group) -> Any:
        return -gradient if group["maximize"] else gradient

    def _start(self, parameter: Tensor, group: Group) -> None:
        if parameter.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        state = self.state[parameter]
        state["step"] = new_count()
        shape = parameter.shape
        if len(shape) > 1:
            state["row_var"] = parameter.new_zeros((*shape[:-1], 1))
            state["col_var"] = parameter.new_zeros((*shape[:-2], 1, shape[-1]))
        else:
            state["variance"] = parameter.new_zeros(shape)

    def _numbers(self, group: Group, step: float) -> Numbers:
        rate = float(group["lr"])
        share = step ** group["beta2_decay"]
        return share, min(rate, step**-0.5), 1.0 - rate * group["weight_decay"]

    def _update(self, parameter: Tensor, gradient: Tensor, group: Group, numbers: Numbers) -> None:
        share, rate, keep = numbers
        least, least_size = group["eps"]
        if least is None:
            least = finfo(parameter.dtype).eps
        state = self.state[parameter]
        # Scales are numbers, in float64; as tensors, so that nothing waits for their values.
        size = _root_mean_square(parameter).clamp(min=least_size) * rate
        if gradient.dim() > 1:
            rows, columns = state["row_var"], state["col_var"]
            update.lerp(rows, (rows, _mean_square(gradient, -1), share))
            update.lerp(columns, (columns, _mean_square(gradient, -2), share))
            variance = rows @ columns / rows.mean(-2, keepdim=True).clamp(min=least)
        else:
            variance = state["variance"]
            update.lerp(variance, (variance, gradient * gradient, share))
        change = variance.clamp(min=least * least).rsqrt() * gradient
        size = size / (_root_mean_square(change) / group["d"]).clamp(min=1.0)
        parameter.mul_(keep)
        parameter.addcmul_(change, size.to(parameter.dtype), value=-1)


def _mean_square(x: Tensor, dim: int) -> Tensor:
    """The mean of the squares over a dimension, which stays, of size 1."""
    return x.norm(dim=dim, keepdim=True).square() / x.shape[dim]


def _root_mean_square(x: Tensor) -> Tensor:
    return x.norm().double() / math.sqrt(x.numel())
