"""``torch.compiler``: questions to the compiler, and marks on functions.

``compile`` is ``numbagrad.compile``. Marks that tell torch's compiler how to read a function are
accepted: what is recorded here is what ran.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from .absent import lacking
from .compiling import compile
from .executor import capture

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "programs are kept in memory, and kernels on disk by themselves",
    """load_cache_artifacts load_compiled_function nested_compile_region save_cache_artifacts
    wrap_numpy""",
)

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
    "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset",
    "set_stance", "substitute_in_graph",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])


def is_compiling() -> bool:
    """Whether the call is being recorded into a program."""
    trace = None if capture.active is None else capture.current_trace()
    return trace is not None and not getattr(trace, "observes", False)


def is_dynamo_compiling() -> bool:
    """Whether torch's own front end is at work: never."""
    return False


is_exporting = is_dynamo_compiling


def reset() -> None:
    """Forget programs; each belongs to its function here, and goes with it."""


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A decorator of functions that are not to be compiled.

    The function says so when it is called: a recorded call then goes on without being recorded, and
    the function around it runs in pieces.
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)

    @functools.wraps(fn)
    def disabled(*arguments: Any, **keywords: Any) -> Any:
        if is_compiling():
            capture.refuse(f"a call of {getattr(fn, '__name__', fn)!r}, which has compiler.disable")
        return fn(*arguments, **keywords)

    return disabled


def allow_in_graph(fn: F) -> F:
    """The function itself: what it runs is recorded."""
    return fn


def assume_constant_result(fn: F) -> F:
    """The function itself."""
    return fn


def substitute_in_graph(original_fn: Any, **options: Any) -> Callable[[F], F]:
    """A decorator that leaves a function as it is: the original one runs when it is recorded."""
    return lambda fn: fn


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Names that ``compile`` takes as a backend."""
    return ["numbagrad"]


def cudagraph_mark_step_begin() -> None:
    """Accepted for torch's sake."""


def set_stance(stance: Any = "default", **options: Any) -> contextlib.AbstractContextManager[None]:
    """Accepted for torch's sake, as a function and as a context; changes nothing."""

    @contextlib.contextmanager
    def unchanged() -> Iterator[None]:
        yield

    return unchanged()
