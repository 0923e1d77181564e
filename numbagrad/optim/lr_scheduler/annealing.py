"""Schedulers along a cosine (Loshchilov and Hutter, "SGDR").

``CosineAnnealingWarmRestarts`` may be stepped to a number between two epochs.
"""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts"]


class CosineAnnealingLR(LRScheduler):
    """Down to ``eta_min`` along half a cosine of ``T_max`` steps, and up again."""

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this step."""
        self._warn_outside_step()
        if self._is_initial:
            return self._unchanged()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        groups = self.optimizer.param_groups
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # Just before, the factor below was zero over zero.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                group["lr"] + (rate - self.eta_min) * rise
                for group, rate in zip(groups, self.base_lrs, strict=True)
            ]
        now = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        before = 1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max)
        return [now / before * (group["lr"] - self.eta_min) + self.eta_min for group in groups]

    def _get_closed_form_lr(self) -> list[Any]:
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (rate - self.eta_min) * height / 2 for rate in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines from the rate to ``eta_min``, each ``T_mult`` times as long as the last."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this step."""
        self._warn_outside_step()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (rate - self.eta_min) * height / 2 for rate in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next step, or to a given one, which may lie between two."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._position(epoch)
        self.last_epoch = math.floor(epoch)
        self._write(self._computed(self.get_lr))

    def _position(self, epoch: float) -> None:
        """Find the cosine that a step lies on."""
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            ratio = epoch / self.T_0 * (self.T_mult - 1) + 1
            number = int(math.log(ratio, self.T_mult))
            passed = self.T_0 * (self.T_mult**number - 1) / (self.T_mult - 1)
            self.T_cur = epoch - passed
            self.T_i = self.T_0 * self.T_mult**number
