"""The words of a program that is run for blocks of unit vectors, one table for each worker.

For Python that fills them and ``unit_vectors.py``; this file must not import Numba.
"""

from __future__ import annotations

from ...codegen.record import Record, Word, Words, list_of


class Basis(Record):
    """An array of unit vectors."""

    data = Word()  # address of its elements
    first = Word()  # number of the unit vector whose one is its first element
    size = Word()  # elements of a row
    item = Word()  # bytes of an element: a float of four or eight


class Rows(Record):
    """An array, as the program counts them."""

    start = Word()  # address of the row of the first unit vector
    row_bytes = Word()  # 0 for what is the same for all blocks


class Worker(Record):
    """The program in memory of its own."""

    busy = Word()  # 1 while a thread is in it; first, as threads find it by the worker's address
    program = Word()  # address of the table of the program (``program_layout.py``)
    arrays = Word()  # address of ``Rows`` for each array of it
    bases = list_of(Basis)
    apart = Words(27)  # the first words of two workers share no line of the cache
