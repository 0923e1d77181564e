"""Autocast policies: to which dtype a function has its arguments cast.

The lists are torch's for the CPU. ``autocast.py`` acts on them; until it is active, a decorated
function costs one read of ``layers.active``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from . import layers

__all__ = ["POLICY", "Policy", "autocasts", "taken_over"]

#: ``lower``: computed in the lower dtype. ``float32``: in that. ``widest``: in the widest dtype of
#: the arguments, and in none narrower than the lower one. ``unchanged``: on the arguments as they
#: are, and nothing that it calls is cast, since torch computes without a product what this library
#: computes with one.
Policy = Literal["lower", "float32", "widest", "unchanged"]
Function = TypeVar("Function", bound=Callable[..., Any])

#: The functions that were decorated, and the public ones around them.
POLICY: dict[Callable[..., Any], Policy] = {}
_originals: dict[Callable[..., Any], Callable[..., Any]] = {}


def autocasts(policy: Policy, *, asks_itself: bool = False) -> Callable[[Function], Function]:
    """Decorate a function that autocast knows: it casts wherever the function is called.

    Args:
        policy: what its arguments are cast to.
        asks_itself: whether the function begins with the question of ``layers.py``, as those do for
            which another call would be felt.
    """

    def decorate(function: Function) -> Function:
        if asks_itself:
            POLICY[function] = policy
            return function

        @functools.wraps(function)
        def casting(*arguments: Any, **keywords: Any) -> Any:
            if layers.active and layers.asks(casting):
                return layers.descend(casting, arguments, keywords)
            return function(*arguments, **keywords)

        POLICY[casting] = policy
        _originals[casting] = function
        return casting  # type: ignore[return-value]

    return decorate


def taken_over(function: Callable[..., Any], public: Callable[..., Any]) -> Callable[..., Any]:
    """The function that ``public`` is to call for ``function``, whose policy it takes over.

    For a function around another one that asks the layers itself: one of them is enough.
    """
    policy = POLICY.get(function)
    if policy is None:
        return function
    POLICY[public] = policy
    return _originals.get(function, function)
