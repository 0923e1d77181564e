"""The words of the table of ``native/guards.py``. This file must not import Numba."""

from __future__ import annotations

# --- table; word 0 is the runtime block, as in every table (``layout.py``) -----------------------
GUARD_CONTAINERS = 1  # number of containers, and the address of the first
GUARD_CONTAINERS_AT = 2
GUARD_VERSIONED = 3  # 1 if dictionaries count their changes
GUARD_WORDS = 4

# --- a container ----------------------------------------------------------------------------------
CONTAINER_KIND = 0
CONTAINER_OBJECT = 1  # address of the dictionary, list, cell or set
CONTAINER_SIZE = 2  # number of values, and the address of the first of their addresses;
CONTAINER_VALUES = 3  # of a dictionary the addresses of its keys come first, then its values;
# of WORDS, for each word its address, the bits of it that matter, and what these have to be
CONTAINER_VERSION = 4  # of a dictionary, when it was last found to hold what it should
CONTAINER_WORDS = 5

#: Of a dictionary all entries are looked at, in their order; of ENTRIES those with the given keys.
DICTIONARY, LIST, CELL, ENTRIES, EMPTY_SET, WORDS = range(6)

# --- CPython's PyListObject (bytes) ---------------------------------------------------------------
LIST_SIZE = 16
LIST_ITEMS = 24

# --- CPython's PyDictObject (bytes) ---------------------------------------------------------------
DICTIONARY_SIZE = 16
DICTIONARY_VERSION = 24  # PEP 509: no two states of dictionaries have one number; up to 3.11
