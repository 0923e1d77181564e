"""Hooks before and after the steps of optimizers: of one, and of all.

``Optimizer`` wraps the ``step`` of every subclass by ``with_hooks``.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd.hooks.tensor_hooks import RemovableHandle, add_hook
from ..nn.module_hooks import EVERY_MODULE

if TYPE_CHECKING:
    from .optimizer import Optimizer

__all__ = ["register_optimizer_step_post_hook", "register_optimizer_step_pre_hook", "with_hooks"]


def with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """``step`` of a class with the hooks before and after it."""

    @functools.wraps(step)
    def run(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        self._opt_called = True  # schedulers ask whether they come after a step
        if "_optimizer_step_pre_hooks" not in self.__dict__:  # it wraps one that has the hooks
            return step(self, *args, **kwargs)
        own = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        if not (own[0] or own[1] or EVERY_MODULE.before_steps or EVERY_MODULE.after_steps):
            return step(self, *args, **kwargs)
        arguments: Any = (self, *args)
        for hook in (*EVERY_MODULE.before_steps.values(), *own[0].values()):
            result = hook(self, arguments, kwargs)
            if result is None:
                continue
            if not isinstance(result, tuple) or len(result) != 2:
                raise RuntimeError(
                    f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                    f"{result}."
                )
            arguments, kwargs = result
        loss = step(*arguments, **kwargs)
        for hook in (*own[1].values(), *EVERY_MODULE.after_steps.values()):
            hook(self, arguments, kwargs)
        return loss

    run._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    return run


def note_steps(optimizer: Optimizer) -> None:
    """Let schedulers know of the steps of an optimizer whose ``step`` was replaced before them.

    The steps of subclasses note themselves (``with_hooks``). What replaces a step later lacks the
    mark, by which schedulers see that they cannot know.
    """
    step: Any = optimizer.step
    if is_noted(optimizer):
        return
    is_bound = hasattr(step, "__func__")
    function = step.__func__ if is_bound else step
    reference = weakref.ref(optimizer)  # an attribute of the optimizer that does not keep it

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        owner = reference()
        if owner is not None:
            owner._opt_called = True
        return function(owner, *args, **kwargs) if is_bound else function(*args, **kwargs)

    run._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = run  # type: ignore[method-assign]


def is_noted(optimizer: Optimizer) -> bool:
    """Whether ``optimizer.step`` notes that it was called. The mark has torch's name."""
    return hasattr(optimizer.step, "_wrapped_by_lr_sched")


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before every step of all optimizers."""
    return add_hook(EVERY_MODULE.before_steps, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after every step of all optimizers."""
    return add_hook(EVERY_MODULE.after_steps, hook)
