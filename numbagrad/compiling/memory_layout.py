"""How the arrays that a program is given lie in memory: which share a block, and where in it.

A program was captured for arrays of certain layouts, and knows which of them overlap.
``call_capture.py`` describes that with a ``Layout``, and asks it again whenever a tensor has come
to hold another array.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..backend import address_of, foreign
from ..executor.plan.operations import Array
from ..executor.plan.sharing import extent
from ..program.traced_values import root_of


class Layout:
    """Arrays, in order, as they were: ``holds`` says whether others lie in the same way.

    Args:
        arrays: the arrays.
        touched: for each whether the program reads or writes its memory.
        writes: whether the program writes memory that it is given.
    """

    def __init__(self, arrays: Sequence[Array], touched: Sequence[bool], writes: bool):
        self._forms = [(array.shape, array.strides, array.dtype) for array in arrays]
        self._writes = writes
        roots = [
            root_of(array) if known else None for array, known in zip(arrays, touched, strict=True)
        ]
        numbers = {id(root): k for k, root in reversed([*enumerate(roots)]) if root is not None}
        #: For each array the first one in the same memory, and how many bytes behind it starts.
        self._first = [-1 if root is None else numbers[id(root)] for root in roots]
        self._behind = [
            0 if first in (-1, k) else _start(arrays[k]) - _start(arrays[first])
            for k, first in enumerate(self._first)
        ]
        self._are_disjoint = all([first in (-1, k) for k, first in enumerate(self._first)])

    def holds(self, arrays: Sequence[Array]) -> bool:
        """Whether arrays have the same shapes and layouts, and share memory in the same way."""
        for array, (shape, strides, dtype) in zip(arrays, self._forms, strict=True):
            if array.shape != shape or array.strides != strides or array.dtype != dtype:
                return False
        if self._are_disjoint and not self._writes:
            return True
        roots = [
            None if first < 0 else array if array.base is None else root_of(array)
            for array, first in zip(arrays, self._first, strict=True)
        ]
        for k, first in enumerate(self._first):
            if first not in (-1, k) and (
                roots[k] is not roots[first]
                or _start(arrays[k]) - _start(arrays[first]) != self._behind[k]
            ):
                return False
        return not self._writes or not shared(
            [root for k, root in enumerate(roots) if root is not None and self._first[k] == k]
        )


_start = address_of


def shared(roots: Iterable[Array]) -> bool:
    """Whether two owners of memory are one, or overlap (as two arrays of one foreign buffer do)."""
    owners = list(roots)
    if len({*map(id, owners)}) < len(owners):
        return True
    if all([foreign(root) is not None or root.flags.owndata for root in owners]):
        return False
    end = -1
    for low, high in sorted([extent(root) for root in owners if root.size]):
        if low < end:
            return True
        end = high
    return False


__all__ = ["Layout", "shared"]
