"""L-BFGS: a quasi-Newton method that remembers the last steps instead of a matrix.

All parameters are one vector here. The line search is in ``line_search.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import enable_grad, no_grad
from ..ops.creation.filled import zeros
from ..ops.views.join import cat
from ..tensor import Tensor
from .line_search import Point, cubic_minimum, strong_wolfe
from .optimizer import Optimizer
from .options import check_rate

__all__ = ["LBFGS"]

#: Pairs of steps and gradient changes with less curvature than this are not remembered.
_LEAST_CURVATURE = 1e-10


class LBFGS(Optimizer):
    """L-BFGS as in minFunc by Mark Schmidt; ``step`` needs a closure that it calls several times.

    Args:
        max_iter: iterations a step.
        max_eval: calls of the closure a step, by default 1.25 times as many.
        tolerance_grad: stop where the gradient is smaller.
        tolerance_change: stop where the step or the change of the loss is smaller.
        history_size: steps remembered.
        line_search_fn: None (steps of size lr) or "strong_wolfe".
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        defaults = {
            "lr": lr, "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
            "history_size": history_size, "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._params = self.param_groups[0]["params"]

    # --- parameters as one vector -------------------------------------------------------------

    def _flat_gradient(self) -> Tensor:
        return cat(
            [
                zeros(p.numel(), dtype=p.dtype, device=p.device)
                if p.grad is None
                else p.grad.to_dense().reshape(-1)
                for p in self._params
            ]
        )

    def _move(self, size: float, direction: Tensor) -> None:
        start = 0
        for parameter in self._params:
            count = parameter.numel()
            part = direction[start : start + count].view_as(parameter)
            parameter.add_(part, alpha=float(size))
            start += count

    def _evaluate(
        self, closure: Callable[[], Any], origin: list[Tensor], direction: Tensor, size: float
    ) -> tuple[float, Tensor]:
        """Loss and gradient at a step from the origin, where the parameters return to."""
        self._move(size, direction)
        loss = float(closure())
        gradient = self._flat_gradient()
        for parameter, values in zip(self._params, origin, strict=True):
            parameter.copy_(values)
        return loss, gradient

    # --- step ---------------------------------------------------------------------------------

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:
        """Iterate; returns the loss before the first iteration.

        Raises:
            RuntimeError: for an unknown line search.
        """
        group = self.param_groups[0]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        closure = enable_grad()(closure)
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        gradient = self._flat_gradient()
        if _largest(gradient) <= group["tolerance_grad"]:
            return first_loss
        iteration = 0
        while True:
            iteration += 1
            state["n_iter"] += 1
            direction = self._direction(state, gradient, group["history_size"])
            previous = loss
            state["prev_flat_grad"] = gradient.clone()
            state["prev_loss"] = loss
            size = float(group["lr"])
            if state["n_iter"] == 1:
                size *= min(1.0, float(1.0 / gradient.abs().sum()))
            state["d"], state["t"] = direction, size
            slope = gradient.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            spent = 0
            if group["line_search_fn"] is not None:
                loss, gradient, size, spent = self._search(
                    closure, direction, size, loss, gradient, float(slope),
                    max_evaluations=group["max_eval"] - evaluations,
                )  # fmt: skip
                state["t"] = size
            self._move(size, direction)
            if group["line_search_fn"] is None and iteration != group["max_iter"]:
                loss = float(closure())
                gradient = self._flat_gradient()
                spent = 1
            evaluations += spent
            state["func_evals"] += spent
            if (
                iteration == group["max_iter"]
                or evaluations >= group["max_eval"]
                or _largest(gradient) <= group["tolerance_grad"]
                or _largest(direction * size) <= group["tolerance_change"]
                or abs(loss - previous) < group["tolerance_change"]
            ):
                break
        return first_loss

    def _search(
        self, closure: Callable[[], Any], direction: Tensor, *start: Any, max_evaluations: int
    ) -> tuple[float, Tensor, float, int]:
        """The line search from a size, loss, gradient and slope; it moves no parameter."""
        origin = [parameter.clone() for parameter in self._params]
        evaluate = functools.partial(self._evaluate, closure, origin, direction)
        return strong_wolfe(evaluate, direction, *start, max_evaluations=max_evaluations)

    @staticmethod
    def _direction(state: dict[str, Any], gradient: Tensor, history: int) -> Tensor:
        """Minus the gradient times the estimated inverse of the Hessian (two-loop recursion)."""
        if state["n_iter"] == 1:
            state["old_dirs"], state["old_stps"], state["ro"] = [], [], []
            state["H_diag"] = 1
            return -gradient
        changes, steps, factors = state["old_dirs"], state["old_stps"], state["ro"]
        change = gradient - state["prev_flat_grad"]
        step = state["d"] * state["t"]
        curvature = change.dot(step)
        if curvature > _LEAST_CURVATURE:
            if len(changes) == history:
                for remembered in (changes, steps, factors):
                    remembered.pop(0)
            changes.append(change)
            steps.append(step)
            factors.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        direction = -gradient
        shares = []
        for change, step, factor in zip(changes[::-1], steps[::-1], factors[::-1], strict=True):
            share = step.dot(direction) * factor
            direction.add_(change, alpha=-float(share))
            shares.append(share)
        direction = direction * state["H_diag"]
        for change, step, factor, share in zip(changes, steps, factors, shares[::-1], strict=True):
            back = change.dot(direction) * factor
            direction.add_(step, alpha=float(share - back))
        return direction


def _largest(vector: Tensor) -> Tensor:
    return vector.abs().max()


# torch's private names of the line search, which libraries of other minimisers call.


def _strong_wolfe(
    obj_func: Callable[[Any, float, Any], tuple[float, Tensor]],
    x: Any,
    t: float,
    d: Tensor,
    f: float,
    g: Tensor,
    gtd: Any,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[float, Tensor, float, int]:
    """``strong_wolfe`` of ``obj_func(x, t, d)``: loss, gradient, step and evaluations."""
    return strong_wolfe(
        lambda size: obj_func(x, size, d), d, t, f, g, float(gtd), decrease=c1, curvature=c2,
        tolerance=tolerance_change, max_evaluations=max_ls,
    )  # fmt: skip


def _cubic_interpolate(
    x1: float, f1: float, g1: float, x2: float, f2: float, g2: float, bounds: Any = None
) -> float:
    """The minimum, within bounds, of the cubic through two points with their slopes."""
    first, second = [
        Point(float(size), float(loss), zeros(0), float(slope))
        for size, loss, slope in ((x1, f1, g1), (x2, f2, g2))
    ]
    return cubic_minimum(first, second, bounds)
