"""What a function does beside computing: calls that a program would leave out end its recording.

``recording.py`` listens while it calls the function. Python reports every call of a function in C;
those that read a clock, draw numbers, print, or reach outside of the process cannot be repeated.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from ..executor import capture
from ..executor.program.callers import is_library
from ..executor.program.recorder import Recorder

#: Modules in C (or the first part of their names) of which every function has such an effect.
_IMPURE_MODULES = frozenset((
    "time", "_random", "random", "posix", "os", "io", "_io", "select", "_socket", "_ssl", "_uuid",
    "_contextvars", "_warnings", "_queue", "mmap", "fcntl", "readline", "signal", "subprocess",
))  # fmt: skip
_IMPURE_CLASSES = frozenset((("datetime", "now"), ("datetime", "utcnow"), ("date", "today")))
_IMPURE_FUNCTIONS = {
    "builtins": frozenset(("print", "input", "open", "exec", "eval", "globals", "__import__")),
    "_thread": frozenset(("start_new_thread", "start_joinable_thread")),
    "sys": frozenset(("getrefcount", "settrace", "setprofile", "stdout", "_getframe")),
    "gc": frozenset(("get_objects", "get_referrers", "get_count")),
}
#: Files of Python's library whose functions answer differently at different times.
_ENVIRONMENT = os.getenv.__code__.co_filename
_STANDARD = os.path.dirname(os.__file__)


class listening:  # noqa: N801 - a context, named for how it reads
    """End the recording when the function calls something in C that a program would leave out."""

    def __init__(self, recorder: Recorder):
        self._recorder = recorder

    def __enter__(self) -> None:
        self._before = sys.getprofile()
        self._numpy = _state_of_numpy()
        self._outer, capture.listener = capture.listener, self._event
        sys.setprofile(capture.listener)

    def __exit__(self, *error: Any) -> None:
        sys.setprofile(self._before)
        capture.listener = self._outer
        if not self._recorder.paused and _state_of_numpy() != self._numpy:
            self._recorder.fail("numpy.random")  # of its functions Python does not report calls

    def _event(self, frame: Any, event: str, argument: Any) -> None:
        if event != "c_call" or self._recorder.paused:  # paused: kernels are being compiled
            return
        file = frame.f_code.co_filename
        if is_library(file):
            return
        everywhere = _is_impure(argument)
        if not everywhere and file != _ENVIRONMENT and not _is_effect(argument):
            return
        caller = frame
        while caller.f_back is not None and _is_foreign(caller.f_code.co_filename):
            caller = caller.f_back
        if is_library(caller.f_code.co_filename):
            return
        if not everywhere and file != _ENVIRONMENT and caller is not frame:
            return
        self._recorder.fail(f"{argument.__name__}(), which a program cannot repeat")


def _state_of_numpy() -> tuple[Any, ...]:
    """The state of NumPy's global generator, if a program has used it."""
    state: Any = np.random.get_state()
    return state[0], state[1].tobytes(), *state[2:]


def _is_impure(function: Any) -> bool:
    """Whether a function in C belongs to a module that is all effects."""
    owner = getattr(function, "__self__", None)
    module = getattr(function, "__module__", None)
    if module is None and isinstance(owner, type):
        return (owner.__name__, function.__name__) in _IMPURE_CLASSES
    if module is not None:
        return module in _IMPURE_MODULES or module.startswith("numpy.random")
    return any(
        [
            base.__module__ in _IMPURE_MODULES or base.__module__.startswith("numpy.random")
            for base in type(owner).__mro__
        ]
    )


def _is_effect(function: Any) -> bool:
    """Whether a function in C has an effect, where users call it themselves."""
    module = getattr(function, "__module__", None)
    return module is not None and function.__name__ in _IMPURE_FUNCTIONS.get(module, ())


def _is_foreign(filename: str) -> bool:
    """Whether code is neither the user's nor of this package."""
    if is_library(filename):
        return False
    return filename.startswith((_STANDARD, "<frozen")) or "site-packages" in filename


__all__ = ["listening"]
