"""``torch.jit``: TorchScript's decorators, which leave functions and modules as they are.

TorchScript is a language of its own, for programs without Python; there is none here. What is
decorated runs as Python, with the same values. ``numbagrad.compile`` makes functions fast.
``save`` and ``load`` of scripts raise, since a file would hold a program.
"""

from __future__ import annotations

import contextlib
import inspect
import warnings
import weakref
from collections.abc import Callable
from typing import Any, Final, TypeVar

from ..absent import lacking
from ..futures import Future
from ..nn.module import Module

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "there is no TorchScript; save the state_dict, and numbagrad.compile the function",
    """CompilationUnit ScriptFunction export_opnames load save""",
    {"annotations": ".annotations"},
)

__all__ = ["Attribute", "Error", "Final", "Future", "ScriptModule", "TracerWarning",
           "TracingCheckError",
           "annotate", "enable_onednn_fusion", "export", "fork", "freeze", "fuser", "ignore",
           "interface",
           "is_scripting", "is_tracing", "isinstance", "onednn_fusion_enabled",
           "optimize_for_inference", "optimized_execution", "script", "script_if_tracing",
           "script_method", "set_fusion_strategy", "strict_fusion", "trace", "trace_module",
           "unused", "wait"]  # fmt: skip

T = TypeVar("T")
_isinstance = isinstance
_SAVE = "torch.jit.save is not available in numbagrad: there is no TorchScript; save the state_dict"


class Error(RuntimeError):
    """The error that scripts raise in torch."""


class TracingCheckError(Exception):
    """The error of ``trace`` in torch where a program depends on values."""


class TracerWarning(Warning):
    """The warning of ``trace`` in torch."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Nothing is warned of."""


def interface(obj: type[T]) -> type[T]:
    """The class, which tells TorchScript what modules of its kind have."""
    return obj


class Attribute:
    """A value with its type, for attributes of scripts."""

    def __init__(self, value: Any, type: Any) -> None:
        self.value = value
        self.type = type


#: Modules that ``script`` and ``trace`` have seen.
_scripted: weakref.WeakSet[Any] = weakref.WeakSet()


class _Scripted(type):
    """The class of ScriptModule, of which scripted and traced modules are instances too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or (
            cls is ScriptModule and instance in _scripted
        )


class ScriptModule(Module, metaclass=_Scripted):
    """A Module; torch compiles the methods of its subclasses that are decorated."""

    def save(self, f: Any, **options: Any) -> None:
        """Raises: a file would hold a program."""
        raise NotImplementedError(_SAVE)


RecursiveScriptModule = ScriptModule


def _noted(value: T) -> T:
    """The value; a module counts as a ScriptModule from now on."""
    if _isinstance(value, Module):
        _scripted.update(value.modules())
    return value


def script(
    obj: T,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> T:
    """The function, class or module itself: it runs as Python, with the same values."""
    return _noted(obj)


def trace(
    func: Callable[..., Any],
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    **options: Any,
) -> Any:
    """The function or module itself, which was called once with the example.

    torch would repeat the operators of that call. Here branches on values, which torch freezes,
    stay branches.
    """
    inputs = options.get("example_kwarg_inputs")
    if inputs is not None:
        func(**inputs)
    elif example_inputs is not None:
        single = not _isinstance(example_inputs, (tuple, list))
        func(*((example_inputs,) if single else example_inputs))
    return _noted(func)


def trace_module(mod: Any, inputs: dict[str, Any], *arguments: Any, **options: Any) -> Any:
    """The module itself, whose methods were called once with the examples."""
    for name, example in inputs.items():
        trace(getattr(mod, name), example)
    return _noted(mod)


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """A future of ``func(*args, **kwargs)``, which has run when this returns.

    Scripts run such calls beside each other in torch; kernels here use all threads by themselves.
    """
    made: Future[T] = Future()
    made.set_result(func(*args, **kwargs))
    return made


def wait(future: Future[T]) -> T:
    """The value of a future that ``fork`` returned."""
    return future.wait()


def _same(fn: T) -> T:
    """The function itself."""
    return fn


export = script_method = script_if_tracing = unused = _same
_script_if_tracing = _overload = _overload_method = _same


def ignore(drop: Any = False, **options: Any) -> Any:
    """A decorator, with or without arguments, that leaves a function as it is."""
    return drop if callable(drop) else _same


def freeze(mod: T, *arguments: Any, **options: Any) -> T:
    """The module itself, which has to be in eval mode.

    Raises:
        RuntimeError: for a module that is training.
    """
    if getattr(mod, "training", False):
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() "
            "on your module before freezing."
        )
    return mod


def optimize_for_inference(mod: T, other_methods: Any = None) -> T:
    """The module itself."""
    return mod


def is_scripting() -> bool:
    """Whether a function runs as TorchScript: never."""
    return False


def is_tracing() -> bool:
    """Whether a function is being traced: never."""
    return False


def annotate(the_type: Any, the_value: T) -> T:
    """The value itself."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether a value is of a type; of ``List[int]`` and the like only the container is asked."""
    origin = getattr(target_type, "__origin__", None)
    if origin is None:
        return _isinstance(obj, target_type)
    if origin is inspect.getattr_static(__import__("typing"), "Union"):
        return any(isinstance(obj, each) for each in target_type.__args__)
    return _isinstance(obj, origin)


def set_fusion_strategy(strategy: Any) -> list[tuple[str, int]]:
    """Accepted for torch's sake."""
    return [("STATIC", 2), ("DYNAMIC", 10)]


_onednn = False


def enable_onednn_fusion(enabled: bool) -> None:
    """Kept, and changes nothing."""
    global _onednn
    _onednn = enabled


def onednn_fusion_enabled() -> bool:
    """The last setting of ``enable_onednn_fusion``."""
    return _onednn


class strict_fusion(contextlib.AbstractContextManager[None]):
    """A context in which torch raises where a script is not fused; there are no scripts."""

    def __init__(self) -> None:
        warnings.warn("Only works in script mode", stacklevel=2)

    def __exit__(self, *error: Any) -> None:
        return None


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Any:
    """A context in which torch's scripts are optimized or not; there are none."""
    yield


@contextlib.contextmanager
def fuser(name: str) -> Any:
    """A context that chooses what fuses torch's scripts; there are none."""
    yield
