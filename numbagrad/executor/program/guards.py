"""A native check that dictionaries, lists, cells and sets still hold the objects they held."""

from __future__ import annotations

import ctypes
import functools
import sys
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...kernels import guard_layout as words
from ..builtin import launcher, make_builtin, runtime

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


Container = dict[Any, Any] | list[Any] | types.CellType | Entries | set[Any]


def can_watch(container: Any) -> bool:
    """Whether :class:`Guards` knows how to look into a container; into sets, if they are empty."""
    if isinstance(container, set):
        return not container
    return isinstance(container, (dict, list, types.CellType, Entries))


@functools.lru_cache(maxsize=1)
def _changes_are_counted() -> bool:
    """Whether each change of a dictionary gives it a number of its own, as PEP 509 says.

    CPython does so up to 3.11; later the word is used for something else.
    """
    if sys.implementation.name != "cpython" or sys.version_info >= (3, 12):
        return False
    probe: dict[str, Any] = {}
    number = ctypes.c_int64.from_address(id(probe) + words.DICTIONARY_VERSION)
    found = [number.value]
    for change in (
        lambda: probe.update(a=1.5), lambda: probe.update(a=2.5), lambda: probe.pop("a"),
        lambda: probe.setdefault("b"), probe.clear,
    ):  # fmt: skip
        change()
        found.append(number.value)
    return len(set(found)) == len(found)


class Guards:
    """Containers and the values they are expected to hold, in their order.

    For a dictionary, and for entries, the values are the keys followed by what they map to. In a
    dictionary ``ANY`` stands for a value that does not matter.

    Calling ``unchanged()`` returns True if all of them hold exactly these objects. The containers
    and values are kept alive.
    """

    def __init__(self, containers: Sequence[tuple[Container, list[Any]]]):
        self._kept = [(container, list(values)) for container, values in containers]
        table = np.zeros(words.GUARD_WORDS, dtype=np.int64)
        entries = np.zeros((len(self._kept), words.CONTAINER_WORDS), dtype=np.int64)
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
        for entry, (container, values) in zip(entries, self._kept, strict=True):
            if isinstance(container, Entries):
                kind, watched = words.ENTRIES, container.dictionary
            else:
                kind = next(_KINDS[base] for base in type(container).__mro__ if base in _KINDS)
                watched = container
            keyed = kind in (words.DICTIONARY, words.ENTRIES)
            entry[:] = kind, id(watched), len(values) // (2 if keyed else 1), start, -1
            start += 8 * len(values)
        table[0] = runtime().ctypes.data
        table[words.GUARD_CONTAINERS] = len(self._kept)
        table[words.GUARD_CONTAINERS_AT] = entries.ctypes.data
        table[words.GUARD_VERSIONED] = _changes_are_counted()
        self._tables = entries, addresses
        self.unchanged = make_builtin("unchanged", launcher("unchanged", "guards"), table)
