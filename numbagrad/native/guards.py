"""Whether dictionaries, lists and the like hold what they held: the check before a program runs.

Installed as a builtin by ``program/compiled_guards.py``. It compares addresses of objects and words
of their heads, and calls nothing that could run Python code; the table keeps what it names alive.
"""

from __future__ import annotations

from numba import types

from ..codegen.intrinsics import address_of_stack, external, int64, load, store, subroutine
from .guard_layout import CELL, DICTIONARY, EMPTY_SET, ENTRIES, LIST, WORDS, GuardTable
from .object_heads import ArrayHead, CellHead, DictionaryHead, ListHead
from .objects import new_reference

next_entry = external(
    "PyDict_Next", types.int32, types.int64, types.int64, types.int64, types.int64
)

get_item = external("PyDict_GetItem", types.int64, types.int64, types.int64)
set_size = external("PySet_Size", types.int64, types.int64)


@subroutine
def same_dictionary(dictionary, size, values, frame):
    """Whether the keys of a dictionary, in its order, and then its values are these objects.

    Where the address of a value is 0 it may be any.
    """
    if DictionaryHead(dictionary).size != size:
        return False
    store(frame, 0, 0, int64)
    found = 0
    while next_entry(dictionary, frame, frame + 8, frame + 16) != 0:
        if found >= size or load(frame, 1, int64) != values[found]:
            return False
        value = values[size + found]
        if value != 0 and load(frame, 2, int64) != value:
            return False
        found += 1
        if found == size:
            break
    return found == size


@subroutine
def same_entries(dictionary, size, values):
    """Whether a dictionary maps these keys to these objects; to none where the address is 0."""
    for i in range(size):
        if get_item(dictionary, values[i]) != values[size + i]:
            return False
    return True


@subroutine
def same_list(items, size, values):
    for i in range(size):
        if items[i] != values[i]:
            return False
    return True


@subroutine
def same_words(size, values):
    """Whether words in the heads of objects, as the address of their class, are what they were."""
    for i in range(size):
        word = load(values[3 * i], 0, int64)
        if word & values[3 * i + 1] != values[3 * i + 2]:
            return False
    return True


@subroutine
def same_in_dictionary(container, kind, frame, versioned):
    """Whether a dictionary, or its entries that matter, are the same; sure if none has changed."""
    dictionary = container.object
    version = DictionaryHead(dictionary).version
    if versioned and version == container.version:
        return True
    size = container.size
    values = container.values
    if kind == DICTIONARY:
        same = same_dictionary(dictionary, size, values, frame)
    else:
        same = same_entries(dictionary, size, values)
    if same:
        container.version = version
    return same


@subroutine
def same_container(container, frame, versioned):
    kind = container.kind
    if kind == DICTIONARY or kind == ENTRIES:
        return same_in_dictionary(container, kind, frame, versioned)
    value = container.object
    size = container.size
    values = container.values
    if kind == WORDS:
        return same_words(size, values)
    if kind == LIST:
        if ListHead(value).size != size:
            return False
        return same_list(ListHead(value).items, size, values)
    if kind == CELL:
        return CellHead(value).contents == values[0]
    return kind == EMPTY_SET and set_size(value) == 0


@subroutine
def same_containers(table, frame):
    versioned = table.versioned == 1
    for k in range(table.containers.count):
        if not same_container(table.containers.first[k], frame, versioned):
            return False
    return True


def unchanged(self, arguments, given):
    """``builtin() -> True or None``: whether all containers of the table are what they were."""
    table = GuardTable(ArrayHead(self).data)
    runtime = table.runtime
    frame = address_of_stack(3)
    return new_reference(runtime.true if same_containers(table, frame) else runtime.none)
