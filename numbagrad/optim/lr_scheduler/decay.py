"""Schedulers whose rates fall (or rise) by factors: at steps, at milestones, by a user's function.

Each has the chainable form torch uses, which changes the rate of now, and most the closed form of a
given step as well.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler, state_of_callable

__all__ = [
    "ConstantLR", "ExponentialLR", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR",
    "PolynomialLR", "StepLR",
]  # fmt: skip


class _WithFunctions(LRScheduler):
    """A scheduler with a function of the step for every group.

    Functions are not part of the state; objects that can be called leave their attributes in it.
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        count = len(optimizer.param_groups)
        if not isinstance(lr_lambda, (list, tuple)):
            lr_lambda = [lr_lambda] * count
        if len(lr_lambda) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
        self.lr_lambdas: list[Callable[[int], float]] = list(lr_lambda)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions."""
        state = super().state_dict()
        state["lr_lambdas"] = [state_of_callable(function) for function in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what ``state_dict`` returned."""
        saved = dict(state_dict)
        for function, attributes in zip(self.lr_lambdas, saved.pop("lr_lambdas"), strict=True):
            if attributes is not None:
                vars(function).update(attributes)
        super().load_state_dict(saved)


class LambdaLR(_WithFunctions):
    """The initial rate times a function of the step."""

    def get_lr(self) -> list[Any]:
        """The rates of this step."""
        self._warn_outside_step()
        return [
            rate * function(self.last_epoch)
            for function, rate in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class MultiplicativeLR(_WithFunctions):
    """The last rate times a function of the step.

    Raises:
        TypeError: for what cannot be called.
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        for each in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(each):
                raise TypeError(f"lr_lambda should be a function, but got {type(each).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this step."""
        self._warn_outside_step()
        if self._is_initial:
            return self._unchanged()
        return [
            group["lr"] * function(self.last_epoch)
            for function, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)
        ]


class StepLR(LRScheduler):
    """Times ``gamma`` every ``step_size`` steps."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this step."""
        self._warn_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self._unchanged()
        return self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [rate * self.gamma ** (self.last_epoch // self.step_size) for rate in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Times ``gamma`` at every milestone."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this step."""
        self._warn_outside_step()
        if self.last_epoch not in self.milestones:
            return self._unchanged()
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [rate * self.gamma**passed for rate in self.base_lrs]


class ConstantLR(LRScheduler):
    """Times ``factor`` until ``total_iters``."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this step."""
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        if self.last_epoch != self.total_iters:
            return self._unchanged()
        return self._scaled(1.0 / self.factor)

    def _get_closed_form_lr(self) -> list[Any]:
        factor = 1.0 if self.last_epoch >= self.total_iters else self.factor
        return [rate * factor for rate in self.base_lrs]


class LinearLR(LRScheduler):
    """From ``start_factor`` to ``end_factor`` times the rate, over ``total_iters`` steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this step."""
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._unchanged()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return self._scaled(1.0 + rise / before)

    def _get_closed_form_lr(self) -> list[Any]:
        rise = self.end_factor - self.start_factor
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return [rate * (self.start_factor + rise * done) for rate in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Times ``gamma`` every step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this step."""
        self._warn_outside_step()
        return self._unchanged() if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [rate * self.gamma**self.last_epoch for rate in self.base_lrs]


class PolynomialLR(LRScheduler):
    """To zero over ``total_iters`` steps, as a power of what is left."""

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this step."""
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._unchanged()
        left = 1.0 - self.last_epoch / self.total_iters
        before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return self._scaled((left / before) ** self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [rate * left**self.power for rate in self.base_lrs]
