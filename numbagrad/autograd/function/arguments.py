"""Calls of a ``Function`` by keywords, which become calls by position, as its node counts them."""

from __future__ import annotations

import functools
import inspect
from typing import Any

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def positional(forward: Any, args: Any, kwargs: Any, separate_context: bool) -> tuple[Any, ...]:
    """Return the arguments of a call as positional ones, with the defaults if there is no ctx."""
    signature = _signature(forward)
    if separate_context:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        args, kwargs = bound.args, bound.kwargs
    names = [name for name, one in signature.parameters.items() if one.kind in _POSITIONAL]
    if not separate_context:
        del names[:1]
    named = {}
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        position = names.index(name)
        if position < len(args):
            raise TypeError(f"forward() got multiple values for argument '{name}'")
        named[position] = value
    positions = range(len(args), 1 + max(named, default=-1))
    for position in positions:
        if position not in named:
            raise TypeError(
                f"forward() missing required argument: '{names[position]}' (position {position})"
            )
    return (*args, *[named[position] for position in positions])


@functools.lru_cache(maxsize=1024)
def _signature(function: Any) -> inspect.Signature:
    return inspect.signature(function)
