"""The switches of the whole process, and of a thread, that decide what a function does."""

from __future__ import annotations

from typing import Any

from ..autocast_state import state as autocast
from ..autograd.anomaly_mode import anomaly
from ..autograd.grad_mode import state as grad_mode
from ..autograd.hooks.saved_hooks import state as saved_hooks
from ..device import defaults
from ..dtype import get_default_dtype, when_default_changes
from ..native.c_structures import slot_offset
from ..nn.module_hooks import EVERY_MODULE


class _Process:
    """The default dtype, where every call of a compiled function can read it."""

    __slots__ = ("default_dtype",)

    def __init__(self) -> None:
        self.default_dtype = get_default_dtype()


_process = _Process()


def _note_default_dtype() -> None:
    _process.default_dtype = get_default_dtype()


when_default_changes(_note_default_dtype)


def global_settings() -> tuple[Any, ...]:
    """The switches outside of the function that decide what it does."""
    settings = (
        grad_mode.enabled, grad_mode.inference, _process.default_dtype, defaults.current,
        anomaly.enabled, anomaly.check_nan, autocast.settings,
    )  # fmt: skip
    stack, hooks = saved_hooks.stack, EVERY_MODULE
    if not stack and not hooks.any:
        return settings
    of_modules = (
        hooks.forward_pre, hooks.forward, hooks.backward_pre, hooks.backward, hooks.parameters,
        hooks.buffers, hooks.modules, hooks.before_steps, hooks.after_steps,
    )  # fmt: skip
    return *settings, *stack, *[key for table in of_modules for key in table]


def switches_of(settings: tuple[Any, ...]) -> list[tuple[int, object]] | None:
    """For each setting of the process the address of the word that holds it, and what it holds.

    A hook of every module comes with a registration.

    None unless the settings of the thread, but for whether it records, are those that threads begin
    with: compiled code asks whether any thread has others.
    """
    _, inference, default_dtype, where, anomalous, check_nan, autocasting, *others = settings
    began = not (inference or anomalous or others)
    if not began or where != defaults.initial["current"]:
        return None
    if autocasting != autocast.initial["settings"]:
        return None
    return [
        (id(owner) + slot_offset(type(owner), name), value)
        for owner, name, value in (
            (_process, "default_dtype", default_dtype),
            (anomaly, "check_nan", check_nan),
            (EVERY_MODULE, "registration", EVERY_MODULE.registration),
        )
    ]


__all__ = ["global_settings", "switches_of"]
