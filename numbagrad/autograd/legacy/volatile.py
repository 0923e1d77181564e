"""Volatile tensors, as of 2017: what is computed from one is not recorded, and is volatile too.

Today one writes ``with no_grad():`` instead. Operators know nothing of volatile tensors: the first
one wakes a layer above the public functions and methods (``dispatch/volatile.py``), and until then
nothing is paid for them. ``Function.apply`` asks ``touched`` itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from ...dispatch import layers
from .. import tensor_interface as interface

__all__ = ["is_volatile", "make_volatile", "touched"]

_lock = threading.RLock()
#: Whether there ever was a volatile tensor.
in_use = False


def is_volatile(tensor: Any) -> bool:
    """Whether operations on ``tensor`` are not recorded, whatever their other operands."""
    return "_volatile" in vars(tensor)


def make_volatile(tensor: Any) -> None:
    """Make ``tensor``, which does not require grad, volatile."""
    global in_use
    with _lock:
        if not in_use:
            layers.change("volatile", 1)
            in_use = True
    tensor._volatile = True


def touched(values: Iterable[Any]) -> bool:
    """Whether there is a volatile tensor among ``values`` or in a sequence among them."""
    for value in values:
        if isinstance(value, interface.Tensor):
            if is_volatile(value):
                return True
        elif isinstance(value, (list, tuple)) and touched(value):
            return True
    return False


def mark(result: Any) -> Any:
    """Make the tensors that an unrecorded call returned volatile; parameters stay what they are."""
    if isinstance(result, interface.Tensor):
        if not result._requires_grad:
            result._volatile = True
    elif isinstance(result, (list, tuple)):
        for one in result:
            mark(one)
    return result
