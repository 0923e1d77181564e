"""Whether a tensor is the sole user of its memory, as far as references to its array say.

``share_memory_`` and ``resize_`` ask before they move elements to other memory, which views and
arrays on the old one could not follow.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from ...tensor import Tensor, new_tensor
from ...untyped_storage import owner_of

__all__ = ["is_sole_user"]


def is_sole_user(tensor: Tensor) -> bool:
    """Whether nothing but this tensor uses its memory, as far as references say."""
    base: Any = tensor._array.base
    whole = base is None
    if not whole and not (isinstance(base, np.ndarray) and base.base is None):
        return False  # a chain of views, or memory of an object that is not NumPy's
    del base
    return _references(tensor) <= _references_of_one(whole)


def _references(tensor: Tensor) -> tuple[int, int]:
    """How many references there are to the array of a tensor, and to the owner of its memory."""
    return sys.getrefcount(tensor._array), sys.getrefcount(owner_of(tensor._array))


@functools.cache
def _references_of_one(whole: bool) -> tuple[int, int]:
    """The references to the memory of a sole user, which differ among Pythons."""
    return _references(new_tensor(np.empty(2) if whole else np.empty(4)[:2]))
