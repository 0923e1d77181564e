"""Input numbers that a captured call left behind in objects of the user, replaced by plain ones.

A captured call is given numbers that note how they are used (``program/input_numbers.py``). To
Python they are floats and ints, to ``json``, ``type(x) is float`` and much else in C they are not,
so none may outlive the call. ``call_capture.py`` comes here when one does: the collector says which
objects refer to it.
"""

from __future__ import annotations

import collections
import gc
import types
from collections.abc import Callable
from typing import Any

from ..native.interpreter import set_item_of_tuple
from .classes import is_a, scope_of, without_asking

#: Plain numbers, by the ids of those in whose place they come.
Plain = dict[int, Any]


def put_plain_numbers(numbers: tuple[Any, ...]) -> None:
    """Put plain numbers in the place of these, in every container and attribute that holds one."""
    plain = {id(number): number.plain() for number in numbers}
    for holder in gc.get_referrers(*numbers):
        if holder is not numbers:
            _replace(holder, plain)


def _replace(holder: Any, plain: Plain) -> None:
    for kind, replace in _CONTAINERS.items():
        if is_a(holder, kind):
            replace(holder, plain)
    _in_attributes(holder, plain)


def _in_dict(holder: dict[Any, Any], plain: Plain) -> None:
    kind: Any = collections.OrderedDict if is_a(holder, collections.OrderedDict) else dict
    entries = list(kind.items(holder))
    anew = any([id(key) in plain for key, _ in entries])
    if anew:  # all of them, so that the order stays
        kind.clear(holder)
    for key, value in entries:
        if anew or id(value) in plain:
            kind.__setitem__(holder, plain.get(id(key), key), plain.get(id(value), value))


def _in_sequence(holder: Any, plain: Plain) -> None:
    kind: Any = list if is_a(holder, list) else collections.deque
    for k, value in enumerate(kind.__iter__(holder)):
        if id(value) in plain:
            kind.__setitem__(holder, k, plain[id(value)])


def _in_set(holder: set[Any], plain: Plain) -> None:
    for value in [each for each in set.__iter__(holder) if id(each) in plain]:
        set.discard(holder, value)
        set.add(holder, plain[id(value)])


def _in_tuple(holder: tuple[Any, ...], plain: Plain) -> None:
    """Tuples are written in their memory: an equal number has the same hash."""
    for k, value in enumerate(tuple.__iter__(holder)):
        if id(value) in plain:
            set_item_of_tuple(holder, k, plain[id(value)])


def _in_cell(holder: types.CellType, plain: Plain) -> None:
    holder.cell_contents = plain[id(holder.cell_contents)]


def _in_attributes(holder: Any, plain: Plain) -> None:
    """Attributes in the dictionary of an object, or in slots."""
    attributes = without_asking(holder, "__dict__")
    if type(attributes) is dict:
        _in_dict(attributes, plain)
    for kind in type.mro(type(holder)):
        scope = scope_of(kind)
        for slot in scope.values() if "__slots__" in scope else ():
            if is_a(slot, types.MemberDescriptorType):
                _in_slot(holder, slot, plain)


def _in_slot(holder: Any, slot: types.MemberDescriptorType, plain: Plain) -> None:
    try:
        value = slot.__get__(holder)
    except AttributeError:  # an empty one
        return
    if id(value) in plain:
        slot.__set__(holder, plain[id(value)])


_CONTAINERS: dict[type, Callable[[Any, Plain], None]] = {
    dict: _in_dict,
    list: _in_sequence,
    collections.deque: _in_sequence,
    set: _in_set,
    tuple: _in_tuple,
    types.CellType: _in_cell,
}

__all__ = ["put_plain_numbers"]
