# mypy: disable-error-code="assignment,override"
# Written by tools/write_stubs.py; do not edit.
"""The names of ``numbagrad.compiler``."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from numbagrad.dtype import dtype as DType
from numbagrad.ops.arguments.kinds import Ints, Real
from numbagrad.random import Generator
from numbagrad.tensor import Tensor

Number = builtins.bool | builtins.int | builtins.float

from .absent import lacking
from .executor import capture
from numbagrad.compiling import compile as compile
from typing import TypeVar
import functools

class load_cache_artifacts:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class load_compiled_function:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class nested_compile_region:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class save_cache_artifacts:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
class wrap_numpy:
    def __init__(self, *arguments: Any, **keywords: Any) -> NoReturn: ...
F = TypeVar('F', bound=Callable[..., Any])
def is_compiling() -> bool:
    ...
def is_dynamo_compiling() -> bool:
    ...
is_exporting = is_dynamo_compiling
def reset() -> None:
    ...
def disable(fn: Any=..., recursive: bool=..., *, reason: str | None=...) -> Any:
    ...
def allow_in_graph(fn: F) -> F:
    ...
def assume_constant_result(fn: F) -> F:
    ...
def substitute_in_graph(original_fn: Any, **options: Any) -> Callable[[F], F]:
    ...
def list_backends(exclude_tags: Any=...) -> list[str]:
    ...
def cudagraph_mark_step_begin() -> None:
    ...
class set_stance:

    def __init__(self, stance: str=..., *, skip_guard_eval_unsafe: bool=..., force_backend: Any=...) -> None:
        ...

    def __enter__(self) -> None:
        ...

    def __exit__(self, *details: object) -> None:
        ...

    def __call__(self, function: F) -> F:
        ...
