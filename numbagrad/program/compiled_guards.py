"""A native check that dictionaries, lists, cells, sets and heads of objects are what they were."""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..codegen.record import row_of, write_list
from ..executor.builtin import make_launcher, runtime
from ..native import guard_layout as words
from ..native.c_structures import changes_are_counted
from ..native.guard_layout import GuardTable

_KINDS = {
    dict: words.DICTIONARY, list: words.LIST, types.CellType: words.CELL, set: words.EMPTY_SET,
}  # fmt: skip

#: Stands for an entry that is not there.
ABSENT = object()
#: Stands for a value of a dictionary that may be anything.
ANY = object()


class Entries:
    """Some entries of a dictionary, by their keys: a container whose other entries may change."""

    __slots__ = ("dictionary", "keys")

    def __init__(self, dictionary: dict[Any, Any], keys: Sequence[Any]):
        self.dictionary = dictionary
        self.keys = list(keys)

    def read(self) -> list[Any]:
        """The keys followed by what they map to, or by ``ABSENT``."""
        return [*self.keys, *[self.dictionary.get(key, ABSENT) for key in self.keys]]


class Words:
    """Words of memory in the heads of objects, which change when Python gives the object others.

    ``read`` says where they are, the bits that matter, and what these are now: for a class that an
    object has, its dictionary, the code of a function (``native/object_offsets.py``). ``owner`` is
    kept alive, so that the words stay its own.
    """

    __slots__ = ("owner", "read")

    def __init__(self, owner: Any, read: Callable[[], list[tuple[int, int, int]]]):
        self.owner = owner
        self.read = read


Container = dict[Any, Any] | list[Any] | types.CellType | Entries | set[Any] | Words


def can_watch(container: Any) -> bool:
    """Whether :class:`Guards` knows how to look into a container; into sets, if they are empty.

    An ordered dictionary keeps an order of its own where it has more than one entry.
    """
    if isinstance(container, set):
        return not container
    if isinstance(container, collections.OrderedDict):
        return len(container) < 2
    return isinstance(container, (dict, list, types.CellType, Entries, Words))


def _row(kind: int, watched: int, size: int, values: int) -> tuple[int, ...]:
    """A container that was not found to hold what it should yet."""
    return row_of(words.Container, kind=kind, object=watched, size=size, values=values, version=-1)


class Guards:
    """Containers and the values they are expected to hold, in their order.

    For a dictionary, and for entries, the values are the keys followed by what they map to. In a
    dictionary ``ANY`` stands for a value that does not matter.

    Calling ``unchanged()`` returns True if all of them hold exactly these objects. The containers
    and values are kept alive.
    """

    def __init__(self, containers: Sequence[tuple[Container, list[Any]]]):
        heads = [container for container, _ in containers if isinstance(container, Words)]
        found = [word for head in heads for word in head.read()]
        self._kept = [
            (container, list(values))
            for container, values in containers
            if not isinstance(container, Words)
        ]
        self._heads = [
            (container.owner, values)  # that no other object gets the address of one of these
            for container, values in containers
            if isinstance(container, Words)
        ]
        head_words = np.array(found or [(0, 0, 0)], dtype=np.uint64).view(np.int64)
        table = GuardTable()
        rows = [_row(words.WORDS, 0, len(found), head_words.ctypes.data)]
        addresses = np.array(
            [
                0 if value is ABSENT or value is ANY else id(value)
                for _, values in self._kept
                for value in values
            ]
            or [0],
            dtype=np.int64,
        )
        start = addresses.ctypes.data
        watched: Any
        for container, values in self._kept:
            if isinstance(container, Entries):
                kind, watched = words.ENTRIES, container.dictionary
            else:
                kind = next(_KINDS[base] for base in type(container).__mro__ if base in _KINDS)
                watched = container
            keyed = kind in (words.DICTIONARY, words.ENTRIES)
            rows.append(_row(kind, id(watched), len(values) // (2 if keyed else 1), start))
            start += 8 * len(values)
        #: The table of ``unchanged``, to be kept alive by who reads it as well.
        self.table = table
        table.runtime = runtime().address
        table.versioned = changes_are_counted()
        self._tables = write_list(table.containers, rows), addresses, head_words
        self.unchanged = make_launcher("unchanged", table, "unchanged", "guards")
