"""Models averaged over the steps of a training, with equal or with decaying weights.

``AveragedModel`` keeps the averages, ``SWALR`` is the schedule for the steps that are averaged, and
``update_bn`` lets the batch norms of an averaged model see the data again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from ..autograd.grad_mode import no_grad
from ..dtype import int64
from ..nn.module import Module
from ..nn.normalization import _BatchNorm
from ..ops.creation.from_data import tensor
from ..tensor import Tensor
from .lr_scheduler.scheduler import LRScheduler, for_groups
from .optimizer import Optimizer

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn",
    "get_swa_multi_avg_fn", "update_bn",
]  # fmt: skip

Tensors = list[Tensor]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Tensor, Tensor, Any], Tensor]:
    """A function of an average, a parameter and the count of models: ``decay`` weighs the average.

    Raises:
        ValueError: for a decay outside of [0, 1].
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[[Tensor, Tensor, Any], Tensor]:
    """A function of an average, a parameter and the count of models, which weigh the same."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Tensors, Tensors, Any], None]:
    """As ``get_ema_avg_fn``, of lists; the function writes the averages in place."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: Tensors, current_param_list: Tensors, num_averaged: Any) -> None:
        _mix(ema_param_list, current_param_list, 1 - decay)

    return ema_update


def get_swa_multi_avg_fn() -> Callable[[Tensors, Tensors, Any], None]:
    """As ``get_swa_avg_fn``, of lists; the function writes the averages in place."""

    @no_grad()
    def swa_update(
        averaged_param_list: Tensors, current_param_list: Tensors, num_averaged: Any
    ) -> None:
        _mix(averaged_param_list, current_param_list, float(1 / (num_averaged + 1)))

    return swa_update


def _mix(means: Tensors, now: Tensors, share: float) -> None:
    for mean, current in zip(means, now, strict=True):
        if mean.is_floating_point() or mean.is_complex():
            mean.lerp_(current, share)
        else:  # counts, such as those of the batches that a batch norm has seen
            mean.copy_(mean * (1 - share) + current * share)


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of those that the model had.

    Args:
        model: the model; its copy is the submodule ``module``.
        device: a device to move the copy to.
        avg_fn: what makes an average of the average, a parameter and the count of models in it, as
            from ``get_ema_avg_fn``; all models weigh the same unless it or the next is given.
        multi_avg_fn: the same for lists, in place, as from ``get_ema_multi_avg_fn``.
        use_buffers: whether buffers are averaged, too; they are copied otherwise.

    Raises:
        AssertionError: if both functions are given.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[[Tensor, Tensor, Any], Tensor] | None = None,
        multi_avg_fn: Callable[[Tensors, Tensors, Any], None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters that the model has now into the averages; the first are copied."""
        means, now = [self._averaged(each) for each in (self.module, model)]
        if self.n_averaged == 0:
            for mean, current in zip(means, now, strict=True):
                mean.copy_(current)
        elif self.multi_avg_fn is not None:
            for own, others in _by_dtype(means, now):
                self.multi_avg_fn(own, others, self.n_averaged)
        else:
            average = self.avg_fn or get_swa_avg_fn()
            for mean, current in zip(means, now, strict=True):
                mean.copy_(average(mean, current, self.n_averaged))
        if not self.use_buffers:
            for kept, buffer in zip(self.module.buffers(), model.buffers(), strict=True):
                kept.detach().copy_(buffer.detach())
        self.n_averaged += 1

    def _averaged(self, model: Module) -> Tensors:
        buffers = model.buffers() if self.use_buffers else ()
        return [each.detach() for each in itertools.chain(model.parameters(), buffers)]


def _by_dtype(means: Tensors, now: Tensors) -> Iterable[tuple[Tensors, Tensors]]:
    groups: dict[Any, tuple[Tensors, Tensors]] = {}
    for mean, current in zip(means, now, strict=True):
        own, others = groups.setdefault(mean.dtype, ([], []))
        own.append(mean)
        others.append(current)
    return groups.values()


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Let the batch norms of a model forget their averages, and take those of a pass over data.

    Args:
        loader: batches, each the input of the model or a list that begins with it.
        model: a model in any mode, which it keeps.
        device: a device to move the batches to.
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain average over all batches
    for batch in loader:
        input = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(input if device is None else input.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the rates of now to a constant one, for the steps whose models are averaged.

    Args:
        optimizer: whose rates change.
        swa_lr: the rate in the end, one for all groups or a list.
        anneal_epochs: how many steps it takes to get there.
        anneal_strategy: "cos", along half a cosine, or "linear".
        last_epoch: the step to go on from.

    Raises:
        ValueError: for another strategy, or a number of steps that is none.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = for_groups("swa_lr", optimizer, swa_lr)
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """How much of the last rate is in the rate of a step."""
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        """The rates of this step."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            last = group["swa_lr"]
            # The rate of before is a mix of the first and the last one.
            first = last if before == 1 else (group["lr"] - before * last) / (1 - before)
            rates.append(last * now + first * (1 - now))
        return rates
