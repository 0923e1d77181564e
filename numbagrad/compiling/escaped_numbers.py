"""Input numbers that a captured call left behind in objects of the user, replaced by plain ones.

A captured call is given numbers that note how they are used (``program/input_numbers.py``). To
Python they are floats and ints, to ``json``, ``type(x) is float`` and much else in C they are not,
so none may outlive the call. ``call_capture.py`` comes here when one does: the collector says which
objects refer to it.
"""

from __future__ import annotations

import collections
import functools
import gc
from collections.abc import Callable
from typing import Any

from ..native.interpreter import class_was_changed, exchange_references
from ..referrers import referrers
from .classes import is_a, scope_of, without_asking

#: Plain numbers, by the ids of those in whose place they come.
Plain = dict[int, Any]

_LRU_CACHE: Any = functools._lru_cache_wrapper


def put_plain_numbers(numbers: tuple[Any, ...]) -> None:
    """Put plain numbers in the place of these, in every container and attribute that holds one."""
    plain = {id(number): number.plain() for number in numbers}
    for holder in referrers(*numbers):
        if holder is not numbers:
            _replace(holder, plain)


def _replace(holder: Any, plain: Plain) -> None:
    """Put plain numbers into a holder: its table, if it has one, its attributes, its memory."""
    for kind, replace in _TABLES.items():
        if is_a(holder, kind):
            replace(holder, plain)
    attributes = without_asking(holder, "__dict__")
    if type(attributes) is dict:
        _in_dict(attributes, plain)
    exchange_references(holder, plain)


def _in_dict(holder: dict[Any, Any], plain: Plain) -> None:
    kind: Any = collections.OrderedDict if is_a(holder, collections.OrderedDict) else dict
    entries = list(kind.items(holder))
    found = [k for k, pair in enumerate(entries) if id(pair[0]) in plain or id(pair[1]) in plain]
    if any([id(entries[k][0]) in plain for k in found]):  # all anew, so that the order stays
        kind.clear(holder)
        found = [*range(len(entries))]
    for key, value in [entries[k] for k in found]:
        kind.__setitem__(holder, plain.get(id(key), key), plain.get(id(value), value))
    for owner in referrers(holder) if found else ():
        if is_a(owner, type) and scope_of(owner).keys() == holder.keys():
            class_was_changed(owner)


def _in_sequence(holder: Any, plain: Plain) -> None:
    kind: Any = list if is_a(holder, list) else collections.deque
    for k, value in enumerate(kind.__iter__(holder)):
        if id(value) in plain:
            kind.__setitem__(holder, k, plain[id(value)])


def _in_set(holder: set[Any], plain: Plain) -> None:
    for value in [each for each in set.__iter__(holder) if id(each) in plain]:
        set.discard(holder, value)
        set.add(holder, plain[id(value)])


def _in_cache(holder: Any, plain: Plain) -> None:
    """A cache that forgets has a table of links, which hold a key and what was computed."""
    for table in gc.get_referents(holder):
        for link in table.values() if type(table) is dict else ():
            if type(link).__name__ == "_lru_list_elem":
                exchange_references(link, plain, seen_by_collector=False)


_TABLES: dict[Any, Callable[[Any, Plain], None]] = {
    dict: _in_dict,
    list: _in_sequence,
    collections.deque: _in_sequence,
    set: _in_set,
    _LRU_CACHE: _in_cache,
}

__all__ = ["put_plain_numbers"]
