"""``torch.utils._contextlib``: contexts as decorators of functions and generators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["context_decorator"]


def context_decorator(ctx: Any, func: Any) -> Any:
    """A function that runs in a context: ``ctx``, or what ``ctx()`` makes for each call.

    Raises:
        RuntimeError: for a class, which could mean its constructor or its methods.
    """
    if inspect.isclass(func):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the "
            "constructor or all methods should have the context manager applied"
        )
    make: Callable[[], Any] = ctx if callable(ctx) else lambda: ctx

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with make():
            return func(*args, **kwargs)

    return decorated
