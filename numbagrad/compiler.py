"""``torch.compiler``: questions to the compiler, and marks on functions.

``compile`` is ``numbagrad.compile``. Marks that tell torch's compiler how to read a function are
accepted: what is recorded here is what ran.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from .absent import lacking
from .compiling import compile
from .executor import capture

_absent, __getattr__, __dir__ = lacking(
    __name__,
    "programs are kept in memory, and kernels on disk by themselves",
    """get_default_backend keep_portable_guards_unsafe keep_tensor_guards_unsafe
    load_cache_artifacts load_compiled_function nested_compile_region save_cache_artifacts
    set_default_backend set_enable_guard_collectives skip_all_guards_unsafe
    skip_guard_on_all_nn_modules_unsafe
    skip_guard_on_globals_unsafe skip_guard_on_inbuilt_nn_modules_unsafe wrap_numpy""",
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


class set_stance:  # noqa: N801 - torch's name
    """The stance of compiled functions, from now on or in a ``with`` block; also a decorator.

    With ``"eager_while_compiling"`` a call whose program lacks kernels does not wait for them:
    other processes compile them, calls run uncompiled meanwhile, and the program takes over when
    they are there. Uncompiled calls round otherwise, so that results depend on how long that takes;
    with ``"default"`` they never do. A process that may use one core waits all the same. torch's
    other stances are accepted, and are the default.
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: Any = None,
    ) -> None:
        from .compiling import awaited_kernels

        self._arguments = stance, skip_guard_eval_unsafe, force_backend
        self._process = awaited_kernels.process
        self._before = self._process.enabled
        self._process.enabled = stance == awaited_kernels.EAGER_WHILE_COMPILING

    def __enter__(self) -> None:
        """Nothing: the stance has been taken."""

    def __exit__(self, *details: object) -> None:
        self._process.enabled = self._before

    def __call__(self, function: F) -> F:
        """The function, in this stance for as long as it is called."""
        self._process.enabled = self._before
        stance, skips, backend = self._arguments

        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            with set_stance(stance, skip_guard_eval_unsafe=skips, force_backend=backend):
                return function(*arguments, **keywords)

        return call  # type: ignore[return-value]
