"""Inspection of transformations: ``debug_unwrap`` and ``functionalize``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from ..transforms.levels import Batched, state_of

__all__ = ["debug_unwrap", "functionalize"]


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The value behind a Tensor inside ``vmap``, ``grad`` or ``jvp``: all samples, or the primal.

    For a look at values while debugging; what is computed from the result is not transformed.

    Args:
        tensor: any Tensor; one of no transformation is returned as it is.
        recurse: undo all transformations that are on it, not the innermost alone.

    Raises:
        TypeError: for something else than a Tensor.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"debug_unwrap: expected a Tensor, got {type(tensor).__name__}")
    state = state_of(tensor)
    while state is not None:
        tensor = state.value if state.__class__ is Batched else state.primal
        state = state_of(tensor) if recurse else None
    return tensor


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """``func`` itself, for programs that call it through torch's transformation of that name.

    There it rewrites writes in place into operators without any, so that a tracer sees none.
    Results are the same, which is what this promises; what writes in place is free to do so here,
    where transformations and ``compile`` take it as it is.

    Raises:
        RuntimeError: when called, for a ``remove`` that is neither ``"mutations"`` nor
            ``"mutations_and_views"``.
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if remove not in ("mutations", "mutations_and_views"):
            raise RuntimeError(
                "functionalize(f, remove='mutations'): received invalid argument for remove="
                f"{remove}. Valid options are:\n     remove='mutations': all inplace and out= "
                "operators will be removed from the program, and replaced with their out-of-place "
                "equivalents.\n     remove='mutations_and_views': In addition to the above, all "
                "aliasing operators {view} will be replaced with their non-aliasing "
                "counterparts, {view}_copy.\n"
            )
        return func(*args, **kwargs)

    return wrapped
