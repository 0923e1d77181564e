"""The table of ``guards.py``, and what it checks. This file must not import Numba."""

from __future__ import annotations

from ..codegen.record import Pointer, Record, Word, list_of
from .layout import Table


class Container(Record):
    """A dictionary, list, cell or set, or words in the heads of objects, and what is expected."""

    kind = Word()
    object = Word()  # address of the dictionary, list, cell or set
    size = Word()  # number of values
    #: The addresses of the values; of a dictionary those of its keys come first. Of WORDS, for
    #: each word its address, the bits of it that matter, and what these have to be.
    values = Pointer()
    version = Word()  # of a dictionary, when it was last found to hold what it should


class GuardTable(Table):
    """All containers that are to be as they were."""

    containers = list_of(Container)
    versioned = Word()  # 1 if dictionaries count their changes


#: Kinds of checks: all entries of a dictionary, in their order; ENTRIES those of given keys.
DICTIONARY, LIST, CELL, ENTRIES, EMPTY_SET, WORDS = range(6)
