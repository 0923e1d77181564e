"""The switches of the whole process, and of a thread, that decide what a function does."""

from __future__ import annotations

from typing import Any

from ..autocast_state import state as autocast
from ..autograd import saved_hooks
from ..autograd.anomaly import anomaly
from ..autograd.grad_mode import state as grad_mode
from ..device import get_default_device
from ..dtype import get_default_dtype
from ..nn.module_hooks import EVERY_MODULE


def global_settings() -> tuple[Any, ...]:
    """The switches outside of the function that decide what it does."""
    settings = (
        grad_mode.enabled, grad_mode.inference, get_default_dtype(), get_default_device(),
        anomaly.enabled, anomaly.check_nan, autocast.settings,
    )  # fmt: skip
    stack, hooks = saved_hooks.stack(), EVERY_MODULE
    if not stack and not hooks.any:
        return settings
    of_modules = (hooks.forward_pre, hooks.forward, hooks.backward_pre, hooks.backward)
    return *settings, *stack, *[key for table in of_modules for key in table]


__all__ = ["global_settings"]
