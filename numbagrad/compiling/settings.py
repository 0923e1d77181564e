"""The switches of the whole process, and of a thread, that decide what a function does."""

from __future__ import annotations

from typing import Any

from ..autocast_state import state as autocast
from ..autograd.anomaly import anomaly
from ..autograd.grad_mode import state as grad_mode
from ..autograd.hooks.saved_hooks import state as saved_hooks
from ..device import defaults
from ..dtype import get_default_dtype, when_default_changes
from ..nn.module_hooks import EVERY_MODULE

# Every call of a compiled function asks, so what the settings are is read where it lies.
_default_dtype = get_default_dtype()


def _note_default_dtype() -> None:
    global _default_dtype
    _default_dtype = get_default_dtype()


when_default_changes(_note_default_dtype)


def global_settings() -> tuple[Any, ...]:
    """The switches outside of the function that decide what it does."""
    settings = (
        grad_mode.enabled, grad_mode.inference, _default_dtype, defaults.current,
        anomaly.enabled, anomaly.check_nan, autocast.settings,
    )  # fmt: skip
    stack, hooks = saved_hooks.stack, EVERY_MODULE
    if not stack and not hooks.any:
        return settings
    of_modules = (hooks.forward_pre, hooks.forward, hooks.backward_pre, hooks.backward)
    return *settings, *stack, *[key for table in of_modules for key in table]


__all__ = ["global_settings"]
