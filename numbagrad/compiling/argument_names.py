"""Names of the arguments of a call, for warnings that name one of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..structure import flatten


def names_of_leaves(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[str]:
    """A name for each leaf of the arguments: of the parameter, with its place in a container."""
    names = []
    given = [*zip(_positional(function, len(args)), args, strict=True), *kwargs.items()]
    for name, value in given:
        leaves = flatten(value)[0]
        single = len(leaves) == 1 and leaves[0] is value
        names += [name] if single else [f"{name} (item {k})" for k in range(len(leaves))]
    return names


def _positional(function: Callable[..., Any], count: int) -> list[str]:
    """The names of the first parameters, numbers where there are none."""
    try:
        parameters = [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):  # a callable that says nothing of its parameters
        parameters = []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [each.name for each in parameters if each.kind in kinds][:count]
    return [*names, *[f"argument {k}" for k in range(len(names), count)]]


__all__ = ["names_of_leaves"]
