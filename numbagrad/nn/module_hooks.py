"""Hooks of modules: how they are registered, and what a call with hooks does.

``nn/module.py`` derives Module from the class here, and comes here in a call only if there is a
hook. Full backward hooks are run by ``module_backward.py``.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..autograd.hooks.tensor_hooks import RemovableHandle, add_hook
from .module_backward import BackwardWatcher, watch_last_node

if TYPE_CHECKING:
    from .module import Module

__all__ = [
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

#: The tables every module has.
TABLES = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)  # fmt: skip


class _HooksOfRegistration(OrderedDict[int, Any]):
    """Hooks of every module that see what becomes part of one.

    Libraries write into these tables as well; whoever does, calls and compiled code notice.
    """

    def __setitem__(self, key: int, hook: Any) -> None:
        EVERY_MODULE.any = True
        EVERY_MODULE.registration = object()
        super().__setitem__(key, hook)


class _HooksOfCalls(_HooksOfRegistration):
    """Hooks of every module that run around its forward, or in its backward."""

    def __setitem__(self, key: int, hook: Any) -> None:
        EVERY_MODULE.of_calls = True
        super().__setitem__(key, hook)


class HooksOfEveryModule:
    """The hooks that run for every module, before its own, and those of every optimizer.

    They lie together because compiled code looks at one word for all of them.
    """

    __slots__ = (
        "after_steps", "any", "backward", "backward_pre", "before_steps", "buffers", "forward",
        "forward_always_called", "forward_pre", "forward_with_kwargs", "is_full_backward",
        "modules", "of_calls", "parameters", "registration",
    )  # fmt: skip

    def __init__(self) -> None:
        #: Hooks of every optimizer, around its steps.
        self.before_steps = _HooksOfRegistration()
        self.after_steps = _HooksOfRegistration()
        self.forward_pre = _HooksOfCalls()
        self.forward = _HooksOfCalls()
        self.forward_with_kwargs: OrderedDict[int, bool] = OrderedDict()
        self.forward_always_called: OrderedDict[int, bool] = OrderedDict()
        self.backward_pre = _HooksOfCalls()
        self.backward = _HooksOfCalls()
        #: Whether backward hooks see whole modules, or the nodes of outputs; None before the first.
        self.is_full_backward: bool | None = None
        #: Hooks that see what becomes part of a module.
        self.parameters = _HooksOfRegistration()
        self.buffers = _HooksOfRegistration()
        self.modules = _HooksOfRegistration()
        #: Whether there may be one, and one that runs in calls of modules: set by the first
        #: registration and never taken back, so that calls without hooks ask for one flag.
        self.any = self.of_calls = False
        #: Another object after each registration, so that compiled code notices one by a word.
        self.registration = object()

    def add_backward(self, hook: Callable[..., Any], full: bool) -> RemovableHandle:
        """Register a hook of backward, of one kind with those that were registered before."""
        if self.is_full_backward is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks as a global Module "
                "hook. Please use only one of them."
            )
        self.is_full_backward = full
        return add_hook(self.backward, hook)


EVERY_MODULE = HooksOfEveryModule()


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward of every module."""
    return add_hook(EVERY_MODULE.forward_pre, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the forward of every module.

    With ``with_kwargs``, ``hook(module, args, kwargs, output)``; with ``always_call`` also when
    ``forward`` raises.
    """
    handle = add_hook(EVERY_MODULE.forward, hook)
    if with_kwargs:
        EVERY_MODULE.forward_with_kwargs[handle.id] = True
    if always_call:
        EVERY_MODULE.forward_always_called[handle.id] = True
    return handle


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the backward of every module."""
    return add_hook(EVERY_MODULE.backward_pre, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` in the backward of every module.

    Raises:
        RuntimeError: if there was a ``register_module_backward_hook``.
    """
    return EVERY_MODULE.add_backward(hook, full=True)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The old backward hook of every module: sees the node that made the output.

    Raises:
        RuntimeError: if there was a ``register_module_full_backward_hook``.
    """
    return EVERY_MODULE.add_backward(hook, full=False)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, param)`` for every parameter that a module gets.

    What the hook returns, if it is not None, is registered instead.
    """
    return add_hook(EVERY_MODULE.parameters, hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` for every buffer that a module gets, None included.

    What the hook returns, if it is not None, is registered instead.
    """
    return add_hook(EVERY_MODULE.buffers, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` for every submodule that a module gets.

    What the hook returns, if it is not None, is registered instead.
    """
    return add_hook(EVERY_MODULE.modules, hook)


def as_hooks_say(hooks: OrderedDict[int, Any], module: Module, name: str, value: Any) -> Any:
    """``value``, or what the hooks of a registration return instead."""
    for hook in list(hooks.values()):
        replaced = hook(module, name, value)
        if replaced is not None:
            value = replaced
    return value


class ModuleHooks:
    """The hooks that a Module registers around its forward and its backward."""

    _forward_hooks: OrderedDict[int, Any]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: OrderedDict[int, Any]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _backward_hooks: OrderedDict[int, Any]
    _backward_pre_hooks: OrderedDict[int, Any]
    _is_full_backward_hook: bool | None

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before ``forward``; it may return other arguments.

        With ``with_kwargs``, ``hook(module, args, kwargs)``, which returns None or both.
        """
        handle = add_hook(self._forward_pre_hooks, hook, prepend)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return handle

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after ``forward``; it may return another output.

        With ``with_kwargs``, ``hook(module, args, kwargs, output)``; with ``always_call`` also when
        ``forward`` raises.
        """
        handle = add_hook(self._forward_hooks, hook, prepend)
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return handle

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the gradients of the module are computed."""
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def _choose_backward_hooks(self, full: bool) -> None:
        if self._is_full_backward_hook is not None and self._is_full_backward_hook != full:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )
        self._is_full_backward_hook = full

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` in backward; it may return others."""
        self._choose_backward_hooks(True)
        return add_hook(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The old backward hook: sees the node that made the output, not the whole module."""
        self._choose_backward_hooks(False)
        return add_hook(self._backward_hooks, hook)


# --- a call ---------------------------------------------------------------------------------------


def call(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``forward`` of a module with the hooks around it, or what a tracer makes of the call."""
    if _tracer.call is not None:
        return _tracer.call(module, args, kwargs, functools.partial(_forward, module))
    return _forward(module, *args, **kwargs)


class _Tracer(threading.local):
    """The tracer of calls of modules in this thread, if there is one."""

    call: Callable[..., Any] | None = None


_tracer = _Tracer()


@contextlib.contextmanager
def tracing(call: Callable[..., Any]) -> Iterator[None]:
    """Have calls of modules in this thread be ``call(module, args, kwargs, forward)``."""
    before, _tracer.call = _tracer.call, call
    of_calls, EVERY_MODULE.of_calls = EVERY_MODULE.of_calls, True
    registration = EVERY_MODULE.registration
    try:
        yield
    finally:
        _tracer.call = before
        if EVERY_MODULE.registration is registration:
            EVERY_MODULE.of_calls = of_calls


def _forward(module: Module, /, *args: Any, **kwargs: Any) -> Any:
    """``forward`` with the hooks before and after it."""
    done: set[int] = set()
    try:
        return _call(module, args, kwargs, done)
    except Exception:
        _run_always_called(module, args, kwargs, done)
        raise


def _call(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], done: set[int]) -> Any:
    for number, hook in [*EVERY_MODULE.forward_pre.items(), *module._forward_pre_hooks.items()]:
        args, kwargs = _run_forward_pre(module, number, hook, args, kwargs)
    full, old = _backward_hooks(module)
    before = [*EVERY_MODULE.backward_pre.values(), *module._backward_pre_hooks.values()]
    watcher = BackwardWatcher(module, full, before) if full or before else None
    if watcher is not None:
        args = watcher.watch_inputs(args)
    result = module.forward(*args, **kwargs)
    for number, hook in [*EVERY_MODULE.forward.items(), *module._forward_hooks.items()]:
        done.add(number)
        if (
            number in module._forward_hooks_with_kwargs
            or number in EVERY_MODULE.forward_with_kwargs
        ):
            replaced = hook(module, args, kwargs, result)
        else:
            replaced = hook(module, args, result)
        if replaced is not None:
            result = replaced
    if watcher is not None:
        result = watcher.watch_outputs(result)
    if old:
        watch_last_node(module, args, result, old)
    return result


def _backward_hooks(module: Module) -> tuple[list[Any], list[Any]]:
    """Hooks of backward, those of every module first: of whole modules, and of last nodes."""
    full: list[Any] = []
    old: list[Any] = []
    for is_full, hooks in (
        (EVERY_MODULE.is_full_backward, EVERY_MODULE.backward),
        (module._is_full_backward_hook, module._backward_hooks),
    ):
        if is_full is not None:  # without a kind, hooks that were written into a table do nothing
            (full if is_full else old).extend(hooks.values())
    return full, old


def _run_forward_pre(
    module: Module, number: int, hook: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if number not in module._forward_pre_hooks_with_kwargs:
        replaced = hook(module, args)
        if replaced is not None:
            args = replaced if isinstance(replaced, tuple) else (replaced,)
        return args, kwargs
    replaced = hook(module, args, kwargs)
    if replaced is None:
        return args, kwargs
    if isinstance(replaced, tuple) and len(replaced) == 2:
        return replaced
    raise RuntimeError(
        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
        f"{replaced}."
    )


def _run_always_called(
    module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], done: set[int]
) -> None:
    """The forward hooks that run though ``forward`` raised; what they raise becomes a warning."""
    always = {**EVERY_MODULE.forward_always_called, **module._forward_hooks_always_called}
    with_kwargs = {**EVERY_MODULE.forward_with_kwargs, **module._forward_hooks_with_kwargs}
    for number, hook in [*EVERY_MODULE.forward.items(), *module._forward_hooks.items()]:
        if number not in always or number in done:
            continue
        given = (args, kwargs) if number in with_kwargs else (args,)
        try:
            hook(module, *given, None)
        except Exception as error:
            warnings.warn(
                "module forward hook with ``always_call=True`` raised an exception that was "
                f"silenced as another error was raised in forward: {error}",
                stacklevel=4,
            )
