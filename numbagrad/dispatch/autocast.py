"""Autocast: the arguments of some functions are cast before they are called.

``policies.py`` has what is cast to what; ``autocast_state.py`` what a thread has switched on. What
a function calls itself is part of it and is cast no further.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..autocast_state import state
from ..autograd.grad_mode import state as grad_mode
from ..dtype import dtype as DType
from ..dtype import float32, float64, promote_types
from ..executor import capture
from ..ops.conversion.dtypes import cast
from ..tensor import Tensor
from .layers import Arguments, Below, Keywords
from .policies import POLICY, Policy

__all__ = ["LAYER"]

Cast = Callable[[Tensor], Tensor]


class Autocast:
    """The layer; it acts where this thread casts, on functions that have a policy."""

    def acts_on(self, arguments: Arguments) -> bool:
        """Whether this thread casts."""
        return bool(state.settings.enabled)

    def call(
        self, function: Callable[..., Any], arguments: Arguments, keywords: Keywords, below: Below
    ) -> Any:
        """The function on arguments that are cast, unless it writes into an ``out``."""
        policy = POLICY.get(function)
        if policy is None or keywords.get("out") is not None:
            return below(arguments, keywords)
        settings = state.settings
        if not settings.enabled:
            return below(arguments, keywords)
        tensors = _tensors((*arguments, *keywords.values()))
        lower = settings.lower_on("cuda" if any([x.is_cuda for x in tensors]) else "cpu")
        if lower is None:
            return below(arguments, keywords)
        cast = _POLICIES[policy](lower, tensors)
        return _below(below, arguments, keywords, cast)


def _below(below: Below, arguments: Arguments, keywords: Keywords, cast: Cast) -> Any:
    """The function on arguments that are cast. What it calls is part of it, and casts nothing."""
    settings = state.settings
    state.settings = settings._replace(enabled=frozenset())
    try:
        named = {name: _cast_argument(value, cast) for name, value in keywords.items()}
        return below(tuple([_cast_argument(value, cast) for value in arguments]), named)
    finally:
        state.settings = settings


def _tensors(values: tuple[Any, ...]) -> list[Tensor]:
    """The Tensors among arguments, and in lists and tuples among them."""
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif value.__class__ is list or value.__class__ is tuple:
            found += [x for x in value if isinstance(x, Tensor)]
    return found


def _cast_argument(value: Any, cast: Cast) -> Any:
    if isinstance(value, Tensor):
        return cast(value)
    if value.__class__ is list or value.__class__ is tuple:
        return value.__class__([cast(x) if isinstance(x, Tensor) else x for x in value])
    return value


def _eligible(tensor: Tensor) -> bool:
    return tensor.is_floating_point() and tensor.dtype is not float64


def _lower(lower: DType, tensors: list[Tensor]) -> Cast:
    caches = state.settings.caches

    def converted(tensor: Tensor) -> Tensor:
        if not _eligible(tensor) or tensor.dtype is lower:
            return tensor
        if caches and _lasts(tensor):
            return _remembered(tensor, lower)
        return cast(tensor, lower.numpy)

    return converted


def _to_float32(lower: DType, tensors: list[Tensor]) -> Cast:
    return lambda x: cast(x, float32.numpy) if _eligible(x) else x


def _to_widest(lower: DType, tensors: list[Tensor]) -> Cast:
    widest = functools.reduce(promote_types, [x.dtype for x in tensors if _eligible(x)], lower)
    return lambda x: cast(x, widest.numpy) if _eligible(x) else x


def _unchanged(lower: DType, tensors: list[Tensor]) -> Cast:
    return lambda x: x


_POLICIES: dict[Policy, Callable[[DType, list[Tensor]], Cast]] = {
    "lower": _lower, "float32": _to_float32, "widest": _to_widest, "unchanged": _unchanged,
}  # fmt: skip


# --- leaves that are cast once --------------------------------------------------------------------


def _lasts(tensor: Tensor) -> bool:
    """Whether a tensor is cast once in a context: a weight, in short.

    A program casts at each run, since it cannot look at what others have cast.
    """
    return (
        tensor.requires_grad
        and tensor.is_leaf
        and tensor.dtype is float32
        and not tensor._is_view()
        and not capture.is_capturing()
    )


def _remembered(tensor: Tensor, lower: DType) -> Tensor:
    """The tensor in the lower dtype: what was made of it before, unless it was written since.

    What was made while nothing was recorded has no history, and is not for those who record.
    """
    key = id(tensor), lower, grad_mode.enabled
    found = state.cache.get(key)
    if found is not None and found[0] is tensor and found[1] == tensor._version:
        return found[2]
    made = cast(tensor, lower.numpy)
    state.cache[key] = tensor, tensor._version, made
    return made


LAYER = Autocast()
