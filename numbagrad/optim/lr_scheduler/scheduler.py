"""The base class of schedulers, and how options of parameter groups are read and written.

The schedulers of this folder derive from it; users derive their own.
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ...tensor import Tensor
from ..optimizer import Optimizer
from ..step_hooks import is_noted, note_steps

__all__ = ["LRScheduler"]


EPOCH_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available."
)


def require_optimizer(optimizer: Any) -> None:
    """Raise a TypeError for what is no Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def set_option(group: dict[str, Any], name: str, value: Any) -> None:
    """Write an option of a group; one that is a tensor keeps being that tensor."""
    if isinstance(group[name], Tensor):
        group[name].fill_(float(value))
    else:
        group[name] = value


def values_of(optimizer: Optimizer, name: str) -> list[Any]:
    """An option of all groups."""
    return [
        group[name].clone() if isinstance(group[name], Tensor) else group[name]
        for group in optimizer.param_groups
    ]


def for_groups(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """A value for every group, from one for all or a list."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has "
            f"{len(value)} values, param_groups has {count}."
        )
    return list(value)


def state_of_callable(function: Callable[..., Any]) -> dict[str, Any] | None:
    """The attributes of an object that can be called; a function has nothing to save."""
    return None if isinstance(function, types.FunctionType) else vars(function).copy()


class LRScheduler:
    """Base of schedulers; a subclass says in ``get_lr`` what the rates of the groups are now.

    Args:
        optimizer: whose rates change.
        last_epoch: the step to go on from; -1 starts anew and remembers the rates as initial.
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        require_optimizer(optimizer)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                rate = group["lr"]
                group.setdefault("initial_lr", rate.clone() if isinstance(rate, Tensor) else rate)
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming "
                    "scheduler with last_epoch >= 0.\nThis typically happens when:\n1. You're "
                    "trying to resume training from a checkpoint but haven't properly loaded the "
                    "optimizer state\n2. You're using last_epoch >= 0 for a fresh training run "
                    "(not recommended)"
                )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {name: value for name, value in vars(self).items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what ``state_dict`` returned."""
        vars(self).update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that the last step set."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates of this step; called by ``step`` alone."""
        raise NotImplementedError

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def step(self, epoch: int | None = None) -> None:
        """Go to the next step, or to a given one, and write its rates."""
        if self._step_count == 1 and not is_noted(self.optimizer):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before "
                "`lr_scheduler.step()`. See more details at "
                "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                UserWarning,
                stacklevel=2,
            )
        elif self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch "
                "1.1.0 and later, you should call them in the opposite order: `optimizer.step()` "
                "before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping "
                "the first value of the learning rate schedule. See more details at "
                "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        if epoch is None:
            self.last_epoch += 1
            rule = self.get_lr
        else:
            self.last_epoch = epoch
            rule = getattr(self, "_get_closed_form_lr", self.get_lr)
        self._write(self._computed(rule))

    def _computed(self, rule: Callable[[], list[Any]]) -> list[Any]:
        """The result of ``get_lr`` within a step, where it does not warn."""
        self._get_lr_called_within_step = True
        try:
            return rule()
        finally:
            self._get_lr_called_within_step = False

    def _write(self, rates: Iterable[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_option(group, "lr", rate)
        self._last_lr = values_of(self.optimizer, "lr")

    def _scaled(self, factor: float) -> list[Any]:
        """The rates of now, times a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _unchanged(self) -> list[Any]:
        return values_of(self.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The class under its name of before 2022, from which older programs derive theirs."""
