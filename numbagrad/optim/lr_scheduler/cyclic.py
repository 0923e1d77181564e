"""Schedulers that go up and down, and let the momentum go against the rate.

The momentum is ``momentum`` of an optimizer, or the first of its ``betas``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler, for_groups, require_optimizer, set_option, state_of_callable

__all__ = ["CyclicLR", "OneCycleLR"]


class _WithMomentum(LRScheduler):
    """A scheduler that lets the momentum (or the first beta) go against the rate."""

    cycle_momentum: bool
    use_beta1: bool

    def _start_momentum(self, optimizer: Optimizer, base: Any, largest: Any, fresh: bool) -> None:
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )
        self.use_beta1 = "betas" in optimizer.defaults
        self.base_momentums = for_groups("base_momentum", optimizer, base)
        self.max_momentums = for_groups("max_momentum", optimizer, largest)
        if not fresh:
            return
        for group, high, low in zip(
            optimizer.param_groups, self.max_momentums, self.base_momentums, strict=True
        ):
            self._set_momentum(group, high)
            group["max_momentum"], group["base_momentum"] = high, low

    def _set_momentum(self, group: dict[str, Any], momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_WithMomentum):
    """Up and down between two rates (Smith, "Cyclical Learning Rates").

    ``mode`` says how cycles shrink: "triangular" not at all, "triangular2" by half, "exp_range" by
    ``gamma`` a step; or ``scale_fn`` says it, of the cycle or of the step (``scale_mode``).
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        require_optimizer(optimizer)
        base_lrs = for_groups("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs, strict=True):
                set_option(group, "lr", rate)
        self.max_lrs = for_groups("max_lr", optimizer, max_lr)
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of a cycle, of 1."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return 1 / (2.0 ** (x - 1))
        return self.gamma**x if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list[Any]:
        """The rates of this step; momenta are written at once."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        position = 1.0 + self.last_epoch / self.total_size - cycle
        if position <= self.step_ratio:
            height = position / self.step_ratio
        else:
            height = (position - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            ):
                self._set_momentum(group, high - (high - low) * height * scale)
        return [
            low + (high - low) * height * scale
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions."""
        state = super().state_dict()
        function = state["_scale_fn_custom"]
        if function is not None:
            state["_scale_fn_custom"] = state_of_callable(function)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what ``state_dict`` returned."""
        saved = dict(state_dict)
        attributes = saved.pop("_scale_fn_custom")
        super().load_state_dict(saved)
        if attributes is not None:
            vars(self._scale_fn_custom).update(attributes)


class OneCycleLR(_WithMomentum):
    """Up to ``max_lr`` and down to almost nothing (Smith and Topin, "Super-Convergence").

    The number of steps is ``total_steps``, or ``epochs * steps_per_epoch``.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        require_optimizer(optimizer)
        self.total_steps = self._count_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or pct_start < 0 or pct_start > 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = self._phases(pct_start, three_phase)
        if last_epoch == -1:
            rates = for_groups("max_lr", optimizer, max_lr)
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _count_steps(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        given = {"total_steps": total_steps}
        if total_steps is None:
            given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
        for name, value in given.items():
            if value <= 0 or not isinstance(value, int):
                raise ValueError(f"Expected positive integer {name}, but got {value}")
        return math.prod(given.values())

    def _phases(self, share: float, three: bool) -> list[dict[str, Any]]:
        """Last step, and names of rate and momentum at both ends, of every phase."""
        ends = [share * self.total_steps - 1, self.total_steps - 1]
        rates = ["initial_lr", "max_lr", "min_lr"]
        momenta = ["max_momentum", "base_momentum", "max_momentum"]
        if three:
            ends.insert(1, 2 * share * self.total_steps - 2)
            rates.insert(2, "initial_lr")
            momenta.append("max_momentum")
        return [
            {
                "end_step": end, "start_lr": rates[i], "end_lr": rates[i + 1],
                "start_momentum": momenta[i], "end_momentum": momenta[i + 1],
            }
            for i, end in enumerate(ends)
        ]  # fmt: skip

    def _between(self, start: float, end: float, share: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    def get_lr(self) -> list[Any]:
        """The rates of this step; momenta are written at once."""
        self._warn_outside_step()
        number = self.last_epoch
        if number > self.total_steps:
            raise ValueError(
                f"Tried to step {number} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        start = 0.0
        for phase in self._schedule_phases:
            if number <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        share = (number - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            low, high = group[phase["start_lr"]], group[phase["end_lr"]]
            rates.append(self._between(low, high, share))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._between(*ends, share))
        return rates
