"""Memory of a program, and views of it: what operations read and write.

``operations.py`` is made of these, and so is all that plans and lowers them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...backend import address_of, foreign
from ...codegen.alias_scopes import APART
from .forms import Array, spread
from .sharing import Range, bounds, extent, is_dense, may_overlap, meet


class Memory:
    """One block of memory: given from outside, or made by an operation of the program.

    Attributes:
        array: the ndarray that owns the block while the program is recorded; afterwards one that
            only lies like it.
        made: whether an operation of the program makes it.
        where: the backend that has the block; None for the CPU.
        whole: the view that ``array`` is, once somebody asked for it.
    """

    __slots__ = ("array", "made", "address", "nbytes", "where", "whole")

    def __init__(self, array: Array, made: bool):
        self.array = array
        self.made = made
        self.where = foreign(array)
        self.whole: View | None = None
        self.address, end = extent(array)
        self.nbytes = end - self.address

    @classmethod
    def scratch(cls, nbytes: int) -> Memory:
        """Memory that only the launches of one operation use."""
        memory = cls.__new__(cls)
        memory.array, memory.made, memory.address = np.empty(0), True, 0
        memory.nbytes, memory.where, memory.whole = nbytes, None, None
        return memory

    @property
    def extent(self) -> Range:
        """Where it was recorded."""
        return self.address, self.address + self.nbytes

    @property
    def is_scratch(self) -> bool:
        """Whether no array was recorded for it."""
        return self.address == 0

    def release(self) -> None:
        """Let go of the memory itself; ``array`` still says how the block lies."""
        one = np.empty(1, self.array.dtype)
        self.array = as_strided(one, self.array.shape, self.array.strides, writeable=False)

    def __repr__(self) -> str:
        return f"Memory({'made' if self.made else 'given'}, {self.nbytes} bytes)"


@dataclasses.dataclass(frozen=True)
class View:
    """Elements of a block of memory, as an ndarray sees them. Offset and strides are in bytes."""

    memory: Memory
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> Range:
        """The range of bytes of the memory that the elements lie in."""
        return bounds(self, self.offset)

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie side by side in C order."""
        step = self.dtype.itemsize
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != step:
                return False
            step *= size
        return True

    def expanded(self, shape: tuple[int, ...]) -> View:
        """This view broadcast to ``shape``."""
        if shape == self.shape:
            return self
        return View(self.memory, self.offset, shape, spread(self, shape), self.dtype)


@dataclasses.dataclass(frozen=True)
class Number:
    """A Python number that the program is given anew at each run."""

    index: int


#: A view of an array, and whether its memory is new: ``view_of``, or a method of the trace.
ViewOf = Callable[..., View]


#: An operand: memory, a number given at each run, or a number that never changes.
Operand = View | Number | bool | int | float


def overlap(first: View, second: View) -> bool:
    """Whether two views may share a byte."""
    same = first.memory is second.memory
    return same and may_overlap(first, second, first.offset, second.offset)


def covers(view: View) -> bool:
    """Whether a view is all of its memory, each element once."""
    nbytes = view.size * view.dtype.itemsize
    return view.offset == 0 and nbytes == view.memory.nbytes and is_dense(view)


def numbered_apart(views: Sequence[View | None]) -> list[int]:
    """A number for each view, the same for views that may share a byte; 0 where it is not known.

    Memory that was given counts as another than what its address says only if that lies apart.
    """
    groups: list[list[View]] = []
    for view in views:
        if view is None:
            continue
        touching = [group for group in groups if any([_may_share(view, x) for x in group])]
        groups = [group for group in groups if group not in touching]
        groups.append([*[x for group in touching for x in group], view])
    if len(groups) > APART:
        return [0] * len(views)
    group_of = {id(view): k for k, group in enumerate(groups) for view in group}
    numbers: dict[int, int] = {}
    return [
        0 if view is None else numbers.setdefault(group_of[id(view)], len(numbers) + 1)
        for view in views
    ]


def _may_share(first: View, second: View) -> bool:
    if first.memory is second.memory:
        return overlap(first, second)
    a, b = first.memory, second.memory
    return not (a.made or b.made) and meet(a.extent, b.extent)


def bytes_of(view: View) -> int:
    """Bytes of the elements of a view; what is broadcast is read once."""
    size = view.dtype.itemsize
    for length, stride in zip(view.shape, view.strides, strict=True):
        size *= length if stride else 1
    return size


def mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """Arguments with ``function(x)`` for every x, which may be nested in lists and tuples."""
    if not isinstance(value, (tuple, list)):
        return function(value)
    entries = [mapped(each, function) for each in value]
    return type(value)(*entries) if hasattr(value, "_fields") else type(value)(entries)


def views_in(value: Any) -> Iterator[View]:
    """The views among arguments, which may be nested in lists and tuples."""
    if isinstance(value, View):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from views_in(each)


def view_of(array: Array, made: bool = False) -> View:
    """An array as a view of a block of memory of its own."""
    memory = Memory(array, made)
    offset = address_of(array) - memory.address
    return View(memory, offset, array.shape, array.strides, array.dtype)
