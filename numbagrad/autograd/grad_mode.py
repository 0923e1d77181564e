"""Whether operators record the graph: one switch a thread, and the contexts that set it.

Every operator reads ``state.enabled`` once a call; the engine sets it for the length of a backward
walk.
"""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from ..absent import absent
from .hooks import watching

__all__ = [
    "_force_original_view_tracking",
    "enable_grad",
    "follow_in_any_mode",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "is_view_replay_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "state",
    "tangent_switch",
]

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class GradMode(threading.local):
    """The switches of one thread. A new thread records, whatever the thread that started it does.

    The values are instance attributes, set when a thread first touches the object: reading an
    instance attribute of a ``threading.local`` takes 25 ns, a class-level default 60 ns.
    """

    def __init__(self) -> None:
        self.enabled = True
        self.inference = False
        #: Whether inference tensors may be saved: inside of a derivative that was asked for.
        self.saves_inference = False
        self.multithreading = True
        self.view_replay = False
        #: The walk of this thread's engine, see ``engine/backward.py``; None outside of one.
        self.walk: Any = None
        #: How many walks of this thread were recorded, to be differentiated again.
        self.recorded_walks = 0


state = GradMode()


class TangentSwitch:
    """How tangents of a thread are switched, by inference mode too.

    Operators of forward mode lie in ``transforms/levels.py``, which installs its functions here.
    """

    is_enabled: Callable[[], bool]
    enable: Callable[[bool], None]


tangent_switch = TangentSwitch()


def is_grad_enabled() -> bool:
    """Return True if operators called by this thread record the graph."""
    return state.enabled


def is_inference_mode_enabled() -> bool:
    """Return True inside ``inference_mode()``."""
    return state.inference


def is_multithreading_enabled() -> bool:
    """Return the switch that ``set_multithreading_enabled`` sets."""
    return state.multithreading


def is_view_replay_enabled() -> bool:
    """Return the switch that ``_force_original_view_tracking`` sets."""
    return state.view_replay


class GradModeContext:
    """A context manager that is also a decorator, of functions and of generators."""

    def clone(self) -> GradModeContext:
        """Return a context like this one, for one call of a decorated function."""
        return type(self)()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exception: object) -> None:
        raise NotImplementedError

    def __call__(self, function: Decorated) -> Decorated:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You "
                "should only decorate functions or methods. To preserve the current behavior of "
                "class decoration, you can directly decorate the `__init__` method and nothing "
                "else.",
                FutureWarning,
                stacklevel=2,
            )
        if inspect.isgeneratorfunction(function):
            return decorate_generator(self.clone, function)

        # What decorates a class is called to construct: it must not have the class's dictionary.
        updated = () if inspect.isclass(function) else functools.WRAPPER_UPDATES

        @functools.wraps(function, updated=updated)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]


def decorate_generator(make_context: Callable[[], Any], function: Any) -> Any:
    """Run the body of a generator under the context, and its consumer outside of it."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        resume, value = generator.send, None

        def step() -> Any:
            with make_context():
                return resume(value)

        try:
            while True:
                try:
                    produced = step()
                except StopIteration as stop:
                    return stop.value
                try:
                    value = yield produced
                    resume = generator.send
                except GeneratorExit:
                    raise
                except BaseException as error:
                    resume, value = generator.throw, error
        finally:
            with make_context():
                generator.close()

    return wrapper


class ContextWithoutArguments(GradModeContext):
    """A context that decorates without parentheses as well: ``@no_grad`` and ``@no_grad()``."""

    def __new__(cls, orig_func: Any = None) -> Any:
        context = super().__new__(cls)
        return context if orig_func is None else context(orig_func)


class no_grad(ContextWithoutArguments):
    """Switch recording off for a block or for a decorated function.

    ``@no_grad`` and ``@no_grad()`` both decorate.
    """

    _enabled = False

    def __enter__(self) -> None:
        self.prev = state.enabled
        state.enabled = self._enabled and not state.inference

    def __exit__(self, *exception: object) -> None:
        state.enabled = self.prev


class enable_grad(no_grad):
    """Switch recording on for a block or for a decorated function, inside ``no_grad`` too."""

    _enabled = True


class set_grad_enabled(GradModeContext):
    """Switch recording on or off: at once when called, or for a block, or for a function.

    Args:
        mode: True to record.
    """

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self.prev = state.enabled
        self.__enter__()

    def __call__(self, function: Decorated) -> Decorated:
        # As a decorator it must leave the mode of the decorating code as it was.
        state.enabled = self.prev
        return super().__call__(function)

    def clone(self) -> set_grad_enabled:
        """Return a context like this one, which sets the mode at once."""
        return type(self)(self.mode)

    def __enter__(self) -> None:
        state.enabled = self.mode and not state.inference

    def __exit__(self, *exception: object) -> None:
        state.enabled = self.prev

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class inference_mode(GradModeContext):
    """Switch recording off, as ``no_grad`` does, and make *inference tensors* inside.

    An inference tensor does not count writes. Outside of the mode it can be read, but neither be
    written in place nor be saved for a backward; a clone of it is an ordinary tensor. Views of
    ordinary tensors are ordinary tensors, here too. No tangents are computed either, but inside of
    the derivatives of ``numbagrad.func``, which record as ever.

    Args:
        mode: False switches recording and tangents on, inside an outer ``inference_mode`` too.
    """

    def __new__(cls, mode: Any = True) -> Any:
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def clone(self) -> inference_mode:
        """Return a context like this one."""
        return type(self)(self.mode)

    def __enter__(self) -> None:
        self._previous = state.enabled, state.inference, tangent_switch.is_enabled()
        state.enabled = not self.mode
        self._set(self.mode)
        tangent_switch.enable(not self.mode)

    def __exit__(self, *exception: object) -> None:
        state.enabled, inference, tangents = self._previous
        self._set(inference)
        tangent_switch.enable(tangents)

    @staticmethod
    def _set(inference: bool) -> None:
        if inference is not state.inference:
            watching.change_inference(1 if inference else -1)
            state.inference = inference


class follow_in_any_mode(GradModeContext):
    """Record for a derivative that was asked for, inside of ``no_grad`` and inference mode too.

    Inference tensors from outside may be saved. They cannot be written in the block, as it is no
    inference mode, and so need no count of their writes.
    """

    def __enter__(self) -> None:
        self._previous = state.enabled, state.inference, state.saves_inference
        state.enabled = True
        state.saves_inference = True
        inference_mode._set(False)

    def __exit__(self, *exception: object) -> None:
        state.enabled, inference, state.saves_inference = self._previous
        inference_mode._set(inference)


class _Switch(GradModeContext):
    """Set a switch of this thread: at once when called, or for a block, or for a function.

    Args:
        mode: the value of the switch.
    """

    _name: str

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.prev = getattr(state, self._name)
        self._set(mode)

    def __call__(self, function: Decorated) -> Decorated:
        self._set(self.prev)
        return super().__call__(function)

    def clone(self) -> _Switch:
        """Return a context like this one, which sets the switch at once."""
        return type(self)(self.mode)

    def __enter__(self) -> None:
        """The switch was set when the object was made."""

    def __exit__(self, *exception: object) -> None:
        self._set(self.prev)

    def _set(self, mode: bool) -> None:
        setattr(state, self._name, mode)


class set_multithreading_enabled(_Switch):
    """Set the switch of torch that lets the engine use several threads: at once, or for a block.

    The engine of this library walks in the thread that calls it, so the switch only decides what
    ``is_multithreading_enabled`` returns.

    Args:
        mode: the value of the switch.
    """

    _name = "multithreading"


class _force_original_view_tracking(_Switch):
    """Have views that are made from now on keep the operator that made them when they are written.

    A write gives the views of its memory a new history. It begins with the node of a strided view
    of the base (``AsStridedBackward0``); for views that were made while the switch was on, with
    nodes like those that made them. The gradients are the same.

    Args:
        mode: the value of the switch.
    """

    _name = "view_replay"

    def _set(self, mode: bool) -> None:
        if mode is not state.view_replay:
            watching.change(1 if mode else -1)
        super()._set(mode)


enforce_grad_layout_policy = absent(
    "torch.autograd.grad_mode.enforce_grad_layout_policy",
    "gradients have the layout of torch's default",
)
