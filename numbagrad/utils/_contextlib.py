"""``torch.utils._contextlib``: contexts as decorators of functions and generators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import ContextWithoutArguments as _NoParamDecoratorContextManager
from ..autograd.grad_mode import GradModeContext as _DecoratorContextManager
from ..autograd.grad_mode import decorate_generator

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager", "context_decorator"]


def context_decorator(ctx: Any, func: Any) -> Any:
    """A function, or a generator, that runs in a context: ``ctx``, or ``ctx()`` of each call.

    Raises:
        RuntimeError: for a class, which could mean its constructor or its methods.
        AssertionError: if ``ctx`` is a context and callable, so that either could be meant.
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), "
            "making it ambiguous which interface to use: pass `lambda: ctx` for the context, and "
            "`lambda: ctx()` for those that it makes"
        )
    if inspect.isclass(func):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the "
            "constructor or all methods should have the context manager applied"
        )
    make: Callable[[], Any] = ctx if callable(ctx) else lambda: ctx
    if inspect.isgeneratorfunction(func):
        return decorate_generator(make, func)

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with make():
            return func(*args, **kwargs)

    return decorated
