"""The scheduler that watches a metric: it reduces the rates when that stops improving.

It is stepped with the metric, so it is no part of a composite scheduler.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..optimizer import Optimizer
from .scheduler import EPOCH_WARNING, LRScheduler, require_optimizer, set_option, values_of

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """Times ``factor`` when a metric has not improved for ``patience`` steps.

    An improvement is more than ``threshold``, relative ("rel") or absolute ("abs"); ``cooldown``
    steps after a reduction do not count.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        require_optimizer(optimizer)
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        count = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)) and len(min_lr) != count:
            raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
        several = isinstance(min_lr, (list, tuple))
        self.default_min_lr = None if several else min_lr
        self.min_lrs = list(min_lr) if several else [min_lr] * count
        self.optimizer = optimizer
        self.factor = factor
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.last_epoch = 0
        self._last_lr = values_of(optimizer, "lr")
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Whether a reduction was so recent that steps do not count."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Look at the metric, and reduce the rates if it is time."""
        current = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = values_of(self.optimizer, "lr")

    def _is_better(self, value: float, best: float) -> bool:
        sign = 1.0 if self.mode == "max" else -1.0
        if self.threshold_mode == "rel":
            bound = best * (1.0 + sign * self.threshold)
        else:
            bound = best + sign * self.threshold
        return value > bound if self.mode == "max" else value < bound

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from "
                    f"when `ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due "
                    "to a new param group being added to the optimizer. Please modify the "
                    "`min_lrs` field to match the length of the `optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            before = float(group["lr"])
            after = max(before * self.factor, least)
            if before - after > self.eps:
                set_option(group, "lr", after)
