"""Composite operators in forward mode: their definition on dual tensors, as one pair of programs.

``composite.py`` asks here for a composite operator of the primals and their tangents, whose results
are the value and its tangent. So what a definition does to dual tensors is fused as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...autograd.grad_mode import state as grad_mode
from ...tensor import Tensor
from ...transforms.levels import DUAL, Dual, Level, Transformed, dual, settled
from ...transforms.unwrapping import split

__all__ = ["taken_apart", "with_tangent"]


def taken_apart(arguments: Sequence[Any]) -> tuple[Level, list[Any], list[Any]] | None:
    """The level of dual arguments, their primals, and their tangents or None.

    None instead where anything else is around: other transformations, a history, half precision,
    complex numbers, containers.
    """
    level: Level | None = None
    primals: list[Any] = []
    directions: list[Any] = []
    for argument in arguments:
        direction = None
        if isinstance(argument, Tensor):
            array: Any = argument._array
            if array.__class__ is Transformed:
                state = getattr(array, "state", None)
                if state.__class__ is not Dual or not state.level.alive or state.level.paused:
                    return None
                if level is not None and state.level is not level:
                    return None
                level, argument, direction = state.level, state.primal, state.tangent
                if direction is not None and not _is_plain(direction):
                    return None
            if not _is_plain(argument):
                return None
        elif argument.__class__ is list or argument.__class__ is tuple:
            return None
        primals.append(argument)
        directions.append(direction)
    return None if level is None or level.kind is not DUAL else (level, primals, directions)


def _is_plain(tensor: Tensor) -> bool:
    array = tensor._array
    if array.__class__ is not np.ndarray or (grad_mode.enabled and tensor._requires_grad):
        return False
    return array.dtype.kind in "iub" or array.dtype.name in ("float32", "float64")


def with_tangent(definition: Callable[..., Any], which: tuple[bool, ...]) -> Callable[..., Any]:
    """``f(*arguments, *tangents)``: the value of a definition, its tangent, and further results.

    ``which`` says of each argument whether it has a tangent.
    """
    count = len(which)

    def value_and_tangent(*given: Any) -> tuple[Any, ...]:
        tangents = iter(given[count:])
        with Level(DUAL) as level:
            arguments = [
                dual(level, x, next(tangents)) if has else x
                for x, has in zip(given[:count], which, strict=True)
            ]
            made = definition(*arguments)
            first, *others = made if made.__class__ is tuple else (made,)
            value, tangent = split(level, settled(first))
            return (value, tangent, *[split(level, x)[0] for x in others])

    value_and_tangent.__name__ = definition.__name__
    return value_and_tangent
