# mypy: disable-error-code="assignment,override"
# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.library``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from .absent import lacking
from .autocast_state import state as autocast_state
from .autograd import Function
from .autograd.grad_mode import is_grad_enabled, no_grad
from .structure import flatten
from collections.abc import Iterable, Iterator
import contextlib
import inspect
import threading

class fallthrough_kernel:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class get_ctx:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class get_kernel:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class infer_schema:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class opaque_object:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class register_autocast:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class register_torch_dispatch:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class wrap_triton:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
_operators: dict[str, CustomOpDef] = {}
_early: dict[str, list[tuple[Any, Callable[..., Any]]]] = {}
_OF_DEVICES = ('CPU', 'CUDA', 'Autograd', 'AutogradCPU', 'AutogradCUDA', 'AutocastCPU', 'AutocastCUDA', 'AutocastXPU')
_ALL_DEVICES = ('default', 'CompositeExplicitAutograd', 'CompositeImplicitAutograd')
class _BelowAutograd(threading.local):
    depth = 0
below_autograd = _BelowAutograd()
class CustomOpDef:

    def __init__(self, name: str) -> None:
        ...

    def __repr__(self) -> str:
        ...

    @property
    def default(self) -> CustomOpDef:
        ...

    @property
    def _opoverload(self) -> CustomOpDef:
        ...

    def register_kernel(self, device_types: str | Sequence[str] | None, func: Callable[..., Any] | None=..., /) -> Callable[..., Any]:
        ...

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        ...

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None=...) -> None:
        ...

    def register_vmap(self, func: Callable[..., Any] | None=..., /) -> Any:
        ...

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        ...

    def _kernel_for(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, bool]:
        ...
def _any_requires_grad(inputs: Iterable[Any]) -> bool:
    ...
def _recorded(operator: CustomOpDef, kernel: Callable[..., Any], only: dict[str, Any]) -> type[Function]:
    ...
def _operator(op: Any) -> CustomOpDef:
    ...
def operators_of(space: str) -> dict[str, CustomOpDef]:
    ...
def custom_op(name: str, fn: Callable[..., Any] | None=..., /, *, mutates_args: str | Iterable[str], device_types: str | Sequence[str] | None=..., schema: str | None=..., tags: Any=...) -> Any:
    ...
def triton_op(name: str, fn: Callable[..., Any] | None=..., /, *, mutates_args: str | Iterable[str], schema: str | None=...) -> Any:
    ...
def define(qualname: str, schema: str, *, lib: Any=..., tags: Any=...) -> None:
    ...
def impl(qualname: str, types: str | Sequence[str], func: Any=..., *, lib: Any=...) -> Any:
    ...
def register_kernel(op: Any, device_types: Any, func: Any=..., /, *, lib: Any=...) -> Any:
    ...
def register_fake(op: Any, func: Any=..., /, *, lib: Any=..., _stacklevel: int=..., allow_override: Any=...) -> Any:
    ...
impl_abstract = register_fake
def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Any=..., lib: Any=...) -> None:
    ...
def register_vmap(op: Any, func: Any=..., /, *, lib: Any=...) -> Any:
    ...
class Library:

    def __init__(self, ns: str, kind: str, dispatch_key: str=...) -> None:
        ...

    def define(self, schema: str, alias_analysis: str=..., *, tags: Any=...) -> str:
        ...

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str=..., *, with_keyset: bool=..., allow_override: bool=...) -> None:
        ...

    def _destroy(self) -> None:
        ...
@contextlib.contextmanager
def _scoped_library(*arguments: Any, **keywords: Any) -> Iterator[Library]:
    ...
