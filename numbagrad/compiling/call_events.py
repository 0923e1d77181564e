"""Events of a captured call, as Python reports them: functions entered, and calls of C.

``call_capture.py`` listens while it calls the function. What functions in Python read is watched
from the moment they are entered (``reachable_state.py``); a function in C has to be one that is
known to depend on its arguments alone (``c_functions.py``), or the capture ends.
"""

from __future__ import annotations

import functools
import gc
import inspect
import os
import sys
import threading
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import printing, switches, warn_once
from ..executor import capture
from ..executor.threads import pool
from ..ops.arguments import check as argument_check
from ..program.running_code import is_library, running_code
from ..program.trace import Trace
from .c_functions import is_known, reaches_outside
from .code_names import UNKNOWN, name_argument
from .origins import is_standard_library
from .reachable_state import ReachableState

#: Functions in C that read or write an attribute by a name that they are given.
_BY_NAME = frozenset(("getattr", "hasattr", "setattr", "delattr", "__getattribute__"))
#: Functions that read all attributes of an object.
_ALL_NAMES = frozenset((
    "vars", "dir", "__dir__", "__reduce_ex__", "__reduce__", "__getstate__", "dump", "dumps",
))  # fmt: skip
#: Functions of an object's address; Python's library may call them, to tell objects apart.
_ADDRESSES = frozenset(("id", "hash"))
#: The code of ``os.environ``: what it holds may change without a trace.
_ENVIRONMENT = os.getenv.__code__.co_filename


class Collections:
    """Whether this thread is collecting garbage.

    The collector is given methods in C alone, which take its two arguments, the phase and a new
    dictionary: Ctrl-C in a function of Python would be lost there, and with it, for the rest of the
    call, the end of a collection.
    """

    def __init__(self) -> None:
        #: The phases, the last one last, as seen before all other callbacks and behind them.
        self._first, self._last = [OrderedDict(start=None, stop=None) for _ in range(2)]
        #: The dictionary of each phase, of any thread and of each.
        self._anywhere: dict[str, Any] = {}
        self._here = threading.local()
        self._before = [
            self._first.move_to_end, self._anywhere.__setitem__, self._here.__setattr__,
        ]  # fmt: skip
        self._behind = self._last.move_to_end

    def watch(self) -> None:
        """Ask the collector to tell."""
        gc.callbacks[:0] = self._before
        gc.callbacks.append(self._behind)  # type: ignore[arg-type]

    def forget(self) -> None:
        """Take that back."""
        for each in (*self._before, self._behind):
            gc.callbacks.remove(each)

    def run_here(self) -> bool:
        """Whether the thread that asks is collecting."""
        if next(reversed(self._first)) == next(reversed(self._last)) == "stop":
            return False
        return getattr(self._here, "start", None) is self._anywhere.get("start", self)


class listening:  # noqa: N801 - a context, named for how it reads
    """Tell the reachable state what runs; end the capture at what a program would leave out."""

    def __init__(self, trace: Trace, reachable: ReachableState | None = None):
        self._trace = trace
        self._reachable = reachable
        self._seen: set[types.CodeType] = set()
        #: Calls that Python makes while it collects garbage are no part of the captured one.
        self._collections = Collections()

    def __enter__(self) -> None:
        self._before = sys.getprofile()
        self._numpy = _state_of_numpy()
        self._outer, capture.listener = capture.listener, self._event
        self._collections.watch()
        sys.setprofile(capture.listener)

    def __exit__(self, *error: Any) -> None:
        sys.setprofile(self._before)
        self._collections.forget()
        capture.listener = self._outer
        if not self._trace.paused and _state_of_numpy() != self._numpy:
            self._trace.fail("numpy.random")  # of its functions Python does not report calls

    def _event(self, frame: Any, event: str, argument: Any) -> None:
        if self._trace.paused or self._collections.run_here():  # paused: kernels are compiled
            return
        if event == "call":
            code = frame.f_code
            if code not in self._seen:
                self._enter(frame, code)
            elif self._reachable is not None and code in self._reachable.shared:
                self._reachable.entered_again(frame)
        elif event == "c_call":
            self._call_of_c(frame, argument)

    def _enter(self, frame: types.FrameType, code: types.CodeType) -> None:
        """A function was entered: one of this package, or that works for it, is no concern."""
        file = code.co_filename
        if code in _SETTINGS:
            if not _works_for_library(_caller_of_public(frame)):
                self._trace.fail(f"{code.co_name}(), a setting of the whole process")
            return
        if is_library(file) or _is_generated_for_library(frame):
            self._seen.add(code)
            return
        if _is_of_arrays(file):
            return
        if code.co_name == "_gcd_import" and not _works_for_library(frame):
            self._trace.fail("importlib.import_module(), which a program cannot repeat")
        if _imports(frame):
            return
        if is_standard_library(file) and _works_for_library(frame):
            return
        self._seen.add(code)
        if self._reachable is None:
            return
        self._reachable.entered(frame)
        refused = self._reachable.refused_by(code)
        if refused is not None:
            what, line = refused
            self._trace.fail(what, [(code, line), *running_code(frame.f_back)])

    def _call_of_c(self, frame: types.FrameType, function: Any) -> None:
        file = frame.f_code.co_filename
        if is_library(file) or _imports(frame) or _is_generated_for_library(frame):
            return
        name = getattr(function, "__name__", "")
        standard = is_standard_library(file) or file == "<string>"  # methods of dataclasses
        if _is_of_arrays(file) or (standard and _works_for_library(frame)):
            if reaches_outside(function) and _works_for_arrays(frame):
                self._trace.fail(f"{name}(), which a program cannot repeat")
            return
        if file == _ENVIRONMENT:
            self._trace.fail("os.environ or another part of os, whose state cannot be watched")
        elif not is_known(function) or (name in _ADDRESSES and not standard):
            self._trace.fail(f"{name}(), which a program cannot repeat")
        elif self._reachable is not None and name in _BY_NAME | _ALL_NAMES:
            self._reachable.named(UNKNOWN if name in _ALL_NAMES else name_argument(frame))


#: Functions of this package that read or write what is set for the whole process, and is no part
#: of the key of a compiled call (``settings.py``).
_SETTINGS = frozenset([
    function.__code__
    for module, names in (
        (switches, switches.__all__),
        (pool, ("get_num_threads", "set_num_threads")),
        (warn_once, ("is_warn_always_enabled", "set_warn_always")),
        (printing, ("get_printoptions", "set_printoptions")),
    )
    for function in [inspect.unwrap(getattr(module, name)) for name in names]
])  # fmt: skip


def _caller_of_public(frame: types.FrameType) -> types.FrameType:
    """The caller of a function of the public namespace, past the checks of its arguments."""
    caller = frame.f_back or frame
    while caller.f_code.co_filename == argument_check.__file__ and caller.f_back is not None:
        caller = caller.f_back
    return caller


def _works_for_library(frame: types.FrameType) -> bool:
    """Whether a function of Python's library was called, in the end, by this package or NumPy."""
    file = _caller_outside(frame, is_standard_library)
    return is_library(file) or _is_of_arrays(file)


def _works_for_arrays(frame: types.FrameType) -> bool:
    """Whether NumPy, or what it called, was called by others than this package: for a program."""
    return not is_library(
        _caller_outside(frame, lambda file: is_standard_library(file) or _is_of_arrays(file))
    )


def _caller_outside(frame: types.FrameType, is_inside: Callable[[str], bool]) -> str:
    """The file of the first caller, the frame's own included, that is not inside; or none."""
    caller: types.FrameType | None = frame
    while caller is not None and is_inside(caller.f_code.co_filename):
        caller = caller.f_back
    return "" if caller is None else caller.f_code.co_filename


def _is_generated_for_library(frame: types.FrameType) -> bool:
    """Whether code was made while this package ran, as the methods of a dataclass are."""
    if not frame.f_code.co_filename.startswith("<"):
        return False
    name = frame.f_globals.get("__name__", "")
    return name.split(".")[0] == _PACKAGE or name.startswith("namedtuple_")


_PACKAGE = __name__.split(".")[0]


def _imports(frame: types.FrameType) -> bool:
    """Whether a module is being imported: what is imported by users' code was there before."""
    caller: types.FrameType | None = frame
    while caller is not None and not is_library(caller.f_code.co_filename):
        if caller.f_code.co_filename.startswith("<frozen importlib"):
            return True
        caller = caller.f_back
    return False


@functools.cache
def _is_of_arrays(file: str) -> bool:
    """Whether code belongs to NumPy or Numba, which compute with what they are given."""
    modules = [sys.modules.get(name) for name in ("numpy", "numba", "llvmlite")]
    paths = [getattr(module, "__file__", None) for module in modules]
    return any([file.startswith(os.path.dirname(path) + os.sep) for path in paths if path])


def _state_of_numpy() -> tuple[Any, ...]:
    """The state of NumPy's global generator, if a program has used it."""
    state: Any = np.random.get_state()
    return state[0], state[1].tobytes(), *state[2:]


__all__ = ["Collections", "listening"]
