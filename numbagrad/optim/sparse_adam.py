"""Adam for sparse gradients: state and parameter change in the rows that have a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import enable_grad, no_grad
from ..ops.creation.filled import zeros_like
from ..tensor import Tensor
from ..tensor.sparse_array import SparseArray
from .optimizer import Optimizer
from .options import check_options, check_range

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam of Kingma and Ba as if elements without a gradient were no parameters in that step.

    Args:
        params: dense tensors, whose gradients are sparse, as those of ``Embedding(sparse=True)``.

    Raises:
        ValueError: for sparse parameters; in ``step`` RuntimeError for a dense gradient.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, betas=betas)
        check_range("learning rate", lr, bool(lr > 0))
        check_range("epsilon value", eps, eps > 0)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        for position, parameter in enumerate(x for g in self.param_groups for x in g["params"]):
            if parameter._array.__class__ is SparseArray:
                raise ValueError(
                    f"Sparse params at indices [{position}]: SparseAdam requires dense parameter "
                    "tensors"
                )
            if parameter.is_complex():
                raise ValueError(
                    f"Complex params at indices [{position}]: SparseAdam does not support complex "
                    "parameters"
                )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the rows that have a gradient; ``closure`` computes the loss before."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if self._has_gradient(parameter):
                        self._change(parameter, group)
        return loss

    def _change(self, parameter: Tensor, group: dict[str, Any]) -> None:
        gradient: Any = parameter._accumulated
        if gradient._array.__class__ is not SparseArray:
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )
        state = self.state[parameter]
        if not state:
            state["step"] = 0
            state["exp_avg"] = zeros_like(parameter, requires_grad=False)
            state["exp_avg_sq"] = zeros_like(parameter, requires_grad=False)
        state["step"] += 1
        gradient = (-gradient if group["maximize"] else gradient).coalesce()
        beta1, beta2 = group["betas"]
        values = gradient.values()
        if not values.numel():
            return
        mean = _moved(state["exp_avg"], gradient, values, 1 - beta1)
        square = _moved(state["exp_avg_sq"], gradient, values.square(), 1 - beta2)
        count = state["step"]
        rate = float(group["lr"]) * (1 - beta2**count) ** 0.5 / (1 - beta1**count)
        direction = mean / (square.sqrt() + group["eps"])
        parameter.add_(gradient._with_values(direction), alpha=-rate)


def _moved(average: Tensor, gradient: Any, target: Tensor, share: float) -> Tensor:
    """The values of an average at the places of a gradient, moved towards a target."""
    before = average.sparse_mask(gradient).values()
    step = (target - before) * share
    average.add_(gradient._with_values(step))
    return before + step
