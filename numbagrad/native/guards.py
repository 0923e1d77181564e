"""Whether dictionaries, lists and the like hold what they held: the check before a program runs.

Installed as a builtin by ``program/compiled_guards.py``. It compares addresses of objects and words
of their heads, and calls nothing that could run Python code; the table keeps what it names alive.
"""

from __future__ import annotations

from numba import types

from ..codegen.intrinsics import address_of_stack, external, int64, load, store, subroutine
from .guard_layout import (
    CELL,
    CONTAINER_KIND,
    CONTAINER_OBJECT,
    CONTAINER_SIZE,
    CONTAINER_VALUES,
    CONTAINER_VERSION,
    CONTAINER_WORDS,
    DICTIONARY,
    DICTIONARY_SIZE,
    DICTIONARY_VERSION,
    EMPTY_SET,
    ENTRIES,
    GUARD_CONTAINERS,
    GUARD_CONTAINERS_AT,
    GUARD_VERSIONED,
    LIST,
    LIST_ITEMS,
    LIST_SIZE,
    WORDS,
)
from .layout import ARRAY_DATA, RUNTIME_NONE, RUNTIME_TRUE, TABLE_RUNTIME
from .objects import new_reference

next_entry = external(
    "PyDict_Next", types.int32, types.int64, types.int64, types.int64, types.int64
)

get_item = external("PyDict_GetItem", types.int64, types.int64, types.int64)
set_size = external("PySet_Size", types.int64, types.int64)

CELL_CONTENTS = 16


@subroutine
def same_dictionary(dictionary, size, values, frame):
    """Whether the keys of a dictionary, in its order, and then its values are these objects.

    Where the address of a value is 0 it may be any.
    """
    if load(dictionary + DICTIONARY_SIZE, 0, int64) != size:
        return False
    store(frame, 0, 0, int64)
    found = 0
    while next_entry(dictionary, frame, frame + 8, frame + 16) != 0:
        if found >= size or load(frame, 1, int64) != load(values, found, int64):
            return False
        value = load(values, size + found, int64)
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
        if get_item(dictionary, load(values, i, int64)) != load(values, size + i, int64):
            return False
    return True


@subroutine
def same_list(items, size, values):
    for i in range(size):
        if load(items, i, int64) != load(values, i, int64):
            return False
    return True


@subroutine
def same_words(size, values):
    """Whether words in the heads of objects, as the address of their class, are what they were."""
    for i in range(size):
        word = load(load(values, 3 * i, int64), 0, int64)
        if word & load(values, 3 * i + 1, int64) != load(values, 3 * i + 2, int64):
            return False
    return True


@subroutine
def same_in_dictionary(container, kind, frame, versioned):
    """Whether a dictionary, or its entries that matter, are the same; sure if none has changed."""
    dictionary = load(container, CONTAINER_OBJECT, int64)
    version = load(dictionary + DICTIONARY_VERSION, 0, int64)
    if versioned and version == load(container, CONTAINER_VERSION, int64):
        return True
    size = load(container, CONTAINER_SIZE, int64)
    values = load(container, CONTAINER_VALUES, int64)
    if kind == DICTIONARY:
        same = same_dictionary(dictionary, size, values, frame)
    else:
        same = same_entries(dictionary, size, values)
    if same:
        store(container, CONTAINER_VERSION, version, int64)
    return same


@subroutine
def same_container(container, frame, versioned):
    kind = load(container, CONTAINER_KIND, int64)
    if kind == DICTIONARY or kind == ENTRIES:
        return same_in_dictionary(container, kind, frame, versioned)
    value = load(container, CONTAINER_OBJECT, int64)
    size = load(container, CONTAINER_SIZE, int64)
    values = load(container, CONTAINER_VALUES, int64)
    if kind == WORDS:
        return same_words(size, values)
    if kind == LIST:
        if load(value + LIST_SIZE, 0, int64) != size:
            return False
        return same_list(load(value + LIST_ITEMS, 0, int64), size, values)
    if kind == CELL:
        return load(value + CELL_CONTENTS, 0, int64) == load(values, 0, int64)
    return kind == EMPTY_SET and set_size(value) == 0


def unchanged(self, arguments, given):
    """``builtin() -> True or None``: whether all containers of the table are what they were."""
    table = load(self + ARRAY_DATA, 0, int64)
    runtime = load(table, TABLE_RUNTIME, int64)
    frame = address_of_stack(3)
    versioned = load(table, GUARD_VERSIONED, int64) == 1
    container = load(table, GUARD_CONTAINERS_AT, int64)
    result = load(runtime, RUNTIME_TRUE, int64)
    for _ in range(load(table, GUARD_CONTAINERS, int64)):
        if not same_container(container, frame, versioned):
            result = load(runtime, RUNTIME_NONE, int64)
            break
        container += 8 * CONTAINER_WORDS
    return new_reference(result)
