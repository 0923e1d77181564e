# mypy: disable-error-code="assignment,override"
# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.jit``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from ..absent import lacking
from ..nn.module import Module
from numbagrad.futures import Future as Future
from typing import TypeVar
import contextlib
import inspect
import warnings
import weakref

class CompilationUnit:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class ScriptFunction:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class export_opnames:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class load:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class save:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
T = TypeVar('T')
_isinstance = isinstance
_SAVE = 'torch.jit.save is not available in numbagrad: there is no TorchScript; save the state_dict'
class Error(RuntimeError):
    ...
class TracingCheckError(Exception):
    ...
class TracerWarning(Warning):

    @staticmethod
    def ignore_lib_warnings() -> None:
        ...
def interface(obj: type[T]) -> type[T]:
    ...
class Attribute:

    def __init__(self, value: Any, type: Any) -> None:
        ...
_scripted: weakref.WeakSet[Any] = weakref.WeakSet()
class _Scripted(type):

    def __instancecheck__(cls, instance: Any) -> bool:
        ...
class ScriptModule(Module, metaclass=_Scripted):

    def save(self, f: Any, **options: Any) -> None:
        ...
RecursiveScriptModule = ScriptModule
def _noted(value: T) -> T:
    ...
def script(obj: T, optimize: Any=..., _frames_up: int=..., _rcb: Any=..., example_inputs: Any=...) -> T:
    ...
def trace(func: Callable[..., Any], example_inputs: Any=..., optimize: Any=..., check_trace: bool=..., **options: Any) -> Any:
    ...
def trace_module(mod: Any, inputs: dict[str, Any], *arguments: Any, **options: Any) -> Any:
    ...
def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    ...
def wait(future: Future[T]) -> T:
    ...
def _same(fn: T) -> T:
    ...
export = script_method = script_if_tracing = unused = _same
_script_if_tracing = _overload = _overload_method = _same
def ignore(drop: Any=..., **options: Any) -> Any:
    ...
def freeze(mod: T, *arguments: Any, **options: Any) -> T:
    ...
def optimize_for_inference(mod: T, other_methods: Any=...) -> T:
    ...
def is_scripting() -> bool:
    ...
def is_tracing() -> bool:
    ...
def annotate(the_type: Any, the_value: T) -> T:
    ...
def isinstance(obj: Any, target_type: Any) -> bool:
    ...
def set_fusion_strategy(strategy: Any) -> list[tuple[str, int]]:
    ...
_onednn = False
def enable_onednn_fusion(enabled: bool) -> None:
    ...
def onednn_fusion_enabled() -> bool:
    ...
class strict_fusion(contextlib.AbstractContextManager[None]):

    def __init__(self) -> None:
        ...

    def __exit__(self, *error: Any) -> None:
        ...
@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Any:
    ...
@contextlib.contextmanager
def fuser(name: str) -> Any:
    ...
