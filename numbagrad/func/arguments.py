"""The arguments a derivative is taken by, and what a function returned beside its value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "checked_argnums", "chosen_arguments", "of_arguments", "replaced_arguments", "value_and_aux",
]  # fmt: skip

Function = Callable[..., Any]


def _checked_argnum(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if -count <= argnum < count:
        return argnum % count
    raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")


def checked_argnums(argnums: Any, count: int) -> Any:
    """``argnums`` counted from the front.

    Raises:
        RuntimeError: if they are none, not integers, not among the arguments, or repeated.
    """
    if isinstance(argnums, int):
        return _checked_argnum(argnums, count)
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    checked = tuple([_checked_argnum(argnum, count) for argnum in argnums])
    if not checked:
        raise RuntimeError("argnums must be non-empty")
    if len(set(checked)) != len(checked):
        raise RuntimeError(f"argnums elements must be unique, got {checked}")
    return checked


def chosen_arguments(args: tuple[Any, ...], argnums: Any) -> Any:
    return args[argnums] if isinstance(argnums, int) else tuple([args[i] for i in argnums])


def replaced_arguments(args: tuple[Any, ...], chosen: Any, argnums: Any) -> tuple[Any, ...]:
    new = list(args)
    if isinstance(argnums, int):
        new[argnums] = chosen
    else:
        for position, value in zip(argnums, chosen, strict=True):
            new[position] = value
    return tuple(new)


def of_arguments(func: Function, args: tuple[Any, ...], argnums: Any, kwargs: Any) -> Function:
    """``func`` as a function of the chosen arguments alone."""

    def of_chosen(*chosen: Any) -> Any:
        given = chosen[0] if isinstance(argnums, int) else chosen
        return func(*replaced_arguments(args, given, argnums), **kwargs)

    return of_chosen


def value_and_aux(made: Any, has_aux: bool, what: str) -> tuple[Any, Any]:
    if not has_aux:
        return made, None
    if not (isinstance(made, tuple) and len(made) == 2):
        raise RuntimeError(
            f"{what}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return made
