"""``torch._jit_internal``: what libraries take from the inside of TorchScript; no-ops."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035

from .jit import export, ignore, is_scripting, unused

__all__ = [
    "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "Final", "List",
    "Optional", "Tuple", "Union", "boolean_dispatch", "export", "ignore", "is_scripting", "unused",
]  # fmt: skip

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = List  # noqa: UP006


def _overload(func: Any) -> Any:
    """The function itself: overloads are for scripts."""
    return func


_overload_method = _copy_to_script_wrapper = _overload


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """One of two functions, by an argument that is True or False."""

    @functools.wraps(if_true)
    def dispatched(*args: Any, **kwargs: Any) -> Any:
        chosen = args[arg_index] if len(args) > arg_index else kwargs.get(arg_name, default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    dispatched.__name__ = func_name
    return dispatched
